//! A place in an `FnPool`, held for an argument to come.

use std::fmt;
use std::panic::Location;
use std::time::Duration;

use super::FnPool;
use super::calls::{Calls, Job};
use crate::control::deadline;
use crate::engine::{Held, Patience, QueueEntry, TaskState};
use crate::error::Refused;
use crate::handle::JoinHandle;

impl<T: Send + 'static, R: Send + 'static> FnPool<T, R> {
    /// Waits for a place and holds it, so that the argument can be fetched afterwards.
    /// Waits whatever [`Builder::when_full`](crate::Builder::when_full) says; a task of the same pool
    /// gets its permit at once.
    ///
    /// # Errors
    ///
    /// [`Refused`]: `Closed`, `NoWorker`, or `Full` if as many submitters wait as may wait.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::FnPool::new(2, |work: Vec<u32>| assert_eq!(work.len(), 3));
    /// let permit = pool.admit()?;
    /// let work = vec![1, 2, 3]; // fetched only now that there is a place for it
    /// permit.submit(work);
    /// # pool.drain()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "reserve")]
    #[doc(alias = "acquire")]
    pub fn admit(&self) -> Result<FnPermit<'_, T, R>, Refused> {
        self.admit_with(Patience::Until(None))
    }

    /// Holds a place if there is one now.
    ///
    /// # Errors
    ///
    /// `Full`, `Closed` or `NoWorker`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use formic::{FnPool, Refused};
    /// let pool = FnPool::builder().workers(1).queue(0).build(|n: u64| n * n)?;
    /// let permit = pool.try_admit()?;
    /// assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
    /// drop(permit); // gives the place back
    /// assert!(pool.try_admit().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_admit(&self) -> Result<FnPermit<'_, T, R>, Refused> {
        self.admit_with(Patience::None)
    }

    /// Waits for a place for up to `time`, and holds it.
    ///
    /// # Errors
    ///
    /// `TimedOut`, `Closed`, `NoWorker`, or `Full` if as many submitters wait as may wait.
    ///
    /// # Examples
    ///
    /// ```
    /// # use formic::{FnPool, Refused};
    /// # use std::time::Duration;
    /// let pool = FnPool::builder().workers(1).queue(0).build(|n: u64| n * n)?;
    /// let permit = pool.admit()?;
    /// let refused = pool.admit_timeout(Duration::from_millis(5)).unwrap_err();
    /// assert_eq!(refused, Refused::TimedOut);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn admit_timeout(&self, time: Duration) -> Result<FnPermit<'_, T, R>, Refused> {
        self.admit_with(Patience::Until(deadline(time)))
    }

    /// Waits for a place without blocking a thread, on any executor. Dropped while it waits, the
    /// future gives up its turn, and a place it had been given goes to the next.
    ///
    /// # Errors
    ///
    /// As [`admit`](FnPool::admit).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let squares = formic::FnPool::new(2, |n: u64| n * n);
    /// let permit = squares.admit_async().await?; // the executor is free meanwhile
    /// assert_eq!(permit.spawn(6).await?, 36);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn admit_async(&self) -> Result<FnPermit<'_, T, R>, Refused> {
        self.engine().admit_async().await.map(|held| FnPermit { held })
    }

    /// Waits for a place, and holds it together with others that are free: up to `max`. The permits come out of an
    /// iterator, and those that are left in it when it is dropped give their places back. A `max` of zero holds
    /// nothing and waits for nothing.
    ///
    /// A consumer of messages fetches as many as it has permits: `fetch(permits.len())`. No place is taken from
    /// submitters that wait, and none of a closed pool.
    ///
    /// # Errors
    ///
    /// As [`admit`](FnPool::admit).
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::FnPool::builder().workers(2).queue(2).build(|text: &str| assert!(!text.is_empty()))?;
    /// let mut permits = pool.admit_many(100)?;
    /// assert_eq!(permits.len(), 4);
    /// for (message, permit) in ["one", "two"].into_iter().zip(&mut permits) {
    ///     permit.submit(message);
    /// }
    /// drop(permits); // two places go back
    /// pool.drain()?;
    /// assert_eq!(pool.stats().completed, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "reserve_many")]
    #[doc(alias = "acquire_many")]
    pub fn admit_many(
        &self,
        max: usize,
    ) -> Result<impl ExactSizeIterator<Item = FnPermit<'_, T, R>> + Send, Refused> {
        self.admit_many_with(max, Patience::Until(None))
    }

    /// As [`admit_many`](FnPool::admit_many), but does not wait: holds the places that are free now, up to `max`.
    ///
    /// # Errors
    ///
    /// As [`try_admit`](FnPool::try_admit): `Full` if no place is free.
    ///
    /// # Examples
    ///
    /// ```
    /// # use formic::{FnPool, Refused};
    /// let pool = FnPool::builder().workers(1).queue(2).build(|n: u64| n * n)?;
    /// let permits: Vec<_> = pool.try_admit_many(2)?.collect();
    /// assert_eq!((permits.len(), pool.try_admit_many(2)?.len()), (2, 1));
    /// let last = pool.try_admit()?;
    /// assert_eq!(pool.try_admit_many(2).err(), Some(Refused::Full));
    /// # drop((permits, last));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "try_reserve_many")]
    pub fn try_admit_many(
        &self,
        max: usize,
    ) -> Result<impl ExactSizeIterator<Item = FnPermit<'_, T, R>> + Send, Refused> {
        self.admit_many_with(max, Patience::None)
    }

    /// [`admit_many`](FnPool::admit_many) as a future, for any executor.
    ///
    /// # Errors
    ///
    /// As [`admit`](FnPool::admit).
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
    /// let pool = formic::FnPool::builder().workers(1).queue(1).build(|n: u64| n * n)?;
    /// for permit in pool.admit_many_async(2).await? {
    ///     permit.submit(3);
    /// }
    /// pool.drain_async().await?;
    /// assert_eq!(pool.stats().completed, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn admit_many_async(
        &self,
        max: usize,
    ) -> Result<impl ExactSizeIterator<Item = FnPermit<'_, T, R>> + Send, Refused> {
        let held = match max {
            0 => Held::none(self.engine()),
            _ => self.engine().admit_many_async(max).await?,
        };
        Ok(held.map(|held| FnPermit { held }))
    }

    fn admit_many_with(
        &self,
        max: usize,
        patience: Patience,
    ) -> Result<impl ExactSizeIterator<Item = FnPermit<'_, T, R>> + Send, Refused> {
        let held = match max {
            0 => Held::none(self.engine()),
            _ => self.engine().admit_many(max, patience)?,
        };
        Ok(held.map(|held| FnPermit { held }))
    }

    fn admit_with(&self, patience: Patience) -> Result<FnPermit<'_, T, R>, Refused> {
        self.engine().admit(patience).map(|held| FnPermit { held })
    }
}

