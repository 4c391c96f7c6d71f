//! One type for every error of the crate.

use std::error::Error as StdError;
use std::fmt;

use super::{
    AcquireError, BuildError, CallError, ForEachError, JoinError, NoSuchShard, PrestartError,
    Refused, ReopenError, ResizeError, ShardErrors, StillRunning, SubmitError, TaskError,
    TaskPanic,
};

/// Any error of this crate, for a function that uses `?` on several verbs.
///
/// Every error type of the crate converts into it. A refused task or argument is dropped by the conversion:
/// [`SubmitError::into_task`] and [`CallError::into_argument`] give it back.
///
/// # Examples
///
/// ```
/// use formic::{Error, FnPool, Pool, Refused, Semaphore};
///
/// fn work(pool: &Pool, squares: &FnPool<u64, u64>) -> Result<u64, Error> {
///     let memory = Semaphore::new(64);
///     let permit = memory.acquire(10)?.into_owned();
///     pool.submit(move || drop(permit))?;
///     let answer = pool.spawn(|| 6)?.join()?;
///     let square = squares.call(answer)?;
///     pool.resize(4)?;
///     pool.drain()?;
///     Ok(square)
/// }
///
/// let (pool, squares) = (Pool::builder().workers(2).build()?, FnPool::new(2, |n: u64| n * n));
/// assert_eq!(work(&pool, &squares)?, 36);
///
/// // The pool has been drained, so it is closed.
/// let error = work(&pool, &squares).unwrap_err();
/// assert!(matches!(error, Error::Refused(Refused::Closed)));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A task, a call, a permit or a wait was refused.
    Refused(Refused),
    /// A call did not end in time.
    TimedOut,
    /// A task or a call was cancelled.
    Cancelled,
    /// A task or a call panicked.
    Panicked(TaskPanic),
    /// Items of a [`for_each`](crate::Pool::for_each) panicked or were cancelled.
    ForEach(ForEachError),
    /// The function of a [`try_map`](crate::Pool::try_map) or `try_for_each` returned an error.
    Failed {
        /// The index of the item in the input.
        index: usize,
        /// What the function returned.
        error: Box<dyn StdError + Send + Sync>,
    },
    /// A service on a pool returned an error.
    Service(Box<dyn StdError + Send + Sync>),
    /// A pool could not be built.
    Build(BuildError),
    /// A pool cannot have that capacity.
    Resize(ResizeError),
    /// Workers could not be started ahead of time.
    Prestart(PrestartError),
    /// A pool could not be opened again.
    Reopen(ReopenError),
    /// A pool had not ended.
    StillRunning(StillRunning),
    /// A semaphore gave no permit.
    Acquire(AcquireError),
    /// A [`Multi`](crate::Multi) has no such shard.
    NoSuchShard(NoSuchShard),
    /// Shards of a [`Multi`](crate::Multi), each with its error.
    Shards(ShardErrors<Error>),
}

impl Error {
    /// The error that this one stands for, if there is one.
    fn inner(&self) -> Option<&(dyn StdError + 'static)> {
        Some(match self {
            Error::TimedOut | Error::Cancelled | Error::Failed { .. } => return None,
            Error::Service(error) => &**error,
            Error::Refused(error) => error,
            Error::Panicked(error) => error,
            Error::ForEach(error) => error,
            Error::Build(error) => error,
            Error::Resize(error) => error,
            Error::Prestart(error) => error,
            Error::Reopen(error) => error,
            Error::StillRunning(error) => error,
            Error::Acquire(error) => error,
            Error::NoSuchShard(error) => error,
            Error::Shards(error) => error,
        })
    }
}

/// Says what the error that it stands for says.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.inner()) {
            (_, Some(error)) => fmt::Display::fmt(error, f),
            (Error::TimedOut, None) => f.write_str("the call did not end in time"),
            (Error::Failed { index, .. }, None) => write!(f, "item {index} failed"),
            (_, None) => f.write_str("the task was cancelled"),
        }
    }
}

impl StdError for Error {
    /// The source of the error that it stands for, or what a function returned.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Error::Failed { error, .. } => Some(&**error),
            _ => self.inner()?.source(),
        }
    }
}

/// Conversions of errors that become a variant as they are.
macro_rules! from {
    ($($error:ident => $variant:ident),* $(,)?) => {
        $(
            impl From<$error> for Error {
                fn from(error: $error) -> Self {
                    Error::$variant(error)
                }
            }
        )*
    };
}

from! {
    Refused => Refused,
    TaskPanic => Panicked,
    BuildError => Build,
    ResizeError => Resize,
    PrestartError => Prestart,
    ReopenError => Reopen,
    StillRunning => StillRunning,
    AcquireError => Acquire,
    NoSuchShard => NoSuchShard,
}

/// The reason. The task is dropped.
impl<F> From<SubmitError<F>> for Error {
    fn from(error: SubmitError<F>) -> Self {
        Error::Refused(error.into())
    }
}

impl From<JoinError> for Error {
    fn from(error: JoinError) -> Self {
        match error {
            JoinError::Cancelled => Error::Cancelled,
            JoinError::Panicked(panic) => Error::Panicked(panic),
            JoinError::Refused(reason) => Error::Refused(reason),
        }
    }
}

/// The argument of a refused call is dropped.
impl<T> From<CallError<T>> for Error {
    fn from(error: CallError<T>) -> Self {
        match error {
            CallError::Refused(error) => Error::Refused(error.into()),
            CallError::TimedOut => Error::TimedOut,
            CallError::Cancelled => Error::Cancelled,
            CallError::Panicked(panic) => Error::Panicked(panic),
            CallError::NotAwaited(reason) => Error::Refused(reason),
        }
    }
}

/// A refusal becomes [`Error::Refused`], as everywhere else.
impl From<ForEachError> for Error {
    fn from(error: ForEachError) -> Self {
        match error {
            ForEachError::Refused(reason) => Error::Refused(reason),
            panicked => Error::ForEach(panicked),
        }
    }
}

/// A refusal, a panic or a cancelled item becomes the variant of that name, as everywhere else.
impl<E: Into<Box<dyn StdError + Send + Sync>>> From<TaskError<E>> for Error {
    fn from(error: TaskError<E>) -> Self {
        match error {
            TaskError::Failed { index, error } => Error::Failed { index, error: error.into() },
            TaskError::Panicked { panic, .. } => Error::Panicked(panic),
            TaskError::Cancelled { .. } => Error::Cancelled,
            TaskError::Refused { reason, .. } => Error::Refused(reason),
        }
    }
}

impl<E: Into<Error>> From<ShardErrors<E>> for Error {
    fn from(errors: ShardErrors<E>) -> Self {
        Error::Shards(errors.map(Into::into))
    }
}
