//! Stopping what runs: to cancel all tasks, and to shut down within a time.

use std::future::Future;
use std::ops::Add;
use std::time::Duration;

use super::timer::within;
use super::{Control, deadline};
use crate::engine::{Ended, WorkerKind};
use crate::error::{Cause, StillRunning};

/// How long a shutdown waits for what it has asked to stop. A task that looks whether it is cancelled does so far more
/// often; one that does not may never end, and then the error says so instead of a wait without an end.
pub(crate) const LAST_WAIT: Duration = Duration::from_secs(1);

/// How many tasks were cancelled by [`Control::cancel_all`], and how.
///
/// # Examples
///
/// ```
/// use formic::Pool;
///
/// let pool = Pool::new(1);
/// let (begun, has_begun) = std::sync::mpsc::channel();
/// pool.submit(move || {
///     begun.send(()).unwrap();
///     while !formic::is_cancelled() {
///         std::thread::yield_now();
///     }
/// })?;
/// has_begun.recv()?;
/// pool.submit(|| unreachable!("it waits behind the first"))?;
/// let cancelled = pool.cancel_all();
/// assert_eq!((cancelled.queued, cancelled.asked, cancelled.futures), (1, 1, 0));
/// assert_eq!(cancelled.tasks(), 2);
/// pool.drain()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cancelled {
    /// Tasks that had not started. They were dropped, and never run.
    pub queued: usize,
    /// Futures that ran. Each is dropped where it stands, unless the poll that is under way is its last.
    pub futures: usize,
    /// Closures that ran. Each was asked to stop, and counts as completed when it returns. A closure that its submitter
    /// runs itself ([`WhenFull::CallerRuns`](crate::WhenFull::CallerRuns)) is asked, too, and is not in this number: it
    /// has no place in the pool.
    pub asked: usize,
}

impl Cancelled {
    /// All of them.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// assert_eq!(pool.cancel_all().tasks(), 0);
    /// ```
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.queued + self.futures + self.asked
    }
}

impl Add for Cancelled {
    type Output = Cancelled;

    fn add(self, other: Cancelled) -> Cancelled {
        Cancelled {
            queued: self.queued + other.queued,
            futures: self.futures + other.futures,
            asked: self.asked + other.asked,
        }
    }
}

impl Control {
    /// Stops every task that was accepted so far, as far as that is possible, and says how many. Does not wait, and does
    /// not close the pool: tasks that are accepted later run.
    ///
    /// - A task that has not started is dropped. Its handle gets [`JoinError::Cancelled`](crate::JoinError::Cancelled).
    /// - A future that runs is dropped where it stands, by the thread that would poll it next. Its handle gets
    ///   `Cancelled`, too.
    /// - A closure that runs is asked to stop: [`formic::is_cancelled`](crate::is_cancelled) is true in it, whether it was
    ///   submitted or spawned. A thread cannot be stopped, so a closure that does not ask runs on.
    ///
    /// A `map` or `for_each` goes on: its items that are queued or run are concerned as other tasks are, and items that it
    /// pulls later run.
    ///
    /// A [`Permit`](crate::Permit) that is out stays valid. May be called from anywhere, also from a task of the pool, which
    /// is then asked to stop itself. Wait with `wait_idle` until all have ended.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// for _ in 0..2 {
    ///     pool.submit(|| {
    ///         while !formic::is_cancelled() {
    ///             std::thread::yield_now(); // a piece of work
    ///         }
    ///     })?;
    /// }
    /// assert_eq!(pool.cancel_all().tasks(), 2);
    /// pool.wait_idle()?;
    /// assert_eq!(pool.spawn(formic::is_cancelled)?.join()?, false); // the pool is open
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Cancel")]
    #[doc(alias = "abort_all")]
    #[doc(alias = "shutdownNow")]
    #[doc(alias = "shutdown_now")]
    #[allow(clippy::must_use_candidate, reason = "what is asked for is the cancelling")]
    pub fn cancel_all(&self) -> Cancelled {
        let (queued, running) = self.engine().cancel_all();
        match self.engine.worker_kind() {
            WorkerKind::Threads => Cancelled { queued, futures: 0, asked: running },
            WorkerKind::Drivers(_) => Cancelled { queued, futures: running, asked: 0 },
        }
    }

    /// Closes the pool and blocks the thread until everything has ended: for up to `grace` as
    /// [`blocking_drain`](Control::blocking_drain) does; then it cancels what is left, as
    /// [`cancel_all`](Control::cancel_all) does, and waits up to one second more for what ends of it.
    ///
    /// A grace of zero cancels at once.
    ///
    /// # Errors
    ///
    /// [`StillRunning`] says what is left after that second: closures that do not ask whether they are cancelled, futures
    /// whose poll blocks, and permits. The pool stays closed; [`blocking_drain`](Control::blocking_drain) goes on waiting.
    ///
    /// Also, at once, where [`blocking_drain`](Control::blocking_drain) is refused. Then the pool is not closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Control, Pool};
    /// use std::time::Duration;
    ///
    /// let pool = Pool::new(1);
    /// pool.submit(|| {
    ///     while !formic::is_cancelled() {
    ///         std::thread::yield_now();
    ///     }
    /// })?;
    /// let control = Control::clone(&pool);
    /// control.blocking_shutdown(Duration::from_millis(5))?;
    /// assert_eq!((control.is_closed(), control.workers()), (true, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "ReleaseTimeout")]
    #[doc(alias = "awaitTermination")]
    pub fn blocking_shutdown(&self, grace: Duration) -> Result<(), StillRunning> {
        self.check_blocking_shutdown()?;
        if self.drain_until(deadline(grace)).is_ok() {
            return Ok(());
        }
        self.cancel_all();
        self.drain_until(deadline(LAST_WAIT))
    }

    /// An error if a shutdown could not wait on the calling thread.
    pub(crate) fn check_blocking_shutdown(&self) -> Result<(), StillRunning> {
        self.engine.check_wait(Ended::Workers, true).map_err(|left| match left.cause {
            Cause::InRuntime(_) => {
                StillRunning { cause: Cause::InRuntime("shutdown_async"), ..left }
            }
            _ => left,
        })
    }

    /// [`blocking_shutdown`](Control::blocking_shutdown) as a future: closes the pool when it is first polled, and is ready
    /// when everything has ended; after `grace` it cancels what is left, and waits up to one second more. For any executor:
    /// a thread of its own measures the time, while it waits. If that thread cannot be started, the grace is over at once.
    ///
    /// # Errors
    ///
    /// [`StillRunning`], as [`blocking_shutdown`](Control::blocking_shutdown). At once if a task of the same pool awaits
    /// this: it would wait for itself. Then the pool is not closed.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it waits no longer and cancels nothing more. The pool stays closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::Pool::new(1);
    /// pool.try_submit(|| {
    ///     while !formic::is_cancelled() {
    ///         std::thread::yield_now();
    ///     }
    /// })?;
    /// pool.shutdown_async(Duration::from_millis(5)).await?;
    /// assert_eq!((pool.is_closed(), pool.workers()), (true, 0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn shutdown_async(
        &self,
        grace: Duration,
    ) -> impl Future<Output = Result<(), StillRunning>> + Send + use<> {
        let control = self.clone();
        async move {
            if let Some(ended) = within(grace, control.drain_async()).await {
                return ended;
            }
            control.cancel_all();
            let ended = within(LAST_WAIT, control.drain_async()).await;
            ended.unwrap_or_else(|| Err(control.still_running()))
        }
    }
}
