//! What is done with all shards together: their figures, their size and their ends. `wait` and `wait_async`
//! have the waits that differ between threads and futures.

use std::future::Future;
use std::time::Instant;

use super::{Multi, Shard};
use crate::control::Control;
use crate::engine::Ended;
use crate::error::{PrestartError, ReopenError, ResizeError, ShardErrors, StillRunning};
use crate::stats::Stats;

impl<P: Shard> Multi<P> {
    // ---- Figures --------------------------------------------------------------------------------

    /// The figures of all shards together. They add up, because each shard's do; but the shards are
    /// read one after another, not at one instant. A task that fell over from one shard to another
    /// counts only where it was accepted or, in the end, refused.
    ///
    /// The figures of one shard: `multi.shard(2)?.stats()`.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(4));
    /// let stats = multi.stats();
    /// assert_eq!((stats.capacity, stats.busy), (8, 0));
    /// ```
    #[must_use]
    #[doc(alias = "Running")]
    #[doc(alias = "Free")]
    #[doc(alias = "Waiting")]
    #[doc(alias = "Cap")]
    pub fn stats(&self) -> Stats {
        let (first, others) = self.first_and_others();
        others.iter().fold(first.stats(), |sum, shard| sum.and(shard.stats()))
    }

    /// Whether every shard is closed, so that nothing can be submitted.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(4));
    /// multi.shard(0)?.close();
    /// assert!(!multi.is_closed());
    /// multi.close();
    /// assert!(multi.is_closed());
    /// # Ok::<(), formic::NoSuchShard>(())
    /// ```
    #[must_use]
    #[doc(alias = "IsClosed")]
    pub fn is_closed(&self) -> bool {
        self.shards().iter().all(|shard| shard.is_closed())
    }

    // ---- Size -----------------------------------------------------------------------------------

    /// Gives every shard this capacity, as [`Control::resize`] does.
    ///
    /// One shard alone: `multi.shard(2)?.resize(8)`.
    ///
    /// # Errors
    ///
    /// Every shard that cannot have this capacity, with the reason. Then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(4));
    /// multi.resize(6)?;
    /// assert_eq!(multi.stats().capacity, 12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Tune")]
    pub fn resize(&self, workers: usize) -> Result<(), ShardErrors<ResizeError>> {
        self.each(|shard| shard.check_capacity(workers))?;
        self.each(|shard| shard.resize(workers))
    }

    /// Starts workers until there are `workers` in every shard, as [`Control::prestart`] does.
    ///
    /// # Errors
    ///
    /// Every shard in which that was not possible, with the reason. The others have them.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(4));
    /// multi.prestart(3)?;
    /// assert_eq!(multi.stats().workers, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "warm_up")]
    pub fn prestart(&self, workers: usize) -> Result<(), ShardErrors<PrestartError>> {
        self.each(|shard| shard.prestart(workers))
    }

    // ---- Ends -----------------------------------------------------------------------------------

