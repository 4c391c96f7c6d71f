//! Ended runtimes: the runtime of an `AsyncPool` shuts down at a random moment, while some submit and
//! others start drivers, close and reopen. Every accepted task ends, and a drain returns.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use formic::{AsyncPool, Control, Stats};
use tokio::runtime::{Builder, Runtime};

use crate::books::{Books, Ticket};
use crate::host::give_back;
use crate::plan::Plan;
use crate::random::Random;
use crate::watch::Watch;

/// Without a runtime, a drain has nothing to wait for but threads that drop futures.
const PATIENCE: Duration = Duration::from_secs(10);

/// A phase with several runtimes, one after the other, each with a pool.
pub(crate) fn run(plan: &Plan, watch: &Watch, books: &Arc<Books>) {
    let (end, mut random) = (Instant::now() + plan.time, Random::new(plan.seed));
    let mut sum: Option<Stats> = None;
    while Instant::now() < end && !books.are_full() && books.faults().is_empty() {
        let Some(stats) = round(plan, watch, books, &mut random) else { break };
        sum = Some(sum.map_or(stats, |sum| add(sum, stats)));
        watch.beat();
    }
    // A thread of the runtime may still be dropping tasks that are counted as cancelled.
    watch.await_that(books, "every task is gone", || Arc::strong_count(books) == 1);
    if let (Some(sum), true) = (sum, books.faults().is_empty()) {
        books.compare(sum);
    }
}

/// The figures of two pools together. What is left of them is that of the second: the first had an end.
fn add(sum: Stats, mut stats: Stats) -> Stats {
    stats.accepted += sum.accepted;
    stats.completed += sum.completed;
    stats.panicked += sum.panicked;
    stats.cancelled += sum.cancelled;
    stats.refused += sum.refused;
    stats
}

/// One runtime and its pool, from the first task to the figures at the end.
fn round(plan: &Plan, watch: &Watch, books: &Arc<Books>, random: &mut Random) -> Option<Stats> {
    let runtime = runtime(random, books)?;
    let builder = plan.settings.on_tokio(AsyncPool::builder());
    let pool = match builder.runtime(runtime.handle().clone()).build() {
        Ok(pool) => pool,
        Err(error) => {
            books.fault(format!("the pool could not be built: {error}"));
            return None;
        }
    };
    let seen = pool.clone();
    watch.show(move || Some(format!("{:?}", seen.stats())));
    use_while_it_ends(&pool, runtime, books, random);
    watch.forget();
    let control: &Control = &pool;
    if control.blocking_drain_timeout(PATIENCE).is_err() {
        books.fault(format!("a drain without a runtime: {:?}", pool.stats()));
        // The report need not wait for tasks that no driver will ever take.
        pool.discard();
    }
    Some(pool.stats())
}

fn runtime(random: &mut Random, books: &Books) -> Option<Runtime> {
    let threads = random.within(1, 3);
    let runtime = Builder::new_multi_thread().worker_threads(threads).enable_time().build();
    runtime.map_err(|error| books.fault(format!("no runtime: {error}"))).ok()
}

/// Some submit, and one starts drivers and reopens, until the runtime is gone and a little longer.
fn use_while_it_ends(pool: &AsyncPool, runtime: Runtime, books: &Arc<Books>, random: &mut Random) {
    let (submitters, reopens) = (random.within(1, 3), random.once_in(3));
    let (before, after) = (random.micros(600), random.micros(200));
    let end = Instant::now() + before + after;
    thread::scope(|scope| {
        for _ in 0..submitters {
            let mut random = Random::new(random.next());
            scope.spawn(move || {
                while Instant::now() < end {
                    submit(pool, books, &mut random);
                }
            });
        }
        let mut random = Random::new(random.next());
        scope.spawn(move || {
            while Instant::now() < end {
                start_drivers(pool, reopens, &mut random);
            }
        });
        thread::sleep(before);
        // Its threads end on their own, at the next point where a driver yields.
        runtime.shutdown_background();
    });
}

fn submit(pool: &AsyncPool, books: &Arc<Books>, random: &mut Random) {
    let Some(ticket) = books.ticket() else { return };
    let yields = random.below(3);
    let task = run_ticket(ticket, yields);
    let answer = if random.once_in(3) { pool.blocking_submit(task) } else { pool.try_submit(task) };
    if let Err(error) = answer {
        // The pool may be full or closed, and its runtime may be gone: any reason will do.
        give_back(error);
    }
    if random.once_in(20) {
        thread::park_timeout(random.micros(50));
    }
}

async fn run_ticket(ticket: Ticket, yields: usize) {
    ticket.begin();
    for _ in 0..yields {
        tokio::task::yield_now().await;
    }
    ticket.complete();
}

fn start_drivers(pool: &AsyncPool, reopens: bool, random: &mut Random) {
    if reopens && random.once_in(4) {
        pool.close();
        thread::park_timeout(random.micros(30));
    }
    drop(pool.reopen());
    // An error tells that the runtime is gone, or that the pool is closed.
    drop(pool.prestart(random.within(1, 3).min(pool.capacity())));
}
