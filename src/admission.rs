//! Admission: the verbs that wait for a place and hold it, the same on every pool and on the shards of a `Multi`.

mod call; // calls of a pool's function, by the plain verbs
mod calls; // .. and as futures, on every pool
mod spawn; // spawning on pools of threads, as a future
mod threads; // places, for callers that block
#[cfg(feature = "tokio")]
mod futures; // .. in pools of futures

use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

#[cfg(feature = "tower")]
pub(crate) use self::calls::start;
use crate::builder::Started;
use crate::engine::{Held, Patience, TaskState, Unpack, Work};
use crate::error::Refused;
use crate::fn_pool::{Calls, FnPool};
use crate::multi::Shard;
use crate::pool::{Closures, Pool};
#[cfg(feature = "tokio")]
use {
    crate::async_pool::{self, AsyncFnPool, AsyncPool},
    std::future::poll_fn,
    std::pin::{Pin, pin},
    std::task::Poll,
    std::time::Duration,
    tokio::runtime::Handle,
    tokio::time::Sleep,
};

/// A pool with an engine of its own.
pub(crate) trait Pooled: Shard + Send + Sync {
    type Work: Work;

    fn started(&self) -> &Started<Self::Work>;
}

/// Where a place can be had: a pool, or a shard of a `Multi`.
pub(crate) trait Admits {
    type Work: Work;

    /// Holds a place, and with it others that are free, up to `most` together.
    fn hold(&self, most: usize, patience: Patience) -> Result<Held<'_, Self::Work>, Refused>;

    /// As [`hold`](Admits::hold), and waits without blocking the thread.
    fn hold_async(
        &self,
        most: usize,
    ) -> impl Future<Output = Result<Held<'_, Self::Work>, Refused>> + Send + Sync;
}

impl<P: Pooled> Admits for P {
    type Work = P::Work;

    fn hold(&self, most: usize, patience: Patience) -> Result<Held<'_, P::Work>, Refused> {
        let engine = &self.started().engine;
        if most == 0 { Ok(Held::new(engine, 0)) } else { engine.admit(most, patience) }
    }

    async fn hold_async(&self, most: usize) -> Result<Held<'_, P::Work>, Refused> {
        let engine = &self.started().engine;
        if most == 0 { Ok(Held::new(engine, 0)) } else { engine.admit_async(most).await }
    }
}

impl<W: Work> Held<'_, W> {
    /// Puts a task with a handle into the one place that is held.
    pub(crate) fn spawn<P, R>(
        self,
        packed: P,
        origin: &'static Location<'static>,
    ) -> Arc<TaskState<W, P, R>>
    where
        W: Unpack<P, R>,
        P: Send + 'static,
        R: Send + 'static,
    {
        let (task_state, job) = TaskState::new(self.engine(), packed, origin);
        self.put(job);
        task_state
    }
}

impl Pooled for Pool {
    type Work = Closures;

    fn started(&self) -> &Started<Closures> {
        &self.shared
    }
}

impl<T: Send + 'static, R: Send + 'static> Pooled for FnPool<T, R> {
    type Work = Calls<T, R>;

    fn started(&self) -> &Started<Calls<T, R>> {
        &self.shared
    }
}

#[cfg(feature = "tokio")]
impl Pooled for AsyncPool {
    type Work = async_pool::futures::Futures;

    fn started(&self) -> &Started<async_pool::futures::Futures> {
        &self.shared
    }
}

#[cfg(feature = "tokio")]
impl<T: Send + 'static, R: Send + 'static> Pooled for AsyncFnPool<T, R> {
    type Work = async_pool::calls::Calls<T, R>;

    fn started(&self) -> &Started<async_pool::calls::Calls<T, R>> {
        &self.shared
    }
}

/// Awaits `future` for up to `time`, by the timers of this runtime, wherever that is polled.
#[cfg(feature = "tokio")]
async fn within<F: Future>(
    timers: Option<Handle>,
    time: Duration,
    future: F,
) -> Result<F::Output, Refused> {
    let Some(timers) = timers else { return Err(Refused::NoRuntime) };
    let sleep = {
        let _inside = timers.enter();
        tokio::time::sleep(time)
    };
    before(pin!(sleep), future).await.ok_or(Refused::TimedOut)
}

/// What comes of `future`, if it is ready before `sleep` is over.
#[cfg(feature = "tokio")]
async fn before<F: Future>(mut sleep: Pin<&mut Sleep>, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => sleep.as_mut().poll(context).map(|()| None),
    })
    .await
}
