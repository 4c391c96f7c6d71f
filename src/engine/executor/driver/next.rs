//! What a driver polls next: what is ready on its own run queue, or on another's if that one needs help.

use std::sync::Arc;
use std::time::Instant;

use super::{Driver, Drives};
use crate::engine::executor::cell::Runnable;

impl<W: Drives> Driver<W> {
    #[inline]
    pub(super) fn next(&mut self, ended: Option<u32>) -> Option<Arc<dyn Runnable>> {
        let next = match self.helps {
            false => self.run_queue.next(ended).or_else(|| self.help_out()),
            true => self.next_or_others(ended),
        };
        if next.is_some() {
            self.run_queue.stop_searching();
        }
        next
    }

    #[cold]
    fn next_or_others(&mut self, ended: Option<u32>) -> Option<Arc<dyn Runnable>> {
        self.others_turn = !self.others_turn;
        if self.others_turn
            && let Some(theirs) = self.steal()
        {
            ended.into_iter().for_each(|index| self.run_queue.retire(index));
            return Some(theirs);
        }
        self.run_queue.next(ended).or_else(|| self.steal())
    }

    fn help_out(&self) -> Option<Arc<dyn Runnable>> {
        if self.run_queue.is_each_for_itself() { None } else { self.steal() }
    }

    fn steal(&self) -> Option<Arc<dyn Runnable>> {
        self.engine.work.executor().steal(self.run_queue.number())
    }

    /// Sees whether another driver needs help, because it is stuck in a poll, or sleeps although
    /// something is ready. It gets every other poll then: this one's own run queue may never be empty.
    pub(super) fn look_around(&mut self, now: Instant) {
        if now - self.looked < self.look_every {
            return;
        }
        self.looked = now;
        if self.run_queue.is_each_for_itself() {
            // The watchdog does so.
            self.helps = false;
            return;
        }
        let executor = self.engine.work.executor();
        let others = executor.run_queues().iter().zip(&mut self.seen);
        let others = others.filter(|(run_queue, _)| run_queue.number() != self.run_queue.number());
        self.helps = others.fold(false, |helps, (run_queue, seen)| {
            helps | (run_queue.poll_stats.has_not_moved(seen) && run_queue.has_ready())
        });
    }
}
