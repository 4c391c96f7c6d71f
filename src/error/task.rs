//! Tasks without a result: cancelled, or panicked.

use std::any::Any;
use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

use super::Refused;

/// Why a task has no result.
///
/// # Examples
///
/// ```
/// use formic::{JoinError, Pool};
///
/// let pool = Pool::new(1);
/// let handle = pool.spawn(|| panic!("out of ink"))?;
/// match handle.join() {
///     Err(JoinError::Panicked(panic)) => assert_eq!(panic.message(), "out of ink"),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// It was dropped: by its handle, by [`discard`](crate::Control::discard), or with its pool. A
    /// closure is dropped only before it was started, a future also while it runs.
    Cancelled,
    /// It panicked.
    Panicked(TaskPanic),
    /// The pool refused to go on: the last item of a `map` whose pool was closed before the end of its
    /// input; or the wait itself was refused, because it would have blocked a thread of an async runtime.
    Refused(Refused),
}

impl JoinError {
    /// Whether the task was dropped before its end.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let handle = pool.spawn(|| ())?;
    /// let cancelled = handle.cancel();
    /// assert_eq!(handle.join().is_err_and(|error| error.is_cancelled()), cancelled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, JoinError::Cancelled)
    }

    /// Whether the task panicked.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let error = pool.spawn(|| panic!("out of ink"))?.join().unwrap_err();
    /// assert!(error.is_panic());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self, JoinError::Panicked(_))
    }

    /// The panic, if it was one.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let error = pool.spawn(|| panic!("out of ink"))?.join().unwrap_err();
    /// assert_eq!(error.into_panic().unwrap().message(), "out of ink");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn into_panic(self) -> Option<TaskPanic> {
        match self {
            JoinError::Panicked(panic) => Some(panic),
            JoinError::Cancelled | JoinError::Refused(_) => None,
        }
    }

    /// Lets the task's panic go on in the calling thread.
    ///
    /// # Panics
    ///
    /// Always: with the task's panic, or saying that the task was cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let error = pool.spawn(|| panic!("out of ink"))?.join().unwrap_err();
    /// let here = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| error.resume())).unwrap_err();
    /// assert_eq!(here.downcast_ref(), Some(&"out of ink"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn resume(self) -> ! {
        match self {
            JoinError::Panicked(panic) => panic.resume(),
            JoinError::Cancelled | JoinError::Refused(_) => panic!("{self}"),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Cancelled => f.write_str("the task was cancelled"),
            JoinError::Panicked(panic) => panic.fmt(f),
            JoinError::Refused(Refused::InRuntime) => {
                f.write_str("the wait would block a thread of an async runtime, unlike `.await`")
            }
            JoinError::Refused(reason) => reason.fmt(f),
        }
    }
}

impl Error for JoinError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            JoinError::Panicked(panic) => Some(panic),
            JoinError::Cancelled | JoinError::Refused(_) => None,
        }
    }
}

/// The panic of a task: what it was, and where.
///
/// # Examples
///
/// ```
/// use formic::Pool;
/// use std::sync::mpsc;
///
/// let (sender, receiver) = mpsc::channel();
/// let pool = Pool::builder()
///     .workers(1)
///     .on_panic(move |panic| drop(sender.send(panic.message().to_owned())))
///     .build()?;
/// pool.submit(|| panic!("out of paper"))?;
/// assert_eq!(receiver.recv()?, "out of paper");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TaskPanic(
    /// In a box, because room for it is kept wherever the outcome of a task goes, and seldom used.
    Box<Details>,
);

struct Details {
    /// In a lock, because it need not be `Sync`, and errors that are not are hard to pass on.
    payload: Mutex<Box<dyn Any + Send>>,
    message: Cow<'static, str>,
    worker: String,
    location: Option<&'static Location<'static>>,
}

