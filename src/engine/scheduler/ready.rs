//! Workers that are asked before a task is taken: they may lack a state, or say that they are not ready.

use std::time::Duration;

use crate::engine::scheduler::core::{Actions, Order, Scheduler};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::sync::now;

/// What a worker lacks before it may be given a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lack {
    #[default]
    Nothing,
    /// It has to be asked whether it is ready, which takes no time.
    Answer,
    /// It has to make its state, which may take long.
    State,
    /// It is not ready, and is asked again after so long.
    Time(Duration),
}

impl<J> Scheduler<J> {
    /// Tells a worker that lacks something to get ready, if there is a task for it. While it makes its state it is
    /// not counted on: an idle worker is called for the task.
    pub(crate) fn ask_first(&mut self, me: usize) -> Option<Order<J>> {
        let lack = self.worker_table.worker(me).lack;
        let startable = self.queue.queued() > 0 && self.free_places() > 0 && !self.is_covered();
        if matches!(lack, Lack::Time(_)) || !(startable || self.startable_when_lent() > 0) {
            return None;
        }
        if lack == Lack::State {
            self.worker_table.set(me, WorkerState::Preparing);
        }
        Some(Order::GetReady)
    }

    /// A worker is not ready. Another one is called for the task that it does not take.
    pub(crate) fn decline(
        &mut self,
        me: usize,
        pause: Duration,
        actions: &mut Actions,
    ) -> Order<J> {
        self.worker_table.worker(me).declined = true;
        self.worker_table.set(me, WorkerState::Unready);
        self.call_for_help(actions);
        Order::Rest(now().checked_add(pause))
    }

    /// Whether short tasks keep a core busy each: one more worker would only be in the way.
    pub(crate) fn is_covered(&self) -> bool {
        !self.needs_attention() && self.short_at_work() >= self.task_times.useful(self.cores)
    }

    /// Whether only tickets of tasks that will not run are queued: to pass them over, a worker lacks nothing. Those that
    /// were taken and have not ended count, too: one of them may be the tombstone that is still counted.
    pub(crate) fn only_tombstones(&self) -> bool {
        let tally = self.queue.fast_path.tally();
        let queued = tally.queued(self.queue.published());
        queued > 0 && self.accounting.are_tombstones(queued + tally.busy())
    }
}
