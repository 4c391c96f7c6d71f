//! `FnPool`: one function, many arguments.

mod calls; // what its workers do
mod job; // what stands in the queue
mod permit; // a place that is held for an argument
mod take; // arguments whose call has not started
mod renew; // a new state for a worker
mod state; // what a worker keeps between calls

use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;

use crate::builder::{Builder, Started};
use crate::control::Control;
use crate::engine::{Engine, Patience, TaskState};
use crate::error::SubmitError;
use crate::handle::JoinHandle;

pub(crate) use self::calls::{Calls, ResultHook};
pub(crate) use self::job::Job;
pub use self::permit::{FnPermit, OwnedFnPermit};
pub use self::renew::renew_state;
pub(crate) use self::state::{Bound, Made, Maker, Ready, Retry, Tried};

/// A pool of worker threads that run one function with many arguments.
///
/// Submitting an argument costs no allocation. A clone is another handle to the same pool; when the
/// last is dropped, the pool closes, and what was accepted still runs. The figures, the size and the
/// ends are those of [`Control`].
///
/// # Examples
///
/// ```
/// use formic::FnPool;
///
/// let squares = FnPool::new(4, |number: u64| number * number);
/// assert_eq!(squares.call(12)?, 144);
/// # Ok::<(), formic::CallError<u64>>(())
/// ```
#[doc(alias = "PoolWithFunc")]
#[doc(alias = "tunny")]
pub struct FnPool<T: Send + 'static, R: Send + 'static> {
    pub(crate) shared: Arc<Started<Calls<T, R>>>,
}

impl<T: Send + 'static, R: Send + 'static> FnPool<T, R> {
    /// A pool of up to `workers` threads, started on demand, that run `function`.
    ///
    /// # Panics
    ///
    /// If `workers` is zero or above [`Builder::MAX_WORKERS`]. Use the builder to get an error
    /// instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::FnPool;
    ///
    /// let squares = FnPool::new(4, |n: u64| n * n);
    /// assert_eq!(squares.call(12)?, 144);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[track_caller]
    #[doc(alias = "NewPoolWithFunc")]
    #[doc(alias = "NewFunc")]
    pub fn new(workers: usize, function: impl Fn(T) -> R + Send + Sync + 'static) -> Self {
        FnPool::with_state(workers, || (), move |(), argument| function(argument))
    }

