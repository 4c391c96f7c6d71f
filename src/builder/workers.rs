//! How many workers a pool is to have.

use std::num::NonZeroUsize;
use std::ops::{RangeInclusive, RangeToInclusive};

use super::Builder;
use crate::engine::MAX_WORKERS;

/// How many workers a pool has: `8` and `..=8` mean none at first and up to eight, `2..=8` means
/// always at least two. The default is up to one worker per core.
///
/// # Examples
///
/// ```
/// use formic::Workers;
///
/// assert_eq!(Workers::from(8), Workers::from(..=8));
/// assert_eq!(Workers::from(8), Workers::from(0..=8));
/// assert_ne!(Workers::from(8), Workers::from(2..=8));
/// assert_eq!(Workers::default(), Workers::from(std::thread::available_parallelism()?));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers {
    pub(super) minimum: usize,
    pub(super) capacity: usize,
}

impl From<usize> for Workers {
    fn from(capacity: usize) -> Self {
        Workers { minimum: 0, capacity }
    }
}

/// As the number itself.
impl From<NonZeroUsize> for Workers {
    fn from(capacity: NonZeroUsize) -> Self {
        Workers::from(capacity.get())
    }
}

impl From<RangeToInclusive<usize>> for Workers {
    fn from(range: RangeToInclusive<usize>) -> Self {
        Workers { minimum: 0, capacity: range.end }
    }
}

impl From<RangeInclusive<usize>> for Workers {
    fn from(range: RangeInclusive<usize>) -> Self {
        Workers { minimum: *range.start(), capacity: *range.end() }
    }
}

/// Up to one worker per core; one if the number of cores is not known.
impl Default for Workers {
    fn default() -> Self {
        Workers::from(std::thread::available_parallelism().map_or(1, usize::from))
    }
}

impl Builder {
    /// The most workers that a pool of threads may have, also an unlimited one.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Builder, Pool};
    ///
    /// let error = Pool::builder().workers(Builder::MAX_WORKERS + 1).build().unwrap_err();
    /// assert_eq!(error.to_string(), "workers: 65536 is above the limit of 65535");
    /// ```
    pub const MAX_WORKERS: usize = MAX_WORKERS;
}
