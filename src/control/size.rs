//! The size of a pool.

use super::Control;
use crate::error::{PrestartError, ResizeError};

impl Control {
    /// Changes how many workers there may be. Acts at once: a larger capacity starts workers for
    /// what waits and lets waiting submitters in; a smaller one sends idle workers away now and
    /// busy ones when their task has ended, and no task begins that would be one too many.
    ///
    /// A pool built [`unlimited`](crate::Builder::unlimited) has the given capacity from then on. A pool
    /// built with [`preallocate`](crate::Builder::preallocate) reserves what the new capacity needs.
    /// May be called from anywhere, also from a task of the pool, and on a closed pool.
    ///
    /// # Errors
    ///
    /// [`ResizeError`]: `workers` is zero, below the pool's minimum, or above
    /// [`Builder::MAX_WORKERS`](crate::Builder::MAX_WORKERS). Then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// pool.resize(16)?;
    /// assert_eq!(pool.capacity(), 16);
    /// assert!(pool.resize(0).is_err());
    /// # Ok::<(), formic::ResizeError>(())
    /// ```
    #[doc(alias = "Tune")]
    #[doc(alias = "SetSize")]
    #[doc(alias = "set_num_threads")]
    pub fn resize(&self, workers: usize) -> Result<(), ResizeError> {
        let most = self.engine.most();
        self.change_limits(|limits| {
            check_capacity(workers, limits.minimum, most)?;
            limits.capacity = workers;
            Ok(())
        })
    }

    /// Whether the pool can be given this capacity.
    pub(crate) fn check_capacity(&self, workers: usize) -> Result<(), ResizeError> {
        check_capacity(workers, self.engine.limits().minimum, self.engine.most())
    }

    /// Starts workers until there are `workers` of them, so that the tasks to come find them. They retire
    /// as others do when they are idle. Returns when the threads are started.
    ///
    /// # Errors
    ///
    /// [`PrestartError`]: that is above the capacity, the pool is closed, or a thread could not be started.
    /// In the last case those that were started stay.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(4);
    /// pool.prestart(3)?;
    /// assert_eq!(pool.workers(), 3);
    /// # Ok::<(), formic::PrestartError>(())
    /// ```
    #[doc(alias = "warm_up")]
    pub fn prestart(&self, workers: usize) -> Result<(), PrestartError> {
        let capacity = self.capacity().min(self.engine.most());
        if workers > capacity {
            return Err(PrestartError::AboveCapacity { workers, capacity });
        }
        if self.is_closed() {
            return Err(PrestartError::Closed);
        }
        self.start_workers(workers).map_err(PrestartError::from)
    }
}

/// Whether a pool with this minimum can be given this capacity.
fn check_capacity(workers: usize, minimum: usize, limit: usize) -> Result<(), ResizeError> {
    if workers == 0 {
        return Err(ResizeError::NoWorkers);
    }
    if workers < minimum {
        return Err(ResizeError::BelowMinimum { workers, minimum });
    }
    if workers > limit {
        return Err(ResizeError::TooManyWorkers { workers, limit });
    }
    Ok(())
}
