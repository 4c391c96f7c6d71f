//! The other limits of a working pool: its queue, those who wait for a place, and the workers that stay.

use std::time::Duration;

use super::Control;
use crate::builder::check_preallocate;
use crate::engine::WorkerKind;
use crate::error::BuildError;

impl Control {
    /// Changes how many tasks may wait for a worker, as [`Builder::queue`](crate::Builder::queue) sets it. Acts at once: a
    /// larger bound lets waiting submitters in. With a smaller one, what is queued stays, and none enters before there is
    /// room. [`usize::MAX`] is a queue without a bound. Does not block.
    ///
    /// # Errors
    ///
    /// [`BuildError`], as the builder gives it: a pool that grows by load needs a bound above 0, and one that is
    /// preallocated cannot reserve every bound. Then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::builder().workers(1).queue(0).build()?;
    /// let first = pool.try_admit()?;
    /// assert!(pool.try_admit().is_err());
    /// pool.set_queue(1)?;
    /// let second = pool.try_admit()?;
    /// # drop((first, second));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "resize_queue")]
    pub fn set_queue(&self, tasks: usize) -> Result<(), BuildError> {
        self.check_queue(tasks)?;
        self.engine().change_limits(&mut |limits| limits.queue = tasks);
        Ok(())
    }

    pub(crate) fn check_queue(&self, tasks: usize) -> Result<(), BuildError> {
        let bound = (tasks < usize::MAX).then_some(tasks);
        let limits = self.engine.limits();
        if limits.preallocate {
            check_preallocate(bound, false)?;
        }
        match bound {
            None if limits.growth.is_some() => {
                Err(BuildError::of("queue", "without a bound it has no load"))
            }
            Some(0) if limits.growth.is_some() => {
                Err(BuildError::of("queue", "a queue of 0 has no load"))
            }
            _ => Ok(()),
        }
    }

    /// Changes how many submitters may wait for a place at once, as [`Builder::waiters`](crate::Builder::waiters) sets it.
    /// Those that wait already are not sent away. Does not block.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::Refused;
    ///
    /// let pool = formic::Pool::builder().workers(1).queue(0).build()?;
    /// let permit = pool.admit()?; // the only place
    /// pool.set_waiters(0);
    /// assert_eq!(pool.submit(|| ()).unwrap_err().reason(), Refused::Full); // no submitter may wait
    /// # drop(permit);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "MaxBlockingTasks")]
    #[doc(alias = "set_max_waiters")]
    pub fn set_waiters(&self, submitters: usize) {
        self.engine().change_limits(&mut |limits| limits.waiters = submitters);
    }

    /// Changes how many workers stay although they are idle, as the lower end of
    /// [`Builder::workers`](crate::Builder::workers) sets it. Acts at once: missing workers are started, and idle ones that
    /// are too many go when their keep-alive is over. Returns when the threads are started. On a closed pool the workers
    /// are started when it is opened again.
    ///
    /// # Errors
    ///
    /// [`BuildError`], as the builder gives it: the minimum is above the capacity, or the pool runs futures, which has
    /// none. Then nothing has changed. Also if a thread could not be started; then the minimum holds, and those that were
    /// started stay.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(4);
    /// pool.set_minimum(2)?;
    /// assert_eq!(pool.workers(), 2);
    /// assert!(pool.set_minimum(5).is_err());
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    pub fn set_minimum(&self, workers: usize) -> Result<(), BuildError> {
        self.check_minimum(workers)?;
        let most = self.engine.most();
        self.change_limits(|limits| {
            check_minimum(workers, limits.capacity.min(most))?;
            limits.minimum = workers;
            Ok::<(), BuildError>(())
        })?;
        Ok(self.start_workers(workers)?)
    }

    pub(crate) fn check_minimum(&self, minimum: usize) -> Result<(), BuildError> {
        let capacity = self.capacity().min(self.engine.most());
        if self.runs_futures() && minimum > 0 {
            let problem = format!("a pool of futures has no minimum, and {minimum} was asked for");
            return Err(BuildError::of("workers", problem));
        }
        check_minimum(minimum, capacity)
    }

    /// Changes how long an idle worker stays, as [`Builder::keep_alive`](crate::Builder::keep_alive) sets it; `None` keeps
    /// workers for good. It holds for workers that are idle already, from the moment they became idle. Does not block.
    ///
    /// # Errors
    ///
    /// [`BuildError`], as the builder gives it: a time of zero, or any time for a pool of futures, which has no idle
    /// workers. Then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let pool = formic::Pool::new(2);
    /// pool.prestart(2)?; // they stay for ten seconds
    /// pool.set_keep_alive(Duration::from_millis(1))?;
    /// while pool.workers() > 0 {
    ///     std::thread::yield_now();
    /// }
    /// assert!(pool.set_keep_alive(Duration::ZERO).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "ExpiryDuration")]
    pub fn set_keep_alive(&self, time: impl Into<Option<Duration>>) -> Result<(), BuildError> {
        let time = time.into();
        self.check_keep_alive(time)?;
        self.engine().change_limits(&mut |limits| limits.keep_alive = time);
        Ok(())
    }

    pub(crate) fn check_keep_alive(&self, time: Option<Duration>) -> Result<(), BuildError> {
        if self.runs_futures() {
            return Err(BuildError::of("keep_alive", "a pool of futures has no idle workers"));
        }
        if time == Some(Duration::ZERO) {
            return Err(BuildError::of("keep_alive", "0 seconds leave no worker to be reused"));
        }
        Ok(())
    }

    fn runs_futures(&self) -> bool {
        self.engine.worker_kind() != WorkerKind::Threads
    }
}

/// Whether a pool of this capacity can have this minimum.
fn check_minimum(minimum: usize, capacity: usize) -> Result<(), BuildError> {
    if minimum > capacity {
        let problem = format!("the minimum {minimum} is above the capacity {capacity}");
        return Err(BuildError::of("workers", problem));
    }
    Ok(())
}
