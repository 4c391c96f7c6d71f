//! The work of an `AsyncPool`: futures of any type, each in a cell of its own.

use std::any::Any;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

use super::host::Host;
use super::may_block::may_block;
use super::runtime::MOST_TASKS;
use crate::engine::{
    Cell, Drives, End, Engine, Executor, NoStart, QueueEntry, QueuedTask, Runnable, TaskState,
    Unpack, Work, WorkerKind,
};
use crate::error::{Refused, SubmitError};
use crate::handle::JoinHandle;

/// Futures, and what they stand on.
pub(crate) struct Futures {
    host: Host,
    executor: Arc<Executor>,
}

/// What the queue holds.
pub(crate) enum Job {
    Bare(Arc<dyn Runnable>),
    Spawned(QueueEntry<dyn SpawnedTask>),
}

/// The task state of a future of whatever type.
pub(crate) trait SpawnedTask: QueuedTask + Send + Sync {
    /// Takes the task, if it is still there.
    fn begin(self: Arc<Self>, claimed: bool) -> Result<Arc<dyn Runnable>, End>;
}

/// A future in its cell: what is packed in a task state.
pub(crate) type Packed<F> = Arc<Cell<F>>;

/// A task state for a future.
pub(crate) type Spawned<F> = TaskState<Futures, Packed<F>, <F as Future>::Output>;

impl Futures {
    pub(crate) fn new(host: Host) -> Self {
        let executor = host.executor();
        Futures { host, executor }
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    /// A future in a cell, in memory that others have left.
    pub(crate) fn cell<F>(&self, future: F, origin: &'static Location<'static>) -> Packed<F>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.executor.deferred_frees.free_some();
        cell(future, origin)
    }
}

/// A future in a cell.
pub(crate) fn cell<F>(future: F, origin: &'static Location<'static>) -> Packed<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Cell::new(future, origin)
}

/// Takes a future that was never polled out of its cell.
pub(crate) fn unpack<F>(cell: &Cell<F>) -> F
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match cell.take() {
        Some(future) => future,
        None => unreachable!("it has not started"),
    }
}

/// The refusal of a job that was made by [`Job::Bare`] from an `F`.
pub(crate) fn refuse<F>((job, refused): (Job, Refused)) -> SubmitError<F>
where
    F: Future<Output = ()> + Send + 'static,
{
    SubmitError::new(job.into_future(), refused)
}

impl Job {
    /// The future of a job without a handle, which is an `F`.
    pub(crate) fn into_future<F>(self) -> F
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if let Job::Bare(cell) = self
            && let Ok(cell) = (cell as Arc<dyn Any + Send + Sync>).downcast::<Cell<F>>()
        {
            return unpack(&cell);
        }
        unreachable!("the engine gives back what it was given")
    }
}

/// The handle of a future that was accepted, or the future.
pub(crate) fn handle<F>(
    task_state: Arc<Spawned<F>>,
    entered: Result<(), (Job, Refused)>,
) -> Result<JoinHandle<F::Output>, SubmitError<F>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match task_state.entered(entered) {
        Ok(task_state) => Ok(JoinHandle::new(task_state)),
        Err(error) => Err(error.map(|cell| unpack(&cell))),
    }
}

impl<F> SpawnedTask for Spawned<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn begin(self: Arc<Self>, claimed: bool) -> Result<Arc<dyn Runnable>, End> {
        let cell = self.take_to_drive(claimed)?;
        cell.tell(self);
        Ok(cell)
    }
}

impl Work for Futures {
    type Job = Job;

    const MOST: usize = MOST_TASKS;

    fn worker_kind(&self) -> WorkerKind {
        WorkerKind::Drivers(self.executor.drivers())
    }

    fn queued_task(job: &Job) -> Option<&dyn QueuedTask> {
        match job {
            Job::Bare(_) => None,
            Job::Spawned(queue_entry) => Some(queue_entry.task()),
        }
    }

    fn start(engine: &Arc<Engine<Self>>, index: usize) -> Result<(), NoStart> {
        engine.work().host.start(engine, index)
    }

    fn check_start(&self) -> Result<(), NoStart> {
        self.host.check_start()
    }

    fn may_block() -> bool {
        may_block()
    }

    fn wake_running(&self) {
        self.executor.wake_all();
    }
}

impl Drives for Futures {
    fn executor(&self) -> &Arc<Executor> {
        &self.executor
    }

    fn begin(_: &Arc<Engine<Self>>, _: usize, job: Job) -> Result<Arc<dyn Runnable>, End> {
        match job {
            Job::Bare(cell) => Ok(cell),
            Job::Spawned(queue_entry) => {
                queue_entry.begin(|task, claimed| Arc::clone(task).begin(claimed))
            }
        }
    }
}

impl<F> Unpack<Packed<F>, F::Output> for Futures
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn job(task_state: Arc<Spawned<F>>, claimed: bool) -> Job {
        Job::Spawned(QueueEntry::new(task_state as _, claimed))
    }
}
