//! A place in an `AsyncPool`, held for a future to come.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::time::Duration;

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

    /// Waits for a place for up to `time`, and holds it.
    ///
    /// # Errors
    ///
    /// [`Refused::TimedOut`] when the time is over. [`Refused::NoRuntime`] if the pool has
    /// [threads of its own](crate::Builder::own_threads) and this is not awaited in a runtime, whose timers it
    /// needs then. Otherwise as [`admit`](AsyncPool::admit).
    ///
    /// # Panics
    ///
    /// If that runtime, or otherwise the pool's, has no timers (`enable_time`).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncPool::builder().workers(1).queue(0).build()?;
    /// let permit = pool.admit().await?;
    /// let refused = pool.admit_timeout(Duration::from_millis(5)).await.unwrap_err();
    /// assert_eq!(refused, formic::Refused::TimedOut);
    /// # drop(permit);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn admit_timeout(&self, time: Duration) -> Result<AsyncPermit<'_>, Refused> {
        let Some(timers) = self.engine().work().ground().timers() else {
            return Err(Refused::NoRuntime);
        };
        // The timers of the pool's runtime, wherever this is polled.
        let timeout = {
            let _inside = timers.enter();
            tokio::time::timeout(time, self.engine().admit_async())
        };
        let held = timeout.await.map_err(|_| Refused::TimedOut)??;
        Ok(AsyncPermit { held })
    }

    /// As [`admit`](AsyncPool::admit), under the name that awaits on every kind of pool.
    ///
    /// # Errors
    ///
    /// As [`admit`](AsyncPool::admit).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncPool::builder().workers(1).queue(0).build()?;
    /// let permit = pool.admit_async().await?;
    /// assert!(pool.try_admit().is_err());
    /// # drop(permit);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn admit_async(&self) -> Result<AsyncPermit<'_>, Refused> {
        self.admit().await
    }

    /// Waits for a place, and holds it together with others that are free: up to `max`. The permits come out of an
    /// iterator, and those that are left in it when it is dropped give their places back. A `max` of zero holds
    /// nothing and waits for nothing. No place is taken from submitters that wait, and none of a closed pool.
    ///
    /// # Errors
    ///
    /// As [`admit`](AsyncPool::admit).
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, the future gives up its turn, and a place it had been given goes to the next.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncPool::builder().workers(2).queue(2).build()?;
    /// let mut permits = pool.admit_many(100).await?;
    /// assert_eq!(permits.len(), 4);
    /// for (message, permit) in ["one", "two"].into_iter().zip(&mut permits) {
    ///     permit.submit(async move { assert!(!message.is_empty()) });
    /// }
    /// drop(permits); // two places go back
    /// pool.drain().await?;
    /// assert_eq!(pool.stats().completed, 2);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "reserve_many")]
    #[doc(alias = "acquire_many")]
    pub async fn admit_many(
        &self,
        max: usize,
    ) -> Result<impl ExactSizeIterator<Item = AsyncPermit<'_>> + Send, Refused> {
        self.admit_many_async(max).await
    }

    /// As [`admit_many`](AsyncPool::admit_many), under the name that awaits on every kind of pool.
    ///
    /// # Errors
    ///
    /// As [`admit`](AsyncPool::admit).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncPool::builder().workers(1).queue(2).build()?;
    /// assert_eq!(pool.admit_many_async(2).await?.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn admit_many_async(
        &self,
        max: usize,
    ) -> Result<impl ExactSizeIterator<Item = AsyncPermit<'_>> + Send, Refused> {
        let held = match max {
            0 => Held::none(self.engine()),
            _ => self.engine().admit_many_async(max).await?,
        };
        Ok(held.map(|held| AsyncPermit { held }))
    }

    /// As [`admit_many`](AsyncPool::admit_many), but does not wait: holds the places that are free now, up to `max`.
    ///
    /// # Errors
    ///
    /// As [`try_admit`](AsyncPool::try_admit): [`Refused::Full`] if no place is free.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncPool::builder().workers(1).queue(2).build()?;
    /// let permits: Vec<_> = pool.try_admit_many(100)?.collect();
    /// assert_eq!(permits.len(), 3);
    /// assert_eq!(pool.try_admit_many(1).err(), Some(formic::Refused::Full));
    /// # drop(permits);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "try_reserve_many")]
    pub fn try_admit_many(
        &self,
        max: usize,
    ) -> Result<impl ExactSizeIterator<Item = AsyncPermit<'_>> + Send, Refused> {
        let held = match max {
            0 => Held::none(self.engine()),
            _ => self.engine().admit_many(max, Patience::None)?,
        };
        Ok(held.map(|held| AsyncPermit { held }))
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
#[must_use = "a permit that is dropped gives its place back"]
pub struct AsyncPermit<'a> {
    held: Held<'a, Futures>,
}

/// An [`AsyncPermit`] that borrows nothing; see [`AsyncPermit::into_owned`].
pub type OwnedAsyncPermit = AsyncPermit<'static>;

impl AsyncPermit<'_> {
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
