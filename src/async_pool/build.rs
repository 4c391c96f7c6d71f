//! `build`, for both pools of futures.

use std::future::Future;
use std::sync::Arc;

use super::calls::Calls;
use super::futures::Futures;
use super::host::Host;
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
    /// A [`BuildError`] that names the setting and its problem. The setting is `"runtime"` outside of a tokio
    /// runtime, unless the builder has [`runtime`](Builder::runtime) or [`own_threads`](Builder::own_threads).
    ///
    /// # Examples
    ///
    /// ```
    /// let error = formic::AsyncPool::builder().build().unwrap_err();
    /// assert_eq!(error.setting(), Some("runtime")); // this thread is in no runtime
    /// ```
    pub fn build(self) -> Result<AsyncPool, BuildError> {
        let host = self.find_host()?;
        let started = self.start(Futures::new(host))?;
        Ok(AsyncPool { shared: Arc::new(started) })
    }
}

impl<T: Send + 'static, R: Send + 'static> Builder<AsyncFnPool<T, R>> {
    /// Builds the pool for a function. Its drivers are started when they are first needed.
    ///
    /// # Errors
    ///
    /// A [`BuildError`] that names the setting and its problem. The setting is `"runtime"` outside of a tokio
    /// runtime, unless the builder has [`runtime`](Builder::runtime) or [`own_threads`](Builder::own_threads).
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
        let host = self.find_host()?;
        let started = self.start(Calls::new(host, function))?;
        Ok(AsyncFnPool { shared: Arc::new(started) })
    }
}

/// As [`AsyncPool::builder`].
impl Default for Builder<AsyncPool> {
    fn default() -> Self {
        AsyncPool::builder()
    }
}

/// As [`AsyncFnPool::builder`].
impl<T: Send + 'static, R: Send + 'static> Default for Builder<AsyncFnPool<T, R>> {
    fn default() -> Self {
        AsyncFnPool::builder()
    }
}

impl<P> Builder<P> {
    /// What a pool of futures runs on.
    fn find_host(&self) -> Result<Host, BuildError> {
        self.check_futures()?;
        if let Some(threads) = self.own_threads {
            return Host::of_threads(threads);
        }
        if let Some(setting) = self.asks_for_threads() {
            let problem = "the threads belong to the runtime, and `own_threads` is not set";
            return Err(BuildError::of(setting, problem));
        }
        self.runtime.clone().map_or_else(Host::current, |runtime| Ok(Host::Runtime(runtime)))
    }

    /// Refuses the settings that futures cannot have. Threads have them too, so their check is another one.
    fn check_futures(&self) -> Result<(), BuildError> {
        if self.policy() == WhenFull::CallerRuns {
            let problem = "a pool of futures cannot run a task on the thread of its caller";
            return Err(BuildError::of("when_full", problem));
        }
        match self.minimum() {
            0 => Ok(()),
            minimum => {
                let problem =
                    format!("a pool of futures has no minimum, and {minimum} was asked for");
                Err(BuildError::of("workers", problem))
            }
        }
    }
}
