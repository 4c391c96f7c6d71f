//! `Pool`: closures on threads.

use std::fmt;
use std::io;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::builder::{Builder, WhenFull};
use crate::engine::task::{Errand, Task};
use crate::engine::{
    Counts, End, Ended, Engine, Held, MAX_WORKERS, Parcel, Patience, Slip, Unpack, Work,
};
use crate::error::{PrestartError, Refused, ReopenError, ResizeError, StillRunning, SubmitError};
use crate::handle::JoinHandle;
use crate::stats::Stats;

/// A pool of worker threads that run closures.
///
/// A clone is another handle to the same pool and costs next to nothing. When the last handle is
/// dropped, the pool closes: what was accepted still runs, in the background, and the workers go
/// when they are through. Use [`drain`](Pool::drain) to wait for that.
///
/// # Examples
///
/// ```
/// use formic::Pool;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// let pool = Pool::new(4);
/// let sum = Arc::new(AtomicU64::new(0));
/// for number in 0..1000 {
///     let sum = Arc::clone(&sum);
///     pool.submit(move || {
///         sum.fetch_add(number, Ordering::Relaxed);
///     })?;
/// }
/// pool.drain()?;
/// assert_eq!(sum.load(Ordering::Relaxed), 499_500);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[doc(alias = "ThreadPool")]
pub struct Pool {
    handle: Arc<Handle>,
}

/// What all clones share; dropped with the last of them, while workers may go on.
struct Handle {
    engine: Arc<Engine<Closures>>,
    when_full: WhenFull,
}

/// What the workers of a [`Pool`] do: they call closures.
pub(crate) struct Closures;

impl Work for Closures {
    type Job = Task;
    type State = ();

    fn prepare(&self) {}

    fn run(&self, (): &mut (), job: Task, counts: Counts) -> End {
        job.call(counts)
    }

    fn kill(job: &Task) -> bool {
        job.kill()
    }

    fn is_ghost(job: &Task) -> bool {
        job.is_ghost()
    }

    fn origin(job: &Task) -> Option<&'static Location<'static>> {
        Some(job.origin())
    }
}

impl<F, T> Unpack<F, T> for Closures
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    fn unpack_here(&self, closure: F) -> T {
        closure()
    }
}

/// A spawned closure's place in the line.
pub(crate) struct Spawned<F, T>(pub(crate) Slip<Closures, F, T>)
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static;

impl<F, T> Errand for Spawned<F, T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    fn run(self, counts: Counts) -> End {
        self.0.run(counts, |closure| closure())
    }

    fn kill(&self) -> bool {
        self.0.kill()
    }

    fn is_ghost(&self) -> bool {
        self.0.is_ghost()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.engine.close();
    }
}

impl Pool {
    /// A pool of up to `workers` threads, started on demand, with the defaults of
    /// [`builder`](Pool::builder) for everything else. Starts no thread.
    ///
    /// # Panics
    ///
    /// If `workers` is zero or above [`Builder::MAX_WORKERS`]. Use the builder to get an error
    /// instead.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(8);
    /// assert_eq!((pool.capacity(), pool.workers()), (8, 0));
    /// ```
    #[must_use]
    #[track_caller]
    #[doc(alias = "NewPool")]
    pub fn new(workers: usize) -> Self {
        match Pool::builder().workers(workers).build() {
            Ok(pool) => pool,
            Err(error) => panic!("{error}"),
        }
    }

    /// Every setting, one by one.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::builder().workers(4).queue(0).build()?;
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    #[doc(alias = "Options")]
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn from_engine(engine: Arc<Engine<Closures>>, when_full: WhenFull) -> Self {
        Pool { handle: Arc::new(Handle { engine, when_full }) }
    }

    pub(crate) fn start_workers(&self, workers: usize) -> io::Result<()> {
        self.engine().prestart(workers)
    }

    fn engine(&self) -> &Arc<Engine<Closures>> {
        &self.handle.engine
    }

    // ---- Submitting -----------------------------------------------------------------------------

