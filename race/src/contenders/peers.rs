//! The pools of other crates, each with a fixed number of threads that are started beforehand.

use std::time::Duration;

use super::{Contender, Refused};
use crate::failure::Failure;
use crate::workloads::Params;

/// Longer than any run, so that no thread leaves while it is measured.
const KEPT: Duration = Duration::from_secs(600);

/// `rayon`, by `spawn` from outside the pool.
#[derive(Debug)]
pub(crate) struct Rayon(rayon::ThreadPool);

impl Rayon {
    pub(crate) const FIXED: &str = "ThreadPool with num_threads(workers)";

    pub(crate) fn fixed(params: &Params) -> Result<Self, Failure> {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(params.workers);
        builder.build().map(Self).map_err(Failure::new)
    }

    pub(crate) fn pool(&self) -> &rayon::ThreadPool {
        &self.0
    }
}

impl Contender for Rayon {
    #[inline]
    fn submit(&self, task: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
        self.0.spawn(task);
        Ok(())
    }

    fn shut_down(self) -> Result<(), Failure> {
        drop(self.0);
        Ok(())
    }
}

/// `rusty_pool`, which would else start its threads with the first tasks and grow under load.
pub(crate) struct RustyPool(rusty_pool::ThreadPool);

impl RustyPool {
    pub(crate) const FIXED: &str =
        "core and maximum size both `workers`, core threads started beforehand, without `async`";
    pub(crate) const ELASTIC: &str =
        "core size 1, maximum size `workers`, threads start on demand, without `async`";

    pub(crate) fn fixed(params: &Params) -> Result<Self, Failure> {
        let pool =
            rusty_pool::Builder::new().core_size(params.workers).max_size(params.workers).build();
        pool.start_core_threads();
        Ok(Self(pool))
    }

    pub(crate) fn elastic(params: &Params) -> Result<Self, Failure> {
        Self::keeping(params, KEPT)
    }

    /// Idle threads above the core leave after `time`.
    pub(crate) fn keeping(params: &Params, time: Duration) -> Result<Self, Failure> {
        let builder = rusty_pool::Builder::new().core_size(1).max_size(params.workers);
        Ok(Self(builder.keep_alive(time).build()))
    }

    pub(crate) fn pool(&self) -> &rusty_pool::ThreadPool {
        &self.0
    }
}

impl Contender for RustyPool {
    #[inline]
    fn submit(&self, task: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
        self.0.try_execute(task).map_err(|_| Refused)
    }

    fn shut_down(self) -> Result<(), Failure> {
        self.0.shutdown_join();
        Ok(())
    }
}

/// `threadpool`, whose threads start with the pool.
#[derive(Debug)]
pub(crate) struct Threadpool(threadpool::ThreadPool);

impl Threadpool {
    pub(crate) const FIXED: &str = "ThreadPool::new(workers)";

    pub(crate) fn fixed(params: &Params) -> Result<Self, Failure> {
        Ok(Self(threadpool::ThreadPool::new(params.workers)))
    }
}

impl Contender for Threadpool {
    #[inline]
    fn submit(&self, task: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
        self.0.execute(task);
        Ok(())
    }

    fn shut_down(self) -> Result<(), Failure> {
        self.0.join();
        Ok(())
    }
}

/// `threadfin`, whose threads start with the pool unless it may grow.
#[derive(Debug)]
pub(crate) struct Threadfin(threadfin::ThreadPool);

impl Threadfin {
    pub(crate) const FIXED: &str = "size(workers), queue without a limit";
    pub(crate) const ELASTIC: &str = "size(0..=workers), threads start on demand and stay";
    pub(crate) const BOUNDED: &str = "size(workers), queue_limit(queue)";

    pub(crate) fn fixed(params: &Params) -> Result<Self, Failure> {
        Ok(Self(threadfin::Builder::default().size(params.workers).build()))
    }

    pub(crate) fn elastic(params: &Params) -> Result<Self, Failure> {
        let builder = threadfin::Builder::default().size(0..=params.workers);
        Ok(Self(builder.keep_alive(KEPT).build()))
    }

    pub(crate) fn bounded(params: &Params) -> Result<Self, Failure> {
        let builder = threadfin::Builder::default().size(params.workers);
        Ok(Self(builder.queue_limit(params.bound()?).build()))
    }

    pub(crate) fn pool(&self) -> &threadfin::ThreadPool {
        &self.0
    }
}

impl Contender for Threadfin {
    #[inline]
    fn submit(&self, task: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
        drop(self.0.execute(task));
        Ok(())
    }

    fn shut_down(self) -> Result<(), Failure> {
        self.0.join();
        Ok(())
    }
}
