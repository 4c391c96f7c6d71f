//! Waiting for the end of all shards without blocking: these calls of a `Multi` of futures are awaited.

use std::future::Future;
use std::time::Duration;

use super::Multi;
use crate::async_pool::{AsyncFnPool, AsyncPool};
use crate::error::{ShardErrors, StillRunning};

/// The same for both kinds of shards.
macro_rules! waits {
    ($($captured:ident),*) => {
        /// Waits until no accepted future is left in any shard. There was one instant at which that was so,
        /// also if futures submit to other shards. While futures keep coming it may take long to find one.
        ///
        /// # Errors
        ///
        /// At once, if a future of a shard awaits this: it would wait for itself. The error names that
        /// shard.
        ///
        /// # Examples
        ///
        /// ```
        /// use formic::{AsyncPool, Balance, Multi};
        ///
        /// # #[tokio::main]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let multi = Multi::new(2, Balance::RoundRobin, || AsyncPool::new(10));
        /// multi.submit(async { tokio::task::yield_now().await }).await?;
        /// multi.wait_idle().await?;
        /// assert_eq!(multi.stats().completed, 1);
        /// # Ok(())
        /// # }
        /// ```
        #[doc(alias = "WaitAll")]
        pub fn wait_idle(
            &self,
        ) -> impl Future<Output = Result<(), ShardErrors<StillRunning>>> + Send + use<$($captured),*> {
            self.wait_idle_async()
        }

        /// Closes every shard, and waits until everything accepted has run and no driver is left. The shards
        /// are closed when the future is first polled, and end side by side. Dropped, it waits no longer,
        /// and the shards stay closed.
        ///
        /// # Errors
        ///
        /// At once, if a future of a shard awaits this: it would wait for itself. The error names that
        /// shard, and no shard is closed.
        ///
        /// # Examples
        ///
        /// ```
        /// use formic::{AsyncPool, Balance, Multi};
        ///
        /// # #[tokio::main]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let multi = Multi::new(2, Balance::RoundRobin, || AsyncPool::new(10));
        /// for _ in 0..100 {
        ///     multi.submit(async { tokio::task::yield_now().await }).await?;
        /// }
        /// multi.drain().await?;
        /// assert_eq!((multi.stats().completed, multi.is_closed()), (100, true));
        /// # Ok(())
        /// # }
        /// ```
        #[doc(alias = "Release")]
        pub fn drain(
            &self,
        ) -> impl Future<Output = Result<(), ShardErrors<StillRunning>>> + Send + use<$($captured),*> {
            self.drain_async()
        }

        /// As `drain`, for up to `time`, which is one for all shards. May be called again; the shards stay
        /// closed.
        ///
        /// # Errors
        ///
        /// Every shard that had not ended when the time was over, and what was left in it; also, at once,
        /// as `drain`.
        ///
        /// # Panics
        ///
        /// Outside of a tokio runtime, and if that has no timers (`enable_time`).
        ///
        /// # Examples
        ///
        /// ```
        /// use formic::{AsyncPool, Balance, Multi};
        /// use std::time::Duration;
        ///
        /// # #[tokio::main]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let multi = Multi::new(3, Balance::RoundRobin, || AsyncPool::new(10));
        /// let endless = multi.shard(1)?.spawn(std::future::pending::<()>()).await?;
        /// for (shard, left) in multi.drain_timeout(Duration::from_millis(5)).await.unwrap_err() {
        ///     assert_eq!((shard, left.running() + left.queued()), (1, 1));
        /// }
        /// endless.cancel();
        /// multi.drain().await?;
        /// # Ok(())
        /// # }
        /// ```
        #[doc(alias = "ReleaseTimeout")]
        #[doc(alias = "ReleaseContext")]
        pub fn drain_timeout(
            &self,
            time: Duration,
        ) -> impl Future<Output = Result<(), ShardErrors<StillRunning>>> + Send + use<$($captured),*> {
            let controls = self.controls();
            async move {
                match tokio::time::timeout(time, controls.drain()).await {
                    Ok(outcome) => outcome,
                    // No time is left, so this waits for nothing and says which shards have not ended.
                    Err(_) => controls.check_end(),
                }
            }
        }

        /// Shuts every shard down, side by side, as [`AsyncPool::shutdown`](crate::AsyncPool::shutdown) does: closes
        /// them, waits for up to `grace`, cancels what is left in any shard, and waits up to one second more.
        ///
        /// # Errors
        ///
        /// Every shard that has not ended, and what is left in it. Also, at once, if a future of a shard awaits this.
        /// Then no shard is closed.
        ///
        /// # Cancel safety
        ///
        /// Dropped, it waits no longer and cancels nothing more. The shards stay closed.
        ///
        /// # Examples
        ///
        /// ```
        /// use formic::{AsyncPool, Balance, Multi};
        /// use std::time::Duration;
        ///
        /// # #[tokio::main]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let multi = Multi::new(2, Balance::RoundRobin, || AsyncPool::new(10));
        /// multi.submit(std::future::pending()).await?;
        /// multi.shutdown(Duration::from_millis(5)).await?;
        /// assert_eq!(multi.stats().cancelled, 1);
        /// # Ok(())
        /// # }
        /// ```
        pub fn shutdown(
            &self,
            grace: Duration,
        ) -> impl Future<Output = Result<(), ShardErrors<StillRunning>>> + Send + use<$($captured),*> {
            self.shutdown_async(grace)
        }
    };
}

impl Multi<AsyncPool> {
    waits!();
}

impl<T: Send + 'static, R: Send + 'static> Multi<AsyncFnPool<T, R>> {
    waits!(T, R);
}
