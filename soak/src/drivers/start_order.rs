//! The order of start: on a pool of one worker, the tasks of one submitter start in the order in which
//! it submitted them, on a `Pool` and on an `AsyncPool`.
//!
//! Each submitter numbers its tasks, and each task writes its number into a log as its first act. A task
//! of the pool is a submitter, too. It waits for its scope, and the scope's tasks then run before others
//! that it had submitted earlier. Their order counts only within the scope, so they have a log of their
//! own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use formic::{AsyncPool, Control, Pool, Scope, SubmitError};
use pollster::block_on;

use super::{futures, threads};
use crate::books::{Books, Ticket};
use crate::floor::Floor;
use crate::host::{AT_ONCE, give_back};
use crate::plan::Plan;
use crate::random::Random;
use crate::watch::Watch;

/// A phase with a pool of one worker.
pub(crate) fn run(plan: &Plan, watch: &Watch, books: &Arc<Books>) {
    if plan.seed.is_multiple_of(2) {
        return run_on_tokio(plan, watch, books);
    }
    let floor = Floor::new(1);
    match plan.settings.on_threads(Pool::builder(), &floor).build() {
        Ok(pool) => {
            let seen = pool.clone();
            watch.show(move || Some(format!("{:?}", seen.stats())));
            submit(plan, watch, books, |series, random| series.submit_any(&pool, random));
            finish(plan, books, &pool, &floor);
        }
        Err(error) => books.fault(format!("the pool could not be built: {error}")),
    }
}

fn run_on_tokio(plan: &Plan, watch: &Watch, books: &Arc<Books>) {
    let Some(ground) = futures::runtime(plan, books) else { return };
    match ground.give(plan.settings.on_tokio(AsyncPool::builder())).build() {
        Ok(pool) => {
            let seen = pool.clone();
            watch.show(move || Some(format!("{:?}", seen.stats())));
            submit(plan, watch, books, |series, random| series.submit_future(&pool, random));
            finish(plan, books, &pool, &Floor::default());
        }
        Err(error) => books.fault(format!("the pool could not be built: {error}")),
    }
}

/// Has several threads submit until the phase is over, each a series of its own.
fn submit(
    plan: &Plan,
    watch: &Watch,
    books: &Arc<Books>,
    submit: impl Fn(&Series, &mut Random) + Sync,
) {
    let end = Instant::now() + plan.time;
    thread::scope(|scope| {
        for number in 1..=plan.threads.min(3) as u64 {
            let submit = &submit;
            scope.spawn(move || {
                let (mut random, series) = (Random::of(plan.seed, number), Series::new(books));
                while !books.are_full() && Instant::now() < end {
                    submit(&series, &mut random);
                    watch.beat();
                }
            });
        }
    });
}

fn finish(plan: &Plan, books: &Books, control: &Control, floor: &Floor) {
    threads::end(plan.ending, control, floor, books, &mut Random::of(plan.seed, 0));
    books.compare(control.stats());
}

/// What one submitter submits, in order.
#[derive(Clone)]
struct Series {
    books: Arc<Books>,
    submitted: Arc<AtomicUsize>,
    /// The number of the last task that has started, plus 1.
    started: Arc<Mutex<usize>>,
}

/// A task that knows its place in its series.
struct Numbered {
    series: Series,
    number: usize,
    ticket: Ticket,
    spins: usize,
}

impl Series {
    fn new(books: &Arc<Books>) -> Self {
        Series { books: Arc::clone(books), submitted: Arc::default(), started: Arc::default() }
    }

    fn next(&self, random: &mut Random) -> Option<Numbered> {
        let ticket = self.books.ticket()?;
        let number = self.submitted.fetch_add(1, Ordering::Relaxed);
        let spins = if random.once_in(8) { random.below(2000) } else { 0 };
        Some(Numbered { series: self.clone(), number, ticket, spins })
    }

