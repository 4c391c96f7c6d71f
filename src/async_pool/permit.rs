//! A place in an `AsyncPool`, held for a future to come.

use std::fmt;
use std::future::Future;
use std::panic::Location;

use super::futures::{Futures, Job};
use crate::engine::Held;
use crate::handle::JoinHandle;

/// A place in an [`AsyncPool`](crate::AsyncPool), held for a future to come. Dropped, it gives the place back. While one is
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
#[must_use = "a permit that is dropped gives its place back"]
pub struct AsyncPermit<'a> {
    held: Held<'a, Futures>,
}

/// An [`AsyncPermit`] that borrows nothing; see [`AsyncPermit::into_owned`].
pub type OwnedAsyncPermit = AsyncPermit<'static>;

impl<'a> AsyncPermit<'a> {
    pub(crate) fn new(held: Held<'a, Futures>) -> Self {
        AsyncPermit { held }
    }

    /// As [`submit`](AsyncPermit::submit), for a caller that noted where the future was submitted.
    pub(crate) fn submit_from<F>(self, future: F, origin: &'static Location<'static>)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let cell = self.held.engine().work().cell(future, origin);
        self.held.put(Job::Bare(cell));
    }

    /// The same permit, without the borrow of the pool: it can be sent to a thread, moved into a task or kept in a
    /// struct. It holds its place, and does not keep the pool open: when the last handle of the pool is dropped,
    /// the pool closes, and the task of this permit still runs.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncPool::new(1);
    /// let permit: formic::OwnedAsyncPermit = pool.admit().await?.into_owned();
    /// let task = tokio::spawn(async move { permit.spawn(async { 6 * 7 }).await });
    /// assert_eq!(task.await??, 42);
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_owned(self) -> OwnedAsyncPermit {
        AsyncPermit { held: self.held.into_owned() }
    }

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
        self.submit_from(future, Location::caller());
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
        let cell = self.held.engine().work().cell(future, Location::caller());
        JoinHandle::new(self.held.spawn(cell, Location::caller()))
    }
}

impl fmt::Debug for AsyncPermit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncPermit").finish_non_exhaustive()
    }
}
