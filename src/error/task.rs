//! Tasks without a result: cancelled, or panicked.

use std::error::Error;
use std::fmt;

use super::{Refused, TaskPanic};

/// Why a task has no result.
///
/// # Examples
///
/// ```
/// use formic::{JoinError, Pool};
///
/// let pool = Pool::new(1);
/// let handle = pool.spawn(|| panic!("out of ink"))?;
/// match handle.join() {
///     Err(JoinError::Panicked(panic)) => assert_eq!(panic.message(), "out of ink"),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// It was dropped: by its handle, by [`discard`](crate::Control::discard) or
    /// [`cancel_all`](crate::Control::cancel_all), or with its pool. A closure is dropped only before it was started, a future also while it runs.
    Cancelled,
    /// It panicked.
    Panicked(TaskPanic),
    /// The pool refused to go on: the last item of a `map` whose pool was closed before the end of its
    /// input; or the wait itself was refused, because it would have blocked a thread of an async runtime.
    Refused(Refused),
}

impl JoinError {
    /// Whether the task was dropped before its end.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let handle = pool.spawn(|| ())?;
    /// let cancelled = handle.cancel();
    /// assert_eq!(handle.join().is_err_and(|error| error.is_cancelled()), cancelled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, JoinError::Cancelled)
    }

    /// Whether the task panicked.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let error = pool.spawn(|| panic!("out of ink"))?.join().unwrap_err();
    /// assert!(error.is_panic());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self, JoinError::Panicked(_))
    }

    /// The panic, if it was one.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let error = pool.spawn(|| panic!("out of ink"))?.join().unwrap_err();
    /// assert_eq!(error.into_panic().unwrap().message(), "out of ink");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn into_panic(self) -> Option<TaskPanic> {
        match self {
            JoinError::Panicked(panic) => Some(panic),
            JoinError::Cancelled | JoinError::Refused(_) => None,
        }
    }

    /// Lets the task's panic go on in the calling thread.
    ///
    /// # Panics
    ///
    /// Always: with the task's panic, or saying that the task was cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let error = pool.spawn(|| panic!("out of ink"))?.join().unwrap_err();
    /// let here = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| error.resume())).unwrap_err();
    /// assert_eq!(here.downcast_ref(), Some(&"out of ink"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn resume(self) -> ! {
        match self {
            JoinError::Panicked(panic) => panic.resume(),
            JoinError::Cancelled | JoinError::Refused(_) => panic!("{self}"),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Cancelled => f.write_str("the task was cancelled"),
            JoinError::Panicked(panic) => panic.fmt(f),
            JoinError::Refused(Refused::InRuntime) => {
                f.write_str("the wait would block a thread of an async runtime, unlike `.await`")
            }
            JoinError::Refused(reason) => reason.fmt(f),
        }
    }
}

/// There is no source: the panic and the reason are the message itself.
impl Error for JoinError {}
