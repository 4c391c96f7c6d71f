//! A histogram of times: an add to one of a few thousand counters, whatever the time was.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Each power of two is cut into so many steps, so a time is told to about three per cent.
const STEPS: u64 = 32;
const STEP_BITS: u32 = STEPS.trailing_zeros();
/// Up to this many times nanoseconds as a power of two: some twenty minutes.
const POWERS: u64 = 40;

/// Counts of times in steps that grow with the time.
#[derive(Debug)]
pub(crate) struct Histogram {
    counts: Vec<AtomicU64>,
    sum: AtomicU64,
}

impl Histogram {
    /// An empty one, alive until the process ends: whoever records holds a plain reference.
    pub(crate) fn leaked() -> &'static Self {
        let counts = (0..STEPS * POWERS).map(|_| AtomicU64::new(0)).collect();
        Box::leak(Box::new(Self { counts, sum: AtomicU64::new(0) }))
    }

    /// Counts one time, from any thread.
    #[inline]
    pub(crate) fn record(&self, time: Duration) {
        let nanoseconds = time.as_nanos() as u64;
        let place = place(nanoseconds).min(self.counts.len() - 1);
        self.counts[place].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// How many times were counted.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// The mean in nanoseconds, exact.
    pub(crate) fn mean(&self) -> f64 {
        self.sum.load(Ordering::Relaxed) as f64 / self.count() as f64
    }

    /// The time in nanoseconds that `share` of all times do not exceed, to the step.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let rank = (self.count() as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        let reached = self.counts.iter().position(|count| {
            seen += count.load(Ordering::Relaxed);
            seen >= rank
        });
        reached.map_or(0.0, middle)
    }
}

/// The step of a time: its highest bit, and the few bits after it.
#[inline]
fn place(nanoseconds: u64) -> usize {
    if nanoseconds < STEPS {
        return nanoseconds as usize;
    }
    let power = nanoseconds.ilog2() - STEP_BITS;
    (u64::from(power) * STEPS + (nanoseconds >> power)) as usize
}

/// The time in the middle of a step.
fn middle(place: usize) -> f64 {
    let place = place as u64;
    if place < 2 * STEPS {
        return place as f64;
    }
    let power = place / STEPS - 1;
    let lowest = (place - power * STEPS) << power;
    lowest as f64 + (1u64 << power) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_to_three_per_cent() {
        for nanoseconds in [1, 31, 32, 63, 64, 65, 1000, 12_345, 1 << 20, 987_654_321, 1 << 42] {
            let told = middle(place(nanoseconds));
            let off = (told - nanoseconds as f64).abs() / nanoseconds as f64;
            assert!(off < 0.03, "{nanoseconds} is told as {told}");
        }
    }

    #[test]
    fn steps_follow_each_other_without_a_gap() {
        for nanoseconds in 0..10_000 {
            let step = place(nanoseconds + 1) - place(nanoseconds);
            assert!(step <= 1, "at {nanoseconds}");
        }
    }

    #[test]
    fn quantiles_and_mean_are_those_of_the_recorded_times() {
        let histogram = Histogram::leaked();
        for nanoseconds in 1..=1000 {
            histogram.record(Duration::from_nanos(nanoseconds));
        }
        assert_eq!(histogram.count(), 1000);
        assert_eq!(histogram.mean(), 500.5);
        for (share, expected) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0)] {
            let told = histogram.quantile(share);
            assert!((told / expected - 1.0).abs() < 0.03, "{told} for {expected}");
        }
    }

    #[test]
    fn a_time_beyond_the_end_is_counted_in_the_last_step() {
        let histogram = Histogram::leaked();
        histogram.record(Duration::from_secs(1_000_000));
        assert_eq!(histogram.count(), 1);
    }
}
