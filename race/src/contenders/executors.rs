//! The pools of the smol family: `async-executor` on threads of our own, and `blocking`.

use std::num::NonZeroUsize;
use std::thread::JoinHandle;

use async_executor::Executor;
use futures_lite::future;

use super::channels::{join, start};
use super::{Contender, Refused};
use crate::failure::Failure;
use crate::workloads::Params;

/// `async-executor`: its tasks are futures, so a closure is wrapped into one.
#[derive(Debug)]
pub(crate) struct AsyncExecutor {
    executor: &'static Executor<'static>,
    /// Closes when dropped, which ends the threads.
    stop: async_channel::Sender<()>,
    threads: Vec<JoinHandle<()>>,
}

impl AsyncExecutor {
    pub(crate) const FIXED: &str = "a leaked Executor, run by `workers` threads";

    pub(crate) fn fixed(params: &Params) -> Result<Self, Failure> {
        Self::on_threads(params.workers)
    }

    /// Without threads of its own, it runs where somebody drives it.
    pub(crate) fn on_threads(workers: usize) -> Result<Self, Failure> {
        // Leaked, so that a task holds a plain reference and counts none.
        let executor: &'static Executor<'static> = Box::leak(Box::new(Executor::new()));
        let (stop, stopped) = async_channel::bounded::<()>(1);
        let threads = start(workers, || {
            let stopped = stopped.clone();
            move || {
                // It fails, as it should, when the other end is dropped.
                future::block_on(executor.run(stopped.recv())).ok();
            }
        })?;
        Ok(Self { executor, stop, threads })
    }

    pub(crate) fn executor(&self) -> &'static Executor<'static> {
        self.executor
    }
}

impl Contender for AsyncExecutor {
    #[inline]
    fn submit(&self, task: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
        self.executor.spawn(async move { task() }).detach();
        Ok(())
    }

    fn shut_down(self) -> Result<(), Failure> {
        drop(self.stop);
        join(self.threads)
    }
}

/// `blocking`: one pool for the whole process, which starts its threads on demand.
#[derive(Debug)]
pub(crate) struct Blocking;

impl Blocking {
    pub(crate) const GROWN: &str = "set_max_blocking_threads(workers), threads start on demand";

    pub(crate) fn grown(params: &Params) -> Result<Self, Failure> {
        let workers = NonZeroUsize::new(params.workers);
        let workers = workers.ok_or_else(|| Failure::new("a pool needs a worker"))?;
        blocking::set_max_blocking_threads(workers);
        Ok(Self)
    }
}

impl Contender for Blocking {
    #[inline]
    fn submit(&self, task: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
        blocking::unblock(task).detach();
        Ok(())
    }

    /// Its threads leave by themselves after half a second without work.
    fn shut_down(self) -> Result<(), Failure> {
        Ok(())
    }
}
