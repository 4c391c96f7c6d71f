//! A place in a `Pool`, held for a task to come.

use std::fmt;
use std::panic::Location;

use crate::engine::Held;
use crate::engine::task::closure::Task;
use crate::handle::JoinHandle;
use crate::pool::Closures;

/// A place in a pool, held for a task to come. Dropped, it goes to the next who waits.
///
/// While a permit is out, the pool does not come to its end: [`drain`](crate::Pool::drain)
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

impl<'a> Permit<'a> {
    pub(crate) fn new(held: Held<'a, Closures>) -> Self {
        Permit { held }
    }

    /// As [`submit`](Permit::submit), for a caller that noted where the task was submitted.
    pub(crate) fn submit_from<F>(self, task: F, origin: &'static Location<'static>)
    where
        F: FnOnce() + Send + 'static,
    {
        self.held.put(Task::new(task).with_origin(origin));
    }

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
        self.spawn_from(task, Location::caller())
    }

    /// As [`spawn`](Permit::spawn), for a caller that noted where the task was submitted.
    pub(crate) fn spawn_from<F, T>(
        self,
        task: F,
        origin: &'static Location<'static>,
    ) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        JoinHandle::new(self.held.spawn(task, origin))
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}
