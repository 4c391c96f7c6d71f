//! A capacity that a working pool cannot have, and workers that could not be started ahead of time.

use std::error::Error;
use std::fmt;
use std::io;

use crate::engine::NoStart;

/// A capacity that a pool cannot be given.
///
/// # Examples
///
/// ```
/// use formic::{Pool, ResizeError};
///
/// let pool = Pool::builder().workers(4..=8).build()?;
/// let error = pool.resize(2).unwrap_err();
/// assert_eq!(error, ResizeError::BelowMinimum { workers: 2, minimum: 4 });
/// assert_eq!(error.to_string(), "resize: 2 is below the minimum 4");
/// # Ok::<(), formic::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResizeError {
    /// `resize(0)`: a pool without workers could not run anything. [`close`](crate::Control::close) stops a pool.
    NoWorkers,
    /// Below the minimum that the pool was built with.
    BelowMinimum {
        /// What was asked for.
        workers: usize,
        /// The pool's minimum.
        minimum: usize,
    },
    /// More workers than a pool may have.
    TooManyWorkers {
        /// What was asked for.
        workers: usize,
        /// The most that is possible.
        limit: usize,
    },
}

impl fmt::Display for ResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResizeError::NoWorkers => f.write_str("resize: 0 workers cannot run anything"),
            ResizeError::BelowMinimum { workers, minimum } => {
                write!(f, "resize: {workers} is below the minimum {minimum}")
            }
            ResizeError::TooManyWorkers { workers, limit } => {
                write!(f, "resize: {workers} is above the limit of {limit}")
            }
        }
    }
}

impl Error for ResizeError {}

/// Workers that could not be started ahead of time.
///
/// # Examples
///
/// ```
/// use formic::{Pool, PrestartError};
///
/// let pool = Pool::new(4);
/// let error = pool.prestart(5).unwrap_err();
/// assert!(matches!(error, PrestartError::AboveCapacity { workers: 5, capacity: 4 }));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum PrestartError {
    /// More than the capacity.
    AboveCapacity {
        /// What was asked for.
        workers: usize,
        /// The capacity.
        capacity: usize,
    },
    /// The pool is closed.
    Closed,
    /// A thread could not be started. Those that were started stay. The operating system's error is the
    /// [source](Error::source).
    Thread(io::Error),
    /// The runtime of a pool of futures has shut down.
    RuntimeGone,
}

impl From<NoStart> for PrestartError {
    fn from(error: NoStart) -> Self {
        match error {
            NoStart::Thread(error) => PrestartError::Thread(error),
            NoStart::RuntimeGone => PrestartError::RuntimeGone,
        }
    }
}

impl fmt::Display for PrestartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrestartError::AboveCapacity { workers, capacity } => {
                write!(f, "prestart: {workers} is above the capacity {capacity}")
            }
            PrestartError::Closed => f.write_str("prestart: the pool is closed"),
            PrestartError::Thread(_) => f.write_str("prestart: a worker could not be started"),
            PrestartError::RuntimeGone => {
                f.write_str("prestart: the runtime of the pool has shut down")
            }
        }
    }
}

impl Error for PrestartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            PrestartError::Thread(error) => Some(error),
            _ => None,
        }
    }
}
