//! What went wrong with the items of `for_each`, `try_map` and `try_for_each`.

use std::error::Error;
use std::fmt;

use super::{JoinError, Refused, TaskPanic};

/// What went wrong in a `for_each`.
///
/// # Examples
///
/// ```
/// use formic::{ForEachError, Pool};
///
/// let pool = Pool::new(4);
/// match pool.for_each(0..10, |number| assert!(number != 3, "three")) {
///     Err(ForEachError::Panicked { items: 1, first }) => assert_eq!(first.message(), "three"),
///     other => panic!("{other:?}"),
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ForEachError {
    /// The pool was closed before the end of the items, has no worker, or its runtime has shut down. Each
    /// item that was pulled has run, except for the last one if the pool was closed just then.
    Refused(Refused),
    /// The function, or a future of it, panicked. The other items have run, unless the pool was closed
    /// meanwhile. A source of items that panics counts as one item.
    Panicked {
        /// How many items panicked.
        items: u64,
        /// The first of the panics.
        first: TaskPanic,
    },
    /// Items were dropped without having run to their end, by [`discard`](crate::Control::discard) or
    /// [`cancel_all`](crate::Control::cancel_all).
    Cancelled {
        /// How many items were dropped.
        items: u64,
    },
}

impl fmt::Display for ForEachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ForEachError::Refused(refused) => refused.fmt(f),
            ForEachError::Panicked { items: 1, first } => first.fmt(f),
            ForEachError::Panicked { items, .. } => write!(f, "{items} items panicked"),
            ForEachError::Cancelled { items: 1 } => f.write_str("1 item was cancelled"),
            ForEachError::Cancelled { items } => write!(f, "{items} items were cancelled"),
        }
    }
}

impl Error for ForEachError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ForEachError::Panicked { items: 2.., first } => Some(first),
            _ => None,
        }
    }
}

/// Collects the outcomes of a `for_each`.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    panicked: u64,
    cancelled: u64,
    first: Option<TaskPanic>,
    refused: Option<Refused>,
}

impl Failures {
    pub(crate) fn note(&mut self, error: JoinError) {
        match error {
            JoinError::Panicked(panic) => {
                self.panicked += 1;
                self.first.get_or_insert(panic);
            }
            JoinError::Cancelled => self.cancelled += 1,
            JoinError::Refused(refused) => self.refused = Some(refused),
        }
    }

    /// What weighs most: a panic, then that the pool refused to go on.
    pub(crate) fn check(self) -> Result<(), ForEachError> {
        match self {
            Failures { first: Some(first), panicked: items, .. } => {
                Err(ForEachError::Panicked { items, first })
            }
            Failures { refused: Some(refused), .. } => Err(ForEachError::Refused(refused)),
            Failures { cancelled: 0, .. } => Ok(()),
            Failures { cancelled: items, .. } => Err(ForEachError::Cancelled { items }),
        }
    }
}

/// Why a `try_map` or `try_for_each` ended before the end of its items: the failure of the item that comes
/// first in the input, with its index. `E` is the error of the function.
///
/// # Examples
///
/// ```
/// use formic::{Pool, TaskError};
///
/// let pool = Pool::new(4);
/// let numbers = pool.try_map(["1", "2", "three"], |text| text.parse::<u32>());
/// match numbers {
///     Err(TaskError::Failed { index: 2, error }) => println!("the third: {error}"),
///     other => panic!("{other:?}"),
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum TaskError<E> {
    /// The function returned an error.
    Failed {
        /// The index of the item in the input.
        index: usize,
        /// What the function returned.
        error: E,
    },
    /// The function, or a future of it, panicked.
    Panicked {
        /// The index of the item in the input.
        index: usize,
        /// The panic.
        panic: TaskPanic,
    },
    /// The item was dropped before its end, by [`discard`](crate::Control::discard) or
    /// [`cancel_all`](crate::Control::cancel_all).
    Cancelled {
        /// The index of the item in the input.
        index: usize,
    },
    /// The pool refused to go on, and items may be left.
    Refused {
        /// How many items were pulled.
        index: usize,
        /// Why the pool refused.
        reason: Refused,
    },
}

/// The failure of a task of a [`Batch`](crate::Batch), with the index that [`spawn`](crate::Batch::spawn) returned: a
/// [`TaskError`] whose items are the tasks of the batch.
///
/// # Examples
///
/// ```
/// use formic::BatchError;
///
/// let pool = formic::Pool::new(2);
/// let mut batch = pool.batch();
/// batch.spawn(|| Ok(1))?;
/// batch.spawn(|| Err("two"))?;
/// let error: BatchError<&str> = batch.try_join_all().unwrap_err();
/// assert!(matches!(error, BatchError::Failed { index: 1, error: "two" }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type BatchError<E> = TaskError<E>;

impl<E> TaskError<E> {
    pub(crate) fn check<V>(
        index: usize,
        outcome: Result<Result<V, E>, JoinError>,
    ) -> Result<V, Self> {
        match outcome {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(TaskError::Failed { index, error }),
            Err(JoinError::Panicked(panic)) => Err(TaskError::Panicked { index, panic }),
            Err(JoinError::Cancelled) => Err(TaskError::Cancelled { index }),
            Err(JoinError::Refused(reason)) => Err(TaskError::Refused { index, reason }),
        }
    }

    /// The index of the item in the input.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// let failed = pool.try_for_each([1, 2, 3], |n| if n < 3 { Ok(()) } else { Err("three") });
    /// assert_eq!(failed.unwrap_err().index(), 2);
    /// ```
    #[must_use]
    pub fn index(&self) -> usize {
        match self {
            TaskError::Failed { index, .. }
            | TaskError::Panicked { index, .. }
            | TaskError::Cancelled { index }
            | TaskError::Refused { index, .. } => *index,
        }
    }

    /// The error that the function returned, if it did.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// let failed = pool.try_for_each([1, 2, 3], |n| if n < 3 { Ok(()) } else { Err("three") });
    /// assert_eq!(failed.unwrap_err().into_error(), Some("three"));
    /// ```
    #[must_use]
    pub fn into_error(self) -> Option<E> {
        match self {
            TaskError::Failed { error, .. } => Some(error),
            _ => None,
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        matches!(self, TaskError::Cancelled { .. })
    }
}

impl<E: fmt::Display> fmt::Display for TaskError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskError::Failed { index, error } => write!(f, "item {index} failed: {error}"),
            TaskError::Panicked { index, panic } => write!(f, "item {index} panicked: {panic}"),
            TaskError::Cancelled { index } => write!(f, "item {index} was cancelled"),
            TaskError::Refused { reason: Refused::InRuntime, .. } => f.write_str(
                "the wait would block a thread of an async runtime, unlike the verbs that end in `_async`",
            ),
            TaskError::Refused { index, reason } => write!(f, "item {index} was refused: {reason}"),
        }
    }
}

/// `E` need not be an error itself: a text, an `anyhow::Error` or a boxed error will do.
impl<E: fmt::Display + fmt::Debug> Error for TaskError<E> {}
