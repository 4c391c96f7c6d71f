//! The tally: what the tasks write to, and how the producer sees that all of them have run.

use std::hint;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::failure::Failure;

const STRIPES: u64 = 64;

/// How often the producer looks before it begins to sleep between looks.
const SPINS: u32 = 300;
/// The shortest and the longest sleep between two looks.
const NAPS: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(1));
/// A sleep is this part of what has been waited so far.
///
/// A look costs a wake-up, which may be tens of microseconds of a core that the workers want. So the
/// end is seen late by one or two per cent of the wait, and the looks cost no more than that.
const PART: u32 = 64;

/// A sum spread over many cache lines, so that no line is hammered by all workers.
///
/// Task number `i` adds `i + 1` to the stripe `i % 64`. As no two values are the same, a task that is
/// lost is not made up for by another that ran twice.
#[derive(Debug)]
pub(crate) struct Tally {
    stripes: [Stripe; STRIPES as usize],
    tasks: u64,
    /// How many long tasks have yet to run.
    left: Stripe,
    /// Who waits for the last of them.
    waiter: Thread,
}

/// 128 bytes, since the processor fetches cache lines of 64 in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe(AtomicU64);

impl Tally {
    /// A tally for `tasks` tasks, alive until the process ends: the tasks hold a plain reference,
    /// and no contender pays for counting references.
    pub(crate) fn leaked(tasks: u64) -> &'static Self {
        let stripes = std::array::from_fn(|_| Stripe::default());
        let left = Stripe(AtomicU64::new(tasks));
        Box::leak(Box::new(Self { stripes, tasks, left, waiter: thread::current() }))
    }

    /// Task number `index`: three words of captures and one atomic add.
    #[inline]
    pub(crate) fn task(&'static self, index: u64) -> impl FnOnce() + Send + 'static {
        let value = index + 1;
        move || self.put(index, value)
    }

    /// What task number `index` does, for tasks that do something else as well.
    #[inline]
    pub(crate) fn add(&self, index: u64) {
        self.put(index, index + 1);
    }

    /// The same with the value at hand.
    #[inline]
    pub(crate) fn put(&self, index: u64, value: u64) {
        let stripe = &self.stripes[(index % STRIPES) as usize];
        stripe.0.fetch_add(value, Ordering::Relaxed);
    }

    /// The same for a task that takes long: the last one wakes the producer.
    ///
    /// All share one counter, which is nothing beside tens of microseconds of work; while a producer
    /// that looked for itself would take a share of the cores from the workers.
    pub(crate) fn add_long(&self, index: u64) {
        self.add(index);
        // Release, and Acquire in `wait_for_long`: the adds of all tasks are seen after the wait.
        if self.left.0.fetch_sub(1, Ordering::Release) == 1 {
            self.waiter.unpark();
        }
    }

    /// Waits until all long tasks have run, on the thread that made the tally.
    pub(crate) fn wait_for_long(&self) {
        // Acquire: pairs with the Release in `add_long`.
        while self.left.0.load(Ordering::Acquire) > 0 {
            thread::park();
        }
    }

    /// How many tasks there are.
    #[inline]
    pub(crate) fn tasks(&self) -> u64 {
        self.tasks
    }

    /// Whether all tasks have run, for those who must not wait.
    pub(crate) fn is_full(&self) -> bool {
        let mut stripes = self.stripes.iter().zip(self.expected());
        stripes.all(|(stripe, expected)| stripe.0.load(Ordering::Relaxed) >= expected)
    }

    /// Waits until all tasks have run.
    ///
    /// The stripes are awaited one after another: a look reads a single cache line and
    /// hardly disturbs those who still write.
    pub(crate) fn wait(&self) {
        let mut looks = Looks::default();
        for (stripe, expected) in self.stripes.iter().zip(self.expected()) {
            while stripe.0.load(Ordering::Relaxed) < expected {
                looks.pause();
            }
        }
    }

    /// Whether each task has run exactly once; to be asked when the pool has ended.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let sums = self.stripes.iter().map(|s| s.0.load(Ordering::Relaxed));
        if sums.eq(self.expected()) {
            return Ok(());
        }
        Err(Failure::new("not every task ran exactly once"))
    }

    /// What each stripe holds when all tasks have run.
    fn expected(&self) -> impl Iterator<Item = u64> {
        let tasks = self.tasks;
        (0..STRIPES).map(move |stripe| {
            let count = tasks.saturating_sub(stripe).div_ceil(STRIPES);
            count * (stripe + 1) + STRIPES * (count * count.saturating_sub(1) / 2)
        })
    }
}

/// The producer's looks at the tally.
#[derive(Debug, Default)]
struct Looks {
    spins: u32,
    /// Since when it sleeps between looks.
    since: Option<Instant>,
}

impl Looks {
    /// Spins at first, for what is about to end; sleeps later, so that the cores are left to the
    /// workers, and the longer the more it has waited.
    fn pause(&mut self) {
        if self.spins < SPINS {
            self.spins += 1;
            hint::spin_loop();
            return;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        thread::sleep((since.elapsed() / PART).clamp(NAPS.0, NAPS.1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_captures_24_bytes() {
        let task = Tally::leaked(1).task(0);
        assert_eq!(size_of_val(&task), 24);
    }

    #[test]
    fn all_tasks_once_pass_the_check() {
        for tasks in [0, 1, 63, 64, 65, 1000] {
            let tally = Tally::leaked(tasks);
            for index in 0..tasks {
                tally.task(index)();
            }
            tally.wait();
            assert_eq!(tally.check(), Ok(()), "{tasks} tasks");
        }
    }

    #[test]
    fn the_last_of_the_long_tasks_ends_the_wait() {
        let tally = Tally::leaked(100);
        let worker = thread::spawn(move || (0..100).for_each(|index| tally.add_long(index)));
        tally.wait_for_long();
        assert_eq!(tally.check(), Ok(()));
        worker.join().expect("it adds");
    }

    #[test]
    fn a_lost_task_fails_the_check() {
        let tally = Tally::leaked(100);
        for index in 1..100 {
            tally.task(index)();
        }
        assert!(tally.check().is_err());
    }

    #[test]
    fn a_task_that_ran_twice_fails_the_check() {
        let tally = Tally::leaked(100);
        for index in (0..100).chain([17]) {
            tally.task(index)();
        }
        tally.wait();
        assert!(tally.check().is_err());
    }

    #[test]
    fn a_task_in_place_of_another_fails_the_check() {
        let tally = Tally::leaked(200);
        // 65 stands in for 1: the same stripe, but another value.
        for index in (0..200).map(|index| if index == 1 { 65 } else { index }) {
            tally.task(index)();
        }
        assert!(tally.check().is_err());
    }
}
