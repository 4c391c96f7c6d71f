//! A place in an `AsyncPool`, held for a future to come.

use std::fmt;
use std::future::Future;
use std::panic::Location;

use super::AsyncPool;
use super::futures::{Futures, Job, pack};
use crate::engine::{Held, Patience};
use crate::error::Refused;
use crate::handle::JoinHandle;

impl AsyncPool {
    /// Waits for a place and holds it, for a future that is only then made. Waits whatever
    /// [`Builder::when_full`](crate::Builder::when_full) says. Dropped while it waits, it gives its turn
    /// to the next.
    ///
    /// # Errors
    ///
    /// [`Refused`]: the pool is closed, [too many](crate::Builder::waiters) wait, or its runtime is
    /// gone.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncPool::new(2);
    /// let permit = pool.admit().await?;
    /// let message = "fetched when there was a place for it";
    /// assert_eq!(permit.spawn(async move { message.len() }).await?, 37);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn admit(&self) -> Result<AsyncPermit<'_>, Refused> {
        self.engine().admit_async().await.map(|held| AsyncPermit { held })
    }

    /// Holds a place, if there is one now.
    ///
    /// # Errors
    ///
    /// [`Refused`]: as [`try_submit`](AsyncPool::try_submit).
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncPool, Refused};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = AsyncPool::builder().workers(1).queue(0).build()?;
    /// let permit = pool.try_admit()?;
    /// assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
    /// drop(permit); // gives the place back
    /// assert!(pool.try_admit().is_ok());
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_admit(&self) -> Result<AsyncPermit<'_>, Refused> {
        self.engine().admit(Patience::None).map(|held| AsyncPermit { held })
    }
}

/// A place in an [`AsyncPool`], held for a future to come. Dropped, it gives the place back. While one is
/// out, the pool does not come to its end.
///
/// # Examples
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = formic::AsyncPool::new(1);
/// let permit = pool.admit().await?;
/// pool.close();
/// let handle = permit.spawn(async { "accepted before" }); // cannot fail
/// assert_eq!(handle.await?, "accepted before");
/// pool.drain().await?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "OwnedSemaphorePermit")]
#[must_use = "a permit that is dropped gives its place back"]
pub struct AsyncPermit<'a> {
    held: Held<'a, Futures>,
}

impl AsyncPermit<'_> {
    /// Hands a future over. Cannot fail: the place is held, also in a pool that was closed meanwhile.
    /// Never waits.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncPool::new(1);
    /// pool.admit().await?.submit(async { tokio::task::yield_now().await });
    /// pool.drain().await?;
    /// assert_eq!(pool.stats().completed, 1);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn submit<F>(self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.held.put(Job::bare(future, Location::caller()));
    }

    /// As [`submit`](AsyncPermit::submit), with a handle to the result.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncPool::new(1);
    /// let handle = pool.admit().await?.spawn(async { 6 * 7 });
    /// assert_eq!(handle.await?, 42);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let task_state = pack(self.held.engine(), future, Location::caller());
        self.held.put(Job::spawned(&task_state));
        JoinHandle::new(task_state)
    }
}

impl fmt::Debug for AsyncPermit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncPermit").finish_non_exhaustive()
    }
}
