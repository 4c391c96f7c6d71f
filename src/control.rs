//! `Control`: what every pool has beside its way of submitting: figures, size and ends.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::{Ended, Engine, Load, Work};
use crate::error::{PrestartError, ReopenError, ResizeError, StillRunning};
use crate::stats::Stats;

/// The figures, the size and the ends of a pool, whatever it runs. [`Pool`](crate::Pool),
/// [`FnPool`](crate::FnPool) and the pools of futures dereference to it, so these are methods of every
/// pool. A pool of futures has `wait_idle`, `drain` and `drain_timeout` of its own, which are futures.
///
/// # Examples
///
/// ```
/// use formic::{Control, Pool};
///
/// fn report(pool: &Control) -> String {
///     format!("{} of {} workers are busy", pool.busy(), pool.capacity())
/// }
///
/// let pool = Pool::new(4);
/// assert_eq!(report(&pool), "0 of 4 workers are busy");
/// ```
pub struct Control {
    engine: Arc<dyn Steer>,
}

/// An engine, whatever its workers do.
trait Steer: Send + Sync {
    fn stats(&self) -> Stats;
    fn load(&self) -> Load;
    fn is_closed(&self) -> bool;
    fn minimum(&self) -> usize;
    fn most(&self) -> usize;
    fn check_outside(&self) -> Result<(), StillRunning>;
    fn still_running(&self) -> StillRunning;
    fn resize(self: Arc<Self>, workers: usize);
    fn prestart(self: Arc<Self>, workers: usize) -> io::Result<()>;
    fn close(self: Arc<Self>);
    fn discard(self: Arc<Self>) -> usize;
    fn reopen(self: Arc<Self>) -> Result<(), ReopenError>;
    fn wait_until(
        self: Arc<Self>,
        what: Ended,
        deadline: Option<Instant>,
    ) -> Result<(), StillRunning>;
    fn until(self: Arc<Self>, what: Ended) -> Pin<Box<dyn Future<Output = Ending> + Send>>;
}

/// How a wait for the end ended.
type Ending = Result<(), StillRunning>;

impl<W: Work> Steer for Engine<W> {
    fn stats(&self) -> Stats {
        Engine::stats(self)
    }

    fn load(&self) -> Load {
        Engine::load(self)
    }

    fn is_closed(&self) -> bool {
        Engine::is_closed(self)
    }

    fn minimum(&self) -> usize {
        Engine::minimum(self)
    }

    fn most(&self) -> usize {
        W::MOST
    }

    fn check_outside(&self) -> Result<(), StillRunning> {
        Engine::check_outside(self)
    }

    fn still_running(&self) -> StillRunning {
        Engine::still_running(self)
    }

    fn resize(self: Arc<Self>, workers: usize) {
        Engine::resize(&self, workers);
    }

    fn prestart(self: Arc<Self>, workers: usize) -> io::Result<()> {
        Engine::prestart(&self, workers)
    }

    fn close(self: Arc<Self>) {
        Engine::close(&self);
    }

    fn discard(self: Arc<Self>) -> usize {
        Engine::discard(&self)
    }

    fn reopen(self: Arc<Self>) -> Result<(), ReopenError> {
        Engine::reopen(&self)
    }

    fn wait_until(self: Arc<Self>, what: Ended, deadline: Option<Instant>) -> Ending {
        Engine::wait_until(&self, what, deadline)
    }

    fn until(self: Arc<Self>, what: Ended) -> Pin<Box<dyn Future<Output = Ending> + Send>> {
        Box::pin(async move { Engine::until(&self, what).await })
    }
}

impl Control {
    pub(crate) fn new<W: Work>(engine: Arc<Engine<W>>) -> Self {
        Control { engine }
    }

    fn steer(&self) -> Arc<dyn Steer> {
        Arc::clone(&self.engine)
    }

    pub(crate) fn start_workers(&self, workers: usize) -> io::Result<()> {
        self.steer().prestart(workers)
    }

    /// Costs two or three reads, and no lock.
    pub(crate) fn load(&self) -> Load {
        self.engine.load()
    }

    /// An error if the calling thread is running a task of this pool.
    pub(crate) fn check_outside(&self) -> Result<(), StillRunning> {
        self.engine.check_outside()
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn still_running(&self) -> StillRunning {
        self.engine.still_running()
    }

    // ---- Figures --------------------------------------------------------------------------------

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

    // ---- Size -----------------------------------------------------------------------------------

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
        self.check_capacity(workers)?;
        self.steer().resize(workers);
        Ok(())
    }

    /// Whether the pool can be given this capacity.
    pub(crate) fn check_capacity(&self, workers: usize) -> Result<(), ResizeError> {
        let minimum = self.engine.minimum();
        if workers == 0 {
            return Err(ResizeError::NoWorkers);
        }
        if workers < minimum {
            return Err(ResizeError::BelowMinimum { workers, minimum });
        }
        let limit = self.engine.most();
        if workers > limit {
            return Err(ResizeError::TooManyWorkers { workers, limit });
        }
        Ok(())
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
        self.start_workers(workers).map_err(PrestartError::Thread)
    }

    // ---- Ends -----------------------------------------------------------------------------------

