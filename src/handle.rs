//! `JoinHandle`: the result of a task, joined or awaited.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::control::deadline;
use crate::engine::{self, Joinable, Suspension};
use crate::error::JoinError;

/// A handle to a task: [`join`](JoinHandle::join) it, or await it on any executor. Dropped, the task
/// runs on, unless [`cancel_on_drop`](JoinHandle::cancel_on_drop) says otherwise. Its panic then goes to the
/// [`on_panic`](crate::Builder::on_panic) hook.
///
/// When the result is there, everything the task owned has been dropped, and the task is counted
/// as completed.
///
/// # Waiting inside a task
///
/// A task may join or await another task of its own pool, or of another formic pool, at any depth, whatever the
/// number of workers and the bound of the queue. While it waits, it lends its place. In the lent place, a task can
/// start that a task waits for, and no other. So a pool keeps its capacity: fewer than `capacity` of its tasks run
/// without waiting when one starts. A task that stops waiting goes on at once. If its place is still in use, one
/// task more than the capacity runs until one of the two ends, and no other starts meanwhile.
///
/// A worker runs the task that it joins itself, on its own stack, if that task has not started, its pool has a place
/// for it and gives its workers no state, stack size or hooks of their own. Otherwise a worker of that pool runs it,
/// which may be one beyond the capacity. At most 64 tasks run on one stack, one inside the other.
///
/// A future counts as waiting while it is suspended and holds a handle that it has polled and that was pending.
///
/// # Examples
///
/// ```
/// let pool = formic::Pool::new(2);
/// let handle = pool.spawn(|| 6 * 7)?;
/// assert_eq!(handle.join()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a dropped handle drops the result of its task; use `submit` if that is meant"]
pub struct JoinHandle<T> {
    /// Gone once the outcome has been collected.
    task_state: Option<Arc<dyn Joinable<T>>>,
    /// There while the handle is pending in a task.
    suspension: Option<Suspension>,
    cancel_on_drop: bool,
}

/// What a handle says that is asked for its result again.
const TAKEN: &str = "a join handle was asked for its result after it had given it";

impl<T> JoinHandle<T> {
    pub(crate) fn new(task_state: Arc<dyn Joinable<T>>) -> Self {
        JoinHandle { task_state: Some(task_state), suspension: None, cancel_on_drop: false }
    }

    /// Blocks the thread until the result is there. A task that joins another one lends its place
    /// meanwhile, or runs the other one itself: see [above](JoinHandle).
    ///
    /// Async code awaits the handle instead. To block a thread of a runtime until a future ends could mean
    /// to wait for ever, so there the call returns an error, unless the result is there. `spawn_blocking`,
    /// `block_in_place` and threads that poll nothing for a runtime may block.
    ///
    /// # Errors
    ///
    /// [`JoinError`]: the task panicked, or was cancelled. A closure is cancelled only before it was
    /// started, a future at any time. [`Refused::InRuntime`](crate::Refused::InRuntime) if the task is a
    /// future that has not ended, and the thread polls for a tokio runtime: the task runs on.
    ///
    /// # Panics
    ///
    /// If [`join_timeout`](JoinHandle::join_timeout) or an `.await` has taken the result before.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// assert_eq!(pool.spawn(|| 6 * 7)?.join()?, 42);
    ///
    /// let error = pool.spawn(|| panic!("out of ink"))?.join().unwrap_err();
    /// assert!(error.is_panic());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Wait")]
    #[doc(alias = "Value")]
    pub fn join(mut self) -> Result<T, JoinError> {
        match self.wait(None) {
            Some(outcome) => outcome,
            None => unreachable!("without a deadline there is an outcome"),
        }
    }

    /// As [`join`](JoinHandle::join), for up to `time`: `None` if the time is over. The handle stays, so this
    /// may be called again. A time of zero only looks whether the result is there, and blocks nothing.
    ///
    /// # Errors
    ///
    /// As [`join`](JoinHandle::join). After [`Refused::InRuntime`](crate::Refused::InRuntime) the handle can
    /// still be awaited, and joined elsewhere.
    ///
    /// # Panics
    ///
    /// If the result was taken before: a loop ends with the first `Some`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// let pool = formic::Pool::new(1);
    /// let (open, door) = mpsc::channel::<()>();
    /// let mut handle = pool.spawn(move || door.recv().is_err())?;
    /// assert!(handle.join_timeout(Duration::from_millis(1)).is_none());
    /// drop(open);
    /// let outcome = loop {
    ///     match handle.join_timeout(Duration::from_millis(1)) {
    ///         Some(outcome) => break outcome,
    ///         None => println!("still running"),
    ///     }
    /// };
    /// assert!(outcome?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "a handle gives its result once"]
    #[doc(alias = "ProcessTimed")]
    pub fn join_timeout(&mut self, time: Duration) -> Option<Result<T, JoinError>> {
        self.wait(deadline(time))
    }

