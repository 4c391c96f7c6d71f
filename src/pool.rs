//! `Pool`: closures on threads.

mod closures; // what its workers do
mod ends; // waiting for its end, and that of an `FnPool`

use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;

use crate::builder::{Builder, Started};
use crate::control::Control;
use crate::engine::task::closure::Task;
use crate::engine::{Engine, Patience, TaskState};
use crate::error::{Refused, SubmitError};
use crate::handle::JoinHandle;

pub(crate) use self::closures::Closures;

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
    /// What all clones share; dropped with the last of them, while workers may go on.
    pub(crate) shared: Arc<Started<Closures>>,
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
    /// assert_eq!(pool.capacity(), 4);
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    #[doc(alias = "Options")]
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn from_started(started: Started<Closures>) -> Self {
        Pool { shared: Arc::new(started) }
    }

    pub(crate) fn engine(&self) -> &Arc<Engine<Closures>> {
        &self.shared.engine
    }

    /// What a submitter does when there is no place.
    pub(crate) fn patience(&self) -> Patience {
        self.shared.patience()
    }

    // ---- Submitting -----------------------------------------------------------------------------

    /// Runs a closure on a worker, fire and forget. If there is no place for it, does
    /// what [`Builder::when_full`] says: by default it waits for one, in order of arrival.
    ///
    /// Called by a task of the same pool it never waits: there, a task that would have to wait
    /// enters the queue beyond its bound. A task of another pool waits as any caller does: between the
    /// stages of a program that is what keeps the first from flooding the second. So two pools that
    /// submit to each other need room in their queues: with none, each may wait at the other's gate.
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
    /// assert_eq!(pool.stats().completed, 1);
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
    pub(crate) fn submit_with<F>(&self, task: F, patience: Patience) -> Result<(), SubmitError<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        match self.engine().submit_or_run(Task::new(task), patience) {
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
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Pool, Refused};
    ///
    /// let pool = Pool::builder().workers(1).queue(0).build()?;
    /// assert_eq!(pool.try_spawn(|| 6 * 7)?.join()?, 42);
    /// let permit = pool.admit()?; // the only place is taken
    /// assert_eq!(pool.try_spawn(|| ()).unwrap_err().reason(), Refused::Full);
    /// # drop(permit);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn try_spawn<F, T>(&self, task: F) -> Result<JoinHandle<T>, SubmitError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.spawn_with(task, Patience::None)
    }

    #[track_caller]
    pub(crate) fn spawn_with<F, T>(
        &self,
        task: F,
        patience: Patience,
    ) -> Result<JoinHandle<T>, SubmitError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.spawn_from(task, patience, Location::caller())
    }

    /// As [`Pool::spawn_with`], for a task that was submitted elsewhere.
    pub(crate) fn spawn_from<F, T>(
        &self,
        task: F,
        patience: Patience,
        origin: &'static Location<'static>,
    ) -> Result<JoinHandle<T>, SubmitError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (task_state, job) = TaskState::new(self.engine(), task, origin);
        let entered = self.engine().submit_or_run(job, patience);
        Ok(JoinHandle::new(task_state.entered(entered)?))
    }

    /// Runs a task that may have been refused: on a worker, or on the calling thread if the pool does not
    /// take it.
    pub(crate) fn submit_or_run(&self, task: Task) {
        if let Err((task, _)) = self.engine().submit_or_run(task, self.patience()) {
            self.engine().run_here(task);
        }
    }

    /// As [`Pool::submit_or_run`], with a handle to the result.
    pub(crate) fn spawn_or_run<F, T>(
        &self,
        task: F,
        origin: &'static Location<'static>,
    ) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (task_state, job) = TaskState::new(self.engine(), task, origin);
        self.submit_or_run(job);
        JoinHandle::new(task_state)
    }

    /// Why the pool, which is closed, refuses tasks.
    pub(crate) fn refusal(&self) -> Refused {
        self.engine().refusal()
    }
}

impl Deref for Pool {
    type Target = Control;

    /// The figures, the size and the ends of the pool.
    fn deref(&self) -> &Control {
        &self.shared.control
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
