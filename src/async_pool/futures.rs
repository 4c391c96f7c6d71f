//! The work of an `AsyncPool`: futures of any type, each in a cell of its own.

use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

use super::host::Host;
use super::may_block::may_block;
use super::runtime::MOST_TASKS;
use crate::engine::{
    Begin, Cell, Drives, End, Engine, Executor, NoStart, QueueEntry, Runnable, TaskState, Unpack,
    Watched, Work, WorkerKind,
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
    Spawned(Entry),
}

/// What the queue holds for a task state. Dropped there, it has the task cancelled.
pub(crate) struct Entry {
    task: Arc<dyn SpawnedTask>,
    /// See [`QueueEntry`].
    claimed: bool,
}

/// The task state of a future of whatever type.
trait SpawnedTask: Send + Sync {
    fn take(&self, claimed: bool) -> Begin;
    fn kill(&self) -> bool;
    fn is_tombstone(&self) -> bool;
    fn discard(&self);
}

/// What is packed in a task state: the cell with the future, which knows the task state.
pub(crate) struct Packed<F>(pub(super) Arc<Cell<Watched<Futures, Packed<F>, F>>>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static;

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

    /// The job of a future without a handle, in memory that others have left.
    pub(super) fn job<F>(&self, future: F, origin: &'static Location<'static>) -> Job
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.executor.deferred_frees.free_some();
        Job::bare(future, origin)
    }
}

impl Job {
    /// A future without a handle.
    pub(crate) fn bare<F>(future: F, origin: &'static Location<'static>) -> Self
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Job::Bare(Cell::new(Watched::<Futures, Packed<F>, F>::new(future, None, origin)))
    }

    /// A future with a handle.
    pub(crate) fn spawned<F>(task_state: &Arc<Spawned<F>>) -> Self
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Job::Spawned(Entry { task: Arc::clone(task_state) as _, claimed: false })
    }

    /// Gives back the future of a job that was made by [`Job::bare`] from an `F`.
    pub(super) fn into_future<F>(self) -> Option<F>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let Job::Bare(cell) = self else { return None };
        let cell = cell.into_any().downcast::<Cell<Watched<Futures, Packed<F>, F>>>().ok()?;
        cell.take()?.into_future()
    }
}

/// Packs a future into a task state.
pub(crate) fn pack<F>(
    engine: &Arc<Engine<Futures>>,
    future: F,
    origin: &'static Location<'static>,
) -> Arc<Spawned<F>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    engine.work().executor.deferred_frees.free_some();
    TaskState::with(engine, origin, |task_state| {
        Packed(Cell::new(Watched::new(future, Some(task_state), origin)))
    })
}

/// The refusal of a job that was made by [`Job::bare`] from an `F`.
pub(crate) fn refuse<F>((job, refused): (Job, Refused)) -> SubmitError<F>
where
    F: Future<Output = ()> + Send + 'static,
{
    match job.into_future() {
        Some(future) => SubmitError::new(future, refused),
        None => unreachable!("the engine gives back the job that it was given"),
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
    // The job is dropped last, because it has cancelled what it finds in the task state.
    if let Err((_job, refused)) = entered
        // No other thread has the task state, so what was packed is still in it.
        && let Some(future) = task_state.take().and_then(|packed| packed.0.take()?.into_future())
    {
        return Err(SubmitError::new(future, refused));
    }
    Ok(JoinHandle::new(task_state))
}

impl<F> SpawnedTask for Spawned<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn take(&self, claimed: bool) -> Begin {
        match self.take_to_drive(claimed) {
            Some(Packed(cell)) => Begin::Cell(cell),
            // A claimed task that is gone has been counted.
            None => Begin::Ended(if claimed { End::Counted } else { End::Tombstone }),
        }
    }

    fn kill(&self) -> bool {
        TaskState::kill(self)
    }

    fn is_tombstone(&self) -> bool {
        TaskState::is_tombstone(self)
    }

    fn discard(&self) {
        TaskState::discard(self);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.claimed {
            self.task.discard();
        }
    }
}

impl Work for Futures {
    type Job = Job;

    const MOST: usize = MOST_TASKS;

    fn worker_kind(&self) -> WorkerKind {
        WorkerKind::Drivers(self.executor.drivers())
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

    fn kill(job: &Job) -> bool {
        match job {
            Job::Bare(_) => true,
            Job::Spawned(entry) => entry.task.kill(),
        }
    }

    fn is_tombstone(job: &Job) -> bool {
        match job {
            Job::Bare(_) => false,
            Job::Spawned(entry) => entry.task.is_tombstone(),
        }
    }

    fn origin(_: &Job) -> Option<&'static Location<'static>> {
        // Its cell knows, from the first poll on; before that nothing can panic.
        None
    }
}

impl Drives for Futures {
    fn executor(&self) -> &Arc<Executor> {
        &self.executor
    }

    fn begin(_: &Arc<Engine<Self>>, _: usize, job: Job) -> Begin {
        match job {
            Job::Bare(cell) => Begin::Cell(cell),
            Job::Spawned(entry) => entry.task.take(entry.claimed),
        }
    }
}

impl<F> Unpack<Packed<F>, F::Output> for Futures
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn job(queue_entry: QueueEntry<Self, Packed<F>, F::Output>) -> Job {
        let (Some(task), claimed) = queue_entry.into_parts() else {
            unreachable!("a queue entry that has left the queue holds its task state")
        };
        Job::Spawned(Entry { task, claimed })
    }

    fn run_here(_: &Arc<Spawned<F>>) -> bool {
        // A future needs its runtime, so a thread that joins it can only wait.
        false
    }
}