/// A place in an [`FnPool`], held for an argument to come. Dropped, it gives the place back. While a permit is out, the
/// pool does not come to its end.
///
/// # Examples
///
/// ```
/// use formic::{FnPool, Refused};
///
/// let squares = FnPool::builder().workers(1).queue(0).build(|n: u64| n * n)?;
/// let permit = squares.admit()?;
/// assert_eq!(squares.try_admit().unwrap_err(), Refused::Full);
/// assert_eq!(permit.spawn(3).join()?, 9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "reservation")]
#[must_use = "a permit that is dropped gives its place back"]
pub struct FnPermit<'a, T: Send + 'static, R: Send + 'static> {
    held: Held<'a, Calls<T, R>>,
}

/// An [`FnPermit`] that borrows nothing; see [`FnPermit::into_owned`].
pub type OwnedFnPermit<T, R> = FnPermit<'static, T, R>;

impl<T: Send + 'static, R: Send + 'static> FnPermit<'_, T, R> {
    /// The same permit, without the borrow of the pool: it can be sent to a thread, moved into a task or kept in a
    /// struct. It holds its place, and does not keep the pool open: when the last handle of the pool is dropped,
    /// the pool closes, and the task of this permit still runs.
    ///
    /// # Examples
    ///
    /// ```
    /// let squares = formic::FnPool::new(1, |n: u64| n * n);
    /// let permit: formic::OwnedFnPermit<u64, u64> = squares.admit()?.into_owned();
    /// drop(squares);
    /// let handle = std::thread::spawn(move || permit.spawn(3)).join().unwrap();
    /// assert_eq!(handle.join()?, 9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_owned(self) -> OwnedFnPermit<T, R> {
        FnPermit { held: self.held.into_owned() }
    }

    /// Runs the function with this argument in this place, fire and forget. Cannot fail, even if the pool was closed
    /// meanwhile. Never waits.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::FnPool::new(1, |n: u64| assert_eq!(n, 7));
    /// let permit = pool.admit()?;
    /// pool.close();
    /// permit.submit(7);
    /// pool.drain()?;
    /// assert_eq!(pool.stats().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn submit(self, argument: T) {
        self.held.put(Job::Bare(argument, Location::caller()));
    }

    /// As [`submit`](FnPermit::submit), with a handle to the result.
    ///
    /// # Examples
    ///
    /// ```
    /// let squares = formic::FnPool::new(1, |n: u64| n * n);
    /// assert_eq!(squares.admit()?.spawn(3).join()?, 9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn spawn(self, argument: T) -> JoinHandle<R> {
        let task_state = TaskState::new(self.held.engine(), argument, Location::caller());
        self.held.put(Job::Spawned(QueueEntry::new(&task_state)));
        JoinHandle::new(task_state)
    }
}

impl<T: Send + 'static, R: Send + 'static> fmt::Debug for FnPermit<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnPermit").finish_non_exhaustive()
    }
}
