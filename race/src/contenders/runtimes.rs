//! tokio: tasks on its workers, and closures on its blocking threads.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

use super::{Contender, Refused};
use crate::failure::Failure;
use crate::workloads::Params;

/// Longer than any run, so that no thread leaves while it is measured.
const KEPT: Duration = Duration::from_secs(600);

/// `tokio::spawn` of a future that only calls the closure.
#[derive(Debug)]
pub(crate) struct TokioSpawn(Runtime);

impl TokioSpawn {
    pub(crate) const FIXED: &str = "multi-thread runtime, worker_threads(workers), no drivers";

    pub(crate) fn fixed(params: &Params) -> Result<Self, Failure> {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(params.workers).build().map(Self).map_err(Failure::new)
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.0
    }
}

impl Contender for TokioSpawn {
    #[inline]
    fn submit(&self, task: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
        drop(self.0.spawn(async move { task() }));
        Ok(())
    }

    fn shut_down(self) -> Result<(), Failure> {
        drop(self.0);
        Ok(())
    }
}

/// The same with a semaphore before it: a task holds a permit from before the spawn to its end.
#[derive(Debug)]
pub(crate) struct TokioSemaphore {
    pool: TokioSpawn,
    permits: &'static Semaphore,
}

impl TokioSemaphore {
    pub(crate) const BOUNDED: &str =
        "as tokio-spawn, with a tokio Semaphore of as many permits as queue and workers together";

    pub(crate) fn bounded(params: &Params) -> Result<Self, Failure> {
        let permits = Semaphore::new(params.bound()? + params.workers);
        // Leaked, so that a task holds a plain reference and counts none.
        Ok(Self { pool: TokioSpawn::fixed(params)?, permits: Box::leak(Box::new(permits)) })
    }
}

impl Contender for TokioSemaphore {
    #[inline]
    fn submit(&self, task: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
        let permit = match self.permits.try_acquire() {
            Ok(permit) => permit,
            Err(_) => self.pool.0.block_on(self.permits.acquire()).map_err(|_| Refused)?,
        };
        self.pool.submit(move || {
            task();
            drop(permit);
        })
    }

    fn shut_down(self) -> Result<(), Failure> {
        self.pool.shut_down()
    }
}

/// `tokio::task::spawn_blocking`.
#[derive(Debug)]
pub(crate) struct TokioBlocking(Runtime);

impl TokioBlocking {
    pub(crate) const GROWN: &str =
        "current-thread runtime, max_blocking_threads(workers), threads start on demand and stay";

    pub(crate) fn grown(params: &Params) -> Result<Self, Failure> {
        Self::keeping(params, KEPT)
    }

    /// Idle threads leave after `time`.
    pub(crate) fn keeping(params: &Params, time: Duration) -> Result<Self, Failure> {
        let mut builder = Builder::new_current_thread();
        builder.max_blocking_threads(params.workers).thread_keep_alive(time);
        builder.build().map(Self).map_err(Failure::new)
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.0
    }
}

impl Contender for TokioBlocking {
    #[inline]
    fn submit(&self, task: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
        drop(self.0.spawn_blocking(task));
        Ok(())
    }

    fn shut_down(self) -> Result<(), Failure> {
        drop(self.0);
        Ok(())
    }
}
