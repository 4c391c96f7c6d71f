//! The figures of one contender: the median of its rounds, their spread, and what they cost.

use crate::counts;
use crate::measure::Sample;
use crate::yardstick::Yardstick;

/// The median and the two ends of a set of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// The spread of `values`, or nothing when there are none.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            median: median_of_sorted(&sorted)?,
            min: *sorted.first()?,
            max: *sorted.last()?,
        })
    }
}

/// With an even number of values, the middle of the two in the middle.
fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get(sorted.len().checked_sub(1)? / 2)?;
    Some(f64::midpoint(lower, upper))
}

/// What the rounds of one contender come to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    /// How many rounds were measured, the warm-up not counted.
    pub(crate) rounds: usize,
    /// What the workload is decided by.
    pub(crate) decisive: Spread,
    pub(crate) ns_per_task: Spread,
    /// The median over the rounds.
    pub(crate) cpu_ns_per_task: f64,
    /// The largest of all rounds, in millions of bytes.
    pub(crate) peak_mb: Option<f64>,
    /// The medians of the workload's own columns, by their keys.
    pub(crate) more: Vec<(&'static str, f64)>,
    /// The medians of the counts of one task, by their keys.
    pub(crate) counts: Vec<(&'static str, f64)>,
}

impl Figures {
    /// Sums up the measured rounds, or nothing when there are none.
    pub(crate) fn of(samples: &[Sample], tasks: u64, yardstick: &Yardstick) -> Option<Self> {
        let per_task = |nanoseconds: u64| nanoseconds as f64 / tasks as f64;
        let peak_kb = samples.iter().filter_map(|sample| sample.peak_kb).max();
        let median = |key| Spread::of(samples.iter().filter_map(|s| s.more.get(key).copied()));
        let count = |key| {
            let values = samples.iter().filter_map(|sample| sample.counts.get(key).copied());
            Spread::of(values.map(per_task))
        };
        let columns = yardstick.columns.iter();
        Some(Self {
            rounds: samples.len(),
            decisive: Spread::of(samples.iter().filter_map(|s| yardstick.of(s, tasks)))?,
            ns_per_task: Spread::of(samples.iter().map(|sample| per_task(sample.wall_ns)))?,
            cpu_ns_per_task: Spread::of(samples.iter().map(|sample| per_task(sample.cpu_ns)))?
                .median,
            peak_mb: peak_kb.map(|kb| kb as f64 * 1024.0 / 1e6),
            more: columns.filter_map(|c| Some((c.key, median(c.key)?.median))).collect(),
            counts: counts::ALL
                .iter()
                .filter_map(|c| Some((c.key, count(c.key)?.median)))
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yardstick::{Column, Decides};

    #[test]
    fn an_odd_number_of_values_has_its_median_in_the_middle() {
        let spread = Spread::of([9.0, 1.0, 4.0]).expect("three values");
        assert_eq!((spread.min, spread.median, spread.max), (1.0, 4.0, 9.0));
    }

    #[test]
    fn an_even_number_of_values_has_its_median_between_two() {
        let spread = Spread::of([8.0, 1.0, 2.0, 4.0]).expect("four values");
        assert_eq!((spread.min, spread.median, spread.max), (1.0, 3.0, 8.0));
    }

    #[test]
    fn one_value_is_its_own_spread() {
        let spread = Spread::of([7.0]).expect("one value");
        assert_eq!((spread.min, spread.median, spread.max), (7.0, 7.0, 7.0));
    }

    #[test]
    fn no_value_has_no_spread() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Figures::of(&[], 10, &Yardstick::WALL), None);
    }

    #[test]
    fn figures_are_per_task_and_keep_the_highest_peak() {
        let samples = [
            sample(1000, 3000, Some(1000)),
            sample(3000, 1000, Some(5000)),
            sample(2000, 2000, Some(2000)),
        ];
        let figures = Figures::of(&samples, 10, &Yardstick::WALL).expect("three rounds");
        assert_eq!(figures.rounds, 3);
        assert_eq!(figures.decisive.median, 0.002);
        assert_eq!(figures.ns_per_task.median, 200.0);
        assert_eq!(figures.ns_per_task.min, 100.0);
        assert_eq!(figures.ns_per_task.max, 300.0);
        assert_eq!(figures.cpu_ns_per_task, 200.0);
        assert_eq!(figures.peak_mb, Some(5.12));
    }

    #[test]
    fn a_system_that_tells_no_peak_has_none() {
        let figures =
            Figures::of(&[sample(1, 1, None)], 1, &Yardstick::PER_TASK).expect("one round");
        assert_eq!(figures.peak_mb, None);
    }

    #[test]
    fn counts_are_told_for_one_task() {
        let samples = [70, 10, 30].map(|locks| Sample {
            counts: [("locks".to_owned(), locks)].into(),
            ..sample(1, 1, None)
        });
        let figures = Figures::of(&samples, 10, &Yardstick::PER_TASK).expect("three rounds");
        assert_eq!(figures.counts, [("locks", 3.0)]);
    }

    #[test]
    fn a_column_of_the_workload_has_its_median() {
        let yardstick = Yardstick {
            decides: Decides::Named("p99_ns"),
            columns: &[Column { key: "p99_ns", heading: "p99" }],
            ..Yardstick::PER_TASK
        };
        let samples = [7.0, 1.0, 3.0].map(|p99| sample(1, 1, None).with("p99_ns", p99));
        let figures = Figures::of(&samples, 1, &yardstick).expect("three rounds");
        assert_eq!(figures.decisive.median, 3.0);
        assert_eq!(figures.more, [("p99_ns", 3.0)]);
    }

    fn sample(wall_ns: u64, cpu_ns: u64, peak_kb: Option<u64>) -> Sample {
        Sample { wall_ns, cpu_ns, peak_kb, ..Sample::default() }
    }
}
