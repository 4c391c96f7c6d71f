//! Waiting for the end of all shards on a thread: these calls of a `Multi` of threads block.

use std::time::{Duration, Instant};

use super::{Multi, Shard};
use crate::control::{Control, deadline};
use crate::engine::Ended;
use crate::error::{ShardErrors, StillRunning};
use crate::fn_pool::FnPool;
use crate::pool::Pool;

/// The same for both kinds of shards.
macro_rules! waits {
    () => {
        /// Blocks the thread until no accepted task is left in any shard. There was one instant at which
        /// that was so, also if tasks submit to other shards. While tasks keep coming it may take long to
        /// find one. Async code awaits [`wait_idle_async`](Multi::wait_idle_async) instead.
        ///
        /// # Errors
        ///
        /// At once, if a task of a shard calls this: it would wait for itself. The error names that shard.
        ///
        /// # Examples
        ///
        /// ```
        /// use formic::{Balance, Multi, Pool};
        ///
        /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
        /// multi.submit(|| ())?;
        /// multi.wait_idle()?;
        /// assert_eq!(multi.stats().completed, 1);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[doc(alias = "WaitAll")]
        pub fn wait_idle(&self) -> Result<(), ShardErrors<StillRunning>> {
            self.blocking_wait_idle()
        }

        /// Closes every shard, and blocks the thread until everything accepted has run and every worker's
        /// thread has been joined. The shards end side by side. Async code awaits
        /// [`drain_async`](Multi::drain_async) instead.
        ///
        /// # Errors
        ///
        /// At once, if a task of a shard calls this: it would wait for itself. The error names that shard,
        /// and no shard is closed.
        ///
        /// # Examples
        ///
        /// ```
        /// use formic::{Balance, Multi, Pool};
        ///
        /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(2));
        /// for _ in 0..100 {
        ///     multi.submit(|| ())?;
        /// }
        /// multi.drain()?;
        /// assert_eq!((multi.stats().completed, multi.stats().workers), (100, 0));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[doc(alias = "Release")]
        pub fn drain(&self) -> Result<(), ShardErrors<StillRunning>> {
            self.drain_until(None)
        }

        /// As `drain`, for up to `time`, which is one for all shards. May be called again; the shards stay
        /// closed.
        ///
        /// # Errors
        ///
        /// Every shard that had not ended when the time was over, and what was left in it; also, at once,
        /// as `drain`.
        ///
        /// # Examples
        ///
        /// ```
        /// use formic::{Balance, Multi, Pool};
        /// use std::sync::mpsc;
        /// use std::time::Duration;
        ///
        /// let multi = Multi::new(3, Balance::RoundRobin, || Pool::new(1));
        /// let (open, door) = mpsc::channel::<()>();
        /// multi.shard(1)?.submit(move || drop(door.recv()))?;
        /// for (shard, left) in multi.drain_timeout(Duration::from_millis(5)).unwrap_err() {
        ///     assert_eq!((shard, left.running() + left.queued()), (1, 1));
        /// }
        /// drop(open);
        /// multi.drain()?;
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[doc(alias = "ReleaseTimeout")]
        #[doc(alias = "ReleaseContext")]
        pub fn drain_timeout(&self, time: Duration) -> Result<(), ShardErrors<StillRunning>> {
            self.drain_until(deadline(time))
        }

        /// Shuts every shard down, side by side, and blocks the thread meanwhile, as
        /// [`Pool::shutdown`](crate::Pool::shutdown) does: closes them, waits for up to `grace`, cancels what is left
        /// in any shard, and waits up to one second more. Async code awaits
        /// [`shutdown_async`](Multi::shutdown_async) instead.
        ///
        /// # Errors
        ///
        /// Every shard that has not ended, and what is left in it. Also, at once, if a task of a shard calls this. Then
        /// no shard is closed.
        ///
        /// # Examples
        ///
        /// ```
        /// use formic::{Balance, Multi, Pool};
        /// use std::time::Duration;
        ///
        /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
        /// for _ in 0..2 {
        ///     multi.submit(|| {
        ///         while !formic::is_cancelled() {
        ///             std::thread::yield_now();
        ///         }
        ///     })?;
        /// }
        /// multi.shutdown(Duration::from_millis(5))?;
        /// assert_eq!(multi.stats().workers, 0);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        pub fn shutdown(&self, grace: Duration) -> Result<(), ShardErrors<StillRunning>> {
            self.blocking_shutdown(grace)
        }
    };
}

impl Multi<Pool> {
    waits!();
}

impl<T: Send + 'static, R: Send + 'static> Multi<FnPool<T, R>> {
    waits!();
}

impl<P: Shard> Multi<P> {
    /// Blocks the thread until no accepted task is left in any shard, whatever the shards run.
    ///
    /// # Errors
    ///
    /// At once, as [`Control::blocking_wait_idle`]. The error names the shards.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// multi.submit(|| ())?;
    /// multi.blocking_wait_idle()?;
    /// assert_eq!(multi.stats().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn blocking_wait_idle(&self) -> Result<(), ShardErrors<StillRunning>> {
        self.check_outside(Ended::Tasks)?;
        loop {
            self.each(Control::blocking_wait_idle)?;
            if self.is_idle() {
                return Ok(());
            }
        }
    }

    /// Closes every shard, and blocks the thread until everything accepted has run and no worker is left, whatever the
    /// shards run.
    ///
    /// # Errors
    ///
    /// At once, as [`Control::blocking_drain`]. The error names the shards, and no shard is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool, Shard};
    ///
    /// fn stop<P: Shard>(multi: &Multi<P>) {
    ///     multi.blocking_drain().unwrap();
    /// }
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// stop(&multi);
    /// assert_eq!(multi.stats().workers, 0);
    /// ```
    #[doc(alias = "Release")]
    pub fn blocking_drain(&self) -> Result<(), ShardErrors<StillRunning>> {
        self.drain_until(None)
    }

    /// As [`blocking_drain`](Multi::blocking_drain), for up to `time`, which is one for all shards.
    ///
    /// # Errors
    ///
    /// Every shard that had not ended when the time was over, and what was left in it; also, at once, as
    /// [`blocking_drain`](Multi::blocking_drain).
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    /// use std::time::Duration;
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// multi.blocking_drain_timeout(Duration::from_secs(60))?;
    /// assert!(multi.is_closed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "ReleaseTimeout")]
    pub fn blocking_drain_timeout(&self, time: Duration) -> Result<(), ShardErrors<StillRunning>> {
        self.drain_until(deadline(time))
    }

    /// Closing starts every shard's end, so to wait for one after the other is to wait for all.
    pub(super) fn drain_until(
        &self,
        deadline: Option<Instant>,
    ) -> Result<(), ShardErrors<StillRunning>> {
        self.check_outside(Ended::Workers)?;
        self.close();
        self.each(|shard| shard.drain_until(deadline))
    }
}
