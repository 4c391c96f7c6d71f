//! The ends of a pool: to wait until it is idle, to close, drain, discard, and to open it again.

use std::future::Future;
use std::time::{Duration, Instant};

use super::{Control, deadline};
use crate::engine::Ended;
use crate::error::{ReopenError, StillRunning};

impl Control {
    /// Blocks the thread until no accepted task is left: none queued, none running. The pool stays open,
    /// so there may be new ones when this returns.
    ///
    /// # Errors
    ///
    /// [`StillRunning`], at once:
    ///
    /// - if a task of the same pool calls this: it would wait for itself;
    /// - if the pool runs futures, one of them is left, and the calling thread polls for a tokio runtime:
    ///   to block that thread could mean to wait for ever. `spawn_blocking`, `block_in_place` and all
    ///   other threads may block.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Control, Pool};
    ///
    /// let pool = Pool::new(2);
    /// pool.submit(|| ())?;
    /// let control = Control::clone(&pool);
    /// control.blocking_wait_idle()?;
    /// assert_eq!(control.stats().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "WaitAll")]
    pub fn blocking_wait_idle(&self) -> Result<(), StillRunning> {
        self.engine().wait_until(Ended::Tasks, None)
    }

    /// Is ready when no accepted task is left. The pool stays open. For any executor; borrows nothing. Dropped, it
    /// waits no longer.
    ///
    /// # Errors
    ///
    /// [`StillRunning`], at once, if a task of the same pool awaits this: it would wait for itself.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::Pool::new(2);
    /// pool.try_submit(|| ())?;
    /// pool.wait_idle_async().await?;
    /// assert_eq!(pool.stats().completed, 1);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "WaitAll")]
    pub fn wait_idle_async(&self) -> impl Future<Output = Result<(), StillRunning>> + Send + use<> {
        let engine = self.engine();
        async move { engine.until(Ended::Tasks).await }
    }

    /// Refuses new tasks from now on. Waiting submitters get their task back with `Closed`. What
    /// was accepted still runs; then the workers go. Does not wait; closing twice does no harm.
    ///
    /// A [`Permit`](crate::Permit) that is out still counts as accepted: its task will run.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// pool.close();
    /// assert!(pool.is_closed());
    /// assert!(pool.submit(|| ()).is_err());
    /// ```
    #[doc(alias = "shutdown")]
    pub fn close(&self) {
        self.engine().close();
    }

    /// Closes the pool and blocks the thread until everything accepted has run and every worker's thread
    /// has been joined. A [`Permit`](crate::Permit) that is out is waited for, too.
    ///
    /// # Errors
    ///
    /// [`StillRunning`], at once, where [`blocking_wait_idle`](Control::blocking_wait_idle) is refused: in a task of
    /// the same pool, and, if the pool runs futures, on a thread that polls for a tokio runtime. Then the pool is
    /// not closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Control, Pool};
    ///
    /// let pool = Pool::new(2);
    /// pool.submit(|| ())?;
    /// let control = Control::clone(&pool);
    /// control.blocking_drain()?;
    /// assert_eq!((control.stats().completed, control.workers()), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Release")]
    #[doc(alias = "shutdown")]
    #[doc(alias = "awaitTermination")]
    pub fn blocking_drain(&self) -> Result<(), StillRunning> {
        self.drain_until(None)
    }

    /// As [`blocking_drain`](Control::blocking_drain), for up to `time`. May be called again; the pool stays closed.
    ///
    /// # Errors
    ///
    /// [`StillRunning`] says how much was left when the time was over; also, at once, as
    /// [`blocking_drain`](Control::blocking_drain). A time of zero blocks nothing, and is refused only in a task of
    /// the same pool.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Control, Pool};
    /// use std::time::Duration;
    ///
    /// let pool = Pool::new(1);
    /// let control = Control::clone(&pool);
    /// control.blocking_drain_timeout(Duration::from_secs(60))?;
    /// assert!(pool.is_closed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "ReleaseTimeout")]
    pub fn blocking_drain_timeout(&self, time: Duration) -> Result<(), StillRunning> {
        self.drain_until(deadline(time))
    }

    /// Closes the pool, and is ready when everything accepted has run and no worker is left. For any executor; borrows
    /// nothing. The pool is closed when the future is first polled. Dropped, it waits no longer, and the pool stays
    /// closed.
    ///
    /// # Errors
    ///
    /// [`StillRunning`], at once, if a task of the same pool awaits this: it would wait for itself. Then the
    /// pool is not closed.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::Pool::new(2);
    /// pool.try_submit(|| ())?;
    /// pool.drain_async().await?;
    /// assert_eq!((pool.stats().completed, pool.workers()), (1, 0));
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "Release")]
    #[doc(alias = "shutdown")]
    pub fn drain_async(&self) -> impl Future<Output = Result<(), StillRunning>> + Send + use<> {
        let engine = self.engine();
        async move { engine.until(Ended::Workers).await }
    }

    pub(crate) fn drain_until(&self, deadline: Option<Instant>) -> Result<(), StillRunning> {
        self.engine().wait_until(Ended::Workers, deadline)
    }

    /// Drops every task that has not been started, and says how many. They count as cancelled.
    /// The pool stays open or closed, as it was.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// for _ in 0..100 {
    ///     pool.submit(|| ())?;
    /// }
    /// let dropped = pool.discard();
    /// pool.wait_idle()?;
    /// let stats = pool.stats();
    /// assert_eq!((stats.cancelled, stats.completed + stats.cancelled), (dropped as u64, 100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Cancel")]
    #[doc(alias = "shutdownNow")]
    pub fn discard(&self) -> usize {
        self.engine().discard()
    }

    /// Opens a drained pool again, with the same settings and the figures going on.
    ///
    /// # Errors
    ///
    /// If the pool is open, or closed but not at its end yet, or if its last handle was dropped and only a clone of
    /// its [`Control`] is left. Also if a thread for the minimum could not be started; then it is open all the
    /// same.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// pool.drain()?;
    /// pool.reopen()?;
    /// pool.submit(|| ())?;
    /// pool.drain()?;
    /// assert_eq!(pool.stats().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Reboot")]
    #[doc(alias = "Reset")]
    pub fn reopen(&self) -> Result<(), ReopenError> {
        if !self.is_abandoned() {
            let opened = self.engine().reopen();
            if !self.is_abandoned() {
                return opened;
            }
            // The last handle was dropped meanwhile, perhaps before the pool was open.
            self.close();
        }
        Err(ReopenError::Dropped)
    }
}
