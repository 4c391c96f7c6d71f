//! The yardstick: which figure of a workload decides, and which ones stand beside it.

use crate::measure::Sample;

/// How the contenders of a workload are compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Yardstick {
    pub(crate) decides: Decides,
    /// The unit of the figure that decides, as the head of its column.
    pub(crate) heading: &'static str,
    /// What it measures: a time, which is told as a speed, or something else.
    pub(crate) noun: &'static str,
    /// Whether processor time per task and the peak of memory say something here.
    pub(crate) per_task: bool,
    /// What a sample of this workload tells beyond time and memory.
    pub(crate) columns: &'static [Column],
}

/// The figure that decides; less is better in all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Decides {
    /// Wall time divided by the number of tasks, in nanoseconds.
    PerTask,
    /// Wall time in milliseconds.
    Wall,
    /// One of the columns.
    Named(&'static str),
}

/// A figure of its own: its name in a sample and in JSON, and its head in a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) key: &'static str,
    pub(crate) heading: &'static str,
}

impl Yardstick {
    pub(crate) const PER_TASK: Self = Self {
        decides: Decides::PerTask,
        heading: "ns/task",
        noun: "time",
        per_task: true,
        columns: &[],
    };

    pub(crate) const WALL: Self = Self { decides: Decides::Wall, heading: "ms", ..Self::PER_TASK };

    /// The figure that decides, or nothing when the sample lacks it.
    pub(crate) fn of(&self, sample: &Sample, tasks: u64) -> Option<f64> {
        match self.decides {
            Decides::PerTask => Some(sample.wall_ns as f64 / tasks as f64),
            Decides::Wall => Some(sample.wall_ns as f64 / 1e6),
            Decides::Named(key) => sample.more.get(key).copied(),
        }
    }

    /// The columns beside the one that decides.
    pub(crate) fn beside(&self) -> impl Iterator<Item = &'static Column> {
        let decides = self.decides;
        let is_another = move |column: &&Column| match decides {
            Decides::Named(key) => column.key != key,
            Decides::PerTask | Decides::Wall => true,
        };
        self.columns.iter().filter(is_another)
    }
}
