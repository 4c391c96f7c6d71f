//! The watchdog ("watchdog"): a thread that watches the drivers of a pool while their polls are short.
//!
//! Where polls take a microsecond or so, two drivers lose more at each other's locks and cache lines than
//! they gain. One driver then polls for all, and the others sleep, even if something is ready. Where drivers
//! have threads of their own, each polls its own run queue. The watchdog looks once a millisecond. While the driver
//! is stuck in a poll, or polls are long, all drivers help for a while.
//!
//! | mode  | becomes                                                                     |
//! |-------|-----------------------------------------------------------------------------|
//! | One   | Help, if the driver is stuck, or polls have been long for some looks        |
//! | Help  | One, when its looks are over and polls are short                            |
//! | both  | Leave, when nothing was polled for many looks. Without a watchdog all help. |

mod poll_stats;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

pub(crate) use self::poll_stats::PollStats;
use crate::engine::contain::contain;
use crate::engine::executor::driver::Drives;
use crate::engine::scheduler::core::Actions;
use crate::engine::{Engine, lock};

/// Polls that take less than this, in the mean, are left to one driver: a few times what a wake and its locks cost.
const SHORT_NANOS: u32 = 4_000;
/// The time between two looks. Timers go by milliseconds, too.
const EVERY: Duration = Duration::from_millis(1);
/// The watchdog leaves after this many looks at which nothing was polled.
const IDLE_LOOKS: u32 = 50;
/// A driver is stuck, and polls are long, if they are so at this many looks in a row. At fewer, the system may
/// have taken a core away for a moment.
const STILL_LOOKS: u32 = 4;
/// All drivers help for this many looks, and for twice as many each time they have to help again.
const FIRST_HELP: u32 = 10;
/// The most looks for which all help. After as many without trouble, the next help is a first one again.
const LONGEST_HELP: u32 = 160;

/// What the watchdog sees at a look.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Polls of all drivers so far.
    polls: u64,
    /// The drivers that have polled something since the last look find that polls are short.
    short: bool,
    /// A driver is up, and there is something to do.
    behind: bool,
    /// A driver is in its turn.
    turns: bool,
    /// A driver that has a thread of its own is stuck.
    stuck: bool,
    /// Each driver has a thread and timers of its own.
    apart: bool,
}

/// Which drivers poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// One driver polls, or each its own run queue; it has done so for this many looks.
    One { looks: u32 },
    /// All drivers help, for this many looks more.
    Help { looks: u32 },
    /// The watchdog leaves.
    Leave,
}

impl Mode {
    fn has_one_drive(self) -> bool {
        matches!(self, Mode::One { .. })
    }
}

/// See the module's first lines.
#[derive(Debug)]
struct Watchdog {
    mode: Mode,
    /// Polls as of the last look.
    polls: u64,
    /// Looks in a row at which nothing was polled.
    idle: u32,
    /// Looks in a row at which nothing was polled although something was ready.
    still: u32,
    /// Looks in a row at which polls were long.
    long: u32,
    /// The looks of the next help.
    help: u32,
}

impl Watchdog {
    fn new(seen: Seen) -> Self {
        let mode = Mode::Help { looks: 0 };
        Watchdog { mode, polls: seen.polls, idle: 0, still: 0, long: 0, help: FIRST_HELP }
    }

    fn look(&mut self, seen: Seen) -> Mode {
        let moved = std::mem::replace(&mut self.polls, seen.polls) != seen.polls;
        // A driver that is stuck in a poll may also keep timers and sockets from making anything ready.
        let has_work = seen.behind || (seen.turns && !seen.apart);
        self.idle = in_a_row(self.idle, !moved);
        self.still = in_a_row(self.still, !moved && has_work);
        self.long = in_a_row(self.long, !seen.short);
        self.mode = match self.mode {
            Mode::Leave => Mode::Leave,
            _ if self.idle > IDLE_LOOKS => Mode::Leave,
            Mode::Help { looks: 0 } if seen.short => {
                self.still = 0;
                Mode::One { looks: 0 }
            }
            Mode::Help { looks } => Mode::Help { looks: looks.saturating_sub(1) },
            Mode::One { .. } if self.needs_all(seen) => self.have_all_help(),
            Mode::One { looks } => {
                if looks >= LONGEST_HELP {
                    self.help = FIRST_HELP;
                }
                Mode::One { looks: looks.saturating_add(1) }
            }
        };
        self.mode
    }

