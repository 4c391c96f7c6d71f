//! A task is submitted when the last idle worker expires, and stays in the queue without a worker.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::random::Random;
use super::{Fault, Finding, Length, Program, Task};
use crate::failure::Failure;

/// How long an idle worker stays.
const KEEP_ALIVE: Duration = Duration::from_micros(200);

/// The next task comes after a pause between these: before the worker expires, or after it. The pause
/// ends late by the delay of a timer, and keep-alive does, too.
const SHORTEST_PAUSE: Duration = Duration::from_micros(150);
const LONGEST_PAUSE: Duration = Duration::from_micros(250);

/// How many pools are tried at once, each with a thread that submits to it. All of them mostly sleep.
const POOLS: u64 = 8;

/// A task that has not run by then, in a pool that has no worker, will not run by itself.
const PATIENCE: Duration = Duration::from_millis(500);

pub(super) static RUSTY_POOL: Fault = fault("stranded-rusty-pool", "rusty_pool", |length| {
    let builder = || rusty_pool::Builder::new().core_size(0).max_size(1);
    Ok(count_all(
        length,
        || builder().keep_alive(KEEP_ALIVE).build(),
        rusty_pool::ThreadPool::execute,
        rusty_pool::ThreadPool::get_current_worker_count,
    ))
});

pub(super) static THREADFIN: Fault = fault("stranded-threadfin", "threadfin", |length| {
    let builder = || threadfin::Builder::default().size(0..=1);
    Ok(count_all(
        length,
        || builder().keep_alive(KEEP_ALIVE).build(),
        // The task goes on without its handle.
        |pool, task| drop(pool.execute(task)),
        threadfin::ThreadPool::threads,
    ))
});

const fn fault(name: &'static str, peer: &'static str, with_peer: Program) -> Fault {
    Fault {
        name,
        about: "a task submitted when the last worker expires stays in the queue without a worker",
        peer,
        expected: "500 ms after its submit, each task has run or at least has a worker",
        unit: "tasks",
        wrong: "had neither run nor a worker after 500 ms",
        with_peer,
        with_formic,
    }
}

fn with_formic(length: Length) -> Result<Finding, Failure> {
    let builder = || formic::Pool::builder().workers(0..=1).keep_alive(KEEP_ALIVE);
    Ok(count_all(
        length,
        || builder().build().expect("these are sound settings"),
        |pool, task| pool.submit(task).expect("the pool is open"),
        |pool| pool.workers(),
    ))
}

/// Tries several pools at once, each from a thread of its own.
fn count_all<P>(
    length: Length,
    build: impl Fn() -> P + Sync,
    submit: impl Fn(&P, Task) + Sync,
    workers: impl Fn(&P) -> usize + Sync,
) -> Finding {
    let try_one = |number| {
        let (pool, random) = (build(), Random::new(number));
        count(length, random, |task| submit(&pool, task), || workers(&pool))
    };
    let try_one = &try_one;
    let mut finding = Finding::NONE;
    thread::scope(|scope| {
        let start = |number| scope.spawn(move || try_one(number));
        let tries: Vec<_> = (0..POOLS).map(start).collect();
        for found in tries {
            finding.add(found.join().expect("the program does not panic"));
        }
    });
    finding
}

/// Submits a task about when the worker of the one before it expires; again and again.
fn count(
    length: Length,
    mut random: Random,
    submit: impl Fn(Task),
    workers: impl Fn() -> usize,
) -> Finding {
    let end = Instant::now() + length.time();
    let spread_ns = (LONGEST_PAUSE - SHORTEST_PAUSE).as_nanos() as u64;
    let mut finding = Finding::NONE;
    while Instant::now() < end {
        let (sender, receiver) = mpsc::channel();
        // Nothing receives it if the task was given up.
        submit(Box::new(move || sender.send(()).unwrap_or_default()));
        finding.checks += 1;
        finding.faults += u64::from(is_stranded(&receiver, &workers));
        thread::sleep(SHORTEST_PAUSE + Duration::from_nanos(random.below(spread_ns)));
    }
    finding
}

/// Waits for the task. A task that is late because the machine is busy has a worker, and is waited for.
fn is_stranded(ran: &Receiver<()>, workers: &impl Fn() -> usize) -> bool {
    loop {
        match ran.recv_timeout(PATIENCE) {
            Ok(()) => return false,
            // The task was dropped.
            Err(RecvTimeoutError::Disconnected) => return true,
            // It may have run, and its worker may have expired, between the two looks.
            Err(RecvTimeoutError::Timeout) if workers() == 0 => return ran.try_recv().is_err(),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
