//! A place in an `AsyncFnPool`, held for an argument to come.

use std::fmt;
use std::panic::Location;

use super::calls::Calls;
use crate::engine::Held;
use crate::fn_pool::Job;
use crate::handle::JoinHandle;

/// A place in an [`AsyncFnPool`](crate::AsyncFnPool), held for an argument to come. Dropped, it gives the place back. While a permit is out,
/// the pool does not come to its end.
///
/// # Examples
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let squares = formic::AsyncFnPool::new(1, |n: u64| async move { n * n });
/// let permit = squares.admit().await?;
/// squares.close();
/// assert_eq!(permit.spawn(3).await?, 9); // accepted before
/// # Ok(())
/// # }
/// ```
#[doc(alias = "reservation")]
#[must_use = "a permit that is dropped gives its place back"]
pub struct AsyncFnPermit<'a, T: Send + 'static, R: Send + 'static> {
    held: Held<'a, Calls<T, R>>,
}

/// An [`AsyncFnPermit`] that borrows nothing; see [`AsyncFnPermit::into_owned`].
pub type OwnedAsyncFnPermit<T, R> = AsyncFnPermit<'static, T, R>;

impl<'a, T: Send + 'static, R: Send + 'static> AsyncFnPermit<'a, T, R> {
    pub(crate) fn new(held: Held<'a, Calls<T, R>>) -> Self {
        AsyncFnPermit { held }
    }

    /// As [`submit`](AsyncFnPermit::submit), for a caller that noted where the argument was submitted.
    pub(crate) fn submit_from(self, argument: T, origin: &'static Location<'static>) {
        self.held.put(Job::Bare(argument, origin));
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
    /// let squares = formic::AsyncFnPool::new(1, |n: u64| async move { n * n });
    /// let permit: formic::OwnedAsyncFnPermit<u64, u64> = squares.admit().await?.into_owned();
    /// let task = tokio::spawn(async move { permit.spawn(3).await });
    /// assert_eq!(task.await??, 9);
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_owned(self) -> OwnedAsyncFnPermit<T, R> {
        AsyncFnPermit { held: self.held.into_owned() }
    }

    /// Calls the function with this argument in this place, fire and forget. Cannot fail, even if the pool was closed
    /// meanwhile. Never waits.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncFnPool::new(1, |n: u64| async move { assert_eq!(n, 7) });
    /// pool.admit().await?.submit(7);
    /// pool.drain().await?;
    /// assert_eq!(pool.stats().completed, 1);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn submit(self, argument: T) {
        self.submit_from(argument, Location::caller());
    }

    /// As [`submit`](AsyncFnPermit::submit), with a handle to the result.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let squares = formic::AsyncFnPool::new(1, |n: u64| async move { n * n });
    /// assert_eq!(squares.admit().await?.spawn(3).await?, 9);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn(self, argument: T) -> JoinHandle<R> {
        JoinHandle::new(self.held.spawn(argument, Location::caller()))
    }
}

impl<T: Send + 'static, R: Send + 'static> fmt::Debug for AsyncFnPermit<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFnPermit").finish_non_exhaustive()
    }
}
