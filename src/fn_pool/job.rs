//! What stands in the queue of a pool of one function, whether that blocks or awaits.

use std::panic::Location;

use crate::engine::{QueueEntry, QueuedTask, TaskState, Unpack};
use crate::error::{Refused, SubmitError};

/// An argument in the queue.
pub(crate) enum Job<W, T, R>
where
    W: Unpack<T, R>,
    T: Send + 'static,
    R: Send + 'static,
{
    /// Fire and forget.
    Bare(T, &'static Location<'static>),
    Spawned(QueueEntry<TaskState<W, T, R>>),
}

impl<W, T, R> Job<W, T, R>
where
    W: Unpack<T, R>,
    T: Send + 'static,
    R: Send + 'static,
{
    pub(crate) fn origin(&self) -> Option<&'static Location<'static>> {
        match self {
            Job::Bare(_, origin) => Some(origin),
            Job::Spawned(_) => None,
        }
    }

    pub(crate) fn queued_task(&self) -> Option<&dyn QueuedTask> {
        match self {
            Job::Bare(..) => None,
            Job::Spawned(queue_entry) => Some(queue_entry.task()),
        }
    }

    /// The argument of a call that has not started. None if its handle has it cancelled.
    pub(crate) fn into_argument(self) -> Option<T> {
        match self {
            Job::Bare(argument, _) => Some(argument),
            Job::Spawned(queue_entry) => queue_entry.take_killed(),
        }
    }

    /// The argument of a job without a handle.
    pub(crate) fn into_bare(self) -> T {
        match self {
            Job::Bare(argument, _) => argument,
            Job::Spawned(_) => unreachable!("the engine gives back what it was given"),
        }
    }

    /// Gives back the argument of a job without a handle that was refused.
    pub(crate) fn entered(entered: Result<(), (Self, Refused)>) -> Result<(), SubmitError<T>> {
        entered.map_err(|(job, refused)| SubmitError::new(job.into_bare(), refused))
    }
}