    /// One submit, or a scope with several, from outside of the pool.
    fn submit_any(&self, pool: &Pool, random: &mut Random) {
        match random.below(8) {
            0 => pool.scope(|scope| self.fill(scope, random)),
            1 => self.submit_nest(pool, random),
            2 => {
                let Some(task) = self.next(random) else { return };
                // A task that outsiders join is run by the worker all the same.
                match pool.spawn(move || task.run()) {
                    Ok(handle) if random.once_in(4) => drop(handle.join()),
                    Ok(handle) => drop(handle),
                    Err(error) => self.refused(error),
                }
            }
            3 => {
                let Ok(permit) = pool.admit() else { return };
                let Some(task) = self.next(random) else { return };
                permit.submit(move || task.run());
            }
            4 => {
                let Some(task) = self.next(random) else { return };
                pool.try_submit(move || task.run()).unwrap_or_else(|error| self.refused(error));
            }
            _ => {
                let Some(task) = self.next(random) else { return };
                pool.submit(move || task.run()).unwrap_or_else(|error| self.refused(error));
            }
        }
    }

    /// Submits to a scope. The handles of some are dropped, which changes nothing.
    fn fill<'scope>(&self, scope: &'scope Scope<'scope, '_>, random: &mut Random) {
        for _ in 0..random.within(1, 8) {
            let Some(task) = self.next(random) else { return };
            self.books.scoped.fetch_add(1, Ordering::Relaxed);
            if random.once_in(3) {
                drop(scope.spawn(move || task.run()));
            } else {
                scope.submit(move || task.run());
            }
        }
    }

    /// Submits a task that submits tasks of its own: first plain ones, then those of a scope.
    fn submit_nest(&self, pool: &Pool, random: &mut Random) {
        let Some(task) = self.next(random) else { return };
        let (inside, mut random) = (pool.clone(), Random::new(random.next()));
        let nest = move || {
            let (plain, scoped) = (task.series.fresh(), task.series.fresh());
            task.run();
            for _ in 0..random.below(4) {
                let Some(task) = plain.next(&mut random) else { return };
                inside.submit(move || task.run()).unwrap_or_else(|error| plain.refused(error));
            }
            inside.scope(|scope| scoped.fill(scope, &mut random));
        };
        pool.submit(nest).unwrap_or_else(|error| self.refused(error));
    }

    /// One submit of a future, whose first poll is its start.
    fn submit_future(&self, pool: &AsyncPool, random: &mut Random) {
        let Some(task) = self.next(random) else { return };
        match random.below(6) {
            0 => {
                let answer = pool.try_submit(async move { task.run() });
                answer.unwrap_or_else(|error| self.refused(error));
            }
            1 => {
                let answer = pool.blocking_submit(async move { task.run() });
                answer.unwrap_or_else(|error| self.refused(error));
            }
            2 => match block_on(pool.spawn(async move { task.run() })) {
                Ok(handle) => drop(handle),
                Err(error) => self.refused(error),
            },
            3 => {
                let nest = self.nested_futures(task, pool, random);
                block_on(pool.submit(nest)).unwrap_or_else(|error| self.refused(error));
            }
            _ => {
                let answer = block_on(pool.submit(async move {
                    task.run();
                    tokio::task::yield_now().await;
                }));
                answer.unwrap_or_else(|error| self.refused(error));
            }
        }
    }

    /// A future that submits futures of its own.
    fn nested_futures(
        &self,
        task: Numbered,
        pool: &AsyncPool,
        random: &mut Random,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (inside, mut random, plain) = (pool.clone(), Random::new(random.next()), self.fresh());
        async move {
            task.run();
            for _ in 0..random.within(1, 6) {
                let Some(task) = plain.next(&mut random) else { return };
                let answer = inside.submit(async move { task.run() }).await;
                answer.unwrap_or_else(|error| plain.refused(error));
            }
        }
    }

    /// A series of another submitter.
    fn fresh(&self) -> Series {
        Series::new(&self.books)
    }

    /// A full queue refuses a submitter that does not wait, and the end of the phase refuses a task that
    /// still submits.
    fn refused<F>(&self, error: SubmitError<F>) {
        let reason = give_back(error);
        self.books.refused(reason, &AT_ONCE);
    }
}

impl Numbered {
    fn run(self) {
        self.ticket.begin();
        let mut started = self.series.started.lock().unwrap_or_else(PoisonError::into_inner);
        if self.number < *started {
            let text = format!("task {} of a series started after {}", self.number, *started - 1);
            self.series.books.fault(text);
        }
        *started = self.number + 1;
        drop(started);
        (0..self.spins).for_each(|_| std::hint::spin_loop());
        self.ticket.complete();
    }
}
