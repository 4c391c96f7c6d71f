//! formic's pools of futures: pushed to, and pulling.

use formic::{AsyncFnPool, AsyncPool};

use super::Refused;
use super::futures::{Job, Pushed};
use crate::failure::Failure;

/// An [`AsyncPool`] as it comes; only the workers are set.
#[derive(Debug)]
pub(crate) struct FormicPushed<J> {
    job: J,
    pool: AsyncPool,
}

impl<J: Job> FormicPushed<J> {
    pub(crate) const SETTINGS: &str = "AsyncPool::new(workers), submit, the default queue of 4096";

    pub(crate) fn new(job: J, limit: usize) -> Self {
        Self { job, pool: AsyncPool::new(limit) }
    }

    /// On two threads of the pool's own.
    pub(crate) fn own(job: J, limit: usize) -> Self {
        Self { job, pool: on_own_threads(limit) }
    }
}

/// A pool with two threads of its own.
pub(crate) fn on_own_threads(limit: usize) -> AsyncPool {
    let pool = AsyncPool::builder().workers(limit).own_threads(2).build();
    pool.expect("these are sound settings, and no thread is started yet")
}

impl<J: Job> Pushed<J> for FormicPushed<J> {
    async fn push(&mut self, index: u64) -> Result<(), Refused> {
        self.pool.submit(self.job.start(index)).await.map_err(|_| Refused)
    }
}

/// An [`AsyncFnPool`], which is given numbers and makes the futures itself.
#[derive(Debug)]
pub(crate) struct FormicFnPushed(AsyncFnPool<u64, ()>);

impl FormicFnPushed {
    pub(crate) const SETTINGS: &str =
        "AsyncFnPool::new(workers), submit, the default queue of 4096";

    pub(crate) fn new<J: Job>(job: J, limit: usize) -> Self {
        Self(AsyncFnPool::new(limit, move |index| job.start(index)))
    }
}

impl<J: Job> Pushed<J> for FormicFnPushed {
    async fn push(&mut self, index: u64) -> Result<(), Refused> {
        self.0.submit(index).await.map_err(|_| Refused)
    }
}

/// Pulls by [`AsyncPool::for_each`].
pub(crate) async fn pull_by_formic<J: Job>(
    pool: AsyncPool,
    job: J,
    tasks: u64,
) -> Result<(), Failure> {
    let pulled = pool.for_each(0..tasks, move |index| job.start(index)).await;
    pulled.map_err(Failure::new)
}
