//! Growth by load: how many workers there are, by how full the queue is.
//!
//! A task that comes in can only raise the load, so the scheduler grows where it calls workers; a worker
//! that has ended tasks can only have lowered it, so the scheduler shrinks where workers report. So
//! nothing needs to tick.

use crate::engine::scheduler::core::{Actions, Scheduler};
use crate::engine::scheduler::worker_table::WorkerState;

/// The marks of a scheduler that grows by load; see `Growth::ByLoad`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ByLoad {
    pub(crate) step: usize,
    pub(crate) grow_at: f64,
    pub(crate) shrink_at: f64,
}

impl<J> Scheduler<J> {
    /// Starts a step of workers if the load is above the mark.
    pub(crate) fn grow_by_load(&mut self, by_load: ByLoad, actions: &mut Actions) {
        // Those on their way will take a task each.
        if self.load(self.uncovered()) <= by_load.grow_at || !self.may_grow() || !self.can_start() {
            return;
        }
        self.retiring = 0;
        let room = self.most_running() - self.worker_table.workers();
        actions.start.extend(
            (0..by_load.step.min(room)).map(|_| self.worker_table.add(WorkerState::Starting)),
        );
    }

    /// Whether a higher load would bring workers.
    pub(crate) fn may_grow(&self) -> bool {
        self.worker_table.count(WorkerState::Idle) == 0
            && self.worker_table.workers() < self.most_running()
    }

    /// A worker has ended tasks: if the load is below the mark, a step of workers is to go.
    pub(crate) fn shrink_by_load(&mut self, actions: &mut Actions) {
        if !self.is_slack() || self.retiring > 0 {
            return;
        }
        let step = self.limits.growth.map_or(0, |by_load| by_load.step);
        self.retiring = step.min(self.spare());
        // The one at the lock goes first, because it need not be woken for that.
        let others = self.retiring.saturating_sub(1);
        actions.call.extend((0..others).map_while(|_| self.worker_table.call_oldest()));
    }

    /// Whether the worker at the lock is one of those to go.
    pub(crate) fn retires(&mut self) -> bool {
        if self.retiring > 0 && (self.spare() == 0 || !self.is_slack()) {
            self.retiring = 0;
        }
        self.retiring > 0 && self.may_go(self.limits.minimum.max(1))
    }

    /// Whether an open pool has fewer tasks in the queue than its workers are worth.
    fn is_slack(&self) -> bool {
        let below = |by_load: ByLoad| self.load(self.queue.queued()) < by_load.shrink_at;
        !self.is_closed() && self.limits.growth.is_some_and(below)
    }

    /// How many workers may go by load. The last one goes only when it expires.
    fn spare(&self) -> usize {
        self.worker_table.remaining().saturating_sub(self.limits.minimum.max(1))
    }

    /// A quotient, because it is rounded as the mark beside it was: 57 of 100 are not above 0.57.
    fn load(&self, tasks: usize) -> f64 {
        tasks as f64 / self.limits.queue as f64
    }
}
