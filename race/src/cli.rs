//! The command line: one subcommand for each workload, and the tour when there is none.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::allocator::Allocator;
use crate::conditions::{Conditions, RemoveOrder};
use crate::counts;
use crate::faults::{Fault, FaultOrder, FaultsOptions};
use crate::jobs::JobsOptions;
use crate::page;
use crate::scaling::ScalingOptions;
use crate::scenario::Scenario;
use crate::tour;
use crate::workloads::{Params, Runtime, Start, Workload};
use crate::workloads::{bounded, burst, cpu, idle, lateness, nested, producers};
use crate::workloads::{round_trip, sleep, sleep_pull, tiny};

/// More would not fit into the time limit of a run, nor into the memory of many machines.
const TASKS: RangeInclusive<u64> = 1..=100_000_000;
/// Futures may be so many at once. Threads may not, and are refused by their workload.
const WORKERS: RangeInclusive<u64> = 1..=10_000_000;
const MOST_THREADS: usize = 10_000;
const QUEUE: RangeInclusive<u64> = 1..=10_000_000;
const PRODUCERS: RangeInclusive<u64> = 1..=1000;
pub(crate) const ROUNDS: RangeInclusive<u64> = 1..=1000;
const WINDOW: RangeInclusive<u64> = 1..=30_000;

/// Race formic beside other pools, on the same work, each in a process of its own.
///
/// Without a subcommand: a tour of all workloads in about a minute and a half, and a report with plots.
#[derive(Debug, Parser)]
#[command(name = "race", version)]
pub(crate) struct Cli {
    /// Print one JSON object per line instead of tables and sentences
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Where all contenders get their memory from
    #[arg(long, global = true, value_enum, default_value_t)]
    pub(crate) allocator: Allocator,

    /// Also print locks, shared writes, wake-ups and context switches for each task; needs a build of its own
    #[arg(long, global = true)]
    pub(crate) count: bool,

    #[command(flatten)]
    pub(crate) conditions: Conditions,

    /// Write the results as a page with plots to this file; the tour writes one in any case
    #[arg(long, global = true, value_name = "FILE")]
    report: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What to race.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Tasks of one atomic add from one outside producer, into each pool's own queue
    Tiny(Options),
    /// The same into a queue with a bound, where the producer has to wait for room
    Bounded(BoundedOptions),
    /// The same from many threads at once
    Producers(ProducersOptions),
    /// A binary tree of tasks that submit tasks
    Nested(Options),
    /// One caller that waits for each result before it submits the next task
    RoundTrip(Options),
    /// Tasks that block for 10 ms, all at once, with room for a thread each
    Burst(BurstOptions),
    /// Tasks that compute for 50 µs
    Cpu(Options),
    /// Futures that sleep for 10 ms, pushed by a producer, so many at once
    Sleep(FuturesOptions),
    /// The same futures, but the contender pulls them
    SleepPull(FuturesOptions),
    /// How late sleeping futures wake while a few others compute
    Lateness(FuturesOptions),
    /// What a pool costs that has nothing to do
    Idle(IdleOptions),
    /// Known faults of other pools, and formic in the same programs
    Faults(FaultsOptions),
    /// The tables of `docs/scaling.md`: counts for 1 to 64 workers and producers; needs a build of its own
    Scaling(ScalingOptions),
    /// Jobs per second of formic-nats beside its peers, on a NATS server that it starts: builds a package of its own
    Jobs(JobsOptions),
    /// Run the program of one fault with one pool, in this process; what `faults` starts
    #[command(hide = true)]
    FaultOne(FaultOrder),
    /// Run one contender once, in this process; what the other commands start
    #[command(hide = true)]
    RunOne(Order),
    /// Compute until the parent ends; what `--busy` starts
    #[command(hide = true)]
    Compute,
    /// Remove a control group when the parent ends; what `--quota` starts
    #[command(hide = true)]
    RemoveGroup(RemoveOrder),
}

/// The options all workloads have. What is not given is the workload's own; the README lists it.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How many tasks there are
    #[arg(long, value_name = "N", value_parser = within::<u64>(TASKS))]
    tasks: Option<u64>,

    /// How many threads each pool has, or how many futures are under way at once
    #[arg(long, value_name = "N", value_parser = within::<usize>(WORKERS))]
    workers: Option<usize>,

    /// How many rounds are measured, after one more that is thrown away
    #[arg(long, value_name = "N", value_parser = within::<usize>(ROUNDS))]
    rounds: Option<usize>,

    /// Race these contenders only, by name
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    only: Vec<String>,
}