    /// Is ready when no accepted task is left in any shard. There was one instant at which that was so, also
    /// if tasks submit to other shards. While tasks keep coming it may take long to find one. For any executor,
    /// and shards of any kind.
    ///
    /// # Errors
    ///
    /// At once, if a task of a shard awaits this: it would wait for itself. The error names that shard.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// multi.try_submit(|| ())?;
    /// multi.wait_idle_async().await?;
    /// assert_eq!(multi.stats().completed, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait_idle_async(
        &self,
    ) -> impl Future<Output = Result<(), ShardErrors<StillRunning>>> + Send + use<P> {
        let controls = self.controls();
        async move { controls.wait_idle().await }
    }

    /// Refuses new tasks from now on, in every shard. Does not wait; what was accepted still runs.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool, Refused};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// multi.close();
    /// assert_eq!(multi.submit(|| ()).unwrap_err().reason(), Refused::Closed);
    /// ```
    #[doc(alias = "shutdown")]
    pub fn close(&self) {
        self.shards().iter().for_each(|shard| shard.close());
    }

    /// Closes every shard, and is ready when everything accepted has run and no worker is left. The shards
    /// are closed when the future is first polled, and end side by side. Dropped, it waits no longer, and the
    /// shards stay closed. For any executor, and shards of any kind.
    ///
    /// # Errors
    ///
    /// At once, if a task of a shard awaits this: it would wait for itself. The error names that shard, and no
    /// shard is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// multi.drain_async().await?;
    /// assert_eq!(multi.stats().workers, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn drain_async(
        &self,
    ) -> impl Future<Output = Result<(), ShardErrors<StillRunning>>> + Send + use<P> {
        let controls = self.controls();
        async move { controls.drain().await }
    }

    /// Drops every task of any shard that has not been started, and says how many.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// for _ in 0..100 {
    ///     multi.submit(|| ())?;
    /// }
    /// let dropped = multi.discard();
    /// multi.drain()?;
    /// assert_eq!(multi.stats().completed, 100 - dropped as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Cancel")]
    pub fn discard(&self) -> usize {
        self.shards().iter().map(|shard| shard.discard()).sum()
    }

    /// Opens every shard again after a drain.
    ///
    /// # Errors
    ///
    /// Every shard that could not be opened, with the reason: it is open, or not at its end yet, or a
    /// thread for its minimum could not be started. The others are open.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// multi.drain()?;
    /// multi.reopen()?;
    /// multi.submit(|| ())?;
    /// multi.drain()?;
    /// assert_eq!(multi.stats().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Reboot")]
    pub fn reopen(&self) -> Result<(), ShardErrors<ReopenError>> {
        self.each(Control::reopen)
    }

    // ---- Private --------------------------------------------------------------------------------

    /// There is a first one: a Multi without shards is not made.
    fn first_and_others(&self) -> (&P, &[P]) {
        let shards = self.shards();
        (&shards[0], &shards[1..])
    }

    /// Does something with every shard, and collects what went wrong.
    pub(super) fn each<E>(
        &self,
        mut act: impl FnMut(&Control) -> Result<(), E>,
    ) -> Result<(), ShardErrors<E>> {
        let numbered = self.shards().iter().enumerate();
        let errors = numbered.filter_map(|(number, shard)| Some((number, act(shard).err()?)));
        ShardErrors::check(errors.collect())
    }

    pub(super) fn check_outside(&self, what: Ended) -> Result<(), ShardErrors<StillRunning>> {
        self.each(|shard| shard.check_outside(what))
    }

    /// See [`is_idle`].
    pub(super) fn is_idle(&self) -> bool {
        is_idle(|| self.shards().iter().map(|shard| shard.stats()))
    }

    /// For a future that waits for the shards and does not keep them open.
    pub(super) fn controls(&self) -> Controls {
        Controls(self.shards().iter().map(|shard| Control::clone(shard)).collect())
    }
}

/// The controls of all shards.
pub(super) struct Controls(Vec<Control>);

impl Controls {
    /// Does something with every shard, and collects what went wrong.
    pub(super) fn each<E>(
        &self,
        mut act: impl FnMut(&Control) -> Result<(), E>,
    ) -> Result<(), ShardErrors<E>> {
        let numbered = self.0.iter().enumerate();
        let errors = numbered.filter_map(|(number, shard)| Some((number, act(shard).err()?)));
        ShardErrors::check(errors.collect())
    }

    pub(super) async fn wait_idle(&self) -> Result<(), ShardErrors<StillRunning>> {
        self.each(|shard| shard.check_outside(Ended::Tasks))?;
        loop {
            let mut errors = Vec::new();
            for (number, shard) in self.0.iter().enumerate() {
                errors.extend(shard.wait_idle_async().await.err().map(|error| (number, error)));
            }
            ShardErrors::check(errors)?;
            if is_idle(|| self.0.iter().map(Control::stats)) {
                return Ok(());
            }
        }
    }

    pub(super) async fn drain(&self) -> Result<(), ShardErrors<StillRunning>> {
        self.each(|shard| shard.check_outside(Ended::Workers))?;
        self.0.iter().for_each(Control::close);
        let mut errors = Vec::new();
        for (number, shard) in self.0.iter().enumerate() {
            errors.extend(shard.drain_async().await.err().map(|error| (number, error)));
        }
        ShardErrors::check(errors)
    }

    /// Which shards of a closed `Multi` have not ended.
    pub(super) fn check_end(&self) -> Result<(), ShardErrors<StillRunning>> {
        self.each(|shard| shard.drain_until(Some(Instant::now())))
    }

    pub(super) fn cancel_all(&self) {
        self.0.iter().for_each(|shard| _ = shard.cancel_all());
    }
}

/// Whether there was an instant at which no shard had a task.
///
/// The shards are read one after another, so a task could move before the eye: out of a shard that
/// is read later, into one that was read before. That shard would have accepted it. So each is
/// read twice, and if none has accepted anything in between, all were idle between the rounds.
fn is_idle<I: Iterator<Item = Stats>>(shards: impl Fn() -> I) -> bool {
    let round = || -> Option<Vec<u64>> {
        let accepted = |stats: Stats| (stats.queued + stats.busy == 0).then_some(stats.accepted);
        shards().map(accepted).collect()
    };
    round().is_some_and(|first| round() == Some(first))
}
