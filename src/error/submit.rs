//! Refusals: a task, an argument or a permit that was not accepted, or a call without a result.

use std::error::Error;
use std::fmt;

use super::exclusive::Exclusive;
use super::{JoinError, TaskPanic};

/// Why a task or a permit was refused.
///
/// # Examples
///
/// ```
/// use formic::{Pool, Refused};
///
/// let pool = Pool::new(1);
/// pool.close();
/// let error = pool.submit(|| ()).unwrap_err();
/// assert_eq!(error.reason(), Refused::Closed);
/// assert_eq!(pool.try_admit().unwrap_err(), Refused::Closed);
/// assert_eq!(Refused::Closed.to_string(), "the pool is closed");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "RejectedExecutionException")]
pub enum Refused {
    /// All places are taken, and the call does not wait, or the limit of
    /// [waiters](crate::Builder::waiters) is reached. `submit` waits for a place, and a longer
    /// [`queue`](crate::Builder::queue) has more of them.
    #[doc(alias = "ErrPoolOverload")]
    Full,
    /// The pool is closed. After a [`drain`](crate::Pool::drain), [`reopen`](crate::Control::reopen) opens it
    /// again.
    #[doc(alias = "ErrPoolClosed")]
    Closed,
    /// No place became free in time.
    TimedOut,
    /// The [`CancelToken`](crate::CancelToken) of the call was cancelled before a place became free.
    Cancelled,
    /// The task was accepted, and had not started when its time was over. It will not run.
    Expired,
    /// A `map` or `for_each` of futures was [discarded](crate::Control::discard) before it had a place. Items are
    /// left.
    Discarded,
    /// The pool has no worker, and the operating system would not start a thread for one.
    NoWorker,
    /// The call would have blocked a thread of an async runtime, and perhaps the very task that would have ended
    /// the wait. Async code awaits: `submit(..).await`, or the handle itself.
    InRuntime,
    /// The runtime of a pool of futures has shut down. Such a pool cannot be opened again.
    RuntimeGone,
    /// The call has a deadline, and was awaited outside of a tokio runtime, whose timers it needs. A pool
    /// with threads of its own has none for its callers.
    NoRuntime,
    /// The [`Batch`](crate::Batch) of a [`BatchSpawner`](crate::BatchSpawner) has been dropped, so no outcome would be
    /// read. The pool may be open.
    BatchGone,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Full => "the pool is full",
            Refused::Closed => "the pool is closed",
            Refused::TimedOut => "no place in the pool became free in time",
            Refused::Cancelled => "the wait for a place in the pool was cancelled",
            Refused::Expired => "the pool did not start the accepted task in time",
            Refused::Discarded => "the pool discarded the items before it took any",
            Refused::NoWorker => "the pool has no worker, and none could be started",
            Refused::RuntimeGone => "the runtime of the pool has shut down",
            Refused::NoRuntime => "a call with a time limit was awaited outside of a tokio runtime",
            Refused::BatchGone => "the batch of the spawner has been dropped",
            Refused::InRuntime => {
                "a blocking call inside an async runtime, where `submit` and handles are awaited"
            }
        })
    }
}

impl Error for Refused {}

/// A task that was not accepted, with the reason. The task comes back by [`into_task`].
///
/// The error is `Send + Sync + 'static` if the task is `Send + 'static`. Therefore `?` converts it into
/// `Box<dyn Error + Send + Sync>`, `anyhow::Error` and the like, also if the closure or the future is not `Sync`.
/// The conversions into [`Refused`] and [`formic::Error`](crate::Error) keep the reason and drop the task.
///
/// [`into_task`]: SubmitError::into_task
///
/// # Examples
///
/// ```
/// use formic::{Pool, Refused};
///
/// let pool = Pool::new(1);
/// pool.close();
/// let error = pool.submit(|| println!("never on the pool")).unwrap_err();
/// assert_eq!(error.reason(), Refused::Closed);
/// let task = error.into_task();
/// task(); // it is ours again
/// ```
#[must_use]
#[non_exhaustive]
pub struct SubmitError<F> {
    task: Exclusive<F>,
    reason: Refused,
}

impl<F> SubmitError<F> {
    pub(crate) fn new(task: F, reason: Refused) -> Self {
        SubmitError { task: Exclusive::new(task), reason }
    }

