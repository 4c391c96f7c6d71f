//! Lying low: how a driver lets the runtime see to timers and sockets, if it is alone with it.
//!
//! Where a runtime has several threads, the one that has nothing else to do sees to timers and sockets. If
//! the driver yields like any other task, that is always another thread than its own. Then two cores hand
//! futures, timers and the locks of both to each other, which takes longer than to do it all on one. So a
//! driver that is [enough alone](crate::engine::executor::lookout), on a runtime that has no other tasks, does not
//! yield. It goes on for a while, and then it sleeps although something is ready. Its thread, which has
//! nothing to do now, sees to the timers, and the first one that fires wakes the driver, on the same thread.
//! If another thread is at the timers already, it is that one to which the driver moves.
//!
//! If nothing fires, the lookout wakes it after a millisecond or two, and it yields the next time.

use std::time::{Duration, Instant};

use super::{Driver, Drives, Turn};
use crate::engine::executor::list::Fed;
use crate::engine::sync::now;

/// Timers go by milliseconds. If it has been at work for so long one should have fired.
const LONG: Duration = Duration::from_millis(1);
/// After it has moved to another thread it stays there for so many turns.
const FIRST_STAY: u32 = 16;
/// .. and for twice as many, if it is still fed from elsewhere, up to so many: that is not done by timers.
const LONGEST_STAY: u32 = 4096;

/// What is known of the threads that feed a driver.
#[derive(Debug)]
pub(super) struct Low {
    fed: Fed,
    /// For so many turns it stays where it is, and for so many after it has moved again.
    stay: u32,
    next_stay: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    GoOn,
    LieLow,
    Yield,
}

impl Low {
    pub(super) fn new() -> Self {
        Low { fed: Fed::default(), stay: 0, next_stay: FIRST_STAY }
    }

    /// What to do after a turn, in which it was fed like this; `long` if its turns have taken long together.
    fn after(&mut self, fed: Fed, long: bool) -> Then {
        self.fed.elsewhere |= fed.elsewhere;
        self.fed.at_rest |= fed.at_rest;
        if self.stay > 0 {
            self.stay -= 1;
        } else if self.fed.elsewhere {
            self.stay = self.next_stay;
            self.next_stay = (2 * self.next_stay).min(LONGEST_STAY);
            return self.begin_anew(Then::LieLow);
        }
        match (long, self.fed) {
            (false, _) => Then::GoOn,
            (true, Fed { elsewhere: false, at_rest: true }) => {
                (self.stay, self.next_stay) = (0, FIRST_STAY);
                self.begin_anew(Then::LieLow)
            }
            (true, _) => self.begin_anew(Then::Yield),
        }
    }

    fn begin_anew(&mut self, then: Then) -> Then {
        self.fed = Fed::default();
        then
    }
}

impl<W: Drives> Driver<W> {
    /// What to do after a turn that is over, on a runtime that has no other tasks, when turns have followed
    /// upon each other since then. None: another one may follow.
    pub(crate) fn instead_of_yielding(&mut self, since: Instant) -> Option<Turn> {
        if !self.engine.work.board().is_left_to_one() {
            return Some(Turn::Yield);
        }
        match self.low.after(self.list.take_fed(), now() - since >= LONG) {
            Then::GoOn => None,
            Then::LieLow if self.list.lie_low() => Some(Turn::Sleep),
            Then::LieLow | Then::Yield => Some(Turn::Yield),
        }
    }

    /// How many drivers the pool has on its runtime.
    pub(crate) fn drivers(&self) -> usize {
        self.engine.work.board().at_work()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const NOT_FED: Fed = Fed { elsewhere: false, at_rest: false };
    const ELSEWHERE: Fed = Fed { elsewhere: true, at_rest: false };
    const AT_REST: Fed = Fed { elsewhere: false, at_rest: true };
    const BOTH: Fed = Fed { elsewhere: true, at_rest: true };

    /// How often `low` goes on before it does something else, and what that is.
    fn until(low: &mut Low, fed: Fed, long: bool) -> (u32, Then) {
        let mut went_on = 0;
        loop {
            match low.after(fed, long) {
                Then::GoOn => went_on += 1,
                then => return (went_on, then),
            }
        }
    }

    #[test]
    fn a_driver_goes_on_until_its_turns_have_taken_long() {
        let mut low = Low::new();
        assert!((0..99).all(|_| low.after(NOT_FED, false) == Then::GoOn));
        assert_eq!(low.after(NOT_FED, true), Then::Yield, "nobody would wake it");
    }

    #[test]
    fn a_driver_that_was_fed_at_rest_rests_when_its_turns_have_taken_long() {
        let mut low = Low::new();
        assert_eq!(low.after(AT_REST, false), Then::GoOn);
        assert_eq!(low.after(NOT_FED, true), Then::LieLow, "it was fed before");
        assert_eq!(low.after(NOT_FED, true), Then::Yield, "the last rest brought nothing");
        assert_eq!(low.after(AT_REST, true), Then::LieLow);
    }

    #[test]
    fn a_driver_that_is_fed_from_elsewhere_moves_there() {
        let mut low = Low::new();
        assert_eq!(low.after(ELSEWHERE, false), Then::LieLow);
        assert_eq!(low.after(NOT_FED, true), Then::Yield, "what it knew is over");
        assert_eq!(low.after(BOTH, true), Then::Yield, "it has moved just now");
    }

    #[test]
    fn a_driver_that_is_still_fed_from_elsewhere_moves_less_and_less_often() {
        let mut low = Low::new();
        let stays = (0..11).map(|_| until(&mut low, ELSEWHERE, false));
        let moves = [0, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 4096];
        assert_eq!(stays.collect::<Vec<_>>(), moves.map(|stay| (stay, Then::LieLow)));
        assert_eq!(until(&mut low, AT_REST, true), (0, Then::LieLow));
        assert_eq!(
            until(&mut low, ELSEWHERE, false),
            (0, Then::LieLow),
            "it had come to the timers"
        );
        assert_eq!(until(&mut low, ELSEWHERE, false), (16, Then::LieLow));
    }
}
