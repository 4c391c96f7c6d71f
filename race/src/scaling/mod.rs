//! The tables of `docs/scaling.md`: what a task costs with 1 to 64 workers or producers, and what that predicts.

mod model;
mod primitives;

use std::path::{Path, PathBuf};

use clap::Args;

use self::model::Costs;
use self::primitives::Primitives;
use crate::child;
use crate::conditions::Conditions;
use crate::counts::{self, Count};
use crate::failure::Failure;
use crate::heat::Heat;
use crate::progress::Progress;
use crate::report::{markdown, number};
use crate::scenario::Scenario;
use crate::statistics::Figures;
use crate::workloads::{Params, Workload, bounded, nested, producers, tiny};

const SIZES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// What is told of each size, by the keys of the counts. The rest is the same for all of them.
const COUNTS: [&str; 7] = [
    "locks",
    "contended",
    "held_ns",
    "writes",
    "wakes",
    "voluntary_switches",
    "involuntary_switches",
];

/// The options of `scaling`.
#[derive(Args, Debug)]
pub(crate) struct ScalingOptions {
    /// An ordinary build of race, which measures the times: counting makes tasks slower
    #[arg(long, value_name = "PROGRAM")]
    timed_by: PathBuf,

    /// How many tasks there are
    #[arg(long, value_name = "N", default_value_t = 500_000)]
    tasks: u64,

    /// How many rounds are measured, after one more that is thrown away
    #[arg(long, value_name = "N", default_value_t = 9)]
    rounds: usize,
}

/// A workload of which one size grows.
struct Sweep {
    workload: &'static Workload,
    /// What grows, for the head of its column.
    grows: &'static str,
    set: fn(&mut Params, usize),
    /// The size at which one core and two cores are compared.
    usual: usize,
    submitters: Submitters,
}

/// Where tasks come from, which decides what is serial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Submitters {
    /// One thread, whose own time for each task is serial whatever the pool does.
    One,
    /// Many threads, which share only the pool.
    Many,
}

const SWEEPS: [Sweep; 4] = [
    Sweep {
        workload: &tiny::WORKLOAD,
        grows: "workers",
        set: |params, size| params.workers = size,
        usual: 2,
        submitters: Submitters::One,
    },
    Sweep {
        workload: &bounded::WORKLOAD,
        grows: "workers",
        set: |params, size| params.workers = size,
        usual: 2,
        submitters: Submitters::One,
    },
    Sweep {
        workload: &producers::WORKLOAD,
        grows: "producers",
        set: |params, size| params.producers = Some(size),
        usual: 16,
        submitters: Submitters::Many,
    },
    Sweep {
        workload: &nested::WORKLOAD,
        grows: "workers",
        set: |params, size| params.workers = size,
        usual: 2,
        submitters: Submitters::Many,
    },
];

/// Measures everything, and returns the tables as Markdown.
pub(crate) fn tables(options: &ScalingOptions, progress: &Progress) -> Result<String, Failure> {
    let bench = Bench { options, progress };
    let mut text = String::new();
    let mut costs = Vec::new();
    let primitives = Primitives::measure();
    for sweep in &SWEEPS {
        text += &format!("### {}, measured\n\n{}\n", sweep.workload.name, bench.counts(sweep)?);
        costs.push((sweep.workload.name, bench.costs(sweep, &primitives)?));
    }
    Ok(format!("{text}### Serial part\n\n{}\n{}", primitives.in_words(), model::tables(&costs)))
}

/// How many child processes that takes.
pub(crate) fn runs(options: &ScalingOptions) -> usize {
    // Each size once by each build, then one core and two cores by the ordinary one, and the counts once more.
    SWEEPS.len() * (2 * SIZES.len() + 3) * (options.rounds + 1)
}

struct Bench<'a> {
    options: &'a ScalingOptions,
    progress: &'a Progress,
}