    /// The same refusal of what was made of the task, or the task was made of.
    #[cfg(feature = "tokio")]
    pub(crate) fn map<G>(self, change: impl FnOnce(F) -> G) -> SubmitError<G> {
        SubmitError { task: Exclusive::new(change(self.task.into_inner())), reason: self.reason }
    }

    /// Why the task was refused.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Pool, Refused};
    ///
    /// let pool = Pool::builder().workers(1).queue(0).build()?;
    /// let permit = pool.admit()?; // the only place
    /// assert_eq!(pool.try_submit(|| ()).unwrap_err().reason(), Refused::Full);
    /// # drop(permit);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reason(&self) -> Refused {
        self.reason
    }

    /// The task, as it was.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::FnPool::new(1, |text: String| text.len());
    /// pool.close();
    /// let error = pool.submit("mine".to_owned()).unwrap_err();
    /// assert_eq!(error.into_task(), "mine");
    /// ```
    pub fn into_task(self) -> F {
        self.task.into_inner()
    }
}

impl<F> fmt::Debug for SubmitError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubmitError").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<F> fmt::Display for SubmitError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the task was refused: {}", self.reason)
    }
}

impl<F> Error for SubmitError<F> {}

/// The reason. The task is dropped.
impl<F> From<SubmitError<F>> for Refused {
    fn from(error: SubmitError<F>) -> Self {
        error.reason
    }
}

/// Why a call has no result.
///
/// # Examples
///
/// ```
/// use formic::{CallError, FnPool};
///
/// let pool = FnPool::new(1, |n: u32| 100 / n);
/// match pool.call(0) {
///     Err(CallError::Panicked(panic)) => assert!(panic.message().contains("divide by zero")),
///     other => panic!("{other:?}"),
/// }
/// pool.close();
/// let refused = pool.call(5).unwrap_err();
/// assert_eq!(refused.into_argument(), Some(5)); // the call has not started
/// ```
#[non_exhaustive]
pub enum CallError<T> {
    /// The call has not started, and will not run: the argument comes back.
    Refused(SubmitError<T>),
    /// The call did not end in time. A call on a thread runs on: it is asked to stop, by
    /// [`is_cancelled`](crate::is_cancelled), and its result will be dropped. A future is dropped.
    #[doc(alias = "ErrJobTimedOut")]
    TimedOut,
    /// The call was dropped before it started; that of a future also while it ran.
    Cancelled,
    /// The call panicked.
    Panicked(TaskPanic),
    /// The call was accepted, and its result was not awaited, for this reason.
    NotAwaited(Refused),
}

impl<T> CallError<T> {
    /// The argument, if the call has not started.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::FnPool;
    ///
    /// let pool = FnPool::new(1, |text: String| text.len());
    /// pool.close();
    /// let error = pool.call("mine".to_owned()).unwrap_err();
    /// assert_eq!(error.into_argument().as_deref(), Some("mine"));
    /// ```
    pub fn into_argument(self) -> Option<T> {
        match self {
            CallError::Refused(error) => Some(error.into_task()),
            _ => None,
        }
    }
}

impl<T> From<JoinError> for CallError<T> {
    fn from(error: JoinError) -> Self {
        match error {
            JoinError::Cancelled => CallError::Cancelled,
            JoinError::Panicked(panic) => CallError::Panicked(panic),
            JoinError::Refused(reason) => CallError::NotAwaited(reason),
        }
    }
}

impl<T> fmt::Display for CallError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Refused(error) => write!(f, "the call was refused: {}", error.reason()),
            CallError::TimedOut => f.write_str("the call did not end in time"),
            CallError::Cancelled => f.write_str("the call was cancelled"),
            CallError::Panicked(panic) => panic.fmt(f),
            CallError::NotAwaited(reason) => reason.fmt(f),
        }
    }
}

impl<T> fmt::Debug for CallError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Refused(error) => f.debug_tuple("Refused").field(error).finish(),
            CallError::TimedOut => f.write_str("TimedOut"),
            CallError::Cancelled => f.write_str("Cancelled"),
            CallError::Panicked(panic) => f.debug_tuple("Panicked").field(panic).finish(),
            CallError::NotAwaited(reason) => f.debug_tuple("NotAwaited").field(reason).finish(),
        }
    }
}

impl<T> Error for CallError<T> {}
