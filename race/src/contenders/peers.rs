//! The pools of other crates, each with a fixed number of threads that are started beforehand.

use super::{Contender, Refused};
use crate::failure::Failure;
use crate::workloads::Params;

/// `rayon`, by `spawn` from outside the pool.
#[derive(Debug)]
pub(crate) struct Rayon(rayon::ThreadPool);

impl Rayon {
    pub(crate) fn fixed(params: &Params) -> Result<Self, Failure> {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(params.workers);
        builder.build().map(Self).map_err(Failure::new)
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
    pub(crate) fn fixed(params: &Params) -> Result<Self, Failure> {
        let pool =
            rusty_pool::Builder::new().core_size(params.workers).max_size(params.workers).build();
        pool.start_core_threads();
        Ok(Self(pool))
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
