//! Waiting for an end without blocking: the plain verbs of pools of futures are futures. The calls of
//! [`Control`] whose names begin with `blocking_` block the thread, and are refused where they would
//! block a runtime. Each future borrows nothing, and does not keep the pool open.

use std::future::Future;
use std::time::Duration;

use super::{AsyncFnPool, AsyncPool};
use crate::control::Control;
use crate::error::StillRunning;

/// The same for both pools.
macro_rules! ends {
    ($($captured:ident),*) => {
        /// Waits until no accepted future is left. The pool stays open.
        ///
        /// # Errors
        ///
        /// [`StillRunning`], at once, if awaited by a future of the same pool: it would wait for itself.
        ///
        /// # Examples
        ///
        /// ```
        /// # #[tokio::main]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let pool = formic::AsyncPool::new(2);
        /// pool.submit(async { tokio::task::yield_now().await }).await?;
        /// pool.wait_idle().await?;
        /// assert_eq!(pool.stats().completed, 1);
        /// # Ok(())
        /// # }
        /// ```
        #[doc(alias = "WaitAll")]
        pub fn wait_idle(
            &self,
        ) -> impl Future<Output = Result<(), StillRunning>> + Send + use<$($captured),*> {
            self.wait_idle_async()
        }

        /// Closes the pool and waits until everything accepted has run, and no driver is left.
        ///
        /// # Errors
        ///
        /// [`StillRunning`], at once, if awaited by a future of the same pool. Then it is not closed.
        ///
        /// # Examples
        ///
        /// ```
        /// # #[tokio::main]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let pool = formic::AsyncPool::new(2);
        /// pool.submit(async { tokio::task::yield_now().await }).await?;
        /// pool.drain().await?;
        /// assert!(pool.is_closed());
        /// pool.reopen()?;
        /// # Ok(())
        /// # }
        /// ```
        #[doc(alias = "Release")]
        #[doc(alias = "shutdown")]
        pub fn drain(
            &self,
        ) -> impl Future<Output = Result<(), StillRunning>> + Send + use<$($captured),*> {
            self.drain_async()
        }

        /// As [`drain`](AsyncPool::drain), for up to `time`. May be called again; the pool stays closed.
        ///
        /// # Errors
        ///
        /// [`StillRunning`] says how much was left when the time was over.
        ///
        /// # Panics
        ///
        /// Outside of a runtime, and if it has no timers (`enable_time`). There
        /// [`blocking_drain_timeout`](crate::Control::blocking_drain_timeout) blocks instead.
        ///
        /// # Examples
        ///
        /// ```
        /// use std::time::Duration;
        ///
        /// # #[tokio::main]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let pool = formic::AsyncPool::new(2);
        /// let endless = pool.spawn(std::future::pending::<()>()).await?;
        /// let left = pool.drain_timeout(Duration::from_millis(5)).await.unwrap_err();
        /// assert_eq!(left.running() + left.queued(), 1);
        /// endless.cancel();
        /// pool.drain().await?;
        /// # Ok(())
        /// # }
        /// ```
        #[doc(alias = "ReleaseTimeout")]
        pub fn drain_timeout(
            &self,
            time: Duration,
        ) -> impl Future<Output = Result<(), StillRunning>> + Send + use<$($captured),*> {
            let control = Control::clone(self);
            async move {
                match tokio::time::timeout(time, control.drain_async()).await {
                    Ok(outcome) => outcome,
                    Err(_) => Err(control.still_running()),
                }
            }
        }

        /// Closes the pool and waits until everything has ended: for up to `grace` as [`drain`](AsyncPool::drain)
        /// does; then it cancels what is left, as [`cancel_all`](crate::Control::cancel_all) does, and waits up to one
        /// second more until the futures are dropped. Needs no timers of a runtime.
        ///
        /// A grace of zero cancels at once.
        ///
        /// # Errors
        ///
        /// [`StillRunning`] says what is left after that second: futures whose poll blocks, and permits. The pool stays
        /// closed; [`drain`](AsyncPool::drain) goes on waiting. Also, at once, if awaited by a future of the same pool.
        /// Then it is not closed.
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
        /// let pool = formic::AsyncPool::new(2);
        /// pool.submit(std::future::pending()).await?; // it never ends by itself
        /// pool.shutdown(Duration::from_millis(5)).await?;
        /// assert_eq!((pool.is_closed(), pool.stats().cancelled), (true, 1));
        /// # Ok(())
        /// # }
        /// ```
        #[doc(alias = "ReleaseTimeout")]
        pub fn shutdown(
            &self,
            grace: Duration,
        ) -> impl Future<Output = Result<(), StillRunning>> + Send + use<$($captured),*> {
            self.shutdown_async(grace)
        }
    };
}

impl AsyncPool {
    ends!();
}

impl<T: Send + 'static, R: Send + 'static> AsyncFnPool<T, R> {
    ends!(T, R);
}
