//! The engine: one for every pool, generic over what a worker is handed.
//!
//! A room for each part of it: see the README beside this file.

mod actions;
mod contain;
mod context;
#[cfg(any(feature = "tokio", test))]
mod executor;
mod queue;
mod scheduler;
mod spin;
pub(crate) mod sync;
pub(crate) mod task;
mod thread_list;
mod threads;
pub(crate) mod wait;
pub(crate) mod wait_list;
mod waits;

#[cfg(all(test, loom))]
pub(crate) mod models;
#[cfg(all(test, not(loom)))]
pub(crate) mod tests;

use std::io;
use std::panic::Location;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use self::actions::Actions;
use self::queue::fast_path::FastPath;
pub(crate) use self::scheduler::core::{Limits, WorkerKind};
use self::scheduler::core::{Phase, Scheduler};
use self::scheduler::worker_table::WorkerState;
use self::sync::{Arc as Shared, Mutex, MutexGuard, lock};
use self::thread_list::ThreadList;
use crate::error::Refused;
use crate::on_cancel::Cancels;

pub(crate) use self::contain::contain;
pub(crate) use self::context::{depth, has_thread, is_cancelled, while_resumed, with_current};
pub(crate) use self::queue::fast_path::MOST_BUSY as MAX_WORKERS;
pub(crate) use self::scheduler::accounting::{Counts, End};
#[cfg(feature = "tokio")]
pub(crate) use self::scheduler::ends::CloseSubscription;
pub(crate) use self::scheduler::ends::Ended;
pub(crate) use self::scheduler::entry::{Held, Patience};
pub(crate) use self::scheduler::growth::ByLoad;
pub(crate) use self::scheduler::ready::Lack;
pub(crate) use self::sync::Padded;
pub(crate) use self::task::handle::{Joinable, TaskState, Unpack};
pub(crate) use self::task::join::{check_wait, poll_outcome, suspend_on, wait_for};
pub(crate) use self::task::queue_entry::QueueEntry;
pub(crate) use self::task::run::Hooks;
pub(crate) use self::threads::worker::start_worker;
pub(crate) use self::wait::block_until;
pub(crate) use self::waits::{Suspension, Waits};
#[cfg(feature = "tokio")]
pub(crate) use self::{
    context::{polls_are_short, replace_waits},
    executor::cell::{Cell, FreeList, Runnable},
    executor::driver::{Driver, Drives, Turn},
    executor::{DriverThreads, Executor},
    task::handle::Driven,
};

/// What the workers of a pool do, whatever they are.
pub(crate) trait Work: Send + Sync + Sized + 'static {
    /// What a worker is handed.
    type Job: Send + 'static;

    /// More tasks than this cannot run at once.
    const MOST: usize;

    /// What its workers are.
    fn worker_kind(&self) -> WorkerKind {
        WorkerKind::Threads
    }

    /// Whether its tasks need nothing of a worker but its thread: no state, and no runtime.
    fn runs_anywhere(&self) -> bool {
        false
    }

    /// Starts a worker for a place of the worker table.
    fn start(engine: &Arc<Engine<Self>>, index: usize) -> Result<(), NoStart>;

    /// An error if no worker could be started, as far as can be known without starting one.
    fn check_start(&self) -> Result<(), NoStart> {
        Ok(())
    }

    /// Whether the calling thread may block until tasks of such a pool end.
    fn may_block() -> bool {
        true
    }

    /// Wakes every future that runs, so that its driver sees whether it is to be dropped.
    fn wake_running(&self) {}

    /// The task of this job, if it has a handle. One without is always alive.
    fn queued_task(_job: &Self::Job) -> Option<&dyn QueuedTask> {
        None
    }

    /// Where the job was submitted, if that is known.
    fn origin(_job: &Self::Job) -> Option<&'static Location<'static>> {
        None
    }
}

/// A task with a handle, as the queue sees it.
pub(crate) trait QueuedTask {
    /// Makes sure that the task will not run. False if it would not have run anyway. Drops nothing.
    fn kill(&self) -> bool;

    /// Whether the task would not run, because its handle had it cancelled or run elsewhere.
    fn is_tombstone(&self) -> bool;

    /// No worker will take the task: if it did not run, what it owns is dropped, and its handle hears that it was
    /// cancelled.
    fn discard(&self);
}

/// Why a worker could not be started.
#[derive(Debug)]
pub(crate) enum NoStart {
    /// The operating system would not start a thread.
    Thread(io::Error),
    #[cfg_attr(
        not(any(feature = "tokio", test)),
        expect(dead_code, reason = "for pools of futures")
    )]
    /// The runtime that would run it has shut down.
    RuntimeGone,
}

impl From<NoStart> for Refused {
    fn from(error: NoStart) -> Self {
        match error {
            NoStart::Thread(_) => Refused::NoWorker,
            NoStart::RuntimeGone => Refused::RuntimeGone,
        }
    }
}

/// The work of threads, which run one job at a time.
pub(crate) trait ThreadWork: Work {
    /// What a worker keeps for itself between jobs.
    type State;

