//! Errors: one small type per act, and what was refused comes back inside.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io;
use std::panic::Location;

/// Why a task or a permit was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refused {
    /// All places are taken, and the call does not wait, or as many submitters wait as may wait.
    Full,
    /// The pool is closed.
    Closed,
    /// No place got free in time.
    TimedOut,
    /// There is no worker, and the operating system would not start a thread for one.
    NoWorker,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Full => "the pool is full: wait with `submit`, or give it a longer queue",
            Refused::Closed => "the pool is closed: `reopen` it after a drain to go on",
            Refused::TimedOut => "no place in the pool got free in time",
            Refused::NoWorker => "the pool has no worker, and no thread could be started",
        })
    }
}

impl Error for Refused {}

/// A task that was not accepted, with the reason. The task comes back by [`into_task`].
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
pub struct SubmitError<F> {
    task: F,
    reason: Refused,
}

impl<F> SubmitError<F> {
    pub(crate) fn new(task: F, reason: Refused) -> Self {
        SubmitError { task, reason }
    }

    /// Why the task was refused.
    pub fn reason(&self) -> Refused {
        self.reason
    }

    /// The task, as it was.
    pub fn into_task(self) -> F {
        self.task
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

/// A setting that a pool cannot have. Every variant names the setting and the value.
///
/// # Examples
///
/// ```
/// use formic::{BuildError, Pool};
///
/// let error = Pool::builder().workers(5..=2).build().unwrap_err();
/// assert!(matches!(error, BuildError::Workers { minimum: 5, capacity: 2 }));
/// assert_eq!(error.to_string(), "workers: the minimum 5 is above the capacity 2");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// `workers(0)`: a pool without workers could not run anything.
    NoWorkers,
    /// `workers(minimum..=capacity)` with the minimum above the capacity.
    Workers {
        /// What was asked for as the minimum.
        minimum: usize,
        /// What was asked for as the capacity.
        capacity: usize,
    },
    /// More workers than a pool may have.
    TooManyWorkers {
        /// What was asked for.
        workers: usize,
        /// The most that is possible: [`Builder::MAX_WORKERS`](crate::Builder::MAX_WORKERS).
        limit: usize,
    },
    /// `stack_size` below what a thread can live on.
    StackSize {
        /// What was asked for, in bytes.
        bytes: usize,
        /// The least that is possible.
        least: usize,
    },
    /// `prestart` above the capacity.
    Prestart {
        /// What was asked for.
        workers: usize,
        /// The capacity.
        capacity: usize,
    },
    /// `keep_alive(Duration::ZERO)`: workers would be gone before they could be reused.
    KeepAlive,
    /// `preallocate` for a queue or a crew without a bound: there is no end to it.
    Preallocate {
        /// The setting that has no bound: `"queue_unbounded"` or `"unlimited"`.
        unbounded: &'static str,
    },
    /// `preallocate` for a queue that is too long to be reserved.
    TooLong {
        /// The queue that was asked for.
        queue: usize,
        /// The longest that can be reserved.
        limit: usize,
    },
    /// `name` with a NUL byte, which no thread can have.
    Name(String),
    /// A thread for the minimum or for `prestart` could not be started.
    Thread(io::Error),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::NoWorkers => f.write_str("workers: 0 workers cannot run anything"),
            BuildError::Workers { minimum, capacity } => {
                write!(f, "workers: the minimum {minimum} is above the capacity {capacity}")
            }
            BuildError::TooManyWorkers { workers, limit } => {
                write!(f, "workers: {workers} is above the limit of {limit}")
            }
            BuildError::StackSize { bytes, least } => {
                write!(f, "stack_size: {bytes} bytes are not enough, the least is {least}")
            }
            BuildError::Prestart { workers, capacity } => {
                write!(f, "prestart: {workers} is above the capacity {capacity}")
            }
            BuildError::KeepAlive => f.write_str(
                "keep_alive: zero leaves no worker to be reused; use None to keep them for good",
            ),
            BuildError::Preallocate { unbounded } => {
                write!(f, "preallocate: nothing can be reserved for `{unbounded}`")
            }
            BuildError::TooLong { queue, limit } => {
                write!(f, "preallocate: a queue of {queue} is above the limit of {limit}")
            }
            BuildError::Name(name) => write!(f, "name: {name:?} contains a NUL byte"),
            BuildError::Thread(error) => write!(f, "a worker could not be started: {error}"),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            BuildError::Thread(error) => Some(error),
            _ => None,
        }
    }
}

