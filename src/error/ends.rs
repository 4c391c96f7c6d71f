//! Ends that did not come, and pools that could not be opened again.

use std::error::Error;
use std::fmt;
use std::io;

use crate::engine::NoStart;

/// What was left in a pool when a wait for its end was over. The time of the wait was over; or the call was
/// refused, because [a task of the pool](StillRunning::is_from_inside) would have waited for itself, or
/// because it would have blocked [a thread of an async runtime](StillRunning::is_in_runtime).
///
/// # Examples
///
/// ```
/// use formic::Pool;
/// use std::time::Duration;
///
/// let pool = Pool::new(1);
/// let permit = pool.admit()?;
/// let left = pool.drain_timeout(Duration::from_millis(5)).unwrap_err();
/// assert_eq!((left.running(), left.queued(), left.permits()), (0, 0, 1));
/// assert!(!left.is_from_inside());
/// assert_eq!(left.to_string(), "0 tasks run, 0 are queued, 1 permit is held, 1 worker is alive");
/// drop(permit);
/// pool.drain()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StillRunning {
    pub(crate) running: usize,
    pub(crate) queued: usize,
    pub(crate) permits: usize,
    pub(crate) workers: usize,
    pub(crate) cause: Cause,
}

/// Why a pool was not at its end when a wait for it was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The time of the wait was over.
    TimeOver,
    /// A task of the pool would have waited for itself.
    FromInside,
    /// The wait would have blocked a thread of an async runtime, unlike this verb.
    InRuntime(&'static str),
}

impl StillRunning {
    /// Tasks that were running.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let pool = formic::Pool::new(1);
    /// let (begun, has_begun) = std::sync::mpsc::channel();
    /// let (open, door) = std::sync::mpsc::channel::<()>();
    /// pool.submit(move || {
    ///     begun.send(()).unwrap();
    ///     drop(door.recv());
    /// })?;
    /// has_begun.recv()?;
    /// let left = pool.drain_timeout(Duration::from_millis(5)).unwrap_err();
    /// assert_eq!((left.running(), left.queued()), (1, 0));
    /// # drop(open);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn running(&self) -> usize {
        self.running
    }

    /// Tasks that had not been started.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let pool = formic::Pool::new(1);
    /// let (open, door) = std::sync::mpsc::channel::<()>();
    /// pool.submit(move || drop(door.recv()))?;
    /// pool.submit(|| ())?;
    /// let left = pool.drain_timeout(Duration::from_millis(5)).unwrap_err();
    /// assert!(left.queued() >= 1); // the second waits behind the first
    /// # drop(open);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn queued(&self) -> usize {
        self.queued
    }

    /// Permits that were held and neither used nor dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let pool = formic::Pool::new(2);
    /// let permit = pool.admit()?;
    /// let left = pool.drain_timeout(Duration::from_millis(5)).unwrap_err();
    /// assert_eq!(left.permits(), 1);
    /// # drop(permit);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn permits(&self) -> usize {
        self.permits
    }

    /// Workers that were alive, whether they ran a task or not. If nothing else is left, a worker is in something that is
    /// no task: in `init`, in `ready`, in the drop of its state, or in
    /// [`on_worker_stop`](crate::Builder::on_worker_stop). A pool of futures has a worker for each future that runs.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let (open, door) = std::sync::mpsc::channel::<()>();
    /// let door = std::sync::Mutex::new(door);
    /// let pool = formic::Pool::builder().on_worker_stop(move |_| _ = door.lock().unwrap().recv()).build()?;
    /// pool.submit(|| ())?;
    /// pool.wait_idle()?;
    /// let left = pool.drain_timeout(Duration::from_millis(5)).unwrap_err();
    /// assert_eq!((left.running(), left.queued(), left.permits(), left.workers()), (0, 0, 0, 1));
    /// # drop(open);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Whether the call was refused because a task of the same pool made it.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let clone = pool.clone();
    /// let error = pool.spawn(move || clone.wait_idle().unwrap_err())?.join()?;
    /// assert!(error.is_from_inside());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_from_inside(&self) -> bool {
        self.cause == Cause::FromInside
    }

    /// Whether the call was refused because it would have blocked a thread of an async runtime. There,
    /// await [`drain_async`](crate::Control::drain_async) or
    /// [`wait_idle_async`](crate::Control::wait_idle_async) instead.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use formic::{AsyncPool, Control};
    ///
    /// let pool = AsyncPool::new(1);
    /// let endless = pool.spawn(std::future::pending::<()>()).await?;
    /// assert!(pool.blocking_drain().unwrap_err().is_in_runtime());
    /// endless.cancel();
    /// pool.drain_async().await?;
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "tokio"))]
    /// # fn main() {}
    /// ```
    pub fn is_in_runtime(&self) -> bool {
        matches!(self.cause, Cause::InRuntime(_))
    }
}

