//! A semaphore's refusals.

use std::error::Error;
use std::fmt;

/// Why a [`Semaphore`](crate::Semaphore) gave no permit.
///
/// # Examples
///
/// ```
/// use formic::{AcquireError, Semaphore};
///
/// let memory = Semaphore::new(64);
/// let error = memory.acquire(100).unwrap_err();
/// assert_eq!(error, AcquireError::TooMany { weight: 100, size: 64 });
/// assert_eq!(error.to_string(), "a weight of 100 is above the semaphore's size of 64");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AcquireError {
    /// The weight is above the semaphore's size, which [`resize`](crate::Semaphore::resize) changes. A waiter
    /// also gets this when the size falls below its weight.
    TooMany {
        /// The weight that the caller asked for.
        weight: usize,
        /// The semaphore's size at that moment.
        size: usize,
    },
    /// The weight is not free, or others wait, and the call does not wait.
    /// [`acquire`](crate::Semaphore::acquire) does.
    NoPermits,
    /// The weight did not become free in time.
    TimedOut,
    /// The [`CancelToken`](crate::CancelToken) of the call was cancelled before the weight was free.
    Cancelled,
    /// The semaphore is closed, and stays closed.
    Closed,
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AcquireError::TooMany { weight, size } => {
                write!(f, "a weight of {weight} is above the semaphore's size of {size}")
            }
            AcquireError::NoPermits => f.write_str("the weight is not free, or others wait"),
            AcquireError::TimedOut => f.write_str("the weight did not become free in time"),
            AcquireError::Cancelled => f.write_str("the wait for the weight was cancelled"),
            AcquireError::Closed => f.write_str("the semaphore is closed"),
        }
    }
}

impl Error for AcquireError {}
