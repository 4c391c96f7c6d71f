//! The handle to a task of a scope.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::result_slot::ResultSlot;
use crate::completions::InFlight;
use crate::engine::sync::lock;
use crate::engine::{self, Joinable};
use crate::error::JoinError;

/// A handle to a task of a [`Scope`](crate::Scope). Dropped, the scope still waits for the task.
///
/// # Examples
///
/// ```
/// let pool = formic::Pool::new(2);
/// let words = ["one", "two", "three"];
/// let letters: usize = pool.scope(|scope| {
///     let spawn = |word: &'static str| scope.spawn(move || word.len());
///     let handles: Vec<_> = words.into_iter().map(spawn).collect();
///     handles.into_iter().map(|handle| handle.join().expect("no panic")).sum()
/// });
/// assert_eq!(letters, 11);
/// ```
#[must_use = "use `Scope::submit` if the result is not wanted"]
pub struct ScopedHandle<'scope, T> {
    slot: Arc<ResultSlot<T>>,
    task_state: Option<Arc<dyn Joinable<()>>>,
    cancel_on_drop: bool,
    scope: PhantomData<&'scope mut &'scope ()>,
}

impl<T> ScopedHandle<'_, T> {
    pub(super) fn new(slot: Arc<ResultSlot<T>>, task_state: Option<Arc<dyn Joinable<()>>>) -> Self {
        ScopedHandle { slot, task_state, cancel_on_drop: false, scope: PhantomData }
    }

    /// Blocks until the result is available. A worker that waits here runs the task itself if it has not started.
    ///
    /// # Errors
    ///
    /// [`JoinError`]: the task panicked, was cancelled before it was started, or was dropped by
    /// [`Control::discard`](crate::Control::discard). A panic that was taken here goes no further.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// let text = String::from("two words");
    /// let words = pool.scope(|scope| {
    ///     scope.spawn(|| text.split(' ').count()).join()
    /// });
    /// assert_eq!(words?, 2);
    /// # Ok::<(), formic::JoinError>(())
    /// ```
    pub fn join(self) -> Result<T, JoinError> {
        if let Some(task_state) = &self.task_state {
            engine::wait_for(task_state, None);
        }
        self.take_outcome()
    }

    /// As [`JoinHandle::cancel`](crate::JoinHandle::cancel): true if the task has not started,
    /// and then never runs.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let words = ["one", "two"];
    /// pool.scope(|scope| {
    ///     let handle = scope.spawn(|| words.len());
    ///     let cancelled = handle.cancel();
    ///     assert_eq!(handle.join().is_err(), cancelled);
    /// });
    /// ```
    #[allow(clippy::must_use_candidate, reason = "what is asked for is the cancelling")]
    pub fn cancel(&self) -> bool {
        self.task_state.as_ref().is_some_and(|task_state| task_state.cancel())
    }

    /// Cancels the task when the handle is dropped before the result was taken. The scope waits for it
    /// all the same.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// pool.scope(|scope| {
    ///     let endless = || {
    ///         while !formic::is_cancelled() {
    ///             std::thread::yield_now();
    ///         }
    ///     };
    ///     drop(scope.spawn(endless).cancel_on_drop());
    /// });
    /// pool.wait_idle()?;
    /// assert_eq!(pool.stats().completed + pool.stats().cancelled, 1);
    /// # Ok::<(), formic::StillRunning>(())
    /// ```
    pub fn cancel_on_drop(mut self) -> Self {
        self.cancel_on_drop = true;
        self
    }

    /// Whether the result is there. Then [`join`](ScopedHandle::join) does not wait.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// pool.scope(|scope| {
    ///     let handle = scope.spawn(|| ());
    ///     while !handle.is_finished() {
    ///         std::thread::yield_now();
    ///     }
    ///     assert!(handle.join().is_ok());
    /// });
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let counted = self.task_state.as_ref().is_none_or(|task_state| task_state.is_done());
        counted && lock(&self.slot.0).is_some()
    }

    /// The outcome of a task that has ended: the result slot was filled before.
    fn take_outcome(mut self) -> Result<T, JoinError> {
        self.cancel_on_drop = false;
        lock(&self.slot.0).take().unwrap_or(Err(JoinError::Cancelled))
    }
}

impl<T: Send> InFlight for ScopedHandle<'_, T> {
    type Output = T;
    type Settled = ();

    fn task_state(&self) -> Option<&Arc<dyn Joinable<()>>> {
        self.task_state.as_ref()
    }

    fn take(self) -> Result<T, JoinError> {
        self.take_outcome()
    }

    fn wait(self) -> Result<T, JoinError> {
        self.join()
    }
}

impl<T> Drop for ScopedHandle<'_, T> {
    fn drop(&mut self) {
        if self.cancel_on_drop {
            self.cancel();
        }
    }
}

impl<T> fmt::Debug for ScopedHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedHandle")
            .field("finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}
