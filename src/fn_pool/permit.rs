//! A place in an `FnPool`, held for an argument to come.

use std::fmt;
use std::panic::Location;

use super::{Calls, Job};
use crate::engine::Held;
use crate::handle::JoinHandle;

/// A place in an [`FnPool`](crate::FnPool), held for an argument to come. Dropped, it gives the place back. While a permit is out, the
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

impl<'a, T: Send + 'static, R: Send + 'static> FnPermit<'a, T, R> {
    pub(crate) fn new(held: Held<'a, Calls<T, R>>) -> Self {
        FnPermit { held }
    }

    /// As [`submit`](FnPermit::submit), for a caller that noted where the argument was submitted.
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
        self.submit_from(argument, Location::caller());
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
        self.spawn_from(argument, Location::caller())
    }

    /// As [`spawn`](FnPermit::spawn), for a caller that noted where the argument was submitted.
    pub(crate) fn spawn_from(
        self,
        argument: T,
        origin: &'static Location<'static>,
    ) -> JoinHandle<R> {
        JoinHandle::new(self.held.spawn(argument, origin))
    }
}

impl<T: Send + 'static, R: Send + 'static> fmt::Debug for FnPermit<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnPermit").finish_non_exhaustive()
    }
}