/// The options of a workload with a bound.
#[derive(Debug, Args)]
pub(crate) struct BoundedOptions {
    #[command(flatten)]
    common: Options,

    /// How many tasks may wait in the queue
    #[arg(long, value_name = "N", value_parser = within::<usize>(QUEUE))]
    queue: Option<usize>,
}

/// The options of a workload with many producers.
#[derive(Debug, Args)]
pub(crate) struct ProducersOptions {
    #[command(flatten)]
    common: Options,

    /// How many threads submit
    #[arg(long, value_name = "N", value_parser = within::<usize>(PRODUCERS))]
    producers: Option<usize>,
}

/// The options of a workload that begins with or without workers.
#[derive(Debug, Args)]
pub(crate) struct BurstOptions {
    #[command(flatten)]
    common: Options,

    /// Whether the pool has worked before
    #[arg(long, value_enum)]
    start: Option<Start>,
}

/// The options of a workload of futures.
#[derive(Debug, Args)]
pub(crate) struct FuturesOptions {
    #[command(flatten)]
    common: Options,

    /// What drives the futures
    #[arg(long, value_enum)]
    runtime: Option<Runtime>,
}

/// The options of a workload that watches for a while.
#[derive(Debug, Args)]
pub(crate) struct IdleOptions {
    #[command(flatten)]
    common: Options,

    /// How long a pool at rest is watched; the figures are told for five seconds
    #[arg(long, value_name = "MS", value_parser = within::<u64>(WINDOW))]
    window_ms: Option<u64>,
}

/// What a child process is told to do.
#[derive(Debug, Args)]
pub(crate) struct Order {
    pub(crate) workload: String,
    pub(crate) contender: String,
    #[arg(long, value_parser = within::<u64>(TASKS))]
    tasks: u64,
    #[arg(long, value_parser = within::<usize>(WORKERS))]
    workers: usize,
    #[arg(long, value_parser = within::<usize>(QUEUE))]
    queue: Option<usize>,
    #[arg(long, value_parser = within::<usize>(PRODUCERS))]
    producers: Option<usize>,
    #[arg(long, value_enum)]
    start: Option<Start>,
    #[arg(long, value_enum)]
    runtime: Option<Runtime>,
    #[arg(long, value_parser = within::<u64>(WINDOW))]
    window_ms: Option<u64>,
    /// The control group to run in.
    #[arg(long)]
    pub(crate) group: Option<PathBuf>,
    /// End with the parent, which holds the other end of standard input.
    #[arg(long)]
    pub(crate) leashed: bool,
}

impl Cli {
    /// Where the page with plots goes, if there is to be one.
    pub(crate) fn page(&self) -> Option<PathBuf> {
        let tour = self.command.is_none().then(page::usual_place);
        self.report.clone().or(tour)
    }

    /// What was asked for, or the complaint to end with.
    pub(crate) fn scenarios(&self) -> Result<Vec<Scenario>, clap::Error> {
        let mut scenarios = self.chosen().map_err(|complaint| {
            // The usage is that of the whole program, which is enough to find the way.
            Self::command().error(ErrorKind::InvalidValue, complaint)
        })?;
        for scenario in &mut scenarios {
            scenario.params.allocator = self.allocator;
            scenario.params.count = self.count;
        }
        Ok(scenarios)
    }

