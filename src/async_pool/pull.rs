//! Pulling: the pool takes the items of an iterator or a stream itself, so that nothing is queued.
//!
//! A *puller* is a future of the pool that takes an item, drives the future that the function makes of it,
//! and takes the next. It holds one place for as long as there are items, and gives it up if others wait
//! for one. The first puller
//! has the pool begin with a [`RampUp`] more as soon as it has got an item, one of these does the same, and so
//! on until the capacity is reached. Only one puller
//! waits for an item; the others that find none are gone, and their places are free.

mod puller;

use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

use self::puller::{InThePool, Own, Puller};
use super::futures::{Futures, Job};
use super::ramp_up::RampUp;
use super::source::PollItems;
use crate::engine::sync::{Mutex, lock};
use crate::engine::{Cell, CloseSubscription, Drives, Engine, contain, replace_waits};
use crate::error::{JoinError, Refused, TaskPanic};

/// Where results go.
pub(super) trait Sink: Send + Sync + 'static {
    type Result: Send + 'static;
    /// Nothing, where they have no order.
    type Number: Copy + Send;

    /// Whether more items are to be pulled.
    fn wants_more(&self) -> bool {
        true
    }

    /// The number of one more result, if there is room for it.
    fn number(&self) -> Option<Self::Number>;

    /// Has `waker` woken when there is room again. False if there is.
    fn await_room(&self, waker: &Waker) -> bool;

    /// That number is not used after all; it was the last one given out.
    fn give_back(&self, number: Self::Number);

    fn deliver(&self, number: Self::Number, result: Result<Self::Result, JoinError>);
}

/// What the pullers of one source share.
pub(super) struct Pull<S, F, K> {
    engine: Arc<Engine<Futures>>,
    function: F,
    pub(super) sink: K,
    items: Mutex<Items<S>>,
    /// How many pullers there are, to be read without the lock.
    count: AtomicUsize,
    /// Pullers that wait in the queue. They have no item.
    queued: AtomicUsize,
    /// Pullers that have begun.
    begun: AtomicUsize,
    ramp_up: RampUp,
    stop: AtomicBool,
    /// Woken when no puller is left.
    end: Mutex<Option<Waker>>,
    origin: &'static Location<'static>,
    /// Has the puller that waits woken when the pool is closed.
    _closing: CloseSubscription<Futures>,
}

struct Items<S> {
    source: S,
    /// No more items are taken.
    over: bool,
    /// No more items are taken although the source may have some.
    cut_off: bool,
    /// The puller that waits for an item, or for room for its result, and how it is woken.
    waiter: Option<(Id, Waker)>,
}

/// Which puller it is: where it lies, because it does not move.
type Id = usize;

/// What a puller gets when it asks for an item.
enum Next<N, T> {
    Item(N, T),
    Wait,
    Over,
}

