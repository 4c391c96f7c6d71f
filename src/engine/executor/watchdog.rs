//! The watchdog: a thread that watches the drivers of a pool, and sets the poll policy.
//!
//! Where polls are short, one driver polls a run queue: drivers that help each other lose more at each other's locks and
//! cache lines than they gain. The watchdog looks once a millisecond. While a driver is stuck in a poll, or polls are long,
//! drivers help each other.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use crate::engine::Engine;
use crate::engine::contain::contain;
use crate::engine::executor::Executor;
use crate::engine::executor::driver::Drives;

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

impl Watchdog {
    fn new(executor: &Executor) -> Self {
        let (polls, still) = (vec![0; executor.drivers()], vec![0; executor.run_queues().len()]);
        Watchdog { polls, still, idle: 0, help: 0 }
    }

    /// Looks once. Whether one driver is to poll a run queue.
    fn look(&mut self, executor: &Executor) -> bool {
        let (mut idle, mut needs_help) = (true, false);
        for (run_queue, still) in executor.run_queues().iter().zip(&mut self.still) {
            *still = if run_queue.up() > 0 { *still + 1 } else { 0 };
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
        self.help == 0 && !self.leaves()
    }

    fn leaves(&self) -> bool {
        self.idle > IDLE_LOOKS
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
    engine.set_single(watchdog.look(executor));
    if watchdog.leaves() {
        executor.watched.store(false, Ordering::Relaxed);
    }
    // If no other thread has it any more, what is dropped with it is a user's.
    contain(|| drop(engine));
    !watchdog.leaves()
}

impl<W: Drives> Engine<W> {
    /// From now on one driver polls what is ready in a run queue, or each polls whatever is ready. For the watchdog only.
    pub(crate) fn set_single(self: &Arc<Self>, single: bool) {
        let executor = self.work().executor();
        if executor.is_single() == single {
            return;
        }
        executor.set_single(single);
        self.decide(|scheduler, actions| {
            scheduler.single_driver = single && !executor.is_apart();
            // A driver that is stuck may have been about to do this.
            scheduler.serve_waiters(actions);
            scheduler.call_for_help(actions);
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
