//! A panic in a task ends the thread it ran on, and later tasks do not run.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use futures::executor::ThreadPool;

use super::{Fault, Finding, Task};
use crate::failure::Failure;

const THREADS: usize = 2;
const PANICS: usize = 10;
const TASKS: u64 = 100;

/// Far longer than a hundred empty tasks take, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) static FUTURES: Fault = Fault {
    name: "panic",
    about: "a panic in a task ends its thread, and later tasks do not run",
    peer: "futures",
    expected: "all tasks run that are submitted after 10 panics to a pool with 2 threads",
    unit: "tasks",
    wrong: "had not run 2 s after the panics",
    with_peer: |_| {
        let pool = ThreadPool::builder().pool_size(THREADS).create().map_err(Failure::new)?;
        Ok(count(|task| pool.spawn_ok(async { task() })))
    },
    with_formic: |_| {
        let builder = formic::AsyncPool::builder().workers(THREADS).own_threads(THREADS);
        let pool = builder.build().map_err(Failure::new)?;
        Ok(count(|task| pool.blocking_submit(async { task() }).expect("the pool is open")))
    },
};

/// Submits tasks that panic, then tasks that do not, and counts those of the latter that do not run.
fn count(submit: impl Fn(Task)) -> Finding {
    for _ in 0..PANICS {
        submit(Box::new(|| panic!("a task of the program panics, as it is meant to")));
    }
    let (sender, receiver) = mpsc::channel();
    for _ in 0..TASKS {
        let sender = sender.clone();
        // The program has ended if nothing receives it.
        submit(Box::new(move || sender.send(()).unwrap_or_default()));
    }
    let deadline = Instant::now() + PATIENCE;
    let left = || deadline.saturating_duration_since(Instant::now());
    let ran = (0..TASKS).take_while(|_| receiver.recv_timeout(left()).is_ok()).count() as u64;
    Finding { checks: TASKS, faults: TASKS - ran, most: None }
}