    /// The faults to look for, or the complaint to end with.
    pub(crate) fn faults(
        &self,
        options: &FaultsOptions,
    ) -> Result<Vec<&'static Fault>, clap::Error> {
        let refuse = |kind, complaint| Self::command().error(kind, complaint);
        if self.report.is_some() {
            let complaint = "faults has no page with plots, so --report is not for it";
            return Err(refuse(ErrorKind::ArgumentConflict, complaint.to_owned()));
        }
        if self.conditions != Conditions::NONE {
            let complaint =
                "faults measures nothing, so --busy, --cores and --quota are not for it";
            return Err(refuse(ErrorKind::ArgumentConflict, complaint.to_owned()));
        }
        options.chosen().map_err(|complaint| refuse(ErrorKind::InvalidValue, complaint))
    }

    /// An error if this build cannot measure how costs grow, or if conditions were given.
    pub(crate) fn check_scaling(&self) -> Result<(), clap::Error> {
        let complaint = if !counts::IS_COUNTED {
            needs_a_counted_build("scaling", "scaling --timed-by target/release/race")
        } else if self.has_more_than_a_table() {
            "scaling has none of --busy, --cores, --quota, --report and --json".to_owned()
        } else {
            return Ok(());
        };
        Err(Self::command().error(ErrorKind::ArgumentConflict, complaint))
    }

    /// An error if conditions or another output were asked for.
    pub(crate) fn check_jobs(&self) -> Result<(), clap::Error> {
        if !self.has_more_than_a_table() {
            return Ok(());
        }
        let complaint = "jobs has none of --busy, --cores, --quota, --report and --json";
        Err(Self::command().error(ErrorKind::ArgumentConflict, complaint))
    }

    fn has_more_than_a_table(&self) -> bool {
        self.conditions != Conditions::NONE || self.report.is_some() || self.json
    }

    fn chosen(&self) -> Result<Vec<Scenario>, String> {
        self.conditions.check_cores()?;
        if self.count && !counts::IS_COUNTED {
            return Err(needs_a_counted_build("--count", "tiny --count"));
        }
        let Some(command) = &self.command else {
            return Ok(tour::stops(self.conditions));
        };
        let scenario =
            match command {
                Command::RunOne(_)
                | Command::Faults(_)
                | Command::FaultOne(_)
                | Command::Scaling(_)
                | Command::Jobs(_)
                | Command::Compute
                | Command::RemoveGroup(_) => return Ok(Vec::new()),
                Command::Tiny(options) => options.scenario(&tiny::WORKLOAD, |_| ()),
                Command::Nested(options) => options.scenario(&nested::WORKLOAD, |_| ()),
                Command::RoundTrip(options) => options.scenario(&round_trip::WORKLOAD, |_| ()),
                Command::Cpu(options) => options.scenario(&cpu::WORKLOAD, |_| ()),
                Command::Bounded(BoundedOptions { common, queue }) => common
                    .scenario(&bounded::WORKLOAD, |params| params.queue = queue.or(params.queue)),
                Command::Producers(ProducersOptions { common, producers }) => {
                    common.scenario(&producers::WORKLOAD, |params| {
                        params.producers = producers.or(params.producers);
                    })
                }
                Command::Burst(BurstOptions { common, start }) => common
                    .scenario(&burst::WORKLOAD, |params| params.start = start.or(params.start)),
                Command::Sleep(options) => options.scenario(&sleep::WORKLOAD),
                Command::SleepPull(options) => options.scenario(&sleep_pull::WORKLOAD),
                Command::Lateness(options) => options.scenario(&lateness::WORKLOAD),
                Command::Idle(IdleOptions { common, window_ms }) => {
                    common.scenario(&idle::WORKLOAD, |params| {
                        params.window_ms = window_ms.or(params.window_ms);
                    })
                }
            };
        scenario.map(|mut scenario| {
            scenario.params.conditions = self.conditions;
            vec![scenario]
        })
    }
}

impl Options {
    /// The workload as it is by itself, changed by what was given; `more` puts in the rest.
    fn scenario(
        &self,
        workload: &'static Workload,
        more: impl FnOnce(&mut Params),
    ) -> Result<Scenario, String> {
        let mut params = workload.params;
        params.tasks = self.tasks.unwrap_or(params.tasks);
        params.workers = self.workers.unwrap_or(params.workers);
        more(&mut params);
        if params.runtime.is_none() && params.workers > MOST_THREADS {
            return Err(format!("--workers of {} goes to {MOST_THREADS}", workload.name));
        }
        let rounds = self.rounds.unwrap_or(workload.rounds);
        let mut scenario = Scenario::with_all(workload, params, rounds);
        if !self.only.is_empty() {
            scenario.keep_only(&self.only)?;
        }
        Ok(scenario)
    }
}

impl FuturesOptions {
    fn scenario(&self, workload: &'static Workload) -> Result<Scenario, String> {
        let runtime = self.runtime;
        self.common.scenario(workload, |params| params.runtime = runtime.or(params.runtime))
    }
}

impl Order {
    pub(crate) fn params(&self) -> Params {
        Params {
            queue: self.queue,
            producers: self.producers,
            start: self.start,
            runtime: self.runtime,
            window_ms: self.window_ms,
            ..Params::of(self.tasks, self.workers)
        }
    }
}

fn needs_a_counted_build(what: &str, arguments: &str) -> String {
    format!("{what} needs a build that counts:\n\n  {} {arguments}", counts::BUILD)
}

pub(crate) fn within<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> RangedU64ValueParser<T> {
    RangedU64ValueParser::new().range(range)
}

#[cfg(test)]
mod tests;
