//! `build`, for both pools of futures, and the runtime that they run on.

use std::future::Future;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::calls::Calls;
use super::futures::Futures;
use super::ground::Ground;
use super::{AsyncFnPool, AsyncPool};
use crate::builder::{Builder, WhenFull};
use crate::error::BuildError;

/// How many futures may be in flight unless the builder is told.
pub(super) const IN_FLIGHT: usize = 1024;

/// What builds a pool of futures: it may be given a runtime.
macro_rules! runtime_setting {
    () => {
        /// The runtime to run on. Without this it is the one that `build` is called in.
        ///
        /// # Examples
        ///
        /// ```
        /// let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
        /// let handle = runtime.handle().clone();
        /// let pool = formic::AsyncPool::builder().runtime(handle).build()?; // here is no runtime
        /// let answer = runtime.block_on(pool.spawn(async { 6 * 7 }))?;
        /// assert_eq!(answer.join()?, 42);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        pub fn runtime(mut self, runtime: Handle) -> Self {
            self.ground = Some(Ground::Runtime(runtime));
            self
        }

        /// Runs on so many threads of the pool's own, instead of a runtime. Each has timers and sockets of its
        /// own, so that many futures which do little but wait are spread over several cores, and no lock of a
        /// runtime is between them. Nor is there a runtime to set up: the pool can be built anywhere.
        ///
        /// A thread is started when it is first needed, and ends when the pool has been drained, and with
        /// it what its futures have given to `tokio::spawn`. A future stays with the thread that
        /// polled it first. Another one helps out if that is stuck in a poll, but cannot see to its timers
        /// and sockets: so a future that blocks or computes for long holds up more than it would on a
        /// runtime of several threads. `tokio::time::pause` does not reach these threads.
        ///
        /// Of this and [`runtime`](Builder::runtime), the last one holds.
        ///
        /// # Examples
        ///
        /// ```
        /// use std::time::Duration;
        ///
        /// let pool = formic::AsyncPool::builder().workers(50_000).own_threads(2).build()?;
        /// for _ in 0..1000 {
        ///     pool.blocking_submit(async { tokio::time::sleep(Duration::from_millis(1)).await })?;
        /// }
        /// formic::Control::drain(&pool)?; // as on a pool of threads: no runtime is here
        /// assert_eq!(pool.stats().completed, 1000);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[doc(alias = "worker_threads")]
        #[doc(alias = "thread_per_core")]
        pub fn own_threads(mut self, threads: usize) -> Self {
            self.ground = Some(Ground::OwnThreads(threads));
            self
        }
    };
}

impl Builder<AsyncPool> {
    runtime_setting!();

    /// Builds the pool. Its drivers are started when they are first needed.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names the setting that cannot be; [`BuildError::NoRuntime`] outside of a runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncPool, BuildError};
    ///
    /// assert!(matches!(AsyncPool::builder().build(), Err(BuildError::NoRuntime)));
    /// ```
    pub fn build(self) -> Result<AsyncPool, BuildError> {
        let ground = self.find_ground()?;
        let started = self.start(Futures::new(ground))?;
        Ok(AsyncPool { shared: Arc::new(started) })
    }
}

impl<T: Send + 'static, R: Send + 'static> Builder<AsyncFnPool<T, R>> {
    runtime_setting!();

    /// Builds the pool for a function. Its drivers are started when they are first needed.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names the setting that cannot be; [`BuildError::NoRuntime`] outside of a runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncFnPool::builder().workers(8).build(|n: u64| async move { n + 1 })?;
    /// assert_eq!(pool.call(41).await?, 42);
    /// # Ok(())
    /// # }
    /// ```
    pub fn build<F, Fut>(self, function: F) -> Result<AsyncFnPool<T, R>, BuildError>
    where
        F: Fn(T) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
    {
        let ground = self.find_ground()?;
        let started = self.start(Calls::new(ground, function))?;
        Ok(AsyncFnPool { shared: Arc::new(started) })
    }
}

impl<P> Builder<P> {
    /// What a pool of futures runs on. Its other settings are checked, too.
    fn find_ground(&self) -> Result<Ground, BuildError> {
        if self.policy() == WhenFull::CallerRuns {
            return Err(BuildError::CallerRuns);
        }
        let ground = self.ground.clone().map_or_else(Ground::current, Ground::check)?;
        match (&ground, self.asks_for_threads()) {
            (Ground::Runtime(_), Some(setting)) => Err(BuildError::NoOwnThreads { setting }),
            _ => Ok(ground),
        }
    }
}
