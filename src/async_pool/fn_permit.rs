//! A place in an `AsyncFnPool`, held for an argument to come.

use std::fmt;
use std::panic::Location;
use std::time::Duration;

use super::AsyncFnPool;
use super::calls::{Calls, Job};
use crate::engine::{Held, Patience, QueueEntry, TaskState};
use crate::error::Refused;
use crate::handle::JoinHandle;

impl<T: Send + 'static, R: Send + 'static> AsyncFnPool<T, R> {
    /// Waits for a place and holds it, for an argument that is only then fetched. Waits whatever
    /// [`Builder::when_full`](crate::Builder::when_full) says.
    ///
    /// # Errors
    ///
    /// [`Refused`]: the pool is closed, [too many](crate::Builder::waiters) wait, or its runtime is gone.
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
    /// let squares = formic::AsyncFnPool::new(2, |n: u64| async move { n * n });
    /// let permit = squares.admit().await?;
    /// assert_eq!(permit.spawn(9).await?, 81);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "reserve")]
    pub async fn admit(&self) -> Result<AsyncFnPermit<'_, T, R>, Refused> {
        self.engine().admit_async().await.map(|held| AsyncFnPermit { held })
    }

    /// Holds a place, if there is one now.
    ///
    /// # Errors
    ///
    /// [`Refused`]: as [`try_submit`](AsyncFnPool::try_submit).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncFnPool::builder().workers(1).queue(0).build(|text: &str| async move { assert!(!text.is_empty()) })?;
    /// let permit = pool.try_admit()?;
    /// assert_eq!(pool.try_admit().unwrap_err(), formic::Refused::Full);
    /// drop(permit); // gives the place back
    /// assert!(pool.try_admit().is_ok());
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_admit(&self) -> Result<AsyncFnPermit<'_, T, R>, Refused> {
        self.engine().admit(Patience::None).map(|held| AsyncFnPermit { held })
    }

    /// Waits for a place for up to `time`, and holds it.
    ///
    /// # Errors
    ///
    /// [`Refused::TimedOut`] when the time is over. [`Refused::NoRuntime`] if the pool has
    /// [threads of its own](crate::Builder::own_threads) and this is not awaited in a runtime, whose timers it
    /// needs then. Otherwise as [`admit`](AsyncFnPool::admit).
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
    /// let pool = formic::AsyncFnPool::builder().workers(1).queue(0).build(|text: &str| async move { assert!(!text.is_empty()) })?;
    /// let permit = pool.admit().await?;
    /// let refused = pool.admit_timeout(Duration::from_millis(5)).await.unwrap_err();
    /// assert_eq!(refused, formic::Refused::TimedOut);
    /// # drop(permit);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn admit_timeout(&self, time: Duration) -> Result<AsyncFnPermit<'_, T, R>, Refused> {
        let Some(timers) = self.engine().work().ground().timers() else {
            return Err(Refused::NoRuntime);
        };
        // The timers of the pool's runtime, wherever this is polled.
        let timeout = {
            let _inside = timers.enter();
            tokio::time::timeout(time, self.engine().admit_async())
        };
        let held = timeout.await.map_err(|_| Refused::TimedOut)??;
        Ok(AsyncFnPermit { held })
    }

    /// As [`admit`](AsyncFnPool::admit), under the name that awaits on every kind of pool.
    ///
    /// # Errors
    ///
    /// As [`admit`](AsyncFnPool::admit).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncFnPool::builder().workers(1).queue(0).build(|text: &str| async move { assert!(!text.is_empty()) })?;
    /// let permit = pool.admit_async().await?;
    /// assert!(pool.try_admit().is_err());
    /// # drop(permit);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn admit_async(&self) -> Result<AsyncFnPermit<'_, T, R>, Refused> {
        self.admit().await
    }

    /// Waits for a place, and holds it together with others that are free: up to `max`. The permits come out of an
    /// iterator, and those that are left in it when it is dropped give their places back. A `max` of zero holds
    /// nothing and waits for nothing. No place is taken from submitters that wait, and none of a closed pool.
    ///
    /// # Errors
    ///
    /// As [`admit`](AsyncFnPool::admit).
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
    /// let pool = formic::AsyncFnPool::builder().workers(2).queue(2).build(|text: &str| async move { assert!(!text.is_empty()) })?;
    /// let mut permits = pool.admit_many(100).await?;
    /// assert_eq!(permits.len(), 4);
    /// for (message, permit) in ["one", "two"].into_iter().zip(&mut permits) {
    ///     permit.submit(message);
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
    ) -> Result<impl ExactSizeIterator<Item = AsyncFnPermit<'_, T, R>> + Send, Refused> {
        self.admit_many_async(max).await
    }

    /// As [`admit_many`](AsyncFnPool::admit_many), under the name that awaits on every kind of pool.
    ///
    /// # Errors
    ///
    /// As [`admit`](AsyncFnPool::admit).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncFnPool::builder().workers(1).queue(2).build(|text: &str| async move { assert!(!text.is_empty()) })?;
    /// assert_eq!(pool.admit_many_async(2).await?.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn admit_many_async(
        &self,
        max: usize,
    ) -> Result<impl ExactSizeIterator<Item = AsyncFnPermit<'_, T, R>> + Send, Refused> {
        let held = match max {
            0 => Held::none(self.engine()),
            _ => self.engine().admit_many_async(max).await?,
        };
        Ok(held.map(|held| AsyncFnPermit { held }))
    }

    /// As [`admit_many`](AsyncFnPool::admit_many), but does not wait: holds the places that are free now, up to `max`.
    ///
    /// # Errors
    ///
    /// As [`try_admit`](AsyncFnPool::try_admit): [`Refused::Full`] if no place is free.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncFnPool::builder().workers(1).queue(2).build(|text: &str| async move { assert!(!text.is_empty()) })?;
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
    ) -> Result<impl ExactSizeIterator<Item = AsyncFnPermit<'_, T, R>> + Send, Refused> {
        let held = match max {
            0 => Held::none(self.engine()),
            _ => self.engine().admit_many(max, Patience::None)?,
        };
        Ok(held.map(|held| AsyncFnPermit { held }))
    }
}

/// A place in an [`AsyncFnPool`], held for an argument to come. Dropped, it gives the place back. While a permit is out,
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

impl<T: Send + 'static, R: Send + 'static> AsyncFnPermit<'_, T, R> {
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
        self.held.put(Job::Bare(argument, Location::caller()));
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
        let task_state = TaskState::new(self.held.engine(), argument, Location::caller());
        self.held.put(Job::Spawned(QueueEntry::new(&task_state)));
        JoinHandle::new(task_state)
    }
}

impl<T: Send + 'static, R: Send + 'static> fmt::Debug for AsyncFnPermit<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFnPermit").finish_non_exhaustive()
    }
}
