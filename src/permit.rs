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

impl Permit<'_> {
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