    /// As [`new`](FnPool::new), for a function with a state: a connection, a buffer, a parser. Each
    /// worker has its own, made by `init` on the worker's thread before its first task, so it need
    /// not be [`Send`]; made anew after a panic; and dropped on that thread when the worker retires.
    ///
    /// A task that a joining worker runs itself, or that a submitter runs
    /// ([`WhenFull::CallerRuns`](crate::WhenFull::CallerRuns)), gets a state of its own.
    ///
    /// # Panics
    ///
    /// As [`new`](FnPool::new).
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::FnPool;
    ///
    /// let pool = FnPool::with_state(1, || 0, |calls: &mut u32, ()| {
    ///     *calls += 1;
    ///     *calls
    /// });
    /// assert_eq!(pool.call(())?, 1);
    /// assert_eq!(pool.call(())?, 2);
    /// # Ok::<(), formic::CallError<()>>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_state<S: 'static>(
        workers: usize,
        init: impl Fn() -> S + Send + Sync + 'static,
        function: impl Fn(&mut S, T) -> R + Send + Sync + 'static,
    ) -> Self {
        match FnPool::builder().workers(workers).build_with(init, function) {
            Ok(pool) => pool,
            Err(error) => panic!("{error}"),
        }
    }

    /// Every setting, one by one; then `build(function)` or `build_with_state(init, function)`.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::FnPool;
    ///
    /// let pool = FnPool::builder().workers(2..=8).queue(64).build(|text: String| text.len())?;
    /// assert_eq!(pool.call("formic".to_owned()).unwrap(), 6);
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    pub fn builder() -> Builder<FnPool<T, R>> {
        Builder::new()
    }

    pub(crate) fn from_started(started: Started<Calls<T, R>>) -> Self {
        FnPool { shared: Arc::new(started) }
    }

    fn engine(&self) -> &Arc<Engine<Calls<T, R>>> {
        &self.shared.engine
    }

    /// What a submitter does when there is no place.
    pub(crate) fn patience(&self) -> Patience {
        self.shared.patience()
    }

    /// Runs the function with this argument, fire and forget. Waits for a place as
    /// [`Pool::submit`](crate::Pool::submit) does. Costs no allocation.
    ///
    /// # Errors
    ///
    /// As [`Pool::submit`](crate::Pool::submit): the argument comes back.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::FnPool;
    /// use std::sync::mpsc;
    ///
    /// let (sender, receiver) = mpsc::channel();
    /// let pool = FnPool::new(2, move |n: u64| sender.send(n * n).unwrap());
    /// for n in 1..=3 {
    ///     pool.submit(n)?;
    /// }
    /// pool.drain()?;
    /// assert_eq!(receiver.try_iter().sum::<u64>(), 14);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias = "Invoke")]
    pub fn submit(&self, argument: T) -> Result<(), SubmitError<T>> {
        self.submit_with(argument, self.patience())
    }

    /// As [`submit`](FnPool::submit), but never waits and never runs the function here.
    ///
    /// # Errors
    ///
    /// The argument comes back with the reason: `Full`, `Closed` or `NoWorker`.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{FnPool, Refused};
    /// use std::sync::mpsc;
    ///
    /// let pool = FnPool::builder().workers(1).queue(0).build(|door: mpsc::Receiver<()>| drop(door.recv()))?;
    /// let (open, door) = mpsc::channel();
    /// pool.try_submit(door)?;
    ///
    /// let (_other, door) = mpsc::channel();
    /// let error = pool.try_submit(door).unwrap_err(); // the only worker is busy
    /// assert_eq!(error.reason(), Refused::Full);
    /// let door = error.into_task(); // what was refused is ours again
    /// # drop((open, door));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias = "Serve")]
    pub fn try_submit(&self, argument: T) -> Result<(), SubmitError<T>> {
        self.submit_with(argument, Patience::None)
    }

    #[inline]
    #[track_caller]
    pub(crate) fn submit_with(
        &self,
        argument: T,
        patience: Patience,
    ) -> Result<(), SubmitError<T>> {
        let job = Job::Bare(argument, Location::caller());
        Job::entered(self.engine().submit_or_run(job, patience))
    }

    /// Runs the function with this argument and returns a handle to its result. Waits for a place as
    /// [`submit`](FnPool::submit) does. Costs one allocation.
    ///
    /// # Errors
    ///
    /// As [`submit`](FnPool::submit): the argument comes back.
    ///
    /// # Examples
    ///
    /// ```
    /// let squares = formic::FnPool::new(2, |n: u64| n * n);
    /// let (three, four) = (squares.spawn(3)?, squares.spawn(4)?);
    /// assert_eq!(three.join()? + four.join()?, 25);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn spawn(&self, argument: T) -> Result<JoinHandle<R>, SubmitError<T>> {
        self.spawn_with(argument, self.patience())
    }

    /// As [`spawn`](FnPool::spawn), but never waits and never runs the function here.
    ///
    /// # Errors
    ///
    /// The argument comes back with the reason: `Full`, `Closed` or `NoWorker`.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{FnPool, Refused};
    ///
    /// let squares = FnPool::new(2, |n: u64| n * n);
    /// assert_eq!(squares.try_spawn(3)?.join()?, 9);
    /// squares.close();
    /// assert_eq!(squares.try_spawn(4).unwrap_err().reason(), Refused::Closed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn try_spawn(&self, argument: T) -> Result<JoinHandle<R>, SubmitError<T>> {
        self.spawn_with(argument, Patience::None)
    }

    #[track_caller]
    pub(crate) fn spawn_with(
        &self,
        argument: T,
        patience: Patience,
    ) -> Result<JoinHandle<R>, SubmitError<T>> {
        let (task_state, job) = TaskState::new(self.engine(), argument, Location::caller());
        let entered = self.engine().submit_or_run(job, patience);
        Ok(JoinHandle::new(task_state.entered(entered)?))
    }
}

impl<T: Send + 'static, R: Send + 'static> Clone for FnPool<T, R> {
    fn clone(&self) -> Self {
        FnPool { shared: Arc::clone(&self.shared) }
    }
}

impl<T: Send + 'static, R: Send + 'static> Deref for FnPool<T, R> {
    type Target = Control;

    /// The figures, the size and the ends of the pool.
    fn deref(&self) -> &Control {
        &self.shared.control
    }
}

impl<T: Send + 'static, R: Send + 'static> fmt::Debug for FnPool<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnPool").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
