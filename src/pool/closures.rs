//! The work of a `Pool`: closures of any type.

use std::panic::Location;
use std::sync::Arc;

use crate::engine::task::closure::Task;
use crate::engine::{
    Counts, End, Engine, MAX_WORKERS, NoStart, QueueEntry, QueuedTask, TaskState, ThreadWork,
    Unpack, Work, start_worker,
};

/// What the workers of a [`Pool`](crate::Pool) do: they call closures.
pub(crate) struct Closures;

impl Work for Closures {
    type Job = Task;

    const MOST: usize = MAX_WORKERS;

    fn start(engine: &Arc<Engine<Self>>, index: usize) -> Result<(), NoStart> {
        start_worker(engine, index)
    }

    fn runs_anywhere(&self) -> bool {
        true
    }

    fn queued_task(job: &Task) -> Option<&dyn QueuedTask> {
        job.queued_task()
    }

    fn origin(job: &Task) -> Option<&'static Location<'static>> {
        Some(job.origin())
    }
}

impl ThreadWork for Closures {
    type State = ();

    fn run(&self, _: &mut Option<()>, job: Task, counts: Counts) -> End {
        job.call(counts)
    }
}

impl<F, T> Unpack<F, T> for Closures
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    fn job(task_state: Arc<TaskState<Self, F, T>>, claimed: bool) -> Task {
        Task::queued(QueueEntry::new(task_state, claimed))
    }

    fn call(&self, closure: F) -> T {
        closure()
    }
}
