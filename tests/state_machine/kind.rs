//! Every kind of pool behind one trait, so that one system under test serves all of them.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use formic::{
    Builder, CallError, Cancelled, Control, JoinError, JoinHandle, OnThreads, Refused, ReopenError,
    Stats, StillRunning, SubmitError,
};
use tokio::sync::oneshot;

use crate::flag::BoxFuture;
use crate::model::shard::Left;
use crate::model::{Plan, Reopening, Traits, Verb};
use crate::task::{Log, Report, Task};

/// The result of a call.
pub(crate) enum Reply {
    Entered(Option<JoinHandle<Report>>),
    /// A refusal, with the task unless the call requested a permit.
    Refused(Refused, Option<Box<dyn Any + Send>>),
    Called(Result<Report, JoinError>),
    /// The wait for an end is over.
    Over,
}

/// A place that a permit holds, as seen by the future that owns the permit.
pub(crate) struct Place {
    pub(crate) held: Arc<AtomicBool>,
    pub(crate) task: oneshot::Receiver<(Verb, Task)>,
}

impl Place {
    /// Reports that the place is held, and waits for the task that takes it.
    pub(crate) async fn occupied(self) -> Option<(Verb, Task)> {
        self.held.store(true, Ordering::SeqCst);
        self.task.await.ok()
    }
}

/// A kind of pool.
pub(crate) trait Kind: Clone + Send + Sync + 'static {
    const TRAITS: Traits;

    fn build(plan: &Plan, log: &Arc<Log>) -> Self;

    /// The pools that it consists of.
    fn controls(&self) -> Vec<&Control>;

    /// A call that never waits.
    fn try_enter(&self, verb: Verb, task: Task) -> Reply;

    /// A call that blocks its thread.
    fn enter(&self, verb: Verb, task: Task) -> Reply;

    /// A call that is a future.
    fn future(&self, verb: Verb, _task: Task) -> BoxFuture<Reply> {
        unreachable!("this kind of pool has no future for {verb:?}")
    }

    /// Holds a place, and puts a task into it. The future waits for a place if `wait` says so.
    fn admit(&self, _wait: bool, _place: Place) -> BoxFuture<Reply> {
        unreachable!("this kind of pool has no permits")
    }

    fn wait_idle(&self) -> BoxFuture<Reply> {
        unreachable!("this kind of pool is not waited for")
    }

    fn drain(&self) -> BoxFuture<Reply> {
        unreachable!("this kind of pool is not waited for")
    }

    // ---- All pools together ---------------------------------------------------------------------

    /// The figures of all pools together, and whether all are closed.
    fn total(&self) -> (Stats, bool) {
        (self.controls()[0].stats(), self.controls()[0].is_closed())
    }

    fn resize(&self, workers: usize) {
        self.controls()[0].resize(workers).expect("the capacity is allowed");
    }

    fn close(&self) {
        self.controls()[0].close();
    }

    fn discard(&self) -> usize {
        self.controls()[0].discard()
    }

    fn cancel_all(&self) -> Cancelled {
        self.controls()[0].cancel_all()
    }

    fn set_queue(&self, tasks: usize) {
        self.controls()[0].set_queue(tasks).expect("the bound is allowed");
    }

    fn set_waiters(&self, submitters: usize) {
        self.controls()[0].set_waiters(submitters);
    }

    /// Drains, and blocks the thread.
    fn drain_here(&self) {
        self.controls()[0].blocking_drain().expect("the test is not a task");
    }

    fn drain_now(&self) -> Vec<Left> {
        vec![left_after(self.controls()[0].blocking_drain_timeout(Duration::ZERO))]
    }

    fn reopen(&self) -> Vec<Reopening> {
        vec![reopening(self.controls()[0].reopen())]
    }
}

/// Settings that every builder has.
pub(crate) fn settings<P>(builder: Builder<P>, plan: &Plan, log: &Arc<Log>) -> Builder<P> {
    let builder = builder.workers(plan.capacity).queue(plan.queue).name("quiet");
    let builder = builder.on_panic(log.hook());
    match plan.waiters {
        Some(limit) => builder.waiters(limit),
        None => builder,
    }
}

/// Settings of pools of threads. Workers do not expire, so that no stuck state ends by itself.
pub(crate) fn thread_settings<P: OnThreads>(
    builder: Builder<P>,
    plan: &Plan,
    log: &Arc<Log>,
) -> Builder<P> {
    settings(builder, plan, log).keep_alive(None)
}

/// The reply to a call that makes no handle.
pub(crate) fn submitted<F: Send + 'static>(result: Result<(), SubmitError<F>>) -> Reply {
    result.map_or_else(refused, |()| Reply::Entered(None))
}

/// The reply to a call that makes a handle.
pub(crate) fn spawned<F: Send + 'static>(
    result: Result<JoinHandle<Report>, SubmitError<F>>,
) -> Reply {
    result.map_or_else(refused, |handle| Reply::Entered(Some(handle)))
}

/// The reply to a call that waits for its result.
pub(crate) fn called(result: Result<Report, CallError<Task>>) -> Reply {
    match result {
        Ok(report) => Reply::Called(Ok(report)),
        Err(CallError::Refused(error)) => refused(error),
        Err(CallError::Cancelled) => Reply::Called(Err(JoinError::Cancelled)),
        Err(CallError::Panicked(panic)) => Reply::Called(Err(JoinError::Panicked(panic))),
        Err(error) => unreachable!("the call has no deadline: {error}"),
    }
}

fn refused<F: Send + 'static>(error: SubmitError<F>) -> Reply {
    Reply::Refused(error.reason(), Some(Box::new(error.into_task())))
}

pub(crate) fn left(left: &StillRunning) -> Left {
    assert!(!left.is_from_inside(), "the test is not a task");
    Left { running: left.running(), queued: left.queued(), permits: left.permits() }
}

/// Returns the work that is left after a drain. None is left when only threads are still to be joined.
pub(crate) fn left_after(drained: Result<(), StillRunning>) -> Left {
    drained.err().as_ref().map_or_else(Left::default, left)
}

pub(crate) fn reopening(reopened: Result<(), ReopenError>) -> Reopening {
    match reopened {
        Ok(()) => Reopening::Opened,
        Err(ReopenError::Open) => Reopening::WasOpen,
        Err(ReopenError::StillRunning(error)) => Reopening::Left(left(&error)),
        Err(error) => panic!("{error}"),
    }
}
