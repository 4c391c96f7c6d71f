//! What a driver polls next: what is ready on its own list, or on another's if that one needs help.

use std::sync::Arc;
use std::time::Instant;

use super::{Driver, Drives};
use crate::engine::executor::cell::Runnable;

impl<W: Drives> Driver<W> {
    #[inline]
    pub(super) fn next(&mut self, ended: Option<u32>) -> Option<Arc<dyn Runnable>> {
        let next = match self.helps {
            false => self.list.next(ended).or_else(|| self.help_out()),
            true => self.next_or_others(ended),
        };
        if next.is_some() {
            self.list.stop_searching();
        }
        next
    }

    #[cold]
    fn next_or_others(&mut self, ended: Option<u32>) -> Option<Arc<dyn Runnable>> {
        self.others_turn = !self.others_turn;
        if self.others_turn
            && let Some(theirs) = self.steal()
        {
            ended.into_iter().for_each(|index| self.list.retire(index));
            return Some(theirs);
        }
        self.list.next(ended).or_else(|| self.steal())
    }

    fn help_out(&self) -> Option<Arc<dyn Runnable>> {
        if self.list.is_each_for_itself() { None } else { self.steal() }
    }

    fn steal(&self) -> Option<Arc<dyn Runnable>> {
        self.engine.work.board().steal(self.list.number())
    }

    /// Sees whether another driver needs help, because it is stuck in a poll, or sleeps although
    /// something is ready. It gets every other poll then: this one's own list may never be empty.
    pub(super) fn look_around(&mut self, now: Instant) {
        if now - self.looked < self.look_every {
            return;
        }
        self.looked = now;
        if self.list.is_each_for_itself() {
            // The lookout does so.
            self.helps = false;
            return;
        }
        let board = self.engine.work.board();
        let others = board.lists().iter().zip(&mut self.seen);
        let others = others.filter(|(list, _)| list.number() != self.list.number());
        self.helps = others.fold(false, |helps, (list, seen)| {
            helps | (list.tempo.has_not_moved(seen) && list.has_ready())
        });
    }
}
