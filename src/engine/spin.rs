//! Spinning: a thread that waits reads what it waits for again and again, before it parks.
//!
//! To wake a parked thread costs as much as hundreds of small tasks, so a short spin saves both sides much where the
//! other side runs on a core of its own. Where it does not, the spin keeps the core from the thread that is waited
//! for. A thread cannot see which is the case, but it sees the result: after a spin in vain the next waits park at
//! once, and each further one doubles their number. On a single core no thread spins.
//!
//! A spin never calls `sched_yield`. On a busy machine that gives the rest of the time slice, and the whole next one,
//! to a stranger; a parked thread is woken as soon as there is something for it, and the system prefers a thread that
//! has slept.

use std::cell::Cell;
use std::sync::OnceLock;
use std::thread::available_parallelism;
use std::time::Duration;

use crate::engine::sync::now;

/// How long a spin lasts at most: about as long as a parked thread needs to wake up.
const LONGEST: Duration = Duration::from_micros(50);

/// How many waits in a row park at once at most. A spin in vain then costs a wait less than a microsecond on average.
const MOST_SKIPPED: u32 = 256;

/// How many cores this process may use: its affinity and, on Linux, the processor quota of its cgroup count. Read once.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| available_parallelism().map_or(1, usize::from))
}

/// Whether the next wait spins, by what the last spins brought.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spin {
    /// How many of the next waits park at once.
    skip: u32,
    /// How many waits parked at once after the last spin in vain.
    skipped: u32,
}

impl Spin {
    /// Whether this wait spins.
    pub(crate) fn is_due(&mut self) -> bool {
        let due = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        due && !cfg!(loom)
    }

    /// Records whether a spin found what it was for.
    pub(crate) fn note(&mut self, found: bool) {
        self.skipped = if found { 0 } else { (2 * self.skipped + 1).min(MOST_SKIPPED) };
        self.skip = self.skipped;
    }
}

/// Asks `found` again and again for up to [`LONGEST`].
pub(crate) fn spin<T>(mut found: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = now();
    while now().saturating_duration_since(begin) < LONGEST {
        for _ in 0..16 {
            if let Some(it) = found() {
                return Some(it);
            }
            std::hint::spin_loop();
        }
    }
    None
}

/// Spins for what `found` finds, if the last spins of the calling thread were not in vain.
pub(crate) fn look<T>(found: impl FnMut() -> Option<T>) -> Option<T> {
    thread_local! {
        static SPIN: Cell<Spin> = const { Cell::new(Spin { skip: 0, skipped: 0 }) };
    }
    // In the destructor of another thread-local, where this one is gone, a wait parks at once.
    let mut state = SPIN.try_with(Cell::get).ok()?;
    let it = if cores() > 1 && state.is_due() {
        let it = spin(found);
        state.note(it.is_some());
        it
    } else {
        None
    };
    let _ = SPIN.try_with(|kept| kept.set(state));
    it
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_spin_finds_what_comes_in_time() {
        let mut asked = 0;
        let found = spin(|| {
            asked += 1;
            (asked == 3).then_some(asked)
        });
        assert_eq!(found, Some(3));
        assert_eq!(spin(|| None::<u8>), None);
    }

    #[test]
    fn each_spin_in_vain_doubles_the_number_of_waits_that_park_at_once() {
        let mut state = Spin::default();
        let mut until_next = || {
            let waits = (0..).take_while(|_| !state.is_due()).count();
            state.note(false);
            waits
        };
        let skipped: Vec<_> = (0..10).map(|_| until_next()).collect();
        assert_eq!(skipped, [0, 1, 3, 7, 15, 31, 63, 127, 255, 256]);
    }

    #[test]
    fn a_spin_that_finds_something_is_followed_by_another() {
        let mut state = Spin::default();
        (0..10).for_each(|_| state.note(false));
        state.note(true);
        assert!(state.is_due() && state.is_due());
    }
}