    /// Waits until no accepted task is left: none queued, none running. The pool stays open, so
    /// there may be new ones when this returns.
    ///
    /// # Errors
    ///
    /// [`StillRunning`], at once, if called by a task of the same pool: it would wait for itself.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// pool.submit(|| ())?;
    /// pool.wait_idle()?;
    /// assert_eq!(pool.stats().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "WaitAll")]
    #[doc(alias = "join")]
    pub fn wait_idle(&self) -> Result<(), StillRunning> {
        self.steer().wait_until(Ended::Tasks, None)
    }

    /// [`wait_idle`](Control::wait_idle) as a future, for any executor. Dropped, it waits no longer.
    ///
    /// # Errors
    ///
    /// As [`wait_idle`](Control::wait_idle).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::Pool::new(2);
    /// pool.try_submit(|| ())?;
    /// pool.wait_idle_async().await?;
    /// assert_eq!(pool.stats().completed, 1);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "WaitAll")]
    pub async fn wait_idle_async(&self) -> Result<(), StillRunning> {
        self.steer().until(Ended::Tasks).await
    }

    /// Refuses new tasks from now on. Waiting submitters get their task back with `Closed`. What
    /// was accepted still runs; then the workers go. Does not wait; closing twice does no harm.
    ///
    /// A [`Permit`](crate::Permit) that is out still counts as accepted: its task will run.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// pool.close();
    /// assert!(pool.is_closed());
    /// assert!(pool.submit(|| ()).is_err());
    /// ```
    #[doc(alias = "shutdown")]
    pub fn close(&self) {
        self.steer().close();
    }

    /// Closes the pool and waits until everything accepted has run and every worker's thread has
    /// been joined. A [`Permit`](crate::Permit) that is out is waited for, too.
    ///
    /// # Errors
    ///
    /// [`StillRunning`], at once, if called by a task of the same pool: it would wait for itself.
    /// Then the pool is not closed.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// for _ in 0..100 {
    ///     pool.submit(|| ())?;
    /// }
    /// pool.drain()?;
    /// assert_eq!((pool.stats().completed, pool.workers()), (100, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Release")]
    #[doc(alias = "shutdown")]
    #[doc(alias = "awaitTermination")]
    pub fn drain(&self) -> Result<(), StillRunning> {
        self.drain_until(None)
    }

    /// As [`drain`](Control::drain), for up to `time`. May be called again; the pool stays closed.
    ///
    /// # Errors
    ///
    /// [`StillRunning`] says how much was left when the time was over; also, at once, if called
    /// by a task of the same pool.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// let pool = formic::Pool::new(1);
    /// let (open, door) = mpsc::channel::<()>();
    /// pool.submit(move || drop(door.recv()))?;
    /// let left = pool.drain_timeout(Duration::from_millis(5)).unwrap_err();
    /// assert_eq!(left.running() + left.queued(), 1);
    /// drop(open);
    /// pool.drain()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "ReleaseTimeout")]
    pub fn drain_timeout(&self, time: Duration) -> Result<(), StillRunning> {
        self.drain_until(deadline(time))
    }

    /// [`drain`](Control::drain) as a future, for any executor. The pool is closed when the future is
    /// first polled. Dropped, it waits no longer, and the pool stays closed.
    ///
    /// # Errors
    ///
    /// As [`drain`](Control::drain).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::Pool::new(2);
    /// pool.try_submit(|| ())?;
    /// pool.drain_async().await?;
    /// assert_eq!((pool.stats().completed, pool.workers()), (1, 0));
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "Release")]
    #[doc(alias = "shutdown")]
    pub async fn drain_async(&self) -> Result<(), StillRunning> {
        self.check_outside()?;
        self.close();
        self.steer().until(Ended::Workers).await
    }

    pub(crate) fn drain_until(&self, deadline: Option<Instant>) -> Result<(), StillRunning> {
        self.check_outside()?;
        self.close();
        self.steer().wait_until(Ended::Workers, deadline)
    }

    /// Drops every task that has not been started, and says how many. They count as cancelled.
    /// The pool stays open or closed, as it was.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// for _ in 0..100 {
    ///     pool.submit(|| ())?;
    /// }
    /// let dropped = pool.discard();
    /// pool.wait_idle()?;
    /// let stats = pool.stats();
    /// assert_eq!((stats.cancelled, stats.completed + stats.cancelled), (dropped as u64, 100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Cancel")]
    #[doc(alias = "shutdownNow")]
    pub fn discard(&self) -> usize {
        self.steer().discard()
    }

    /// Opens a drained pool again, with the same settings and the figures going on.
    ///
    /// # Errors
    ///
    /// If the pool is open, or closed but not at its end yet, or if a thread for the minimum could
    /// not be started; in the last case it is open all the same.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// pool.drain()?;
    /// pool.reopen()?;
    /// pool.submit(|| ())?;
    /// pool.drain()?;
    /// assert_eq!(pool.stats().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Reboot")]
    #[doc(alias = "Reset")]
    pub fn reopen(&self) -> Result<(), ReopenError> {
        self.steer().reopen()
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// The end of a wait; `None`, that is never, if the clock cannot tell it.
pub(crate) fn deadline(time: Duration) -> Option<Instant> {
    Instant::now().checked_add(time)
}