impl Bench<'_> {
    /// A row for each size: the time by the ordinary build, the counts by this one.
    fn counts(&self, sweep: &Sweep) -> Result<String, Failure> {
        let chosen = COUNTS.map(|key| counts::ALL.into_iter().find(|count| count.key == key));
        let chosen: Vec<Count> = chosen.into_iter().flatten().collect();
        let headings = chosen.iter().map(|count| count.heading.to_owned());
        let head = [sweep.grows.to_owned(), "ns/task".to_owned()].into_iter().chain(headings);
        let mut rows = vec![head.collect::<Vec<_>>()];
        for size in SIZES {
            let timed = self.timed(sweep, size, Conditions::NONE)?;
            let counted = self.counted(sweep, size)?;
            let cells =
                chosen.iter().map(|count| number(of(&counted, count.key) * count.per_tasks));
            let row = [size.to_string(), number(timed.ns_per_task.median)].into_iter().chain(cells);
            rows.push(row.collect());
        }
        Ok(markdown(&rows))
    }

    fn costs(&self, sweep: &Sweep, primitives: &Primitives) -> Result<Costs, Failure> {
        let on = |cores| Conditions { cores: Some(cores), ..Conditions::NONE };
        let one_core = self.timed(sweep, sweep.usual, on(1))?;
        let two_cores = self.timed(sweep, sweep.usual, on(2))?;
        let counted = self.counted(sweep, sweep.usual)?;
        let of_the_pool = of(&counted, "held_ns")
            + of(&counted, "locks") * primitives.lock_ns
            + of(&counted, "writes") * primitives.write_ns;
        let serial_ns = match sweep.submitters {
            Submitters::One => of(&two_cores, "caller_cpu_ns").max(of_the_pool),
            Submitters::Many => of_the_pool,
        };
        let (one_core_ns, two_cores_ns) =
            (one_core.ns_per_task.median, two_cores.ns_per_task.median);
        // Counting lengthens what it counts. A serial part is never longer than the whole.
        Ok(Costs { serial_ns: serial_ns.min(two_cores_ns), one_core_ns, two_cores_ns })
    }

    fn timed(&self, sweep: &Sweep, size: usize, on: Conditions) -> Result<Figures, Failure> {
        self.figures(sweep, size, on, Some(&self.options.timed_by))
    }

    fn counted(&self, sweep: &Sweep, size: usize) -> Result<Figures, Failure> {
        self.figures(sweep, size, Conditions::NONE, None)
    }

    /// Formic's figures, measured by `program`, or else by this one.
    fn figures(
        &self,
        sweep: &Sweep,
        size: usize,
        conditions: Conditions,
        program: Option<&Path>,
    ) -> Result<Figures, Failure> {
        let tasks = self.options.tasks;
        let mut params = Params { tasks, conditions, count: true, ..sweep.workload.params };
        (sweep.set)(&mut params, size);
        let mut scenario = Scenario::with_all(sweep.workload, params, self.options.rounds);
        scenario.entries.retain(|entry| entry.name == "formic");
        let mut imposed = conditions.impose()?;
        let heat = Heat::run(scenario, |scenario, entry| {
            self.progress.announce(scenario.to_string());
            let result = child::sample_by(program, scenario, entry, &mut imposed);
            self.progress.advance();
            result
        });
        let outcome = heat.outcomes.into_iter().next();
        outcome.ok_or_else(|| Failure::new("formic takes no part"))?.result
    }
}

/// A count of one task; zero if it was not counted.
fn of(figures: &Figures, key: &str) -> f64 {
    let found = figures.counts.iter().find(|(there, _)| *there == key);
    found.map_or(0.0, |(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sweep_has_formic_and_every_count_exists() {
        for sweep in &SWEEPS {
            assert!(sweep.workload.entry("formic").is_some());
            let mut params = sweep.workload.params;
            (sweep.set)(&mut params, 33);
            assert!(params.workers == 33 || params.producers == Some(33));
        }
        for key in COUNTS {
            assert!(counts::ALL.iter().any(|count| count.key == key), "{key}");
        }
    }
}
