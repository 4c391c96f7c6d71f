//! The work of a `Pool`: closures of any type.

use std::panic::Location;
use std::sync::Arc;

use crate::engine::task::closure::{QueuedTask, Task};
use crate::engine::{
    Counts, End, Engine, MAX_WORKERS, NoStart, QueueEntry, TaskState, ThreadWork, Unpack, Work,
    start_worker,
};

/// What the workers of a [`Pool`](crate::Pool) do: they call closures.
pub(crate) struct Closures;

impl Work for Closures {
    type Job = Task;

    const MOST: usize = MAX_WORKERS;

    fn start(engine: &Arc<Engine<Self>>, index: usize) -> Result<(), NoStart> {
        start_worker(engine, index)
    }

    fn kill(job: &Task) -> bool {
        job.kill()
    }

    fn is_tombstone(job: &Task) -> bool {
        job.is_tombstone()
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
    fn job(queue_entry: QueueEntry<Self, F, T>) -> Task {
        Task::queued(Spawned(queue_entry))
    }

    fn run_here(task_state: &Arc<TaskState<Self, F, T>>) -> bool {
        task_state.run_for_joiner(|closure| closure())
    }
}

/// A spawned closure's place in the line.
pub(crate) struct Spawned<F, T>(pub(crate) QueueEntry<Closures, F, T>)
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static;

impl<F, T> QueuedTask for Spawned<F, T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    fn run(self, counts: Counts) -> End {
        self.0.run(counts, |closure| closure())
    }

    fn kill(&self) -> bool {
        self.0.kill()
    }

    fn is_tombstone(&self) -> bool {
        self.0.is_tombstone()
    }
}
