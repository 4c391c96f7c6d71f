//! The queue entry: what stands in the queue for a task that lies in a task state.

use std::sync::Arc;

use crate::engine::contain::contain;
use crate::engine::scheduler::accounting::{Counts, End};
use crate::engine::task::handle::{Data, TaskState, Unpack};

/// A task in its task state.
type Packed<W, P, R> = Arc<TaskState<W, P, R>>;

/// What stands in the queue for a task state. Dropped there, it has the task cancelled. It is empty once the
/// task has run.
pub(crate) struct QueueEntry<W: Unpack<P, R>, P: Data, R: Data> {
    task_state: Option<Packed<W, P, R>>,
    /// The task was taken out of its turn, for a lent place. Another queue entry stands in the queue, a tombstone.
    claimed: bool,
}

impl<W: Unpack<P, R>, P: Data, R: Data> QueueEntry<W, P, R> {
    pub(crate) fn new(task_state: &Arc<TaskState<W, P, R>>) -> Self {
        QueueEntry { task_state: Some(Arc::clone(task_state)), claimed: false }
    }

    /// For a task that was claimed.
    pub(crate) fn claimed(task_state: Arc<TaskState<W, P, R>>) -> Self {
        QueueEntry { task_state: Some(task_state), claimed: true }
    }

    /// What is counted if the task is not there any more. A claimed task has been counted.
    fn gone(&self) -> End {
        if self.claimed { End::Counted } else { End::Tombstone }
    }

    /// The task state, and whether its task was claimed.
    #[cfg(feature = "tokio")]
    pub(crate) fn into_parts(mut self) -> (Option<Packed<W, P, R>>, bool) {
        (self.task_state.take(), self.claimed)
    }

    #[cfg(any(feature = "tokio", test))]
    /// Takes the task for a driver, if it is still there.
    pub(crate) fn take_to_drive(&self) -> Result<(P, &Packed<W, P, R>), End> {
        let task_state = self.task_state.as_ref().ok_or(End::Tombstone)?;
        let packed = task_state.take_to_drive(self.claimed).ok_or_else(|| self.gone())?;
        Ok((packed, task_state))
    }

    /// Runs the task, if it is still there.
    pub(crate) fn run(mut self, counts: Counts, task: impl FnOnce(P) -> R) -> End {
        let (gone, claimed) = (self.gone(), self.claimed);
        let take = |task_state: &Packed<W, P, R>| task_state.take_for(claimed);
        let Some(packed) = self.task_state.as_ref().and_then(take) else { return gone };
        // From here on there is nothing to be cancelled. After the outcome shows the task state is touched
        // no more than must be: another thread has it on its core then.
        let Some(task_state) = self.task_state.take() else { return gone };
        let counts = if claimed { Counts::Claimed } else { counts };
        let end = task_state.run(packed, counts, task);
        // If the handle was dropped, the outcome is dropped here, and may panic; the task is counted already.
        contain(|| drop(task_state));
        end
    }

    /// See [`TaskState::kill`]. What the task owns is dropped with the queue entry.
    pub(crate) fn kill(&self) -> bool {
        self.task_state.as_ref().is_some_and(|task_state| task_state.kill())
    }

    /// Takes back what was packed for a task that was killed. The handle hears that the task was cancelled.
    pub(crate) fn take_killed(self) -> Option<P> {
        self.task_state.as_ref()?.take_killed()
    }

    pub(crate) fn is_tombstone(&self) -> bool {
        self.task_state.as_ref().is_none_or(|task_state| task_state.is_tombstone())
    }
}

impl<W: Unpack<P, R>, P: Data, R: Data> Drop for QueueEntry<W, P, R> {
    fn drop(&mut self) {
        if let Some(task_state) = &self.task_state
            && !self.claimed
        {
            task_state.discard();
        }
    }
}
