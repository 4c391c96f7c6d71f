//! The lookout: a thread that watches the drivers of a pool while their polls are short.
//!
//! Where polls take a microsecond or so, drivers lose more at each other's locks and cache lines than
//! they gain: two need twice the processor time of one. So one of them does it all then, and the others
//! sleep, even if something is ready. What they are there for, to help when the one that is up is stuck
//! in a poll, is left to the lookout: it looks every other millisecond whether futures are being polled,
//! and if none is, although some are ready, everybody helps again.
//!
//! One driver may also be too slow. If it has not slept for a while, the others are let in for a moment,
//! and stay if that has more futures polled.
//!
//! The lookout is there only while a pool is busy with short polls. Without it everybody helps always.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use super::crew::Acts;
use super::driver::Drives;
use super::run::contain;
use super::{Engine, lock};

/// Polls that take less than this, in the mean, are left to one driver.
const SHORT_NANOS: u32 = 4_000;
/// How often the lookout looks.
const EVERY: Duration = Duration::from_millis(2);
/// After so many looks at which nothing was polled it leaves.
const IDLE_LOOKS: u32 = 25;
/// After the one driver was stuck, or polls were long, everybody helps for so many looks.
const HELP_LOOKS: u32 = 50;
/// After so many looks in a row at which the one had not slept, it is tried whether all are faster, for
/// as many looks.
const TRIAL_LOOKS: u32 = 10;
/// What was found first holds for so many looks; what is found then, for twice as many each time.
const FIRST_HOLD: u32 = 20;
/// .. up to so many.
const LONGEST_HOLD: u32 = 320;

/// What a driver tells of its work. Nothing is decided by it but who helps.
#[derive(Debug, Default)]
pub(crate) struct Tempo {
    polls: AtomicU64,
    naps: AtomicU64,
    /// How long a poll takes with all that belongs to it, in the mean; zero if that is unknown.
    nanos: AtomicU32,
}

impl Tempo {
    /// For its driver only, as all that follows.
    pub(crate) fn count_polls(&self, polls: usize) {
        let so_far = self.polls.load(Ordering::Relaxed);
        self.polls.store(so_far + polls as u64, Ordering::Relaxed);
    }

    /// Whether nothing was polled since it was `seen`. For anybody.
    pub(crate) fn has_not_moved(&self, seen: &mut u64) -> bool {
        let polls = self.polls.load(Ordering::Relaxed);
        std::mem::replace(seen, polls) == polls
    }

    pub(crate) fn count_nap(&self) {
        self.naps.store(self.naps.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// So many polls took that long.
    pub(crate) fn note(&self, polls: usize, time: Duration) {
        let new = (time.as_nanos() / polls.max(1) as u128).clamp(1, u32::MAX as u128) as u64;
        let mean = match u64::from(self.nanos.load(Ordering::Relaxed)) {
            0 => new,
            old => (3 * old + new) / 4,
        };
        self.nanos.store(mean as u32, Ordering::Relaxed);
    }

    /// Whether polls are known to be short.
    pub(crate) fn is_short(&self) -> bool {
        (1..SHORT_NANOS).contains(&self.nanos.load(Ordering::Relaxed))
    }
}

/// What the lookout sees.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Polls and naps of all drivers so far.
    polls: u64,
    naps: u64,
    /// Those that have polled something find that polls are short.
    short: bool,
    /// A driver is up, and there is something to do.
    behind: bool,
}

/// Who drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Everybody helps, at least for so many looks.
    All { looks: u32 },
    /// One driver does it all. It has not slept for `busy` looks and polled `polls` futures in these. It
    /// is not tried whether all are faster for `hold` looks.
    One { busy: u32, polls: u64, hold: u32 },
    /// Everybody helps, to see whether that is faster than `alone` polls. `looks` are still to come.
    Trial { looks: u32, alone: u64, polls: u64 },
    /// There is nothing to look out for.
    Leave,
}

impl Mode {
    const ONE: Mode = Mode::One { busy: 0, polls: 0, hold: 0 };

