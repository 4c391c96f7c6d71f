//! The lookout: a thread that watches the drivers of a pool while their polls are short.
//!
//! Where polls take a microsecond or so, drivers lose more at each other's locks and cache lines than
//! they gain: two need twice the processor time of one. So one of them does it all then, and the others
//! sleep, even if something is ready. What they are there for, to help when the one that is up is stuck
//! in a poll, is left to the lookout: it looks every millisecond whether futures are being polled. If none
//! is for some looks, although some are ready or a driver is in its turn, everybody helps again.
//!
//! One driver may also be too slow. If it has not slept for a while, the others are let in for a moment,
//! and stay if that has more futures polled. Then it is tried now and then whether one is better after all.
//!
//! The lookout is there only while a pool is busy with short polls. Without it everybody helps always.

mod tempo;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

pub(crate) use self::tempo::Tempo;
use crate::engine::executor::driver::Drives;
use crate::engine::scheduler::crew::Acts;
use crate::engine::task::run::contain;
use crate::engine::{Engine, lock};

/// Polls that take less than this, in the mean, are left to one driver.
const SHORT_NANOS: u32 = 4_000;
/// .. and while drivers get into each other's way, those that take less than this: it may be due to that.
const SHORT_NANOS_OF_ALL: u32 = 12_000;
/// How often the lookout looks.
const EVERY: Duration = Duration::from_millis(1);
/// After so many looks at which nothing was polled it leaves.
const IDLE_LOOKS: u32 = 50;
/// After the one driver was stuck, or polls were long, everybody helps for so many looks. If that happens
/// again, for twice as many each time: a core that was taken away for a moment is no stuck driver.
const FIRST_HELP: u32 = 10;
/// .. up to so many.
const LONGEST_HELP: u32 = 160;
/// It is tried for so many looks whether all are faster than one, or one than all.
const TRIAL_LOOKS: u32 = 10;
/// What is found first holds for so many looks; if the next trial confirms it, for twice as many, and so on.
const FIRST_HOLD: u32 = 40;
/// .. up to so many.
const LONGEST_HOLD: u32 = 640;
/// Polls that take less than this are mostly what drivers and timers need themselves, and those get in each
/// other's way.
const TINY_NANOS: u32 = 1_000;
/// .. so several are not tried before this one has gone on for so many looks more. One at which they are
/// longer counts as several.
const TINY_HOLD: u32 = 500;
const NOT_TINY: u32 = 16;
/// At so many looks in a row nothing was polled, although a driver was in its turn and there was something to
/// do: then it is stuck. At fewer than that its core may have been taken away for a moment.
const STILL_LOOKS: u32 = 4;
/// .. and if it was not in its turn: its thread sees to timers, and ten thousand of them take some looks.
const RESTING_LOOKS: u32 = 12;
/// .. or polls were long.
const LONG_LOOKS: u32 = 4;

/// What the lookout sees.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Polls and naps of all drivers so far.
    polls: u64,
    naps: u64,
    /// Those that have polled something of late find that polls are short.
    short: bool,
    /// .. or that they might be, if one polled alone.
    perhaps: bool,
    /// .. and even shorter than that.
    tiny: bool,
    /// A driver is up, and there is something to do.
    behind: bool,
    /// A driver is in its turn.
    turns: bool,
    /// One that has a thread of its own is stuck.
    stuck: bool,
    /// Each driver has a thread and timers of its own.
    apart: bool,
}

/// Who drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    One,
    All,
}

impl Who {
    fn other(self) -> Who {
        match self {
            Who::One => Who::All,
            Who::All => Who::One,
        }
    }

    /// Whether so many polls in a look are better than those of the other. A gain that could be chance is
    /// not worth the other cores.
    fn is_better(self, polls: u64, others: u64) -> bool {
        match self {
            Who::One => 21 * polls > 20 * others,
            Who::All => 20 * polls > 21 * others,
        }
    }
}

