//! The other limits of all shards: their queues, those who wait for a place, and the workers that stay.

use std::time::Duration;

use super::{Multi, Shard};
use crate::error::{BuildError, ShardErrors};

impl<P: Shard> Multi<P> {
    /// Gives every shard a queue with this bound, as [`Control::set_queue`](crate::Control::set_queue) does. Does not block.
    ///
    /// # Errors
    ///
    /// Every shard that cannot have this bound, with the reason. Then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// multi.set_queue(0)?;
    /// let places: Vec<_> = std::iter::from_fn(|| multi.try_admit().ok()).collect();
    /// assert_eq!(places.len(), 2); // one for each worker
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_queue(&self, tasks: usize) -> Result<(), ShardErrors<BuildError>> {
        self.each(|shard| shard.check_queue(tasks))?;
        self.each(|shard| shard.set_queue(tasks))
    }

    /// Lets so many submitters wait at every shard, as [`Control::set_waiters`](crate::Control::set_waiters) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool, Refused};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// multi.set_queue(0)?;
    /// multi.set_waiters(0);
    /// let places: Vec<_> = std::iter::from_fn(|| multi.try_admit().ok()).collect();
    /// assert_eq!(multi.submit(|| ()).unwrap_err().reason(), Refused::Full);
    /// # drop(places);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_waiters(&self, submitters: usize) {
        self.shards().iter().for_each(|shard| shard.set_waiters(submitters));
    }

    /// Keeps so many workers in every shard, as [`Control::set_minimum`](crate::Control::set_minimum) does.
    ///
    /// # Errors
    ///
    /// Every shard that cannot have this minimum, with the reason; then nothing has changed. Or every shard in which a
    /// thread could not be started.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(4));
    /// multi.set_minimum(3)?;
    /// assert_eq!(multi.stats().workers, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_minimum(&self, workers: usize) -> Result<(), ShardErrors<BuildError>> {
        self.each(|shard| shard.check_minimum(workers))?;
        self.each(|shard| shard.set_minimum(workers))
    }

    /// Keeps idle workers of every shard for so long, as [`Control::set_keep_alive`](crate::Control::set_keep_alive) does.
    ///
    /// # Errors
    ///
    /// Every shard that cannot have this time, with the reason. Then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    /// use std::time::Duration;
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(4));
    /// multi.prestart(1)?;
    /// multi.set_keep_alive(Duration::from_millis(1))?;
    /// while multi.stats().workers > 0 {
    ///     std::thread::yield_now();
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_keep_alive(
        &self,
        time: impl Into<Option<Duration>>,
    ) -> Result<(), ShardErrors<BuildError>> {
        let time = time.into();
        self.each(|shard| shard.check_keep_alive(time))?;
        self.each(|shard| shard.set_keep_alive(time))
    }
}
