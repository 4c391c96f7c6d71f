//! `TaskPanic`: the panic of a task.

mod hook; // where it is noted
mod location;

use std::any::Any;
use std::backtrace::Backtrace;
use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::panic::{Location, resume_unwind};
use std::sync::{Mutex, PoisonError};

use self::hook::Trace;

#[cfg(not(loom))]
pub(crate) use self::hook::install;
pub use self::location::PanicLocation;

const NO_MESSAGE: Cow<'static, str> = Cow::Borrowed("a panic without a message");

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
    submitted_at: Option<&'static Location<'static>>,
    /// What the panic hook of `std` saw of it.
    trace: Option<Box<Trace>>,
}

impl TaskPanic {
    pub(crate) fn new(
        payload: Box<dyn Any + Send>,
        worker: &str,
        submitted_at: Option<&'static Location<'static>>,
    ) -> Self {
        let trace = hook::take_trace(&*payload);
        let (message, worker) = (text(&*payload).unwrap_or(NO_MESSAGE), worker.to_owned());
        let payload = Mutex::new(payload);
        TaskPanic(Box::new(Details { payload, message, worker, submitted_at, trace }))
    }

    /// A panic that was caught on the calling thread. Called before anything else can panic there.
    pub(crate) fn caught(
        payload: Box<dyn Any + Send>,
        submitted_at: Option<&'static Location<'static>>,
    ) -> Self {
        let thread = std::thread::current();
        TaskPanic::new(payload, thread.name().unwrap_or("<unnamed>"), submitted_at)
    }

    #[cfg(any(feature = "tokio", test))]
    /// Names another worker.
    pub(crate) fn on(mut self, worker: &str) -> Self {
        worker.clone_into(&mut self.0.worker);
        self
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

    /// Lets the panic go on in the calling thread. Rust does not print it again. If the calling thread runs
    /// a task, that task's `TaskPanic` has the line and the backtrace of this one.
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
        let Details { payload, trace, .. } = *self.0;
        hook::put_back(trace);
        resume_unwind(payload.into_inner().unwrap_or_else(PoisonError::into_inner))
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

    /// The line of code that submitted the task, if it is known.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let task = || panic!("out of ink");
    /// let (handle, line) = (pool.spawn(task)?, line!());
    /// let panic = handle.join().unwrap_err().into_panic().unwrap();
    /// assert_eq!(panic.submitted_at().unwrap().line(), line);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn submitted_at(&self) -> Option<&'static Location<'static>> {
        self.0.submitted_at
    }

    /// The line of code that panicked, if it is known.
    ///
    /// Only the panic hook of the process sees that line. So the first pool of a process sets a
    /// [panic hook](std::panic::set_hook) that notes it and then calls the hook that was there before. The
    /// line is unknown:
    ///
    /// - if the program sets another hook later, and that one does not call the one it replaces;
    /// - if the panic was passed on by [`resume_unwind`], which calls no hook, unless the thread's last panic
    ///   had a payload of the same type with the same message.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let (task, line) = (|| panic!("out of ink"), line!());
    /// let panic = pool.spawn(task)?.join().unwrap_err().into_panic().unwrap();
    /// assert_eq!(panic.panicked_at().unwrap().line(), line);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "location")]
    pub fn panicked_at(&self) -> Option<&PanicLocation> {
        self.0.trace.as_ref().map(|trace| trace.location())
    }

    /// The backtrace of the panic, if the environment asks for backtraces and
    /// [`panicked_at`](TaskPanic::panicked_at) knows the line. `RUST_LIB_BACKTRACE` and `RUST_BACKTRACE` ask for
    /// them, as [`Backtrace::capture`] says.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let panic = pool.spawn(|| panic!("out of ink"))?.join().unwrap_err().into_panic().unwrap();
    /// match panic.backtrace() {
    ///     Some(backtrace) => println!("{backtrace}"),
    ///     None => println!("set RUST_BACKTRACE=1 to see a backtrace"),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backtrace(&self) -> Option<&Backtrace> {
        self.0.trace.as_ref().and_then(|trace| trace.backtrace())
    }
}

/// The message of a payload, as `panic!` makes it.
fn text(payload: &(dyn Any + Send)) -> Option<Cow<'static, str>> {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        return Some(Cow::Borrowed(text));
    }
    payload.downcast_ref::<String>().cloned().map(Cow::Owned)
}

impl fmt::Debug for TaskPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskPanic")
            .field("message", &self.message())
            .field("worker", &self.0.worker)
            .field("panicked_at", &self.panicked_at())
            .field("submitted_at", &self.0.submitted_at)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for TaskPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a task panicked on {}", self.worker())?;
        if let Some(location) = self.panicked_at() {
            write!(f, " at {location}")?;
        }
        write!(f, ": {}", self.message())?;
        match self.submitted_at() {
            Some(location) => write!(f, " (submitted at {location})"),
            None => Ok(()),
        }
    }
}

impl Error for TaskPanic {}