/// What the lookout has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Everybody helps, for so many looks.
    Help { looks: u32 },
    /// This is best, as far as is known, with so many polls in a look of late. The other is tried after
    /// `hold` looks.
    Settled { who: Who, hold: u32, polls: u64 },
    /// This is tried for so many looks, the first of which does not count. The other made `others` polls.
    Trial { who: Who, looks: u32, polls: u64, others: u64 },
    /// There is nothing to look out for.
    Leave,
}

impl Mode {
    const ONE: Mode = Mode::Settled { who: Who::One, hold: FIRST_HOLD, polls: 0 };

    fn has_one_drive(self) -> bool {
        matches!(self, Mode::Settled { who: Who::One, .. } | Mode::Trial { who: Who::One, .. })
    }
}

/// See the module's first lines.
#[derive(Debug)]
struct Lookout {
    mode: Mode,
    last: Seen,
    idle: u32,
    /// For so many looks the one driver has not moved, although there was something to do.
    still: u32,
    /// For so many looks polls have been long.
    long: u32,
    /// For how many looks it has put off to try several.
    waited: u32,
    /// How long the next finding holds, and the next help.
    hold: u32,
    help: u32,
}

impl Lookout {
    fn new(seen: Seen) -> Self {
        let mode = Mode::Help { looks: 0 };
        let (hold, help) = (FIRST_HOLD, FIRST_HELP);
        Lookout { mode, last: seen, idle: 0, still: 0, long: 0, waited: 0, hold, help }
    }

    fn look(&mut self, seen: Seen) -> Mode {
        let made = seen.polls - self.last.polls;
        let busy = made > 0 && seen.naps == self.last.naps;
        self.last = seen;
        self.idle = if made == 0 { self.idle + 1 } else { 0 };
        // A driver that is stuck in a poll may also keep timers and sockets from making anything ready.
        let kept = seen.behind || (seen.turns && !seen.apart);
        let still = self.mode.has_one_drive() && made == 0 && kept;
        self.still = if still { self.still + 1 } else { 0 };
        self.long = if seen.short { 0 } else { self.long + 1 };
        let stuck = seen.stuck || self.still >= most_still(seen.turns);
        let all_needed = stuck || self.long >= LONG_LOOKS;
        self.mode = match self.mode {
            _ if self.idle > IDLE_LOOKS => Mode::Leave,
            Mode::Help { looks: 0 } if seen.perhaps => {
                self.long = 0;
                Mode::ONE
            }
            Mode::Help { looks } => Mode::Help { looks: looks.saturating_sub(1) },
            Mode::Leave => Mode::Leave,
            _ if all_needed => self.have_all_help(),
            // One that sleeps now and then is enough.
            one if one.has_one_drive() && (!busy || seen.apart) => {
                self.waited = 0;
                Mode::ONE
            }
            Mode::Settled { who: Who::One, hold: 0, polls } if self.waited < TINY_HOLD => {
                self.waited += if seen.tiny { 1 } else { NOT_TINY };
                Mode::Settled { who: Who::One, hold: 0, polls: (polls + made) / 2 }
            }
            Mode::Settled { who, hold: 0, polls } => {
                (self.help, self.waited) = (FIRST_HELP, 0);
                Mode::Trial { who: who.other(), looks: TRIAL_LOOKS, polls: 0, others: polls }
            }
            Mode::Settled { who, hold, polls } => {
                let polls = if polls == 0 { made } else { (polls + made) / 2 };
                Mode::Settled { who, hold: hold - 1, polls }
            }
            Mode::Trial { who, looks: TRIAL_LOOKS, others, .. } => {
                Mode::Trial { who, looks: TRIAL_LOOKS - 1, polls: 0, others }
            }
            Mode::Trial { who, looks: 1, polls, others } => {
                self.end_trial(who, polls + made, others)
            }
            Mode::Trial { who, looks, polls, others } => {
                Mode::Trial { who, looks: looks - 1, polls: polls + made, others }
            }
        };
        self.mode
    }

    fn have_all_help(&mut self) -> Mode {
        let looks = self.help;
        self.still = 0;
        self.help = (2 * looks).min(LONGEST_HELP);
        Mode::Help { looks }
    }

