//! A driver that lies low sleeps although something is ready: see [`driver::low`](crate::engine::executor::driver).

use std::sync::Weak;

use super::{Board, Inbox, List};
use crate::engine::executor::latch::Held;
use crate::engine::executor::polling::current_driver;
use crate::engine::sync::atomic::Ordering;

/// Who has made something ready, besides drivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fed {
    /// Another thread, while the driver was in its turn.
    pub(crate) elsewhere: bool,
    /// Whatever thread, while it was not.
    pub(crate) at_rest: bool,
}

impl Inbox {
    /// The calling thread makes something ready.
    #[inline]
    pub(super) fn note_feeder(&mut self) {
        let fed = if self.in_turn { &mut self.fed.elsewhere } else { &mut self.fed.at_rest };
        *fed = *fed || current_driver().is_none();
    }
}

impl List {
    /// Who has made something ready since this was asked last.
    pub(crate) fn take_fed(&self) -> Fed {
        std::mem::take(&mut self.inbox.hold().fed)
    }

    /// Lets the driver sleep although something may be ready, until something more is, or the lookout
    /// wakes it. False if there is no lookout.
    #[must_use]
    pub(crate) fn lie_low(&self) -> bool {
        let mut inbox = self.inbox.hold();
        // Read under the lock under which everybody is called again, after this was written.
        if !self.is_for_one() {
            return false;
        }
        (inbox.asleep, inbox.low, inbox.in_turn) = (true, true, false);
        self.others.low.store(self.number + 1, Ordering::Relaxed);
        self.set_up(&mut inbox, false);
        drop(inbox);
        self.others.sleeping.fetch_add(1, Ordering::Relaxed);
        self.others.lows.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// It does not lie low any more. Under its lock.
    pub(super) fn end_low(&self, inbox: &mut Inbox) {
        if std::mem::replace(&mut inbox.low, false) {
            let own = self.number + 1;
            let others = &self.others.low;
            // Another one may have lain down since.
            let _ = others.compare_exchange(own, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Wakes the driver if it lies low.
    fn rouse(&self) -> bool {
        let inbox = self.inbox.hold();
        let low = inbox.low;
        if low {
            self.wake_or_call_with(inbox);
        }
        low
    }

    /// Something was made ready, and nobody is up: has somebody poll it. That is whoever lies low, on whichever
    /// list: it has polled what is here before, and goes on with it.
    #[cold]
    pub(super) fn wake_low_or_own(&self, inbox: Held<'_, Inbox>) {
        // Read under the lock: whoever has looked at this list before, and then slept, did not lie low.
        let low = self.others.low.load(Ordering::Relaxed);
        if low == 0 || low == self.number + 1 {
            return self.wake_or_call_with(inbox);
        }
        drop(inbox);
        let lists = self.others.lists.get().map_or(&[][..], Vec::as_slice);
        let low = lists.get(low - 1).and_then(Weak::upgrade);
        if !low.is_some_and(|list| list.rouse()) {
            self.wake_or_call();
        }
    }
}

impl Board {
    /// Whether a driver lies low; if so, how often that has been.
    pub(crate) fn low(&self) -> Option<u64> {
        let lows = self.others.lows.load(Ordering::Relaxed);
        self.lists().iter().any(|list| list.inbox.hold().low).then_some(lows)
    }

    /// Wakes whoever lies low.
    pub(crate) fn rouse(&self) {
        for list in self.lists() {
            list.rouse();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::task::Waker;

    use super::*;
    use crate::engine::executor::list::others;
    use crate::engine::executor::polling::Polls;
    use crate::engine::tests::stubs::Bell;

    /// A board of three drivers, of which the first is up and enough, and the bells that wake them.
    fn left_to_one() -> (Arc<Board>, [Arc<Bell>; 3]) {
        let board = Arc::new(Board::new(3));
        let bells: [Arc<Bell>; 3] = Default::default();
        for (list, bell) in board.lists().iter().zip(&bells) {
            list.rise(&Waker::from(Arc::clone(bell)));
        }
        board.set_one(true);
        for list in &board.lists()[1..] {
            assert!(list.step_back(&board));
        }
        (board, bells)
    }

    fn rung(bells: &[Arc<Bell>; 3]) -> [usize; 3] {
        bells.each_ref().map(|bell| bell.rung())
    }

    #[test]
    fn nobody_lies_low_without_a_lookout() {
        let (board, bells) = left_to_one();
        board.set_one(false);
        assert!(!board.list(0).lie_low());
        assert!(board.is_up() && board.low().is_none());
        assert_eq!(rung(&bells), [0; 3]);
    }

    #[test]
    fn one_that_lies_low_is_woken_for_whatever_is_made_ready() {
        for list in 0..3 {
            let (board, bells) = left_to_one();
            board.list(0).push_ready(7);
            assert!(board.list(0).lie_low(), "although something is ready");
            assert_eq!((board.low(), board.is_up()), (Some(1), false));
            board.list(list).push_ready(7);
            assert_eq!(rung(&bells), [1, 0, 0], "the one that lay low");
            assert_eq!((board.low(), board.is_up()), (None, true));
            assert_eq!(board.others.low.load(Ordering::Relaxed), 0, "nobody looks for it");
            board.list(list).push_ready(7);
            assert_eq!(rung(&bells), [1, 0, 0], "it is up");
        }
    }

    #[test]
    fn whoever_lies_low_is_roused() {
        let (board, bells) = left_to_one();
        board.rouse();
        assert!(board.list(0).lie_low());
        board.rouse();
        assert_eq!((rung(&bells), board.low()), ([1, 0, 0], None));
        board.rouse();
        assert_eq!(rung(&bells), [1, 0, 0]);
    }

    #[test]
    fn of_two_that_lie_low_the_last_one_is_woken_first() {
        let (board, bells) = left_to_one();
        assert!(board.list(0).lie_low());
        board.list(1).rise(&Waker::from(Arc::clone(&bells[1])));
        assert!(board.list(1).lie_low());
        assert_eq!(board.low(), Some(2));
        board.list(2).push_ready(7);
        assert_eq!(rung(&bells), [0, 1, 0]);
        assert!(board.list(1).lie_low());
        board.list(0).push_ready(7);
        assert_eq!(rung(&bells), [0, 2, 0]);
        assert_eq!(board.low(), Some(3), "the first one still lies low");
        board.rouse();
        assert_eq!((rung(&bells), board.low()), ([1, 2, 0], None));
    }

    #[test]
    fn one_that_has_just_lain_down_is_called_when_everybody_helps_again() {
        let (board, bells) = left_to_one();
        assert!(board.list(0).lie_low());
        board.list(1).rise(&Waker::from(Arc::clone(&bells[1])));
        board.others.who.store(others::ALL, Ordering::Relaxed);
        // As if it had not been counted among those that sleep yet.
        board.others.sleeping.store(0, Ordering::Relaxed);
        board.list(1).push_ready(7);
        assert_eq!(rung(&bells), [1, 0, 0], "the other one may be stuck");
    }

    #[test]
    fn if_the_one_is_not_low_any_more_the_list_wakes_its_own() {
        let (board, bells) = left_to_one();
        assert!(board.list(0).sleep(&board), "nothing is ready");
        // As if it had got up after somebody had seen it lie low, and slept again.
        board.others.low.store(1, Ordering::Relaxed);
        board.list(2).push_ready(7);
        assert_eq!(rung(&bells), [0, 0, 1]);
    }

    #[test]
    fn it_is_known_who_feeds_a_driver() {
        let (board, bells) = left_to_one();
        let list = board.list(0);
        let fed = |elsewhere, at_rest| Fed { elsewhere, at_rest };
        list.push_ready(1);
        assert_eq!(list.take_fed(), fed(true, false));
        assert_eq!(list.take_fed(), fed(false, false), "not since then");
        assert!(list.lie_low());
        list.push_ready(2);
        assert_eq!(list.take_fed(), fed(false, true));
        list.push_ready(3);
        list.rise(&Waker::from(Arc::clone(&bells[0])));
        list.push_ready(4);
        assert_eq!(list.take_fed(), fed(true, true));
        let _polls = Polls::cells_of(&board, 1);
        list.push_ready(5);
        assert!(list.lie_low());
        list.push_ready(6);
        assert_eq!(list.take_fed(), fed(false, false), "drivers do not count");
    }
}
