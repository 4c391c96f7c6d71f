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
/// assert_eq!(
///     error.to_string(),
///     "a weight of 100 is above the semaphore's size of 64: ask for less, or `resize` it first",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AcquireError {
    /// More than the semaphore's size. Also told to those who wait when it is made smaller than
    /// what they wait for.
    TooMany {
        /// What was asked for.
        weight: usize,
        /// The semaphore's size at that moment.
        size: usize,
    },
    /// So much is not free, or others wait for it, and the call does not wait.
    NoPermits,
    /// It did not get free in time.
    TimedOut,
    /// The semaphore is closed.
    Closed,
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AcquireError::TooMany { weight, size } => write!(
                f,
                "a weight of {weight} is above the semaphore's size of {size}: \
                 ask for less, or `resize` it first",
            ),
            AcquireError::NoPermits => f.write_str(
                "so much is not free, or others wait for it: wait with `acquire`, or try later",
            ),
            AcquireError::TimedOut => f.write_str(
                "so much did not get free in time: wait longer, or hold permits for less long",
            ),
            AcquireError::Closed => {
                f.write_str("the semaphore is closed: it gives no more permits, make a new one")
            }
        }
    }
}

impl Error for AcquireError {}