    fn end_trial(&mut self, tried: Who, polls: u64, others: u64) -> Mode {
        let polls = polls / u64::from(TRIAL_LOOKS - 1);
        if tried.is_better(polls, others) {
            self.hold = FIRST_HOLD;
            return Mode::Settled { who: tried, hold: self.hold, polls };
        }
        self.hold = (2 * self.hold).min(LONGEST_HOLD);
        Mode::Settled { who: tried.other(), hold: self.hold, polls: others }
    }
}

/// At so many looks in a row nothing was polled, although there was something to do: then the driver is stuck.
fn most_still(turns: bool) -> u32 {
    if turns { STILL_LOOKS } else { RESTING_LOOKS }
}

/// Starts a lookout, if there is none. Where no thread can be started, everybody helps always.
pub(crate) fn start<W: Drives>(engine: &Arc<Engine<W>>) {
    let board = engine.work().board();
    if board.drivers() < 2 || board.watched.swap(true, Ordering::Relaxed) {
        return;
    }
    let watched = Arc::downgrade(engine);
    let mut lookout = Lookout::new(engine.seen());
    // Polls are known to be short, so it looks at once.
    let watch = move || {
        while watch(&watched, &mut lookout) {
            thread::sleep(EVERY);
        }
    };
    drop(thread::Builder::new().name("formic-lookout".into()).spawn(watch));
}

/// Looks once. False if that was the last time.
fn watch<W: Drives>(engine: &Weak<Engine<W>>, lookout: &mut Lookout) -> bool {
    let Some(engine) = engine.upgrade() else { return false };
    let was_one = lookout.mode.has_one_drive();
    let mode = lookout.look(engine.seen());
    engine.let_one_drive(mode.has_one_drive());
    if was_one && matches!(mode, Mode::Help { .. }) {
        // The thread of the stuck driver may have been the one at the timers, without which nothing becomes ready.
        engine.work().board().wake_one();
    }
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
        let tempi = || board.lists().iter().map(|list| &*list.tempo);
        let mut seen = Seen { short: true, perhaps: true, tiny: true, ..Seen::default() };
        // One that sleeps knows how long polls took when others got in its way. It is asked only if nobody
        // has polled anything of late.
        let all_rest = tempi().all(|tempo| !tempo.has_moved());
        for list in board.lists() {
            let (tempo, moved) = (&*list.tempo, list.tempo.has_moved());
            let polls = tempo.polls.load(Ordering::Relaxed);
            seen.polls += polls;
            seen.naps += tempo.naps.load(Ordering::Relaxed);
            if board.is_apart() {
                // Others poll what is on their lists, which says nothing of this one.
                seen.stuck |= tempo.is_stuck(!moved && list.has_ready());
            }
            if moved || (all_rest && polls > 0) {
                seen.short &= tempo.is_short();
                seen.perhaps &= tempo.is_below(SHORT_NANOS_OF_ALL);
                seen.tiny &= tempo.is_below(TINY_NANOS);
            }
            tempo.looked.store(polls, Ordering::Relaxed);
            seen.turns |= tempo.turns.load(Ordering::Relaxed);
        }
        seen.apart = board.is_apart();
        seen.behind = board.is_up() && (board.has_ready() || self.is_wanted());
        seen
    }

    /// Has one driver do it all from now on, or each its own, or has everybody help again. For the lookout only.
    pub(crate) fn let_one_drive(self: &Arc<Self>, one: bool) {
        let board = self.work().board();
        if board.is_one() == one {
            return;
        }
        let mut acts = Acts::default();
        let mut crew = lock(&self.crew);
        // Drivers that stay apart are called for new tasks as ever.
        crew.one_drives = one && !board.is_apart();
        crew.roster.quiet = false;
        // Whoever drove alone may have been stuck before it could do this.
        crew.serve_waiters(&mut acts);
        crew.call_all_needed(&mut acts);
        drop(crew);
        board.set_one(one);
        self.perform(acts);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
