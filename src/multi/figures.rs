//! The figures of all shards together, one by one, as `Control` has them for one pool.

use super::{Multi, Shard};
#[cfg(doc)]
use crate::control::Control;

impl<P: Shard> Multi<P> {
    /// How many workers there may be, in all shards together. [`usize::MAX`] if one of them is unlimited.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(4));
    /// assert_eq!(multi.capacity(), 8);
    /// ```
    #[must_use]
    #[doc(alias = "Cap")]
    pub fn capacity(&self) -> usize {
        self.stats().capacity
    }

    /// How many workers there are, in all shards together: see [`Control::workers`].
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(4));
    /// assert_eq!(multi.workers(), 0);
    /// ```
    #[must_use]
    #[doc(alias = "Running")]
    pub fn workers(&self) -> usize {
        self.stats().workers
    }

    /// How many tasks are running, in all shards together: see [`Control::busy`].
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(4));
    /// assert_eq!(multi.busy(), 0);
    /// ```
    #[must_use]
    #[doc(alias = "Running")]
    pub fn busy(&self) -> usize {
        self.stats().busy
    }

    /// How many workers run no task, in all shards together: see [`Control::idle`].
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(4));
    /// assert_eq!(multi.idle(), 0);
    /// ```
    #[must_use]
    pub fn idle(&self) -> usize {
        self.stats().idle
    }

    /// How many tasks wait for a worker, in all shards together: see [`Control::queued`].
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(4));
    /// assert_eq!(multi.queued(), 0);
    /// ```
    #[must_use]
    pub fn queued(&self) -> usize {
        self.stats().queued
    }

    /// How many submitters wait for a place, in all shards together: see [`Control::waiting`].
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(4));
    /// assert_eq!(multi.waiting(), 0);
    /// ```
    #[must_use]
    #[doc(alias = "Waiting")]
    pub fn waiting(&self) -> usize {
        self.stats().waiting
    }

    /// How many more tasks could run at once, in all shards together: see [`Control::free`].
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(4));
    /// assert_eq!(multi.free(), 8);
    /// ```
    #[must_use]
    #[doc(alias = "Free")]
    pub fn free(&self) -> usize {
        self.shards().iter().fold(0, |sum, shard| sum.saturating_add(shard.free()))
    }
}
