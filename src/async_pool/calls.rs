//! The work of an `AsyncFnPool`: calls of one function, in cells that are used again.

use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;

use super::host::Host;
use super::may_block::may_block;
use super::runtime::MOST_TASKS;
use crate::engine::{
    Cell, Driven as _, Drives, End, Engine, Executor, FreeList, NoStart, QueueEntry, QueuedTask,
    Runnable, TaskState, Unpack, Work, WorkerKind,
};
use crate::error::{JoinError, TaskPanic};
use crate::fn_pool::Job;

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

impl<T: Send + 'static, R: Send + 'static> Calls<T, R> {
    pub(super) fn new<F, Fut>(host: Host, function: F) -> Self
    where
        F: Fn(T) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
    {
        let executor = host.executor();
        // A cell that is used again stays with its run queue.
        let free_lists: Vec<Arc<FreeList<Fut>>> =
            executor.run_queues().iter().map(|_| Arc::default()).collect();
        let make: Make<T, R> = Box::new(move |run_queue, argument, task_state, origin| {
            let cell = Cell::from_free_list(&free_lists[run_queue], function(argument), origin);
            if let Some(task_state) = task_state {
                cell.tell(task_state);
            }
            cell
        });
        Calls { make, host, executor }
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    /// Begins with a call that has a handle. An error if there is nothing to poll: it was not there any
    /// more, or its function panicked before it had a future.
    fn begin(
        &self,
        task_state: &Arc<Spawned<T, R>>,
        claimed: bool,
        run_queue: usize,
    ) -> Result<Arc<dyn Runnable>, End> {
        let argument = task_state.take_to_drive(claimed)?;
        let (state, origin) = (Some(Arc::clone(task_state)), task_state.origin());
        let make = || (self.make)(run_queue, argument, state, origin);
        catch_unwind(AssertUnwindSafe(make)).map_err(|payload| {
            let panic = TaskPanic::caught(payload, Some(origin));
            task_state.end(Err(JoinError::Panicked(panic)), Ok(()))
        })
    }
}

impl<T: Send + 'static, R: Send + 'static> Work for Calls<T, R> {
    type Job = Job<Self, T, R>;

    const MOST: usize = MOST_TASKS;

    fn worker_kind(&self) -> WorkerKind {
        WorkerKind::Drivers(self.executor.drivers())
    }

    fn queued_task(job: &Self::Job) -> Option<&dyn QueuedTask> {
        job.queued_task()
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

impl<T: Send + 'static, R: Send + 'static> Drives for Calls<T, R> {
    fn executor(&self) -> &Arc<Executor> {
        &self.executor
    }

    fn begin(
        engine: &Arc<Engine<Self>>,
        run_queue: usize,
        job: Self::Job,
    ) -> Result<Arc<dyn Runnable>, End> {
        let work = engine.work();
        match job {
            Job::Bare(argument, origin) => {
                let mut made = None;
                let end = engine.hooks().run(engine.name(), Some(origin), || {
                    made = Some((work.make)(run_queue, argument, None, origin));
                    End::Counted
                });
                made.ok_or(end)
            }
            Job::Spawned(queue_entry) => {
                queue_entry.begin(|task_state, claimed| work.begin(task_state, claimed, run_queue))
            }
        }
    }
}

impl<T: Send + 'static, R: Send + 'static> Unpack<T, R> for Calls<T, R> {
    fn job(task_state: Arc<Spawned<T, R>>, claimed: bool) -> Self::Job {
        Job::Spawned(QueueEntry::new(task_state, claimed))
    }
}
