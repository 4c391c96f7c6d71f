//! Drivers: workers that run many tasks at once, because tasks are futures that mostly wait.
//!
//! A driver is a worker to the scheduler: it is started, called, goes idle and leaves like a thread. But
//! it takes as many tasks as may run, and goes idle with regard to the queue only: the futures it
//! drives wake it by themselves.

use crate::engine::executor::driver::Turn;
use crate::engine::scheduler::core::{Actions, Scheduler};
use crate::engine::scheduler::worker_table::WorkerState;

impl<J> Scheduler<J> {
    /// A driver takes up to `most` tasks. If there are none and nothing is ready for it either, what it is to do then. It
    /// counts as idle only when it has nothing to poll: while it polls, it may be stuck with one, so others are called for
    /// new tasks.
    pub(crate) fn refill(
        &mut self,
        me: usize,
        is_ready: bool,
        (most, jobs): (usize, &mut Vec<J>),
        actions: &mut Actions,
    ) -> Option<Turn> {
        self.come_to_lock(me);
        self.serve_waiters(actions);
        self.queue.pop_some(most.min(self.free_places()), jobs);
        self.queue.fast_path.begin_driven(jobs.len());
        while jobs.len() < most
            && let Some(job) = self.take_awaited(actions)
        {
            jobs.push(job);
        }
        if is_ready || !jobs.is_empty() {
            self.worker_table.set(me, WorkerState::Engaged);
        }
        if !jobs.is_empty() {
            self.call_for_help(actions);
            self.start_all(actions);
            return None;
        }
        if is_ready {
            return None;
        }
        if self.needs_no_driver() {
            self.worker_table.set(me, WorkerState::Leaving);
            self.call_last_to_go(actions);
            return Some(Turn::Leave);
        }
        self.worker_table.push_idle(me);
        Some(Turn::Sleep)
    }

    /// Another driver may have to help with what one begins, so all of them are there from then on.
    fn start_all(&mut self, actions: &mut Actions) {
        while self.can_start() {
            actions.start.push(self.worker_table.add(WorkerState::Starting));
        }
    }

    /// Whether a driver may go. It stays while tasks run, of whichever driver, because it may have to
    /// help with them. Only the accounting can tell: whether its own run queue is empty may change with every
    /// poll by another driver.
    fn needs_no_driver(&self) -> bool {
        self.is_closed()
            && self.queue.queued() == 0
            && self.queue.fast_path.driven() == 0
            && self.accounting.out_of_turn() == 0
            && self.may_go(0)
    }

    fn come_to_lock(&mut self, me: usize) {
        if self.worker_table.worker_state(me) == WorkerState::Idle {
            self.worker_table.remove_idle(me);
        } else {
            self.worker_table.set(me, WorkerState::Asking);
        }
    }

    /// A driver is gone without having been told to leave: whatever ran it is no more, or will be soon.
    pub(crate) fn lose(&mut self, me: usize, actions: &mut Actions) {
        self.come_to_lock(me);
        self.worker_table.remove(me);
        // It may have had the last of the tasks that the others stay for.
        self.call_last_to_go(actions);
    }
}