impl TaskPanic {
    pub(crate) fn new(
        payload: Box<dyn Any + Send>,
        worker: &str,
        location: Option<&'static Location<'static>>,
    ) -> Self {
        let (message, worker) = (message(&*payload), worker.to_owned());
        let payload = Mutex::new(payload);
        TaskPanic(Box::new(Details { payload, message, worker, location }))
    }

    /// A panic that was caught on the calling thread.
    pub(crate) fn caught(
        payload: Box<dyn Any + Send>,
        location: Option<&'static Location<'static>>,
    ) -> Self {
        let thread = std::thread::current();
        TaskPanic::new(payload, thread.name().unwrap_or("<unnamed>"), location)
    }

    /// The panic's message, if it has one, as those of `panic!` and `assert!` do.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::builder().workers(1).name("print").build()?;
    /// let panic = pool.spawn(|| panic!("out of ink"))?.join().unwrap_err().into_panic().unwrap();
    /// assert_eq!(panic.message(), "out of ink");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Looks at what the task panicked with, for panics that carry more than a message
    /// (`std::panic::panic_any`).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::panic::panic_any;
    ///
    /// let pool = formic::Pool::new(1);
    /// let panic = pool.spawn(|| panic_any(42_u32))?.join().unwrap_err().into_panic().unwrap();
    /// let code = panic.with_payload(|payload| payload.downcast_ref::<u32>().copied());
    /// assert_eq!(code, Some(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_payload<R>(&self, look: impl FnOnce(&(dyn Any + Send)) -> R) -> R {
        look(&**self.0.payload.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What the task panicked with, to keep.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::panic::panic_any;
    ///
    /// let pool = formic::Pool::new(1);
    /// let panic = pool.spawn(|| panic_any(vec![1, 2]))?.join().unwrap_err().into_panic().unwrap();
    /// let payload = panic.into_payload().downcast::<Vec<i32>>().unwrap();
    /// assert_eq!(*payload, [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "into_panic")]
    pub fn into_payload(self) -> Box<dyn Any + Send> {
        self.0.payload.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the panic go on in the calling thread. Rust does not print it again.
    ///
    /// # Panics
    ///
    /// Always: with the task's payload.
    ///
    /// # Examples
    ///
    /// ```should_panic
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::Pool::new(1);
    /// let panic = pool.spawn(|| panic!("out of ink"))?.join().unwrap_err().into_panic().unwrap();
    /// assert_eq!(panic.message(), "out of ink");
    /// panic.resume()
    /// # }
    /// ```
    pub fn resume(self) -> ! {
        std::panic::resume_unwind(self.into_payload())
    }

    /// The name of the thread that ran the task, such as `io-3`.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::builder().workers(1).name("print").build()?;
    /// let panic = pool.spawn(|| panic!("out of ink"))?.join().unwrap_err().into_panic().unwrap();
    /// assert_eq!(panic.worker(), "print-0");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn worker(&self) -> &str {
        &self.0.worker
    }

    /// The line of code that submitted the task, if it is known. Rust prints the line that
    /// panicked by itself.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::builder().workers(1).name("print").build()?;
    /// let panic = pool.spawn(|| panic!("out of ink"))?.join().unwrap_err().into_panic().unwrap();
    /// assert!(panic.location().unwrap().line() > 0); // the line with `spawn`
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn location(&self) -> Option<&'static Location<'static>> {
        self.0.location
    }
}

fn message(payload: &(dyn Any + Send)) -> Cow<'static, str> {
    if let Some(message) = payload.downcast_ref::<&'static str>() {
        return Cow::Borrowed(message);
    }
    let message = payload.downcast_ref::<String>().cloned();
    message.map_or(Cow::Borrowed("a panic without a message"), Cow::Owned)
}

impl fmt::Debug for TaskPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskPanic")
            .field("message", &self.message())
            .field("worker", &self.0.worker)
            .field("location", &self.0.location)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for TaskPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a task panicked on {}: {}", self.worker(), self.message())?;
        match self.location() {
            Some(location) => write!(f, " (submitted at {location})"),
            None => Ok(()),
        }
    }
}

impl Error for TaskPanic {}