/// A capacity that a pool cannot be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResizeError {
    /// `resize(0)`: a pool without workers could not run anything. Use `close` to stop it.
    NoWorkers,
    /// Below the minimum that the pool was built with.
    BelowMinimum {
        /// What was asked for.
        workers: usize,
        /// The pool's minimum.
        minimum: usize,
    },
    /// More workers than a pool may have.
    TooManyWorkers {
        /// What was asked for.
        workers: usize,
        /// The most that is possible.
        limit: usize,
    },
}

impl fmt::Display for ResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResizeError::NoWorkers => {
                f.write_str("resize: 0 workers cannot run anything; use `close` to stop a pool")
            }
            ResizeError::BelowMinimum { workers, minimum } => {
                write!(f, "resize: {workers} is below the minimum {minimum}")
            }
            ResizeError::TooManyWorkers { workers, limit } => {
                write!(f, "resize: {workers} is above the limit of {limit}")
            }
        }
    }
}

impl Error for ResizeError {}

/// Workers that could not be started ahead of time.
#[derive(Debug)]
#[non_exhaustive]
pub enum PrestartError {
    /// More than the capacity.
    AboveCapacity {
        /// What was asked for.
        workers: usize,
        /// The capacity.
        capacity: usize,
    },
    /// The pool is closed.
    Closed,
    /// A thread could not be started. Those that were started stay.
    Thread(io::Error),
}

impl fmt::Display for PrestartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrestartError::AboveCapacity { workers, capacity } => {
                write!(f, "prestart: {workers} is above the capacity {capacity}")
            }
            PrestartError::Closed => f.write_str("prestart: the pool is closed"),
            PrestartError::Thread(error) => write!(f, "a worker could not be started: {error}"),
        }
    }
}

impl Error for PrestartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            PrestartError::Thread(error) => Some(error),
            _ => None,
        }
    }
}

/// What was left when a wait for the end was over: its time was up, or it was called from a task
/// of the same pool and would have waited for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StillRunning {
    pub(crate) running: usize,
    pub(crate) queued: usize,
    pub(crate) permits: usize,
    pub(crate) from_inside: bool,
}

impl StillRunning {
    /// Tasks that were running.
    pub fn running(&self) -> usize {
        self.running
    }

    /// Tasks that had not been started.
    pub fn queued(&self) -> usize {
        self.queued
    }

    /// Permits that were held and neither used nor dropped.
    pub fn permits(&self) -> usize {
        self.permits
    }

    /// Whether the call came from a task of the same pool, and so was refused.
    pub fn from_inside(&self) -> bool {
        self.from_inside
    }
}

impl fmt::Display for StillRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from_inside {
            f.write_str("a task cannot wait for its own pool to end: ")?;
        }
        let StillRunning { running, queued, permits, .. } = self;
        write!(f, "{running} tasks run, {queued} are queued, {permits} permits are held")
    }
}

impl Error for StillRunning {}

/// Why a pool could not be opened again.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReopenError {
    /// It is open.
    Open,
    /// It has been closed, but not everything has ended yet: `drain` it first.
    StillRunning(StillRunning),
    /// It is open again, but a thread for its minimum could not be started.
    Thread(io::Error),
}

impl fmt::Display for ReopenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReopenError::Open => f.write_str("reopen: the pool is open"),
            ReopenError::StillRunning(left) => write!(f, "reopen: drain the pool first: {left}"),
            ReopenError::Thread(error) => {
                write!(f, "the pool is open, but a worker could not be started: {error}")
            }
        }
    }
}