    fn needs_all(&self, seen: Seen) -> bool {
        seen.stuck || self.still >= most_still(seen.turns) || self.long >= STILL_LOOKS
    }

    fn have_all_help(&mut self) -> Mode {
        let looks = self.help;
        self.help = (2 * looks).min(LONGEST_HELP);
        Mode::Help { looks }
    }
}

fn in_a_row(looks: u32, one_more: bool) -> u32 {
    if one_more { looks + 1 } else { 0 }
}

/// The looks without a poll after which a driver is stuck. The thread of a driver that is not in its turn sees to
/// timers, and ten thousand of them take some looks.
fn most_still(turns: bool) -> u32 {
    if turns { STILL_LOOKS } else { 3 * STILL_LOOKS }
}

/// Starts a watchdog, if there is none. Where no thread can be started, everybody helps always.
pub(crate) fn start<W: Drives>(engine: &Arc<Engine<W>>) {
    let executor = engine.work().executor();
    if executor.drivers() < 2 || executor.watched.swap(true, Ordering::Relaxed) {
        return;
    }
    let watched = Arc::downgrade(engine);
    let mut watchdog = Watchdog::new(engine.seen());
    // Polls are known to be short, so it looks at once.
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
    let was_one = watchdog.mode.has_one_drive();
    let mode = watchdog.look(engine.seen());
    engine.let_one_drive(mode.has_one_drive());
    if was_one && matches!(mode, Mode::Help { .. }) {
        // The thread of the stuck driver may have been the one at the timers, without which nothing becomes ready.
        engine.work().executor().wake_one();
    }
    if mode == Mode::Leave {
        engine.work().executor().watched.store(false, Ordering::Relaxed);
    }
    // If no other thread has it any more, what is dropped with it is a user's.
    contain(|| drop(engine));
    mode != Mode::Leave
}

impl<W: Drives> Engine<W> {
    fn seen(&self) -> Seen {
        let executor = self.work().executor();
        let poll_stats = || executor.run_queues().iter().map(|run_queue| &*run_queue.poll_stats);
        let mut seen = Seen { short: true, ..Seen::default() };
        // One that sleeps knows how long polls took when others got in its way. It is asked only if no thread
        // has polled anything of late.
        let all_rest = poll_stats().all(|poll_stats| !poll_stats.has_moved());
        for run_queue in executor.run_queues() {
            let (poll_stats, moved) = (&*run_queue.poll_stats, run_queue.poll_stats.has_moved());
            let polls = poll_stats.polls.load(Ordering::Relaxed);
            seen.polls += polls;
            if executor.is_apart() {
                // Others poll what is on their lists, which says nothing of this one.
                seen.stuck |= poll_stats.is_stuck(!moved && run_queue.has_ready());
            }
            if moved || (all_rest && polls > 0) {
                seen.short &= poll_stats.is_short();
            }
            poll_stats.looked.store(polls, Ordering::Relaxed);
            seen.turns |= poll_stats.turns.load(Ordering::Relaxed);
        }
        seen.apart = executor.is_apart();
        seen.behind = executor.is_up() && (executor.has_ready() || self.is_wanted());
        seen
    }

    /// Has one driver do it all from now on, or each its own, or has everybody help again. For the watchdog only.
    pub(crate) fn let_one_drive(self: &Arc<Self>, one: bool) {
        let executor = self.work().executor();
        if executor.is_one() == one {
            return;
        }
        let mut actions = Actions::default();
        let mut scheduler = lock(&self.scheduler);
        // Drivers that stay apart are called for new tasks as ever.
        scheduler.one_drives = one && !executor.is_apart();
        scheduler.worker_table.quiet = false;
        // The thread that drove alone may have been stuck before it could do this.
        scheduler.serve_waiters(&mut actions);
        scheduler.call_all_needed(&mut actions);
        drop(scheduler);
        executor.set_one(one);
        self.perform(actions);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