    /// What follows, if `made` futures were polled since the last look and the driver was `busy`. What a
    /// trial finds is to hold for `longer` looks.
    fn next(self, made: u64, busy: bool, seen: Seen, longer: u32) -> Mode {
        match self {
            Mode::All { looks: 0 } if seen.short => Mode::ONE,
            Mode::All { looks } => Mode::All { looks: looks.saturating_sub(1) },
            Mode::One { .. } if (made == 0 && seen.behind) || !seen.short => {
                Mode::All { looks: HELP_LOOKS }
            }
            Mode::One { hold, .. } if !busy => {
                Mode::One { busy: 0, polls: 0, hold: hold.saturating_sub(1) }
            }
            Mode::One { busy, polls, hold: 0 } if busy + 1 >= TRIAL_LOOKS => {
                // The last looks are compared, as many as there will be.
                Mode::Trial { looks: busy + 1, alone: polls + made, polls: 0 }
            }
            Mode::One { busy, polls, hold } => {
                let hold = hold.saturating_sub(1);
                // While it is not tried anyway, nothing is added up.
                let (busy, polls) = if hold > 0 { (0, 0) } else { (busy + 1, polls + made) };
                Mode::One { busy, polls, hold }
            }
            Mode::Trial { looks: 1, alone, polls } => {
                // A gain that could be chance is not worth the other cores.
                if 20 * (polls + made) > 21 * alone {
                    Mode::All { looks: longer }
                } else {
                    Mode::One { busy: 0, polls: 0, hold: longer }
                }
            }
            Mode::Trial { looks, alone, polls } => {
                Mode::Trial { looks: looks - 1, alone, polls: polls + made }
            }
            Mode::Leave => Mode::Leave,
        }
    }
}

/// See the module's first lines.
#[derive(Debug)]
struct Lookout {
    mode: Mode,
    last: Seen,
    idle: u32,
    /// How long the next finding holds.
    hold: u32,
}

impl Lookout {
    fn new(seen: Seen) -> Self {
        Lookout { mode: Mode::All { looks: 0 }, last: seen, idle: 0, hold: FIRST_HOLD }
    }

    fn look(&mut self, seen: Seen) -> Mode {
        let made = seen.polls - self.last.polls;
        let busy = made > 0 && seen.naps == self.last.naps;
        self.last = seen;
        self.idle = if made == 0 { self.idle + 1 } else { 0 };
        if matches!(self.mode, Mode::Trial { looks: 1, .. }) {
            self.hold = (2 * self.hold).min(LONGEST_HOLD);
        }
        self.mode = match self.idle > IDLE_LOOKS {
            true => Mode::Leave,
            false => self.mode.next(made, busy, seen, self.hold),
        };
        self.mode
    }
}

/// Starts a lookout, if there is none. Where no thread can be started, everybody helps always.
pub(crate) fn start<W: Drives>(engine: &Arc<Engine<W>>) {
    let board = engine.work().board();
    if board.drivers() < 2 || board.watched.swap(true, Ordering::Relaxed) {
        return;
    }
    let watched = Arc::downgrade(engine);
    let mut lookout = Lookout::new(engine.seen());
    let watch = move || while watch(&watched, &mut lookout) {};
    drop(thread::Builder::new().name("formic-lookout".into()).spawn(watch));
}

/// Looks once, after a while. False if that was the last time.
fn watch<W: Drives>(engine: &Weak<Engine<W>>, lookout: &mut Lookout) -> bool {
    thread::sleep(EVERY);
    let Some(engine) = engine.upgrade() else { return false };
    let mode = lookout.look(engine.seen());
    engine.let_one_drive(matches!(mode, Mode::One { .. }));
    if mode == Mode::Leave {
        engine.work().board().watched.store(false, Ordering::Relaxed);
    }
    // If nobody else has it any more, what is dropped with it is a user's.
    contain(|| drop(engine));
    mode != Mode::Leave
}

impl<W: Drives> Engine<W> {
    fn seen(&self) -> Seen {
        let board = self.work().board();
        let mut seen = Seen { short: true, ..Seen::default() };
        for tempo in board.lists().iter().map(|list| &list.tempo) {
            let polls = tempo.polls.load(Ordering::Relaxed);
            seen.polls += polls;
            seen.naps += tempo.naps.load(Ordering::Relaxed);
            seen.short &= polls == 0 || tempo.is_short();
        }
        seen.behind = board.is_up() && (board.has_ready() || self.is_wanted());
        seen
    }

    /// Has one driver do it all from now on, or has everybody help again.
    pub(crate) fn let_one_drive(self: &Arc<Self>, one: bool) {
        let mut acts = Acts::default();
        let mut crew = lock(&self.crew);
        if crew.one_drives != one {
            crew.one_drives = one;
            crew.roster.quiet = false;
            crew.call_all_needed(&mut acts);
            drop(crew);
            self.work().board().set_one(one);
            self.perform(acts);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