impl<S, F, Fut, K> Pull<S, F, K>
where
    S: PollItems,
    F: Fn(S::Item) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = K::Result> + Send + 'static,
    K: Sink,
{
    pub(super) fn new(
        engine: &Arc<Engine<Futures>>,
        (source, function, sink): (S, F, K),
        origin: &'static Location<'static>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this: &Weak<Self>| Pull {
            engine: Arc::clone(engine),
            function,
            sink,
            items: Mutex::new(Items { source, over: false, cut_off: false, waiter: None }),
            count: AtomicUsize::new(0),
            queued: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            ramp_up: RampUp::new(),
            stop: AtomicBool::new(false),
            end: Mutex::default(),
            origin,
            _closing: engine.listen_for_close(Arc::new(Closing(this.clone())).into()),
        })
    }

    /// One more puller.
    fn puller<P>(self: &Arc<Self>) -> Puller<S, F, Fut, K, P> {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.queued.fetch_add(1, Ordering::Relaxed);
        Puller::new(Arc::clone(self))
    }

    /// A puller in the place of the task that pulls.
    pub(super) fn own_puller(self: &Arc<Self>) -> Puller<S, F, Fut, K, Own> {
        self.puller()
    }

    /// The job of one more puller, for the queue.
    pub(super) fn job(self: &Arc<Self>) -> Job {
        // Pullers are made by pullers, so no submitter frees the memory of those that have ended.
        self.engine.work().executor().deferred_frees.free_some();
        Job::Bare(Cell::new(self.puller::<InThePool>(), self.origin))
    }

    fn next(&self, puller: Id, context: &Context<'_>) -> Next<K::Number, S::Item> {
        let mut items = lock(&self.items);
        items.keep_waker(puller, context.waker());
        if items.over || self.stop.load(Ordering::Relaxed) {
            return Next::Over;
        }
        if !self.sink.wants_more() {
            items.over = true;
            let waiter = items.waiter.take();
            drop(items);
            waiter.into_iter().for_each(|(_, waker)| waker.wake());
            return Next::Over;
        }
        if self.engine.glance().places() == (0, 0) {
            (items.over, items.cut_off) = (true, true);
            return Next::Over;
        }
        loop {
            let Some(number) = self.sink.number() else {
                let next = items.wait(puller, context.waker());
                if matches!(next, Next::Wait) && !self.sink.await_room(context.waker()) {
                    continue;
                }
                return next;
            };
            let polled = catch_unwind(AssertUnwindSafe(|| items.poll_source(context.waker())));
            let item = match polled {
                Ok(Poll::Ready(item)) => item,
                Ok(Poll::Pending) => {
                    self.sink.give_back(number);
                    return items.wait(puller, context.waker());
                }
                Err(payload) => {
                    // A source that panicked is not asked again.
                    self.sink.deliver(number, Err(panicked(payload, self.origin)));
                    None
                }
            };
            items.over = item.is_none();
            let waiter = items.waiter.take();
            drop(items);
            if let Some((waiting, waker)) = waiter
                && waiting != puller
            {
                // The source may have more items, and only this puller can tell the one that waits.
                waker.wake();
            }
            return item.map_or(Next::Over, |item| Next::Item(number, item));
        }
    }

    /// Why items may be left, although no puller is.
    pub(super) fn cut_off(&self) -> Option<JoinError> {
        let items = lock(&self.items);
        let cut_off = items.cut_off || !items.over;
        drop(items);
        cut_off.then(|| match self.engine.is_closed() {
            true => JoinError::Refused(self.engine.refusal()),
            // Its first puller was discarded.
            false => JoinError::Refused(Refused::Discarded),
        })
    }

    /// An item of a puller has ended. The next one is a task of its own, which waits for none of the handles that were
    /// polled, and is not concerned if all tasks were cancelled before.
    fn end_item(&self) {
        drop(replace_waits(None));
        self.engine.start_task_here();
    }

    /// Starts more pullers, if there are places for them.
    fn grow(self: &Arc<Self>) {
        let count = self.count.load(Ordering::Relaxed);
        // Those in the queue start more when it is their turn.
        let (_, capacity) = self.engine.glance().places();
        if count < capacity && self.queued.load(Ordering::Relaxed) == 0 {
            self.ramp_up.begin(|pullers| self.engine.offer(pullers, || self.job()));
        }
    }

    /// Whether a task that is no puller of this pull waits for the place of a puller.
    fn is_in_the_way(&self) -> bool {
        let engine = self.engine.glance();
        let ((queued, running), (_, capacity)) = (engine.tasks(), engine.places());
        queued > self.queued.load(Ordering::Relaxed) && running >= capacity
    }

    /// Has every puller dropped.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // All futures of the pool are woken: this is rare, and to know the pullers would cost memory for each.
        self.engine.work().executor().wake_all();
    }

    /// Ready when no puller is left that has an item or could get one. Those in the queue find out when
    /// their turn comes: the task that pulls may have the place that they wait for.
    pub(super) fn poll_end(&self, context: &mut Context<'_>) -> Poll<()> {
        // First the waker, then the look: the last one that leaves later wakes it.
        let old = lock(&self.end).replace(context.waker().clone());
        drop(old);
        let over = lock(&self.items).over;
        // Acquire: pairs with the AcqRel in `leave`.
        let left = if over { &self.begun } else { &self.count };
        if left.load(Ordering::Acquire) == 0 { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Whether there may be items, and no puller to take them: those in the queue may never get a place, if
    /// the task that pulls has it.
    pub(super) fn needs_puller(&self) -> bool {
        // Acquire: pairs with the AcqRel in `leave`.
        self.begun.load(Ordering::Acquire) == 0 && !lock(&self.items).over
    }

    fn settle(&self) {
        self.queued.fetch_sub(1, Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// A puller leaves, that was not polled yet if it is new.
    fn leave(&self, puller: Id, new: bool) {
        let mut items = lock(&self.items);
        let waits = items.waiter.as_ref().is_some_and(|(waiting, _)| *waiting == puller);
        let waiter = if waits { items.waiter.take() } else { None };
        drop(items);
        drop(waiter);
        // AcqRel: the last one sees what the others have done.
        let left = if new { &self.queued } else { &self.begun };
        let last_begun = left.fetch_sub(1, Ordering::AcqRel) == 1 && !new;
        if self.count.fetch_sub(1, Ordering::AcqRel) == 1 || last_begun {
            let waker = lock(&self.end).take();
            waker.into_iter().for_each(Waker::wake);
        }
    }
}

/// Is woken when the pool of a pull is closed.
struct Closing<S, F, K>(Weak<Pull<S, F, K>>);

impl<S, F, K> Wake for Closing<S, F, K>
where
    S: PollItems,
    F: Send + Sync + 'static,
    K: Sink,
{
    /// Wakes the puller that waits, which finds the pool closed. The order of steps is why none is missed:
    /// the pool is shut before this takes the lock, and a puller looks whether it is and leaves its waker
    /// under that lock.
    fn wake(self: Arc<Self>) {
        contain(|| {
            // The pull may be dropped here, with a user's source and function.
            let Some(pull) = self.0.upgrade() else { return };
            let waker = lock(&pull.items).waiter.as_ref().map(|(_, waker)| waker.clone());
            waker.into_iter().for_each(Waker::wake);
        });
    }
}

impl<S: PollItems> Items<S> {
    /// Asks for an item. If there is none the source wakes the puller that waits, which need not be the
    /// one that asks.
    fn poll_source(&mut self, waker: &Waker) -> Poll<Option<S::Item>> {
        let waker = self.waiter.as_ref().map_or(waker, |(_, waiting)| waiting);
        self.source.poll_next(&mut Context::from_waker(waker))
    }
}

impl<S> Items<S> {
    /// One puller waits; others have no use for their place.
    fn wait<N, T>(&mut self, puller: Id, waker: &Waker) -> Next<N, T> {
        match &self.waiter {
            Some((waiting, _)) if *waiting != puller => Next::Over,
            Some(_) => Next::Wait,
            None => {
                self.waiter = Some((puller, waker.clone()));
                Next::Wait
            }
        }
    }

    /// Keeps the newest waker of the puller that waits: another task may poll it now.
    fn keep_waker(&mut self, puller: Id, waker: &Waker) {
        if let Some((waiting, kept)) = &mut self.waiter
            && *waiting == puller
        {
            kept.clone_from(waker);
        }
    }
}

fn panicked(
    payload: Box<dyn std::any::Any + Send>,
    origin: &'static Location<'static>,
) -> JoinError {
    JoinError::Panicked(TaskPanic::caught(payload, Some(origin)))
}
