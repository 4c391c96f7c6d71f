//! How a future, or the argument of an async function, is packed for a shard's line, and waits for it.

use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

use super::give::{IfFull, Spawn, Submit, Take};
use super::{Multi, Shard};
use crate::admission::Pooled;
use crate::async_pool::{AsyncFnPool, AsyncPool, calls, futures};
use crate::engine::{Patience, TaskState, Work};
use crate::error::{Refused, SubmitError};
use crate::handle::JoinHandle;

/// A task, and the line of code that submits it: a future would not know that when it is polled.
pub(crate) struct Signed<J>(pub(super) J, pub(super) &'static Location<'static>);

/// A pool of futures.
pub(crate) trait Driven: Pooled {}

impl Driven for AsyncPool {}

impl<T: Send + 'static, R: Send + 'static> Driven for AsyncFnPool<T, R> {}

/// What stands in the line of a pool of futures.
type JobOf<P> = <<P as Pooled>::Work as Work>::Job;

/// What became of a job.
type Entered<P> = Result<(), (JobOf<P>, Refused)>;

/// How a task becomes a job for the line, in the way `K` says.
pub(crate) trait Pack<K, J>: Driven {
    /// What is kept of it meanwhile.
    type Stub;
    /// What the submitter gets for it.
    type Receipt;

    fn pack(&self, task: J) -> (Self::Stub, JobOf<Self>);

    /// The receipt if the job has entered, and otherwise the task.
    fn settle(stub: Self::Stub, entered: Entered<Self>) -> Result<Self::Receipt, SubmitError<J>>;
}

/// Such a job belongs to no pool, and goes from one to another as it is.
impl<P: Driven> Pack<Submit, JobOf<P>> for P {
    type Stub = ();
    type Receipt = ();

    fn pack(&self, job: JobOf<P>) -> ((), JobOf<P>) {
        ((), job)
    }

    fn settle((): (), entered: Entered<P>) -> Result<(), SubmitError<JobOf<P>>> {
        entered.map_err(|(job, refused)| SubmitError::new(job, refused))
    }
}

impl<F> Pack<Spawn, Signed<F>> for AsyncPool
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    type Stub = Arc<futures::Spawned<F>>;
    type Receipt = JoinHandle<F::Output>;

    fn pack(&self, Signed(future, origin): Signed<F>) -> (Self::Stub, futures::Job) {
        self.task_state(future, origin)
    }

    fn settle(
        task_state: Self::Stub,
        entered: Entered<Self>,
    ) -> Result<Self::Receipt, SubmitError<Signed<F>>> {
        let origin = task_state.origin();
        futures::handle(task_state, entered)
            .map_err(|error| error.map(|future| Signed(future, origin)))
    }
}

impl<T: Send + 'static, R: Send + 'static> Pack<Spawn, Signed<T>> for AsyncFnPool<T, R> {
    type Stub = Arc<calls::Spawned<T, R>>;
    type Receipt = JoinHandle<R>;

    fn pack(&self, Signed(argument, origin): Signed<T>) -> (Self::Stub, JobOf<Self>) {
        TaskState::new(&self.shared.engine, argument, origin)
    }

    fn settle(
        task_state: Self::Stub,
        entered: Entered<Self>,
    ) -> Result<Self::Receipt, SubmitError<Signed<T>>> {
        let origin = task_state.origin();
        match task_state.entered(entered) {
            Ok(task_state) => Ok(JoinHandle::new(task_state)),
            Err(error) => Err(error.map(|argument| Signed(argument, origin))),
        }
    }
}

impl<K, J, P: Pack<K, J>> Take<K, J> for P {
    type Receipt = P::Receipt;

    fn take(&self, task: J, if_full: IfFull) -> Result<P::Receipt, SubmitError<J>> {
        let (stub, job) = self.pack(task);
        let patience = if_full.patience(|| self.started().patience());
        P::settle(stub, self.started().engine.submit(job, patience))
    }
}

impl<P: Shard> Multi<P> {
    /// As [`give`](Multi::give), but does not block when it waits. A caller that drops the future gives up the wait.
    pub(super) async fn give_async<K, J>(
        &self,
        task: J,
    ) -> Result<<P as Pack<K, J>>::Receipt, SubmitError<J>>
    where
        P: Pack<K, J>,
    {
        let first = self.pick();
        let error = match self.shards()[first].take(task, IfFull::Elsewhere) {
            Ok(receipt) => return Ok(receipt),
            Err(error) => error,
        };
        let last = match self.give_elsewhere(first, error, IfFull::AsBuilt) {
            Ok(receipt) => return Ok(receipt),
            Err(last) => last,
        };
        let (stub, job) = last.shard.pack(last.job);
        let started = last.shard.started();
        let entered = match last.if_full.patience(|| started.patience()) {
            Patience::Until(_) => started.engine.enter(job).await,
            patience => started.engine.submit(job, patience),
        };
        P::settle(stub, entered)
    }
}
