//! `build`, for both pools of futures, and the runtime that they run on.

use std::future::Future;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::calls::Calls;
use super::futures::Futures;
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
            self.runtime = Some(runtime);
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
        let runtime = self.find_runtime()?;
        let started = self.start(Futures::new(runtime))?;
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
        let runtime = self.find_runtime()?;
        let started = self.start(Calls::new(runtime, function))?;
        Ok(AsyncFnPool { shared: Arc::new(started) })
    }
}

impl<P> Builder<P> {
    /// The runtime for a pool of futures, whose other settings are checked, too.
    fn find_runtime(&self) -> Result<Handle, BuildError> {
        if self.policy() == WhenFull::CallerRuns {
            return Err(BuildError::CallerRuns);
        }
        let current = || Handle::try_current().map_err(|_| BuildError::NoRuntime);
        self.runtime.clone().map_or_else(current, Ok)
    }
}
