//! The watchdog: a thread that watches the drivers of a pool that have threads of their own.
//!
//! Where polls are short, such a driver polls its own run queue only: drivers that help each other lose more at each
//! other's locks and cache lines than they gain. The watchdog looks once a millisecond. While a driver is stuck in a poll,
//! or polls are long, drivers help each other.

mod poll_stats;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

pub(crate) use self::poll_stats::PollStats;
use crate::engine::contain::contain;
use crate::engine::executor::driver::Drives;
use crate::engine::executor::{Executor, PollPolicy};
use crate::engine::scheduler::core::Actions;
use crate::engine::{Engine, lock};

/// Polls that take less than this, in the mean, are short: a few times what a wake and its locks cost.
const SHORT_NANOS: u32 = 4_000;
/// The time between two looks. Timers go by milliseconds, too.
const EVERY: Duration = Duration::from_millis(1);
/// The watchdog leaves after this many looks at which nothing was polled.
const IDLE_LOOKS: u32 = 50;
/// A driver is stuck if it has polled nothing at this many looks in a row although something is ready. At fewer, the system
/// may have taken a core away.
const STUCK_LOOKS: u32 = 4;
/// Drivers help each other for at least this many looks.
const HELP_LOOKS: u32 = 10;

/// See the module's first lines.
#[derive(Debug)]
struct Watchdog {
    /// The polls of each driver so far.
    polls: Vec<u64>,
    /// For each run queue: looks in a row at which its drivers had polled nothing although they should have.
    still: Vec<u32>,
    /// Looks in a row at which nothing was polled.
    idle: u32,
    /// Drivers help each other for this many looks more.
    help: u32,
}

/// What follows from a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Each driver polls its own run queue.
    Apart,
    Help,
    /// The watchdog leaves, and drivers help each other.
    Leave,
}

impl Watchdog {
    fn new(executor: &Executor) -> Self {
        let (polls, still) = (vec![0; executor.drivers()], vec![0; executor.run_queues().len()]);
        Watchdog { polls, still, idle: 0, help: 0 }
    }

    fn look(&mut self, executor: &Executor) -> Verdict {
        let (mut idle, mut needs_help) = (true, false);
        for (run_queue, still) in executor.run_queues().iter().zip(&mut self.still) {
            *still = if run_queue.is_busy() { *still + 1 } else { 0 };
        }
        for (driver, (poll_stats, before)) in
            executor.poll_stats.iter().zip(&mut self.polls).enumerate()
        {
            let polls = poll_stats.polls();
            if std::mem::replace(before, polls) != polls {
                (idle, self.still[executor.run_queue_of(driver)]) = (false, 0);
                needs_help |= !poll_stats.is_short();
            }
        }
        needs_help |= self.still.iter().any(|still| *still >= STUCK_LOOKS);
        self.idle = if idle { self.idle + 1 } else { 0 };
        self.help = if needs_help { HELP_LOOKS } else { self.help.saturating_sub(1) };
        match (self.idle > IDLE_LOOKS, self.help) {
            (true, _) => Verdict::Leave,
            (false, 0) => Verdict::Apart,
            (false, _) => Verdict::Help,
        }
    }
}

/// Starts a watchdog, if there is none. Where no thread can be started, drivers always help each other.
pub(crate) fn start<W: Drives>(engine: &Arc<Engine<W>>) {
    let executor = engine.work().executor();
    if executor.watched.swap(true, Ordering::Relaxed) {
        return;
    }
    let (watched, mut watchdog) = (Arc::downgrade(engine), Watchdog::new(executor));
    let watch = move || {
        while watch(&watched, &mut watchdog) {
            thread::sleep(EVERY);
        }
    };
    drop(thread::Builder::new().name("formic-watchdog".into()).spawn(watch));
}

/// Looks once. False if that was the last time.
fn watch<W: Drives>(engine: &Weak<Engine<W>>, watchdog: &mut Watchdog) -> bool {
    let Some(engine) = engine.upgrade() else { return false };
    let executor = engine.work().executor();
    let verdict = watchdog.look(executor);
    engine.set_shared(verdict != Verdict::Apart);
    if verdict == Verdict::Leave {
        executor.watched.store(false, Ordering::Relaxed);
    }
    // If no other thread has it any more, what is dropped with it is a user's.
    contain(|| drop(engine));
    verdict != Verdict::Leave
}

impl<W: Drives> Engine<W> {
    /// From now on every driver helps, or as few poll as share no lock. For the watchdog only.
    pub(crate) fn set_shared(self: &Arc<Self>, shared: bool) {
        let executor = self.work().executor();
        if (executor.policy() == PollPolicy::Shared) == shared {
            return;
        }
        executor.set_shared(shared);
        let mut actions = Actions::default();
        let mut scheduler = lock(&self.scheduler);
        scheduler.single_driver = executor.policy() == PollPolicy::Single;
        scheduler.worker_table.quiet = false;
        // A driver that is stuck may have been about to do this.
        scheduler.serve_waiters(&mut actions);
        scheduler.call_for_help(&mut actions);
        drop(scheduler);
        self.perform(actions);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
