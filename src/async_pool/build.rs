//! `build`, for both pools of futures.

use std::future::Future;
use std::sync::Arc;

use super::calls::Calls;
use super::futures::Futures;
use super::ground::Ground;
use super::{AsyncFnPool, AsyncPool};
use crate::builder::{Builder, WhenFull};
use crate::error::BuildError;

/// How many futures may be in flight unless the builder is told.
pub(super) const IN_FLIGHT: usize = 1024;

impl Builder<AsyncPool> {
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
        if let Some(threads) = self.own_threads {
            return Ground::of_threads(threads);
        }
        if let Some(setting) = self.asks_for_threads() {
            return Err(BuildError::NoOwnThreads { setting });
        }
        self.runtime.clone().map_or_else(Ground::current, |runtime| Ok(Ground::Runtime(runtime)))
    }
}
