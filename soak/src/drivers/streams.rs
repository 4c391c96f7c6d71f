//! Streams: an `AsyncPool` pulls items that it has to wait for, in one long call or in many short ones.
//!
//! A long call gets its items from a feeder, which sends the next few when the pool has ended those
//! before. In a short call the source is pending once before each item. In both cases the pool runs out
//! of items all the time, and what it keeps for each wait would show on the heap.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::thread;
use std::time::Instant;

use formic::{AsyncPool, Control, ForEachError, JoinError, from_stream};
use futures_util::{Stream, StreamExt, stream};
use pollster::block_on;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::futures::{self, Ground};
use super::threads;
use crate::async_errand::Boxed;
use crate::books::{Books, Ticket};
use crate::floor::Floor;
use crate::memory::Growth;
use crate::plan::{Ending, Plan};
use crate::random::Random;
use crate::watch::Watch;

/// A phase with streams.
pub(crate) fn run(plan: &Plan, watch: &Watch, books: &Arc<Books>) {
    let Some(ground) = futures::runtime(plan, books) else { return };
    let pool = match ground.give(plan.settings.on_tokio(AsyncPool::builder())).build() {
        Ok(pool) => pool,
        Err(error) => return books.fault(format!("the pool could not be built: {error}")),
    };
    let seen = pool.clone();
    watch.show(move || Some(format!("{:?}", seen.stats())));
    // A seat of the pool counts as one task, however many items it takes.
    books.seats.store(true, Ordering::SeqCst);
    settle(&pool, books);
    let (end, growth) = (Instant::now() + plan.time, Growth::begin());
    let caller = |number| Caller {
        pool: pool.clone(),
        ground: &ground,
        shared: Shared { books: Arc::clone(books), watch: watch.clone(), end },
        growth: &growth,
        random: Random::of(plan.seed, number),
    };
    thread::scope(|scope| {
        for number in 1..=plan.threads.min(4) as u64 {
            let caller = caller(number);
            scope.spawn(move || caller.run());
        }
    });
    settle(&pool, books);
    growth.check(books);
    watch.forget();
    finish(plan, pool, books);
    // Without the runtime nothing would run on.
    watch.await_that(books, "what was accepted runs to its end", || Arc::strong_count(books) == 1);
}

/// Has the pool free what it may keep. The memory of ended futures is freed by the next submit, because
/// that is the thread that got it from the allocator; until then a pool keeps up to 4,096 of them.
fn settle(pool: &AsyncPool, books: &Books) {
    let control: &Control = pool;
    for _ in 0..2 {
        let submitted = block_on(pool.submit(async {}));
        if submitted.is_err() || control.blocking_wait_idle().is_err() {
            books.fault("an open pool does not run a future");
        }
    }
}

fn finish(plan: &Plan, pool: AsyncPool, books: &Books) {
    if plan.ending == Ending::DropHandles {
        return drop(pool);
    }
    let mut random = Random::of(plan.seed, 0);
    threads::end(plan.ending, &pool, &Floor::default(), books, &mut random);
    books.compare(pool.stats());
}

/// What a caller and its feeder share.
#[derive(Clone)]
struct Shared {
    books: Arc<Books>,
    watch: Watch,
    end: Instant,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.books.are_full() || Instant::now() >= self.end
    }
}

/// An item that writes into the books.
struct Item {
    ticket: Ticket,
    /// Polls that are pending before the item ends.
    yields: usize,
    /// Makes the item's future as large as those of most programs.
    payload: [u64; 64],
    /// Dropped when the item has ended, which its feeder hears of.
    _ended: Option<Ended>,
}

impl Item {
    fn new(books: &Arc<Books>, ended: Option<Ended>, random: &mut Random) -> Option<Self> {
        let yields = if random.once_in(3) { random.within(1, 3) } else { 0 };
        Some(Item { ticket: books.ticket()?, yields, payload: [random.next(); 64], _ended: ended })
    }

    async fn run(self) -> usize {
        self.ticket.begin();
        for _ in 0..self.yields {
            tokio::task::yield_now().await;
        }
        if self.payload.windows(2).any(|pair| pair[0] != pair[1]) {
            self.ticket.books().fault("an item was damaged");
        }
        self.ticket.complete();
        self.ticket.number()
    }
}

/// Tells a feeder that an item was dropped.
struct Ended(mpsc::UnboundedSender<()>);

impl Drop for Ended {
    fn drop(&mut self) {
        // A feeder that has gone needs no news.
        _ = self.0.send(());
    }
}

/// One that calls `for_each` and `map`.
struct Caller<'a> {
    pool: AsyncPool,
    ground: &'a Ground,
    shared: Shared,
    growth: &'a Growth,
    random: Random,
}

