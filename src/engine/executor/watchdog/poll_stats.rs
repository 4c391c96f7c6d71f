//! The poll statistics of a driver: how much it polls, and how long a poll takes.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::SHORT_NANOS;

/// A stride that took longer than so many times the mean is taken for one that took so long: the
/// thread may have been kept from its core.
const MOST_AT_ONCE: u64 = 8;

/// What a driver tells of its work. Nothing is decided by it but who helps.
#[derive(Debug, Default)]
pub(crate) struct PollStats {
    pub(super) polls: AtomicU64,
    /// How long a poll takes with all that belongs to it, in the mean; zero if that is unknown.
    pub(super) nanos: AtomicU32,
}

impl PollStats {
    /// For its driver only, as all that follows.
    pub(crate) fn count_polls(&self, polls: usize) {
        let so_far = self.polls.load(Ordering::Relaxed);
        self.polls.store(so_far + polls as u64, Ordering::Relaxed);
    }

    pub(crate) fn polls(&self) -> u64 {
        self.polls.load(Ordering::Relaxed)
    }

    /// Records that `polls` polls took `time`.
    pub(crate) fn note(&self, polls: usize, time: Duration) {
        let new = (time.as_nanos() / polls.max(1) as u128).clamp(1, u32::MAX as u128) as u64;
        let mean = match u64::from(self.nanos.load(Ordering::Relaxed)) {
            0 => new,
            old => (3 * old + new.min(MOST_AT_ONCE * old)) / 4,
        };
        self.nanos.store(mean as u32, Ordering::Relaxed);
    }

    /// Whether polls are known to be short.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        (1..SHORT_NANOS).contains(&self.nanos.load(Ordering::Relaxed))
    }
}
