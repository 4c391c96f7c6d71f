//! The figures of a pool.

use super::Control;
use crate::stats::Stats;

impl Control {
    /// All figures at one instant. Never waits for a task. The methods below give one of them each; to
    /// compare figures, take them from one snapshot.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// pool.submit(|| ())?;
    /// pool.wait_idle()?;
    /// let stats = pool.stats();
    /// assert_eq!((stats.accepted, stats.completed), (1, 1));
    /// assert!(stats.adds_up());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.engine.stats()
    }

    /// How many workers there may be; [`usize::MAX`] for an unlimited pool.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(formic::Pool::new(8).capacity(), 8);
    /// ```
    #[must_use]
    #[doc(alias = "Cap")]
    #[doc(alias = "GetCap")]
    #[doc(alias = "GetSize")]
    #[doc(alias = "max_count")]
    pub fn capacity(&self) -> usize {
        self.stats().capacity
    }

    /// How many workers there are. A worker counts until it is gone, that is, until
    /// [`Builder::on_worker_stop`](crate::Builder::on_worker_stop) has returned. A pool of futures has as
    /// many as futures are in flight.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(8);
    /// assert_eq!(pool.workers(), 0); // none is started before it is needed
    /// pool.spawn(|| ())?.join()?;
    /// assert_eq!(pool.workers(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[doc(alias = "Running")]
    #[doc(alias = "GetRunningWorkers")]
    #[doc(alias = "current_num_threads")]
    pub fn workers(&self) -> usize {
        self.stats().workers
    }

    /// How many tasks are running. A task counts from the moment a worker has taken it, so also a moment
    /// before its closure begins, until what it owned is gone.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let pool = formic::Pool::new(2);
    /// let (begun, has_begun) = mpsc::channel();
    /// let (open, door) = mpsc::channel::<()>();
    /// pool.submit(move || {
    ///     begun.send(()).unwrap();
    ///     drop(door.recv());
    /// })?;
    /// has_begun.recv()?;
    /// assert_eq!((pool.busy(), pool.free()), (1, 1));
    /// drop(open);
    /// pool.wait_idle()?;
    /// assert_eq!(pool.busy(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[doc(alias = "Running")]
    #[doc(alias = "active_count")]
    pub fn busy(&self) -> usize {
        self.stats().busy
    }

    /// How many workers run no task. None in a pool of futures.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::builder().workers(3..=8).build()?;
    /// assert_eq!((pool.idle(), pool.workers()), (3, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn idle(&self) -> usize {
        self.stats().idle
    }

    /// How many more tasks could run at once: the capacity less those that run.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(formic::Pool::new(8).free(), 8);
    /// ```
    #[must_use]
    #[doc(alias = "Free")]
    pub fn free(&self) -> usize {
        let stats = self.stats();
        stats.capacity.saturating_sub(stats.busy)
    }

    /// How many tasks wait for a worker. For a moment that may be more than
    /// [`queue`](crate::Builder::queue) says: what is bounded is queued and running together, by capacity
    /// plus queue, and a task that was accepted for a free worker is queued until that one has taken it.
    /// What tasks submit to their own pool may be beyond the bound.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let pool = formic::Pool::new(1);
    /// let (begun, has_begun) = mpsc::channel();
    /// let (open, door) = mpsc::channel::<()>();
    /// pool.submit(move || {
    ///     begun.send(()).unwrap();
    ///     drop(door.recv());
    /// })?;
    /// has_begun.recv()?;
    /// pool.submit(|| ())?; // the only worker is busy
    /// assert_eq!(pool.queued(), 1);
    /// # drop(open);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[doc(alias = "QueueLength")]
    #[doc(alias = "queued_count")]
    pub fn queued(&self) -> usize {
        self.stats().queued
    }

    /// How many submitters wait for a place.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::builder().workers(1).queue(0).build()?;
    /// let permit = pool.admit()?; // the only place
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| pool.submit(|| ()).expect("it waits for the place"));
    ///     while pool.waiting() < 1 {
    ///         std::thread::yield_now();
    ///     }
    ///     drop(permit);
    /// });
    /// assert_eq!(pool.waiting(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[doc(alias = "Waiting")]
    pub fn waiting(&self) -> usize {
        self.stats().waiting
    }

    /// Whether the pool refuses new tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// assert!(!pool.is_closed());
    /// pool.drain()?;
    /// assert!(pool.is_closed());
    /// # Ok::<(), formic::StillRunning>(())
    /// ```
    #[must_use]
    #[doc(alias = "IsClosed")]
    pub fn is_closed(&self) -> bool {
        self.engine.is_closed()
    }
}
