//! The command line: one subcommand for each workload, and the tour when there is none.

use std::ops::RangeInclusive;

use clap::builder::RangedU64ValueParser;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::scenario::Scenario;
use crate::tour;
use crate::workloads::{Params, Workload, bounded, tiny};

/// More would not fit into the time limit of a run, nor into the memory of many machines.
const TASKS: RangeInclusive<u64> = 1..=100_000_000;
const WORKERS: RangeInclusive<u64> = 1..=10_000;
const QUEUE: RangeInclusive<u64> = 1..=10_000_000;
const ROUNDS: RangeInclusive<u64> = 1..=1000;

/// Race formic beside other thread pools, on the same work, each in a process of its own.
///
/// Without a subcommand: a short tour of all workloads.
#[derive(Debug, Parser)]
#[command(name = "race", version)]
pub(crate) struct Cli {
    /// Print one JSON object per line instead of tables and sentences
    #[arg(long, global = true)]
    pub(crate) json: bool,

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
    /// Run one contender once, in this process; what the other commands start
    #[command(hide = true)]
    RunOne(Order),
}

/// The options all workloads have.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How many tasks the producer hands over
    #[arg(long, value_name = "N", default_value_t = 2_000_000, value_parser = within::<u64>(TASKS))]
    tasks: u64,

    /// How many threads each pool has
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = within::<usize>(WORKERS))]
    workers: usize,

    /// How many rounds are measured, after one more that is thrown away
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = within::<usize>(ROUNDS))]
    rounds: usize,

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
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = within::<usize>(QUEUE))]
    queue: usize,
}

/// What a child process is told to do.
#[derive(Debug, Args)]
pub(crate) struct Order {
    pub(crate) workload: String,
    pub(crate) contender: String,
    #[arg(long, value_parser = within::<u64>(TASKS))]
    pub(crate) tasks: u64,
    #[arg(long, value_parser = within::<usize>(WORKERS))]
    pub(crate) workers: usize,
    #[arg(long, value_parser = within::<usize>(QUEUE))]
    pub(crate) queue: Option<usize>,
    /// End with the parent, which holds the other end of standard input.
    #[arg(long)]
    pub(crate) leashed: bool,
}

impl Cli {
    /// What was asked for, or the complaint to end with.
    pub(crate) fn scenarios(&self) -> Result<Vec<Scenario>, clap::Error> {
        let scenario = match &self.command {
            Some(Command::Tiny(options)) => options.scenario(&tiny::WORKLOAD, None),
            Some(Command::Bounded(options)) => {
                let queue = Some(options.queue);
                options.common.scenario(&bounded::WORKLOAD, queue)
            }
            Some(Command::RunOne(_)) => return Ok(Vec::new()),
            None => return Ok(tour::stops()),
        };
        scenario
            .map(|scenario| vec![scenario])
            .map_err(|complaint| Self::command().error(ErrorKind::InvalidValue, complaint))
    }
}

impl Options {
    fn scenario(
        &self,
        workload: &'static Workload,
        queue: Option<usize>,
    ) -> Result<Scenario, String> {
        let params = Params { tasks: self.tasks, workers: self.workers, queue };
        let mut scenario = Scenario::with_all(workload, params, self.rounds);
        if !self.only.is_empty() {
            scenario.keep_only(&self.only)?;
        }
        Ok(scenario)
    }
}

impl Order {
    pub(crate) fn params(&self) -> Params {
        Params { tasks: self.tasks, workers: self.workers, queue: self.queue }
    }
}

fn within<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> RangedU64ValueParser<T> {
    RangedU64ValueParser::new().range(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_arguments_ask_for_the_tour() {
        let tour = scenarios("").expect("the tour");
        let names: Vec<String> = tour.iter().map(ToString::to_string).collect();
        assert_eq!(
            names,
            [
                "tiny, 2 workers",
                "tiny, 64 workers",
                "bounded, 2 workers, queue 1024",
                "bounded, 2 workers, queue 64",
            ]
        );
    }

    #[test]
    fn only_keeps_the_named_contenders_in_the_usual_order() {
        let scenarios = scenarios("tiny --only rayon,formic").expect("two contenders");
        let names: Vec<&str> = scenarios[0].entries.iter().map(|e| e.name).collect();
        assert_eq!(names, ["formic", "rayon"]);
    }

    #[test]
    fn an_unknown_contender_is_told_with_those_that_exist() {
        let error = scenarios("tiny --only formic,goroutines").expect_err("no such contender");
        assert_eq!(error.exit_code(), 2);
        let message = error.to_string();
        assert!(message.contains("no contender 'goroutines' in tiny"));
        assert!(message.contains("rusty_pool"));
    }

    #[test]
    fn a_value_out_of_range_is_refused() {
        for line in [
            "tiny --tasks 0",
            "tiny --tasks 100000001",
            "tiny --tasks many",
            "tiny --workers 0",
            "tiny --rounds 0",
            "bounded --queue 0",
            "bounded --only rusty_pool",
            "tiny --only=",
            "tiny --queue 4",
            "giant",
        ] {
            let error = scenarios(line).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }

    fn scenarios(line: &str) -> Result<Vec<Scenario>, clap::Error> {
        let arguments = ["race"].into_iter().chain(line.split_whitespace());
        Cli::try_parse_from(arguments)?.scenarios()
    }
}
