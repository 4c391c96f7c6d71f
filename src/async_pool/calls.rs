//! The work of an `AsyncFnPool`: calls of one function, in cells that are used again.

use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;

use super::host::Host;
use super::may_block::may_block;
use super::runtime::MOST_TASKS;
use crate::engine::{
    Begin, Cell, Drives, End, Engine, Executor, FreeList, NoStart, QueueEntry, Runnable, TaskState,
    Unpack, Watched, Work, WorkerKind, contain,
};
use crate::error::{JoinError, Refused, SubmitError, TaskPanic};
use crate::handle::JoinHandle;

pub(crate) type Spawned<T, R> = TaskState<Calls<T, R>, T, R>;

/// Makes a cell for a call that begins with the run queue of this number, and for its handle's task state, if it has one.
type Make<T, R> =
    Box<dyn Fn(usize, T, Option<Arc<Spawned<T, R>>>, Origin) -> Arc<dyn Runnable> + Send + Sync>;

pub(super) type Origin = &'static Location<'static>;

/// Calls, and what they stand on.
pub(crate) struct Calls<T: Send + 'static, R: Send + 'static> {
    make: Make<T, R>,
    host: Host,
    executor: Arc<Executor>,
}

/// What the queue holds.
pub(crate) enum Job<T: Send + 'static, R: Send + 'static> {
    Bare(T, Origin),
    Spawned(QueueEntry<Calls<T, R>, T, R>),
}

impl<T: Send + 'static, R: Send + 'static> Calls<T, R> {
    pub(super) fn new<F, Fut>(host: Host, function: F) -> Self
    where
        F: Fn(T) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
    {
        let executor = host.executor();
        // A cell that is used again stays with its run queue.
        let free_lists: Vec<Arc<FreeList<Watched<Self, T, Fut>>>> =
            executor.run_queues().iter().map(|_| Arc::default()).collect();
        let make: Make<T, R> = Box::new(move |run_queue, argument, task_state, origin| {
            let call = Watched::new(function(argument), task_state, origin);
            Cell::from_free_list(&free_lists[run_queue], call)
        });
        Calls { make, host, executor }
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    /// Begins with a call that has a handle. None if there is nothing to poll: it was not there any
    /// more, or its function panicked before it had a future.
    fn begin(
        queue_entry: &QueueEntry<Self, T, R>,
        run_queue: usize,
    ) -> Result<Arc<dyn Runnable>, End> {
        let (argument, task_state) = queue_entry.take_to_drive()?;
        let (work, origin) = (task_state.engine().work(), task_state.origin());
        let state = Some(Arc::clone(task_state));
        let made =
            catch_unwind(AssertUnwindSafe(|| (work.make)(run_queue, argument, state, origin)));
        made.map_err(|payload| {
            let panic = TaskPanic::caught(payload, Some(origin));
            task_state.end_driven(Err(JoinError::Panicked(panic)))
        })
    }
}

impl<T: Send + 'static, R: Send + 'static> Work for Calls<T, R> {
    type Job = Job<T, R>;

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

    fn kill(job: &Job<T, R>) -> bool {
        match job {
            Job::Bare(..) => true,
            Job::Spawned(queue_entry) => queue_entry.kill(),
        }
    }

    fn is_tombstone(job: &Job<T, R>) -> bool {
        match job {
            Job::Bare(..) => false,
            Job::Spawned(queue_entry) => queue_entry.is_tombstone(),
        }
    }

    fn origin(job: &Job<T, R>) -> Option<Origin> {
        match job {
            Job::Bare(_, origin) => Some(origin),
            Job::Spawned(_) => None,
        }
    }
}

impl<T: Send + 'static, R: Send + 'static> Drives for Calls<T, R> {
    fn executor(&self) -> &Arc<Executor> {
        &self.executor
    }

    fn begin(engine: &Arc<Engine<Self>>, run_queue: usize, job: Job<T, R>) -> Begin {
        match job {
            Job::Bare(argument, origin) => {
                Begin::Cell((engine.work().make)(run_queue, argument, None, origin))
            }
            Job::Spawned(queue_entry) => {
                let begun = Calls::begin(&queue_entry, run_queue);
                // If it has ended and its handle is gone, the outcome is dropped here, and may panic; the
                // call is counted already.
                contain(|| drop(queue_entry));
                begun.map_or_else(Begin::Ended, Begin::Cell)
            }
        }
    }
}

impl<T: Send + 'static, R: Send + 'static> Unpack<T, R> for Calls<T, R> {
    fn job(queue_entry: QueueEntry<Self, T, R>) -> Job<T, R> {
        Job::Spawned(queue_entry)
    }

    fn run_here(_: &Arc<Spawned<T, R>>) -> bool {
        // A future needs its runtime, so a thread that joins it can only wait.
        false
    }
}

/// Gives back the argument of a job that was refused.
pub(crate) fn give_back<T, R>(
    entered: Result<(), (Job<T, R>, Refused)>,
) -> Result<(), SubmitError<T>>
where
    T: Send + 'static,
    R: Send + 'static,
{
    match entered {
        Err((Job::Bare(argument, _), refused)) => Err(SubmitError::new(argument, refused)),
        // The engine gives back what it was given.
        Err((Job::Spawned(_), _)) | Ok(()) => Ok(()),
    }
}

/// The handle of a call that was accepted, or its argument.
pub(crate) fn handle<T, R>(
    task_state: Arc<Spawned<T, R>>,
    entered: Result<(), (Job<T, R>, Refused)>,
) -> Result<JoinHandle<R>, SubmitError<T>>
where
    T: Send + 'static,
    R: Send + 'static,
{
    // The job is dropped last, because it has cancelled what it finds in the task state.
    if let Err((_job, refused)) = entered
        // No other thread has the task state, so what was packed is still in it.
        && let Some(argument) = task_state.take()
    {
        return Err(SubmitError::new(argument, refused));
    }
    Ok(JoinHandle::new(task_state))
}
