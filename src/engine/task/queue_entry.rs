//! The queue entry: what stands in the queue for a task that lies in a task state.

use std::mem::replace;
use std::sync::Arc;

use crate::engine::QueuedTask;
use crate::engine::contain::contain;
use crate::engine::scheduler::accounting::{Counts, End};
use crate::engine::task::closure::RunOnce;
use crate::engine::task::handle::{TaskState, Unpack};

/// What stands in the queue for a task state. Dropped there, it has the task cancelled.
pub(crate) struct QueueEntry<T: QueuedTask + ?Sized> {
    task_state: Arc<T>,
    /// The task is not this entry's to cancel. It was taken out of its turn, for a lent place, and another queue entry
    /// stands in the queue, a tombstone.
    claimed: bool,
}

impl<T: QueuedTask + ?Sized> QueueEntry<T> {
    pub(crate) fn new(task_state: Arc<T>, claimed: bool) -> Self {
        QueueEntry { task_state, claimed }
    }

    pub(crate) fn task(&self) -> &T {
        &self.task_state
    }

    /// Calls `begin` with the task state, and whether the task was claimed: it takes the task, if that is still there.
    #[inline]
    pub(crate) fn begin<R>(mut self, begin: impl FnOnce(&Arc<T>, bool) -> R) -> R {
        // From here on there is nothing to be cancelled. After the outcome shows the task state is touched
        // no more than must be: another thread has it on its core then.
        let claimed = replace(&mut self.claimed, true);
        let begun = begin(&self.task_state, claimed);
        // If the handle was dropped, the outcome is dropped here, and may panic; the task is counted already.
        contain(|| drop(self));
        begun
    }
}

impl<T: QueuedTask + ?Sized> Drop for QueueEntry<T> {
    fn drop(&mut self) {
        if !self.claimed {
            self.task_state.discard();
        }
    }
}

impl<W: Unpack<P, R>, P: Send + 'static, R: Send + 'static> QueueEntry<TaskState<W, P, R>> {
    /// Runs the task, if it is still there.
    pub(crate) fn run(self, counts: Counts, task: impl FnOnce(&W, P) -> R) -> End {
        self.begin(|task_state, claimed| {
            let counts = if claimed { Counts::Claimed } else { counts };
            match task_state.take(claimed) {
                Some(packed) => task_state.run(packed, counts, task),
                None => End::gone(claimed),
            }
        })
    }

    /// Takes back what was packed for a task that was killed. The handle hears that the task was cancelled.
    pub(crate) fn take_killed(self) -> Option<P> {
        self.task_state.discard_to(|packed| packed)
    }
}

impl<W, P, R> RunOnce for QueueEntry<TaskState<W, P, R>>
where
    W: Unpack<P, R>,
    P: Send + 'static,
    R: Send + 'static,
{
    fn run(self, counts: Counts) -> End {
        QueueEntry::run(self, counts, W::call)
    }

    fn queued_task(&self) -> Option<&(dyn QueuedTask + 'static)> {
        Some(self.task())
    }
}