impl Caller<'_> {
    fn run(mut self) {
        if self.random.once_in(2) {
            return self.call_long();
        }
        while !self.shared.is_over() {
            let items = self.random.within(1, 8);
            let source = self.short_source(items);
            self.call(source);
            self.shared.watch.beat();
            self.growth.note(items);
        }
    }

    /// One call, for the whole phase.
    fn call_long(&mut self) {
        let (sender, mut receiver) = mpsc::channel(4);
        let mut feeder =
            Feeder { shared: self.shared.clone(), random: Random::new(self.random.next()), sender };
        let source = stream::poll_fn(move |context| receiver.poll_recv(context));
        let growth = self.growth;
        thread::scope(|scope| {
            scope.spawn(move || block_on(feeder.feed(growth)));
            self.call(source);
        });
    }

    /// A few items, each of which is there at the second look.
    fn short_source(&mut self, items: usize) -> impl Stream<Item = Item> + Send + use<> {
        let (random, books) = (&mut self.random, &self.shared.books);
        let items: Vec<_> = (0..items).map_while(|_| Item::new(books, None, random)).collect();
        let (mut items, mut waited) = (items.into_iter(), false);
        stream::poll_fn(move |context| {
            waited = !waited;
            if waited {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(items.next())
        })
    }

    /// One call, on this thread or as a task of the runtime. Some calls are dropped half-way.
    fn call(&mut self, source: impl Stream<Item = Item> + Send + 'static) {
        let call = self.any_call(source);
        match self.random.below(8) {
            0..4 => block_on(call),
            4..7 => self.ended(self.ground.handle().spawn(call)),
            _ => {
                let call = self.ground.handle().spawn(call);
                thread::park_timeout(self.random.micros(2000));
                call.abort();
                self.ended(call);
            }
        }
    }

    fn ended(&self, call: JoinHandle<()>) {
        if let Err(error) = block_on(call)
            && error.is_panic()
        {
            self.shared.books.fault(format!("a call: {error}"));
        }
    }

    fn any_call(&mut self, source: impl Stream<Item = Item> + Send + 'static) -> Boxed<()> {
        let books = Arc::clone(&self.shared.books);
        let source = from_stream(source);
        if self.random.once_in(2) {
            let call = self.pool.for_each(source, |item| async move { _ = item.run().await });
            return Box::pin(async move { check(call.await, &books) });
        }
        let ordered = self.random.once_in(2);
        let outcomes = self.pool.map(source, Item::run);
        let mut outcomes: Pin<Box<dyn Stream<Item = _> + Send>> = match ordered {
            true => Box::pin(outcomes),
            false => Box::pin(outcomes.unordered().map(|(_, outcome)| outcome)),
        };
        Box::pin(async move {
            let mut last = None;
            while let Some(outcome) = outcomes.next().await {
                last = check_outcome(outcome, last.filter(|_| ordered), &books);
            }
        })
    }
}

fn check(answer: Result<(), ForEachError>, books: &Books) {
    if let Err(error) = answer {
        books.fault(format!("a for_each whose pool is open and whose items return: {error}"));
    }
}

/// Compares an outcome with the books, and with the one before it if they come in order.
fn check_outcome(
    outcome: Result<usize, JoinError>,
    before: Option<usize>,
    books: &Books,
) -> Option<usize> {
    match outcome {
        Ok(number) if before.is_some_and(|before| before >= number) => {
            books.fault(format!("a map yielded item {number} after {before:?}"));
            Some(number)
        }
        Ok(number) => {
            books.outcome(number, Ok(number as u64));
            Some(number)
        }
        Err(error) => {
            books.fault(format!("a map whose items return: {error}"));
            None
        }
    }
}

/// Sends items, and waits until they have ended.
struct Feeder {
    shared: Shared,
    random: Random,
    sender: mpsc::Sender<Item>,
}

impl Feeder {
    async fn feed(&mut self, growth: &Growth) {
        let (tell, mut ended) = mpsc::unbounded_channel();
        while !self.shared.is_over() {
            let wanted = self.random.within(1, 4);
            let mut sent = 0;
            for _ in 0..wanted {
                let ended = Some(Ended(tell.clone()));
                let item = Item::new(&self.shared.books, ended, &mut self.random);
                let Some(item) = item else { break };
                // A call that was dropped takes no more items.
                if self.sender.send(item).await.is_err() {
                    return;
                }
                sent += 1;
            }
            for _ in 0..sent {
                ended.recv().await;
            }
            growth.note(sent);
            self.shared.watch.beat();
        }
    }
}