    /// What a worker lacks before it may be given a job.
    fn lacks(&self, _state: &Option<Self::State>) -> Lack {
        Lack::Nothing
    }

    /// Supplies what the worker at place `index` lacks, without a lock. Does not panic. An error says that the worker
    /// is not ready, and after which time it is to be asked again.
    fn get_ready(&self, _state: &mut Option<Self::State>, _index: usize) -> Result<(), Duration> {
        Ok(())
    }

    /// Runs a job. May panic. If the work lacks no state, that is made when it is first needed, so that a
    /// panic there is the job's. `counts` says who counts the job, if it does so itself.
    fn run(&self, state: &mut Option<Self::State>, job: Self::Job, counts: Counts) -> End;
}

/// How a pool is built; see `Builder` for what each one means.
pub(crate) struct Settings {
    /// What may change later.
    pub(crate) limits: Limits,
    pub(crate) name: Arc<str>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) hooks: Hooks,
    #[cfg(test)]
    pub(crate) faults: Option<Faults>,
}

/// Says which attempts to start a thread fail.
#[cfg(test)]
pub(crate) type Faults = Arc<dyn Fn() -> bool + Send + Sync>;

/// A pool without its handle: what workers and handles share.
pub(crate) struct Engine<W: Work> {
    /// On cache lines of its own: submitters write here while workers read what stands beside it.
    scheduler: Padded<Mutex<Scheduler<W::Job>>>,
    fast_path: Shared<FastPath>,
    /// What is known of cancelled tasks.
    cancels: Arc<Cancels>,
    threads: ThreadList,
    settings: Settings,
    work: W,
}

impl<W: Work> Engine<W> {
    pub(crate) fn new(settings: Settings, work: W) -> Arc<Self> {
        #[cfg(not(loom))]
        crate::error::install_panic_hook();
        let fast_path = Shared::new(FastPath::default());
        let (limits, worker_kind) = (settings.limits.clone(), work.worker_kind());
        let scheduler = Scheduler::new(fast_path.clone(), limits, worker_kind);
        let scheduler = Padded(Mutex::new(scheduler));
        let (cancels, threads) = (Arc::default(), ThreadList::new());
        Arc::new(Engine { scheduler, fast_path, cancels, threads, settings, work })
    }

    fn lock(&self) -> MutexGuard<'_, Scheduler<W::Job>> {
        lock(&self.scheduler)
    }

    /// Decides under the lock, and does what that asks for after it.
    fn decide<R>(
        self: &Arc<Self>,
        decision: impl FnOnce(&mut Scheduler<W::Job>, &mut Actions) -> R,
    ) -> R {
        let mut actions = Actions::default();
        let decided = decision(&mut self.lock(), &mut actions);
        self.perform(actions);
        decided
    }

    /// Does what was decided under the lock, now that it is free.
    fn perform(self: &Arc<Self>, actions: Actions) {
        // A waker is a user's code, and one that panics must not keep the others asleep.
        actions.wake.iter().for_each(|waiter| contain(|| waiter.wake()));
        actions.call.iter().for_each(Waker::wake_by_ref);
        actions.release.into_iter().for_each(|held| contain(|| drop(held)));
        for index in actions.start {
            // If there are other workers, the pool is only slower.
            drop(self.start_at(index));
        }
    }

    /// Starts a worker for a place that is being started. If that fails the place is vacant again, and what
    /// no worker will ever take is dropped.
    fn start_at(self: &Arc<Self>, index: usize) -> Result<(), NoStart> {
        self.start(index).inspect_err(|error| {
            self.decide_loss(|scheduler, actions| {
                scheduler.could_not_start(index, actions);
                if matches!(error, NoStart::RuntimeGone) && scheduler.worker_table.workers() == 0 {
                    scheduler.close(Phase::RuntimeGone, actions);
                }
            });
        })
    }

    /// Starts a worker for a place of the worker table.
    fn start(self: &Arc<Self>, index: usize) -> Result<(), NoStart> {
        #[cfg(test)]
        if self.settings.faults.as_ref().is_some_and(|fails| fails()) {
            return Err(NoStart::Thread(io::ErrorKind::WouldBlock.into()));
        }
        W::start(self, index)
    }

    /// Starts the first worker. The lock is held meanwhile: no other thread could do anything with a
    /// pool that has no worker, and none may rely on a worker that cannot be started.
    fn start_first(self: &Arc<Self>, scheduler: &mut Scheduler<W::Job>) -> Result<(), NoStart> {
        let index = scheduler.worker_table.add(WorkerState::Called);
        self.start(index).inspect_err(|_| scheduler.worker_table.remove(index))
    }

    /// Whether the calling thread is running a task of this pool.
    pub(crate) fn is_inside(&self) -> bool {
        context::is_inside(self)
    }

    /// What can be read without the lock, and may be a moment old.
    pub(crate) fn glance(&self) -> &FastPath {
        &self.fast_path
    }

    pub(crate) fn work(&self) -> &W {
        &self.work
    }

    pub(crate) fn limits(&self) -> Limits {
        self.lock().limits.clone()
    }

    #[cfg(any(feature = "tokio", test))]
    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.settings.hooks
    }
}