impl Error for ReopenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ReopenError::Thread(error) => Some(error),
            ReopenError::StillRunning(left) => Some(left),
            ReopenError::Open => None,
        }
    }
}

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
    /// It was dropped before it was started: by its handle, by
    /// [`discard`](crate::Control::discard), or with its pool.
    Cancelled,
    /// It panicked.
    Panicked(TaskPanic),
}

impl JoinError {
    /// Whether the task was dropped before it was started.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, JoinError::Cancelled)
    }

    /// Whether the task panicked.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self, JoinError::Panicked(_))
    }

    /// The panic, if it was one.
    #[must_use]
    pub fn into_panic(self) -> Option<TaskPanic> {
        match self {
            JoinError::Panicked(panic) => Some(panic),
            JoinError::Cancelled => None,
        }
    }

    /// Lets the task's panic go on in the calling thread.
    ///
    /// # Panics
    ///
    /// Always: with the task's panic, or saying that the task was cancelled.
    #[track_caller]
    pub fn resume(self) -> ! {
        match self {
            JoinError::Panicked(panic) => panic.resume(),
            JoinError::Cancelled => panic!("{self}"),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Cancelled => f.write_str("the task was cancelled before it was started"),
            JoinError::Panicked(panic) => panic.fmt(f),
        }
    }
}

impl Error for JoinError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            JoinError::Panicked(panic) => Some(panic),
            JoinError::Cancelled => None,
        }
    }
}

/// Why a call has no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError<T> {
    /// Nobody has begun with it, and it will not be run: the argument comes back.
    Refused(SubmitError<T>),
    /// Its time is over, and it is running: it has been asked to stop, and its result will be
    /// dropped.
    TimedOut,
    /// It was dropped before it was started.
    Cancelled,
    /// It panicked.
    Panicked(TaskPanic),
}

impl<T> CallError<T> {
    /// The argument, if nobody has begun with it.
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
        }
    }
}

impl<T> fmt::Display for CallError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Refused(error) => write!(f, "the call was refused: {}", error.reason()),
            CallError::TimedOut => f.write_str("the call took too long and was asked to stop"),
            CallError::Cancelled => f.write_str("the call was cancelled before it was started"),
            CallError::Panicked(panic) => panic.fmt(f),
        }
    }
}

impl<T: fmt::Debug> Error for CallError<T> {}

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
pub struct TaskPanic {
    payload: Box<dyn Any + Send>,
    worker: String,
    location: Option<&'static Location<'static>>,
}

impl TaskPanic {
    pub(crate) fn new(
        payload: Box<dyn Any + Send>,
        worker: &str,
        location: Option<&'static Location<'static>>,
    ) -> Self {
        TaskPanic { payload, worker: worker.to_owned(), location }
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
    pub fn message(&self) -> &str {
        let payload = &*self.payload;
        payload
            .downcast_ref::<&'static str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("a panic without a message")
    }

    /// What the task panicked with.
    pub fn payload(&self) -> &(dyn Any + Send) {
        &*self.payload
    }

    /// What the task panicked with, to keep.
    #[doc(alias = "into_panic")]
    pub fn into_payload(self) -> Box<dyn Any + Send> {
        self.payload
    }

    /// Lets the panic go on in the calling thread.
    pub fn resume(self) -> ! {
        std::panic::resume_unwind(self.payload)
    }

    /// The name of the thread that ran the task, such as `io-3`.
    pub fn worker(&self) -> &str {
        &self.worker
    }

    /// The line of code that submitted the task, if it is known. Rust prints the line that
    /// panicked by itself.
    pub fn location(&self) -> Option<&'static Location<'static>> {
        self.location
    }
}

impl fmt::Debug for TaskPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskPanic")
            .field("message", &self.message())
            .field("worker", &self.worker)
            .field("location", &self.location)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for TaskPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a task panicked on {}: {}", self.worker, self.message())?;
        match self.location {
            Some(location) => write!(f, " (submitted at {location})"),
            None => Ok(()),
        }
    }
}

impl Error for TaskPanic {}
