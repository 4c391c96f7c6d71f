//! Stopping what runs in all shards.

use std::future::Future;
use std::ops::Add;
use std::time::Duration;

use super::{Multi, Shard};
#[cfg(feature = "tokio")]
use crate::async_pool::AsyncFnPool;
use crate::control::{Cancelled, Control, LAST_WAIT, deadline, within};
use crate::engine::Ended;
use crate::error::{ShardErrors, StillRunning};
use crate::fn_pool::FnPool;

impl<P: Shard> Multi<P> {
    /// Stops every task that any shard has accepted so far, as [`Control::cancel_all`] does, and says how many. Does not
    /// wait, and does not close the shards. The shards are asked one after another, so a task that another task submits
    /// meanwhile to a shard that was asked before runs.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// for _ in 0..2 {
    ///     multi.submit(|| {
    ///         while !formic::is_cancelled() {
    ///             std::thread::yield_now();
    ///         }
    ///     })?;
    /// }
    /// assert_eq!(multi.cancel_all().tasks(), 2);
    /// multi.drain()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Cancel")]
    #[allow(clippy::must_use_candidate, reason = "what is asked for is the cancelling")]
    pub fn cancel_all(&self) -> Cancelled {
        self.shards()
            .iter()
            .map(|shard| shard.cancel_all())
            .fold(Cancelled::default(), Cancelled::add)
    }

    /// Shuts every shard down, side by side, whatever the shards run, and blocks the thread meanwhile, as
    /// [`Control::blocking_shutdown`] does: closes them, waits for up to `grace`, cancels what is left in any shard, and
    /// waits up to one second more.
    ///
    /// # Errors
    ///
    /// Every shard that has not ended, and what is left in it. Also, at once, as [`Control::blocking_shutdown`]. Then no
    /// shard is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    /// use std::time::Duration;
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// multi.blocking_shutdown(Duration::from_secs(60))?;
    /// assert!(multi.is_closed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn blocking_shutdown(&self, grace: Duration) -> Result<(), ShardErrors<StillRunning>> {
        self.each(Control::check_blocking_shutdown)?;
        if self.drain_until(deadline(grace)).is_ok() {
            return Ok(());
        }
        self.cancel_all();
        self.drain_until(deadline(LAST_WAIT))
    }

    /// [`blocking_shutdown`](Multi::blocking_shutdown) as a future, for any executor, and shards of any kind. The shards are
    /// closed when it is first polled. A thread of its own measures the time, while it waits.
    ///
    /// # Errors
    ///
    /// Every shard that has not ended, and what is left in it. At once, if a task of a shard awaits this: it would wait
    /// for itself. Then no shard is closed.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it waits no longer and cancels nothing more. The shards stay closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// multi.shutdown_async(Duration::from_secs(60)).await?;
    /// assert!(multi.is_closed());
    /// # Ok(())
    /// # }
    /// ```
    pub fn shutdown_async(
        &self,
        grace: Duration,
    ) -> impl Future<Output = Result<(), ShardErrors<StillRunning>>> + Send + use<P> {
        let controls = self.controls();
        async move {
            controls.each(|shard| shard.check_outside(Ended::Workers))?;
            if let Some(ended) = within(grace, controls.drain()).await {
                return ended;
            }
            controls.cancel_all();
            match within(LAST_WAIT, controls.drain()).await {
                Some(ended) => ended,
                // No time is left, so this waits for nothing and says which shards have not ended.
                None => controls.check_end(),
            }
        }
    }
}

/// The same for both kinds of shards.
macro_rules! take_queued {
    ($pool:ident, $example:literal) => {
        impl<T: Send + 'static, R: Send + 'static> Multi<$pool<T, R>> {
            /// Takes the arguments whose call has not started out of the queues of all shards, one shard after another, as
            #[doc = concat!("[`", stringify!($pool), "::take_queued`](crate::", stringify!($pool), "::take_queued) does.")]
            /// Does not block.
            ///
            /// # Examples
            ///
            #[doc = $example]
            #[must_use = "the arguments are gone from the pools"]
            #[doc(alias = "shutdownNow")]
            pub fn take_queued(&self) -> Vec<T> {
                self.shards().iter().flat_map($pool::take_queued).collect()
            }
        }
    };
}

take_queued!(
    FnPool,
    "```
use formic::{Balance, FnPool, Multi};

let multi = Multi::new(2, Balance::RoundRobin, || FnPool::new(1, |_: u32| ()));
(0..100).try_for_each(|n| multi.submit(n))?;
let left = multi.take_queued();
multi.drain()?;
assert_eq!(multi.stats().completed + left.len() as u64, 100);
# Ok::<(), Box<dyn std::error::Error>>(())
```"
);
#[cfg(feature = "tokio")]
take_queued!(
    AsyncFnPool,
    "```
use formic::{AsyncFnPool, Balance, Multi};

# #[tokio::main]
# async fn main() -> Result<(), Box<dyn std::error::Error>> {
let multi = Multi::new(2, Balance::RoundRobin, || AsyncFnPool::new(1, |_: u32| async {}));
for n in 0..100 {
    multi.submit(n).await?;
}
let left = multi.take_queued();
multi.drain().await?;
assert_eq!(multi.stats().completed + left.len() as u64, 100);
# Ok(())
# }
```"
);