    /// Runs a closure on a worker; nobody hears of its result. If there is no place for it, does
    /// what [`Builder::when_full`] says: by default it waits for one, in order of arrival.
    ///
    /// Called by a task of the same pool it never waits: there, a task that would have to wait
    /// enters the queue beyond its bound.
    ///
    /// A closure that captures up to 48 bytes costs no allocation.
    ///
    /// # Errors
    ///
    /// The closure comes back with the reason: `Closed`; `NoWorker` if no thread could be started
    /// for the first worker; `Full` if the pool refuses when full, or if as many submitters wait
    /// as [`Builder::waiters`] allows.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// pool.submit(|| println!("hello from a worker"))?;
    /// pool.drain()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias = "execute")]
    #[doc(alias = "Put")]
    pub fn submit<F: FnOnce() + Send + 'static>(&self, task: F) -> Result<(), SubmitError<F>> {
        self.submit_with(task, self.patience())
    }

    /// As [`submit`](Pool::submit), but never waits and never runs the closure here.
    ///
    /// # Errors
    ///
    /// The closure comes back with the reason: `Full`, `Closed` or `NoWorker`.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Pool, Refused};
    /// use std::sync::mpsc;
    ///
    /// let pool = Pool::builder().workers(1).queue(0).build()?;
    /// let (open, door) = mpsc::channel::<()>();
    /// pool.try_submit(move || drop(door.recv()))?;
    /// // The only worker is busy, and nothing may wait for it.
    /// let error = pool.try_submit(|| ()).unwrap_err();
    /// assert_eq!(error.reason(), Refused::Full);
    /// # drop(open);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias = "Nonblocking")]
    pub fn try_submit<F: FnOnce() + Send + 'static>(&self, task: F) -> Result<(), SubmitError<F>> {
        self.submit_with(task, Patience::None)
    }

    #[inline]
    #[track_caller]
    fn submit_with<F>(&self, task: F, patience: Patience) -> Result<(), SubmitError<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        match self.engine().submit(Task::new(task), patience) {
            Ok(()) => Ok(()),
            Err((task, refused)) => {
                // SAFETY: the engine gives back the task that it was given, made from an `F`.
                let task = unsafe { task.into_closure::<F>() };
                Err(SubmitError::new(task, refused))
            }
        }
    }

    /// Runs a closure on a worker and returns a handle to its result. Waits for a place as
    /// [`submit`](Pool::submit) does. One allocation holds the closure and the result.
    ///
    /// # Errors
    ///
    /// As [`submit`](Pool::submit): the closure comes back.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(4);
    /// let handles: Vec<_> = (1..=10).map(|n| pool.spawn(move || n * n)).collect::<Result<_, _>>()?;
    /// let mut sum = 0;
    /// for handle in handles {
    ///     sum += handle.join()?;
    /// }
    /// assert_eq!(sum, 385);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[doc(alias = "evaluate")]
    #[doc(alias = "Queue")]
    pub fn spawn<F, T>(&self, task: F) -> Result<JoinHandle<T>, SubmitError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.spawn_with(task, self.patience())
    }

    /// As [`spawn`](Pool::spawn), but never waits and never runs the closure here.
    ///
    /// # Errors
    ///
    /// The closure comes back with the reason: `Full`, `Closed` or `NoWorker`.
    #[track_caller]
    pub fn try_spawn<F, T>(&self, task: F) -> Result<JoinHandle<T>, SubmitError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.spawn_with(task, Patience::None)
    }

    #[track_caller]
    fn spawn_with<F, T>(&self, task: F, patience: Patience) -> Result<JoinHandle<T>, SubmitError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let parcel = Parcel::new(self.engine(), task, Location::caller());
        let errand = Task::errand(Spawned(Slip(Arc::clone(&parcel))));
        if let Err((_errand, refused)) = self.engine().submit(errand, patience) {
            // Nobody else knows of the parcel, so what was packed is in it.
            if let Some(task) = parcel.take() {
                return Err(SubmitError::new(task, refused));
            }
        }
        Ok(JoinHandle::new(parcel))
    }

    fn patience(&self) -> Patience {
        match self.handle.when_full {
            WhenFull::Wait => Patience::Until(None),
            WhenFull::Refuse => Patience::None,
            WhenFull::CallerRuns => Patience::RunHere,
        }
    }

    /// Waits for a place and holds it, so that the task to be submitted can be made afterwards.
    /// Waits whatever [`Builder::when_full`] says; a task of the same pool gets its permit at once.
    ///
    /// # Errors
    ///
    /// `Closed`, `NoWorker`, or `Full` if as many submitters wait as may wait.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// let permit = pool.admit()?;
    /// let work = vec![1, 2, 3]; // fetched only now that there is a place for it
    /// permit.submit(move || assert_eq!(work.len(), 3));
    /// # pool.drain()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn admit(&self) -> Result<Permit<'_>, Refused> {
        self.admit_with(Patience::Until(None))
    }

    /// Holds a place if there is one now.
    ///
    /// # Errors
    ///
    /// `Full`, `Closed` or `NoWorker`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use formic::{Pool, Refused};
    /// let pool = Pool::builder().workers(1).queue(0).build()?;
    /// let permit = pool.try_admit()?;
    /// assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
    /// drop(permit); // gives the place back
    /// assert!(pool.try_admit().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_admit(&self) -> Result<Permit<'_>, Refused> {
        self.admit_with(Patience::None)
    }

    /// Waits for a place for up to `time`, and holds it.
    ///
    /// # Errors
    ///
    /// `TimedOut`, `Closed`, `NoWorker`, or `Full` if as many submitters wait as may wait.
    ///
    /// # Examples
    ///
    /// ```
    /// # use formic::{Pool, Refused};
    /// # use std::time::Duration;
    /// let pool = Pool::builder().workers(1).queue(0).build()?;
    /// let permit = pool.admit()?;
    /// let refused = pool.admit_timeout(Duration::from_millis(5)).unwrap_err();
    /// assert_eq!(refused, Refused::TimedOut);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn admit_timeout(&self, time: Duration) -> Result<Permit<'_>, Refused> {
        self.admit_with(Patience::Until(deadline(time)))
    }

    /// Waits for a place without blocking a thread, on any executor. Dropped while it waits, the
    /// future gives up its turn, and a place it had been given goes to the next.
    ///
    /// # Errors
    ///
    /// As [`admit`](Pool::admit).
    ///
    /// # Examples
    ///
    /// ```
    /// # async fn example(pool: formic::Pool) -> Result<(), formic::Refused> {
    /// let permit = pool.admit_async().await?;
    /// permit.submit(|| println!("the executor was free meanwhile"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn admit_async(&self) -> Result<Permit<'_>, Refused> {
        self.engine().admit_async().await.map(|held| Permit { held })
    }

    fn admit_with(&self, patience: Patience) -> Result<Permit<'_>, Refused> {
        self.engine().admit(patience).map(|held| Permit { held })
    }

    // ---- Figures --------------------------------------------------------------------------------

    /// All figures at one instant.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.engine().stats()
    }

    /// How many workers there may be; [`usize::MAX`] for an unlimited pool.
    #[must_use]
    #[doc(alias = "Cap")]
    #[doc(alias = "max_count")]
    pub fn capacity(&self) -> usize {
        self.stats().capacity
    }

    /// How many workers there are. A worker counts until it is gone, that is, until
    /// [`Builder::on_worker_stop`] has returned.
    #[must_use]
    #[doc(alias = "GetSize")]
    pub fn workers(&self) -> usize {
        self.stats().workers
    }

    /// How many tasks are running.
    #[must_use]
    #[doc(alias = "Running")]
    #[doc(alias = "active_count")]
    pub fn busy(&self) -> usize {
        self.stats().busy
    }

    /// How many workers run no task.
    #[must_use]
    pub fn idle(&self) -> usize {
        self.stats().idle
    }

    /// How many more tasks could run at once: the capacity less those that run.
    #[must_use]
    #[doc(alias = "Free")]
    pub fn free(&self) -> usize {
        let stats = self.stats();
        stats.capacity.saturating_sub(stats.busy)
    }

    /// How many tasks wait for a worker.
    #[must_use]
    #[doc(alias = "QueueLength")]
    #[doc(alias = "queued_count")]
    pub fn queued(&self) -> usize {
        self.stats().queued
    }

    /// How many submitters wait for a place.
    #[must_use]
    #[doc(alias = "Waiting")]
    pub fn waiting(&self) -> usize {
        self.stats().waiting
    }

    /// Whether the pool refuses new tasks.
    #[must_use]
    #[doc(alias = "IsClosed")]
    pub fn is_closed(&self) -> bool {
        self.engine().is_closed()
    }

    // ---- Size -----------------------------------------------------------------------------------

    /// Changes how many workers there may be. Acts at once: a larger capacity starts workers for
    /// what waits and lets waiting submitters in; a smaller one sends idle workers away now and
    /// busy ones when their task has ended, and no task begins that would be one too many.
    ///
    /// A pool built [`unlimited`](Builder::unlimited) has the given capacity from then on. A pool
    /// built with [`preallocate`](Builder::preallocate) reserves what the new capacity needs.
    /// May be called from anywhere, also from a task of the pool, and on a closed pool.
    ///
    /// # Errors
    ///
    /// If `workers` is zero, below the pool's minimum, or above [`Builder::MAX_WORKERS`]. Then
    /// nothing has changed.
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
        let minimum = self.engine().minimum();
        if workers == 0 {
            return Err(ResizeError::NoWorkers);
        }
        if workers < minimum {
            return Err(ResizeError::BelowMinimum { workers, minimum });
        }
        if workers > MAX_WORKERS {
            return Err(ResizeError::TooManyWorkers { workers, limit: MAX_WORKERS });
        }
        self.engine().resize(workers);
        Ok(())
    }

    /// Starts workers until there are `workers` of them, so that the tasks to come find them.
    ///
    /// # Errors
    ///
    /// If that is above the capacity, the pool is closed, or a thread could not be started.
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
        let capacity = self.capacity().min(MAX_WORKERS);
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
        self.engine().wait_until(Ended::Tasks, None)
    }

    /// [`wait_idle`](Pool::wait_idle) as a future, for any executor.
    ///
    /// # Errors
    ///
    /// As [`wait_idle`](Pool::wait_idle).
    pub async fn wait_idle_async(&self) -> Result<(), StillRunning> {
        self.engine().until(Ended::Tasks).await
    }

    /// Refuses new tasks from now on. Waiting submitters get their task back with `Closed`. What
    /// was accepted still runs; then the workers go. Does not wait; closing twice does no harm.
    ///
    /// A [`Permit`] that is out still counts as accepted: its task will run.
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
        self.engine().close();
    }

    /// Closes the pool and waits until everything accepted has run and every worker's thread has
    /// been joined. A [`Permit`] that is out is waited for, too.
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

    /// As [`drain`](Pool::drain), for up to `time`. May be called again; the pool stays closed.
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

    /// [`drain`](Pool::drain) as a future, for any executor. The pool is closed when the future is
    /// first polled. Dropped, it waits no longer, and the pool stays closed.
    ///
    /// # Errors
    ///
    /// As [`drain`](Pool::drain).
    pub async fn drain_async(&self) -> Result<(), StillRunning> {
        self.engine().check_outside()?;
        self.close();
        self.engine().until(Ended::Workers).await
    }

    fn drain_until(&self, deadline: Option<Instant>) -> Result<(), StillRunning> {
        self.engine().check_outside()?;
        self.close();
        self.engine().wait_until(Ended::Workers, deadline)
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
        self.engine().discard()
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
        self.engine().reopen()
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// A place in a pool, held for a task to come. Dropped, it goes to the next who waits.
///
/// While a permit is out, the pool does not come to its end: [`Pool::drain`] waits for it, and at
/// least one worker stays.
#[must_use = "a permit that is dropped gives its place back"]
pub struct Permit<'a> {
    held: Held<'a, Closures>,
}

impl Permit<'_> {
    /// Runs a closure in this place. Cannot fail, even if the pool was closed meanwhile.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let permit = pool.admit()?;
    /// pool.close();
    /// permit.submit(|| ());
    /// pool.drain()?;
    /// assert_eq!(pool.stats().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn submit<F: FnOnce() + Send + 'static>(self, task: F) {
        self.held.put(Task::new(task));
    }

    /// Runs a closure in this place and returns a handle to its result. Cannot fail.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let handle = pool.admit()?.spawn(|| "done");
    /// assert_eq!(handle.join()?, "done");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(self, task: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let parcel = Parcel::new(self.held.engine(), task, Location::caller());
        self.held.put(Task::errand(Spawned(Slip(Arc::clone(&parcel)))));
        JoinHandle::new(parcel)
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}

/// The end of a wait; `None`, that is never, if the clock cannot tell it.
fn deadline(time: Duration) -> Option<Instant> {
    Instant::now().checked_add(time)
}
