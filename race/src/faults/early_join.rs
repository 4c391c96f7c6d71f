//! A call that waits for all tasks returns although a task has not run.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::random::Random;
use super::{Fault, Finding, Length, Task};

pub(super) static RUSTY_POOL: Fault = Fault {
    name: "early-join",
    about: "join returns before the task has run",
    peer: "rusty_pool",
    expected: "each join returns after the task that was submitted before it has run",
    unit: "joins",
    wrong: "returned before the task had run",
    with_peer: |length| {
        let build = || rusty_pool::Builder::new().core_size(1).max_size(1).build();
        let join = rusty_pool::ThreadPool::join;
        Ok(count_all(length, build, rusty_pool::ThreadPool::execute, join))
    },
    with_formic: |length| {
        let submit = |pool: &formic::Pool, task| pool.submit(task).expect("the pool is open");
        let join = |pool: &formic::Pool| pool.wait_idle().expect("no task of this pool calls it");
        Ok(count_all(length, || formic::Pool::new(1), submit, join))
    },
};

/// How long a pool is used before the next one is built. The operating system may keep the thread that
/// submits and the worker on one core, where the fault hardly shows. New threads are placed anew.
const TIME_OF_A_POOL: Duration = Duration::from_millis(20);

/// Tries one pool after another, each from a thread of its own.
fn count_all<P>(
    length: Length,
    build: impl Fn() -> P + Sync,
    submit: impl Fn(&P, Task) + Sync,
    join: impl Fn(&P) + Sync,
) -> Finding {
    let end = Instant::now() + length.time();
    let mut finding = Finding::NONE;
    let mut random = Random::new(0);
    while Instant::now() < end {
        finding.add(thread::scope(|scope| {
            let try_one = || {
                let pool = build();
                count(&mut random, |task| submit(&pool, task), || join(&pool))
            };
            scope.spawn(try_one).join().expect("the program does not panic")
        }));
    }
    finding
}

/// Submits one task, joins, and looks whether the task has run; again and again.
fn count(random: &mut Random, submit: impl Fn(Task), join: impl Fn()) -> Finding {
    let end = Instant::now() + TIME_OF_A_POOL;
    let mut finding = Finding::NONE;
    let mut pause = Pause::SHORT;
    while Instant::now() < end {
        let ran = Arc::new(AtomicBool::new(false));
        let sets_it = Arc::clone(&ran);
        submit(Box::new(move || sets_it.store(true, Ordering::SeqCst)));
        pause.spin(random);
        pause.adapt(ran.load(Ordering::SeqCst));
        join();
        finding.checks += 1;
        if !ran.load(Ordering::SeqCst) {
            finding.faults += 1;
            // The next round begins with an idle pool again.
            while !ran.load(Ordering::SeqCst) {
                thread::yield_now();
            }
        }
    }
    finding
}

/// A pause between submit and join, in nanoseconds. It finds the moment at which the worker takes the
/// task, which is the moment at which an early join is likely.
struct Pause(u64);

impl Pause {
    const SHORT: Pause = Pause(1_000);

    /// A worker that takes longer than this may wait for the core on which the pause spins.
    const LONGEST_NS: u64 = 100_000;

    /// Spins for the pause and up to an eighth more.
    fn spin(&self, random: &mut Random) {
        let time = self.0 + random.below(self.0 / 8 + 1);
        let end = Instant::now() + Duration::from_nanos(time);
        while Instant::now() < end {
            hint::spin_loop();
        }
    }

    /// Gets shorter if the task had run after the pause, and else longer.
    fn adapt(&mut self, had_run: bool) {
        let step = self.0 / 16 + 1;
        *self = match had_run {
            true => Pause(self.0.saturating_sub(step)),
            false if self.0 < Self::LONGEST_NS => Pause(self.0 + step),
            false => Self::SHORT,
        };
    }
}
