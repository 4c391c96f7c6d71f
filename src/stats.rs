//! Figures that add up: one snapshot of a pool.

/// One consistent snapshot of a pool, taken at one instant.
///
/// At any instant, `accepted == queued + busy + completed + panicked + cancelled`. Tasks that a
/// submitter ran itself ([`WhenFull::CallerRuns`](crate::WhenFull::CallerRuns)) are counted when
/// they have ended.
///
/// # Examples
///
/// ```
/// let pool = formic::Pool::new(2);
/// for _ in 0..10 {
///     pool.submit(|| ())?;
/// }
/// pool.wait_idle()?;
/// let stats = pool.stats();
/// assert_eq!((stats.accepted, stats.completed, stats.queued), (10, 10, 0));
/// assert!(stats.adds_up());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Tasks that were ever accepted.
    pub accepted: u64,
    /// Tasks that wait for a worker. For a moment more than [`queue`](crate::Builder::queue) says, because
    /// only queued and busy together are bounded, by capacity plus queue: a task that was accepted for a
    /// free worker is queued until that one has taken it.
    pub queued: usize,
    /// Tasks that are running, from the moment a worker has taken them, so also a moment before the
    /// closure begins. A task that waits for another counts, too, so that this may
    /// be above the capacity while tasks wait for tasks.
    pub busy: usize,
    /// Tasks that have returned.
    pub completed: u64,
    /// Tasks that have panicked.
    pub panicked: u64,
    /// Tasks that were dropped before they were started; in a pool of futures also those that were
    /// dropped where they stood.
    pub cancelled: u64,
    /// How often the pool did not accept a task or a permit. A task that is submitted again is counted again. A scope
    /// runs a refused task on the calling thread ([`Scope::submit`](crate::Scope::submit)): the task counts here, and
    /// among the accepted when it has ended.
    pub refused: u64,
    /// How many workers there may be; [`usize::MAX`] for an unlimited pool.
    pub capacity: usize,
    /// How many workers there are. A pool of futures has as many as futures are in flight.
    pub workers: usize,
    /// How many of them run no task; none in a pool of futures.
    pub idle: usize,
    /// How many of them take no task because they make their state, or are not ready: see
    /// [`Builder::state`](crate::Builder::state).
    pub unready: usize,
    /// Submitters that wait for a place.
    pub waiting: usize,
}

impl Stats {
    /// The figures of two pools together.
    pub(crate) fn and(self, other: Stats) -> Stats {
        Stats {
            accepted: self.accepted + other.accepted,
            queued: self.queued + other.queued,
            busy: self.busy + other.busy,
            completed: self.completed + other.completed,
            panicked: self.panicked + other.panicked,
            cancelled: self.cancelled + other.cancelled,
            refused: self.refused + other.refused,
            // Unlimited pools have the largest number there is.
            capacity: self.capacity.saturating_add(other.capacity),
            workers: self.workers + other.workers,
            idle: self.idle + other.idle,
            unready: self.unready + other.unready,
            waiting: self.waiting + other.waiting,
        }
    }

    /// Whether the figures add up. They always do; this is for tests, and for doubters.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// for _ in 0..100 {
    ///     pool.submit(|| ())?;
    ///     assert!(pool.stats().adds_up()); // at any moment
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn adds_up(&self) -> bool {
        let pending = self.queued as u64 + self.busy as u64;
        self.accepted == pending + self.completed + self.panicked + self.cancelled
    }
}
