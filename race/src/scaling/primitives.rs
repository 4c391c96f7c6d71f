//! What it costs two cores to share a word or a lock, which the predictions need.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::report::number;
use crate::statistics::Spread;

const THREADS: usize = 2;
const OPERATIONS: u32 = 500_000;
const ROUNDS: usize = 9;

/// Wall time of one operation while two threads do nothing else, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Primitives {
    /// A read-modify-write of the same word.
    pub(super) write_ns: f64,
    /// An acquisition of the same lock, which guards nothing.
    pub(super) lock_ns: f64,
}

impl Primitives {
    pub(super) fn measure() -> Self {
        let (word, mutex) = (AtomicU64::new(0), Mutex::new(0u64));
        let write = || {
            word.fetch_add(1, Ordering::AcqRel);
        };
        let lock = || *mutex.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Self { write_ns: contended_ns(&write), lock_ns: contended_ns(&lock) }
    }

    pub(super) fn in_words(&self) -> String {
        let (write, lock) = (number(self.write_ns), number(self.lock_ns));
        format!(
            "Two threads that do nothing else need {write} ns for a read-modify-write of one word, and {lock} ns \
            for one lock (wall time, median of {ROUNDS}).\n"
        )
    }
}

fn contended_ns(operation: &(impl Fn() + Sync)) -> f64 {
    let times = (0..ROUNDS).map(|_| one_round(operation) / (OPERATIONS as f64 * THREADS as f64));
    Spread::of(times).map_or(0.0, |times| times.median)
}

fn one_round(operation: &(impl Fn() + Sync)) -> f64 {
    let start = Barrier::new(THREADS + 1);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                start.wait();
                (0..OPERATIONS).for_each(|_| operation());
            });
        }
        start.wait();
        Instant::now()
    })
    .elapsed()
    .as_nanos() as f64
}