impl fmt::Display for StillRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause {
            Cause::TimeOver => {}
            Cause::FromInside => f.write_str("a task cannot wait for its own pool to end: ")?,
            Cause::InRuntime(verb) => {
                write!(f, "the wait would block a thread of an async runtime, unlike `{verb}`: ")?;
            }
        }
        let StillRunning { running, queued, permits, workers, .. } = *self;
        let tasks = plural(running, "task runs", "tasks run");
        let wait = plural(queued, "is", "are");
        let held = plural(permits, "permit is", "permits are");
        let alive = plural(workers, "worker is", "workers are");
        write!(f, "{running} {tasks}, {queued} {wait} queued, {permits} {held} held, ")?;
        write!(f, "{workers} {alive} alive")
    }
}

impl Error for StillRunning {}

fn plural(count: usize, one: &'static str, more: &'static str) -> &'static str {
    if count == 1 { one } else { more }
}

/// Why a pool could not be opened again.
///
/// # Examples
///
/// ```
/// use formic::{Pool, ReopenError};
///
/// let pool = Pool::new(1);
/// assert!(matches!(pool.reopen(), Err(ReopenError::Open)));
/// pool.drain()?;
/// assert!(pool.reopen().is_ok());
/// # Ok::<(), formic::StillRunning>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ReopenError {
    /// It is open.
    Open,
    /// It has been closed, and not everything has ended yet: [`drain`](crate::Pool::drain) waits for that.
    /// What is left is the [source](Error::source).
    StillRunning(StillRunning),
    /// It is open again, but a thread for its minimum could not be started. The operating system's error is the
    /// [source](Error::source).
    Thread(io::Error),
    /// The runtime of a pool of futures has shut down: the pool stays closed for good.
    RuntimeGone,
    /// The last handle of the pool was dropped, and a clone of its [`Control`](crate::Control) is left: nothing
    /// could be submitted to the pool.
    Dropped,
}

impl From<NoStart> for ReopenError {
    fn from(error: NoStart) -> Self {
        match error {
            NoStart::Thread(error) => ReopenError::Thread(error),
            NoStart::RuntimeGone => ReopenError::RuntimeGone,
        }
    }
}

impl fmt::Display for ReopenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReopenError::Open => f.write_str("reopen: the pool is open"),
            ReopenError::StillRunning(_) => f.write_str("reopen: the pool has not ended"),
            ReopenError::Thread(_) => {
                f.write_str("reopen: the pool is open, and a worker could not be started")
            }
            ReopenError::Dropped => f.write_str("reopen: the last handle of the pool was dropped"),
            ReopenError::RuntimeGone => {
                f.write_str("reopen: the runtime of the pool has shut down")
            }
        }
    }
}

impl Error for ReopenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ReopenError::Thread(error) => Some(error),
            ReopenError::StillRunning(left) => Some(left),
            ReopenError::Open | ReopenError::RuntimeGone | ReopenError::Dropped => None,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn told(running: usize, queued: usize, permits: usize, cause: Cause) -> String {
        StillRunning { running, queued, permits, workers: permits, cause }.to_string()
    }

    #[test]
    fn what_is_left_is_counted_in_words_that_agree() {
        let one_each = "1 task runs, 1 is queued, 1 permit is held, 1 worker is alive";
        assert_eq!(told(1, 1, 1, Cause::TimeOver), one_each);
        let several = "0 tasks run, 2 are queued, 3 permits are held, 3 workers are alive";
        assert_eq!(told(0, 2, 3, Cause::TimeOver), several);
    }

    #[test]
    fn a_refused_wait_says_why_and_names_the_verb_that_is_not_refused() {
        let inside = told(1, 0, 0, Cause::FromInside);
        assert!(inside.starts_with("a task cannot wait for its own pool to end: 1 task runs"));
        let message = told(1, 0, 0, Cause::InRuntime("drain_async"));
        assert!(
            message.contains("async runtime") && message.contains("`drain_async`"),
            "{message}"
        );
    }
}
