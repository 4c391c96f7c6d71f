//! Waiting for an end on a thread: the plain verbs of pools of threads block. Those of pools of futures are futures.

use std::time::Duration;

use super::Pool;
use crate::error::StillRunning;
use crate::fn_pool::FnPool;

/// The same for both pools.
macro_rules! ends {
    () => {
        /// Blocks the thread until no accepted task is left: none queued, none running. The pool stays open,
        /// so there may be new ones when this returns. Async code awaits
        /// [`wait_idle_async`](crate::Control::wait_idle_async) instead.
        ///
        /// # Errors
        ///
        /// [`StillRunning`], at once, if a task of the same pool calls this: it would wait for itself.
        ///
        /// # Examples
        ///
        /// ```
        /// let pool = formic::Pool::new(2);
        /// pool.submit(|| ())?;
        /// pool.wait_idle()?;
        /// assert_eq!(pool.stats().completed, 1);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[doc(alias = "WaitAll")]
        #[doc(alias = "join")]
        pub fn wait_idle(&self) -> Result<(), StillRunning> {
            self.blocking_wait_idle()
        }

        /// Closes the pool and blocks the thread until everything accepted has run and every worker's thread
        /// has been joined. A [`Permit`](crate::Permit) that is out is waited for, too. Async code awaits
        /// [`drain_async`](crate::Control::drain_async) instead.
        ///
        /// # Errors
        ///
        /// [`StillRunning`], at once, if a task of the same pool calls this. Then the pool is not closed.
        ///
        /// # Examples
        ///
        /// ```
        /// let pool = formic::Pool::new(2);
        /// for _ in 0..100 {
        ///     pool.submit(|| ())?;
        /// }
        /// pool.drain()?;
        /// assert_eq!((pool.stats().completed, pool.workers()), (100, 0));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[doc(alias = "Release")]
        #[doc(alias = "shutdown")]
        #[doc(alias = "awaitTermination")]
        pub fn drain(&self) -> Result<(), StillRunning> {
            self.blocking_drain()
        }

        /// As [`drain`](Pool::drain), for up to `time`. May be called again; the pool stays closed.
        ///
        /// # Errors
        ///
        /// [`StillRunning`] says how much was left when the time was over; also, at once, as
        /// [`drain`](Pool::drain).
        ///
        /// # Examples
        ///
        /// ```
        /// use std::sync::mpsc;
        /// use std::time::Duration;
        ///
        /// let pool = formic::Pool::new(1);
        /// let (open, door) = mpsc::channel::<()>();
        /// pool.submit(move || drop(door.recv()))?;
        /// let left = pool.drain_timeout(Duration::from_millis(5)).unwrap_err();
        /// assert_eq!(left.running() + left.queued(), 1);
        /// drop(open);
        /// pool.drain()?;
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[doc(alias = "ReleaseTimeout")]
        pub fn drain_timeout(&self, time: Duration) -> Result<(), StillRunning> {
            self.blocking_drain_timeout(time)
        }

        /// Closes the pool and blocks the thread until everything has ended: for up to `grace` as
        /// [`drain`](Pool::drain) does; then it cancels what is left, as
        /// [`cancel_all`](crate::Control::cancel_all) does, and waits up to one second more for what ends of it.
        /// Async code awaits [`shutdown_async`](crate::Control::shutdown_async) instead.
        ///
        /// A grace of zero cancels at once.
        ///
        /// # Errors
        ///
        /// [`StillRunning`] says what is left after that second: closures that do not ask whether they are cancelled,
        /// and permits. The pool stays closed; [`drain`](Pool::drain) goes on waiting. Also, at once, if a task of the
        /// same pool calls this. Then the pool is not closed.
        ///
        /// # Examples
        ///
        /// ```
        /// use std::time::Duration;
        ///
        /// let pool = formic::Pool::new(1);
        /// pool.submit(|| {
        ///     while !formic::is_cancelled() {
        ///         std::thread::yield_now(); // a piece of work
        ///     }
        /// })?;
        /// pool.shutdown(Duration::from_millis(5))?;
        /// assert_eq!((pool.is_closed(), pool.workers()), (true, 0));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[doc(alias = "ReleaseTimeout")]
        #[doc(alias = "awaitTermination")]
        pub fn shutdown(&self, grace: Duration) -> Result<(), StillRunning> {
            self.blocking_shutdown(grace)
        }
    };
}

impl Pool {
    ends!();
}

impl<T: Send + 'static, R: Send + 'static> FnPool<T, R> {
    ends!();
}
