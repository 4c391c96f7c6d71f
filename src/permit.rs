//! A place in a `Pool`, held for a task to come.

use std::fmt;
use std::panic::Location;
use std::time::Duration;

use crate::control::deadline;
use crate::engine::task::closure::Task;
use crate::engine::{Held, Patience, QueueEntry, TaskState};
use crate::error::Refused;
use crate::handle::JoinHandle;
use crate::pool::{Closures, Pool, Spawned};

impl Pool {
    /// Waits for a place and holds it, so that the task to be submitted can be made afterwards.
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
    /// let pool = formic::Pool::new(2);
    /// let permit = pool.admit()?;
    /// let work = vec![1, 2, 3]; // fetched only now that there is a place for it
    /// permit.submit(move || assert_eq!(work.len(), 3));
    /// # pool.drain()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "reserve")]
    #[doc(alias = "acquire")]
    pub fn admit(&self) -> Result<Permit<'_>, Refused> {
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
    /// # use formic::{Pool, Refused};
    /// let pool = Pool::builder().workers(1).queue(0).build()?;
    /// let permit = pool.try_admit()?;
    /// assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
    /// drop(permit); // gives the place back
    /// assert!(pool.try_admit().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_admit(&self) -> Result<Permit<'_>, Refused> {
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
    /// # use formic::{Pool, Refused};
    /// # use std::time::Duration;
    /// let pool = Pool::builder().workers(1).queue(0).build()?;
    /// let permit = pool.admit()?;
    /// let refused = pool.admit_timeout(Duration::from_millis(5)).unwrap_err();
    /// assert_eq!(refused, Refused::TimedOut);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn admit_timeout(&self, time: Duration) -> Result<Permit<'_>, Refused> {
        self.admit_with(Patience::Until(deadline(time)))
    }

    /// Waits for a place without blocking a thread, on any executor. Dropped while it waits, the
    /// future gives up its turn, and a place it had been given goes to the next.
    ///
    /// # Errors
    ///
    /// As [`admit`](Pool::admit).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::Pool::new(2);
    /// let permit = pool.admit_async().await?; // the executor is free meanwhile
    /// assert_eq!(permit.spawn(|| 6 * 7).await?, 42);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn admit_async(&self) -> Result<Permit<'_>, Refused> {
        self.engine().admit_async().await.map(|held| Permit { held })
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
    /// As [`admit`](Pool::admit).
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::builder().workers(2).queue(2).build()?;
    /// let mut permits = pool.admit_many(100)?;
    /// assert_eq!(permits.len(), 4);
    /// for (message, permit) in ["one", "two"].into_iter().zip(&mut permits) {
    ///     permit.submit(move || println!("{message}"));
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
    ) -> Result<impl ExactSizeIterator<Item = Permit<'_>> + Send, Refused> {
        self.admit_many_with(max, Patience::Until(None))
    }

    /// As [`admit_many`](Pool::admit_many), but does not wait: holds the places that are free now, up to `max`.
    ///
    /// # Errors
    ///
    /// As [`try_admit`](Pool::try_admit): `Full` if no place is free.
    ///
    /// # Examples
    ///
    /// ```
    /// # use formic::{Pool, Refused};
    /// let pool = Pool::builder().workers(1).queue(2).build()?;
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
    ) -> Result<impl ExactSizeIterator<Item = Permit<'_>> + Send, Refused> {
        self.admit_many_with(max, Patience::None)
    }

    /// [`admit_many`](Pool::admit_many) as a future, for any executor.
    ///
    /// # Errors
    ///
    /// As [`admit`](Pool::admit).
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
    /// let pool = formic::Pool::builder().workers(1).queue(1).build()?;
    /// for permit in pool.admit_many_async(2).await? {
    ///     permit.submit(|| ());
    /// }
    /// pool.drain_async().await?;
    /// assert_eq!(pool.stats().completed, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn admit_many_async(
        &self,
        max: usize,
    ) -> Result<impl ExactSizeIterator<Item = Permit<'_>> + Send, Refused> {
        let held = match max {
            0 => Held::none(self.engine()),
            _ => self.engine().admit_many_async(max).await?,
        };
        Ok(held.map(|held| Permit { held }))
    }

    fn admit_many_with(
        &self,
        max: usize,
        patience: Patience,
    ) -> Result<impl ExactSizeIterator<Item = Permit<'_>> + Send, Refused> {
        let held = match max {
            0 => Held::none(self.engine()),
            _ => self.engine().admit_many(max, patience)?,
        };
        Ok(held.map(|held| Permit { held }))
    }

    fn admit_with(&self, patience: Patience) -> Result<Permit<'_>, Refused> {
        self.engine().admit(patience).map(|held| Permit { held })
    }
}

/// A place in a pool, held for a task to come. Dropped, it goes to the next who waits.
///
/// While a permit is out, the pool does not come to its end: [`Control::drain`](crate::Control::drain)
/// waits for it, and at least one worker stays.
///
/// # Examples
///
/// ```
/// use formic::{Pool, Refused};
///
/// let pool = Pool::builder().workers(1).queue(0).build()?;
/// let permit = pool.admit()?;
/// assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
/// permit.submit(|| println!("in the place that was held"));
/// pool.drain()?;
/// assert_eq!(pool.stats().completed, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "reservation")]
#[must_use = "a permit that is dropped gives its place back"]
pub struct Permit<'a> {
    held: Held<'a, Closures>,
}

/// A [`Permit`] that borrows nothing; see [`Permit::into_owned`].
pub type OwnedPermit = Permit<'static>;

impl Permit<'_> {
    /// The same permit, without the borrow of the pool: it can be sent to a thread, moved into a task or kept in a
    /// struct. It holds its place, and does not keep the pool open: when the last handle of the pool is dropped,
    /// the pool closes, and the task of this permit still runs.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let permit: formic::OwnedPermit = pool.admit()?.into_owned();
    /// drop(pool);
    /// let handle = std::thread::spawn(move || permit.spawn(|| 6 * 7)).join().unwrap();
    /// assert_eq!(handle.join()?, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_owned(self) -> OwnedPermit {
        Permit { held: self.held.into_owned() }
    }

    /// Runs a closure in this place. Cannot fail, even if the pool was closed meanwhile. Never waits.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let permit = pool.admit()?;
    /// pool.close();
    /// permit.submit(|| ());
    /// pool.drain()?;
    /// assert_eq!(pool.stats().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn submit<F: FnOnce() + Send + 'static>(self, task: F) {
        self.held.put(Task::new(task));
    }

    /// Runs a closure in this place and returns a handle to its result. Cannot fail.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let handle = pool.admit()?.spawn(|| "done");
    /// assert_eq!(handle.join()?, "done");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(self, task: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let task_state = TaskState::new(self.held.engine(), task, Location::caller());
        self.held.put(Task::queued(Spawned(QueueEntry::new(&task_state))));
        JoinHandle::new(task_state)
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}