    /// What the handle is made of.
    pub(crate) fn task_state(&self) -> Option<&Arc<dyn Joinable<T>>> {
        self.task_state.as_ref()
    }

    /// The outcome, if it is there.
    pub(crate) fn take_outcome(mut self) -> Option<Result<T, JoinError>> {
        let outcome = self.task_state.as_ref()?.collect()?;
        self.task_state = None;
        Some(outcome)
    }

    pub(crate) fn wait(&mut self, deadline: Option<Instant>) -> Option<Result<T, JoinError>> {
        let Some(task_state) = &self.task_state else { panic!("{TAKEN}") };
        if let Err(refused) = engine::check_wait(task_state, deadline) {
            return Some(Err(JoinError::Refused(refused)));
        }
        self.suspension = None;
        if !engine::wait_for(task_state, deadline) {
            return None;
        }
        let outcome = task_state.collect();
        self.task_state = None;
        outcome
    }

    /// Whether the outcome is there, or was taken. If it is there, [`join`](JoinHandle::join) does not wait.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let handle = pool.spawn(|| 6 * 7)?;
    /// while !handle.is_finished() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(handle.join()?, 42); // does not wait
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task_state.as_ref().is_none_or(|task_state| task_state.is_done())
    }

    /// Cancels the task. A task that has not started is dropped with everything it owns: it never runs, its
    /// place is free at once, the outcome is [`JoinError::Cancelled`], and this returns true. A closure that
    /// runs is asked to stop, which it finds out by [`formic::is_cancelled`](crate::is_cancelled); the outcome
    /// is what it returns. A future that runs is dropped where it stands. What a running task wants to be called is
    /// called here: see [`formic::on_cancel`](fn@crate::on_cancel).
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::Pool;
    ///
    /// let pool = Pool::new(1);
    /// let (begun, has_begun) = std::sync::mpsc::channel();
    /// let running = pool.spawn(move || {
    ///     begun.send(()).unwrap();
    ///     while !formic::is_cancelled() {
    ///         std::thread::yield_now();
    ///     }
    ///     "stopped"
    /// })?;
    /// has_begun.recv()?;
    /// let queued = pool.spawn(|| "never")?;
    /// assert!(queued.cancel());
    /// assert!(queued.join().unwrap_err().is_cancelled());
    /// assert!(!running.cancel());
    /// assert_eq!(running.join()?, "stopped");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "abort")]
    #[doc(alias = "Cancel")]
    #[allow(clippy::must_use_candidate, reason = "what is asked for is the cancelling")]
    pub fn cancel(&self) -> bool {
        self.task_state.as_ref().is_some_and(|task_state| task_state.cancel())
    }

    /// Cancels the task when the handle is dropped before the result was taken.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let endless = pool.spawn(|| {
    ///     while !formic::is_cancelled() {
    ///         std::thread::yield_now();
    ///     }
    /// })?;
    /// drop(endless.cancel_on_drop());
    /// pool.drain()?; // it has an end now, whether it was begun or not
    /// assert_eq!(pool.stats().completed + pool.stats().cancelled, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel_on_drop(mut self) -> Self {
        self.cancel_on_drop = true;
        self
    }
}

/// Whether the task that the calling thread runs was asked to stop: by
/// [`JoinHandle::cancel`], [`Batch::cancel`](crate::Batch::cancel),
/// [`FnPool::call_timeout`](crate::FnPool::call_timeout), or, submitted or spawned, by
/// [`Control::cancel_all`](crate::Control::cancel_all) and by a shutdown. Costs next to nothing, so a long task may ask
/// often. A task that blocks can be told by [`on_cancel`](fn@crate::on_cancel). Always false outside of a task. A future
/// needs none of this, unless a poll takes long: to cancel it drops it.
///
/// # Examples
///
/// ```
/// let pool = formic::Pool::new(1);
/// let (begun, has_begun) = std::sync::mpsc::channel();
/// let handle = pool.spawn(move || {
///     begun.send(()).unwrap();
///     while !formic::is_cancelled() {
///         std::thread::yield_now(); // a piece of work
///     }
///     "stopped half-way"
/// })?;
/// has_begun.recv()?;
/// handle.cancel();
/// assert_eq!(handle.join()?, "stopped half-way");
/// assert!(!formic::is_cancelled()); // outside of a task
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
#[doc(alias = "IsCancelled")]
pub fn is_cancelled() -> bool {
    engine::is_cancelled()
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    /// # Panics
    ///
    /// If the result was taken before: by another poll, or by [`join_timeout`](JoinHandle::join_timeout).
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(task_state) = &this.task_state else { panic!("{TAKEN}") };
        let polled = engine::poll_outcome(task_state, &mut this.suspension, context);
        if polled.is_ready() {
            this.task_state = None;
        }
        polled
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        // None if the outcome was collected.
        let Some(task_state) = &self.task_state else { return };
        if self.cancel_on_drop {
            task_state.cancel();
        }
        task_state.detach();
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("finished", &self.is_finished()).finish_non_exhaustive()
    }
}
