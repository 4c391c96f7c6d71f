//! A pool that has shrunk and grown runs more tasks at once than it may.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Fault, Finding, Length, Task};
use crate::failure::Failure;

/// The largest size that the pool is given.
const CAP: usize = 8;

const ROUNDS: u64 = 50;
const RESIZES: usize = 4;
/// Tasks that run while the pool is resized, and after that.
const FEW: usize = 2;
const MANY: usize = 64;

pub(super) static THREADPOOL: Fault = Fault {
    name: "over-cap",
    about: "more tasks run at once than the pool may run, after it shrank and grew",
    peer: "threadpool",
    expected: "at most 8 tasks run at once, which is the largest size the pool is given",
    unit: "tasks",
    wrong: "started while 8 or more others ran",
    with_peer: |length| {
        let pool = threadpool::ThreadPool::new(CAP);
        // Both are the same pool; only `set_num_threads` wants it mutable.
        let mut resized = pool.clone();
        Ok(count(length, |task| pool.execute(task), |size| resized.set_num_threads(size)))
    },
    with_formic: |length| {
        let pool = formic::Pool::builder().workers(CAP).build().map_err(Failure::new)?;
        let submit = |task: Task| pool.submit(task).expect("the pool is open");
        Ok(count(length, submit, |size| pool.resize(size).expect("this is a sound size")))
    },
};

/// How many tasks run, ran at most at once, started above the cap, and have ended.
#[derive(Default)]
struct Watch {
    running: AtomicU64,
    most: AtomicU64,
    above: AtomicU64,
    ended: AtomicU64,
}

impl Watch {
    /// A task: it blocks for a millisecond, and records how many tasks do so at once.
    fn task(&self) {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        if running > CAP as u64 {
            self.above.fetch_add(1, Ordering::SeqCst);
        }
        thread::sleep(Duration::from_millis(1));
        self.running.fetch_sub(1, Ordering::SeqCst);
        self.ended.fetch_add(1, Ordering::SeqCst);
    }
}

/// In each round, shrinks the pool to one worker and lets it grow to the cap, some times, while a few
/// tasks run. Then submits many tasks, and waits for all of them.
fn count(length: Length, submit: impl Fn(Task), mut resize: impl FnMut(usize)) -> Finding {
    let end = Instant::now() + length.time();
    let watch = Arc::new(Watch::default());
    let mut tasks = 0;
    let mut submit_some = |number: usize| {
        for _ in 0..number {
            let watch = Arc::clone(&watch);
            submit(Box::new(move || watch.task()));
        }
        tasks += number as u64;
        tasks
    };
    for _ in 0..ROUNDS {
        for _ in 0..RESIZES {
            submit_some(FEW);
            resize(1);
            resize(CAP);
        }
        let submitted = submit_some(MANY);
        while watch.ended.load(Ordering::SeqCst) < submitted {
            thread::yield_now();
        }
        if Instant::now() >= end {
            break;
        }
    }
    let most = Some(watch.most.load(Ordering::SeqCst));
    Finding { checks: tasks, faults: watch.above.load(Ordering::SeqCst), most }
}
