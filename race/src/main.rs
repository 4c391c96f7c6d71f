//! `race`: formic beside its peers, on the same work, each in a process of its own.

#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "to choose an allocator is to be one")]
mod allocator;
mod child;
mod cli;
mod conditions;
mod contenders;
mod counts;
mod failure;
mod faults;
mod heat;
mod interrupt;
mod jobs;
mod json;
mod measure;
mod page;
mod progress;
mod report;
mod run_one;
mod scaling;
mod scenario;
mod statistics;
mod surroundings;
mod tour;
mod workloads;
mod yardstick;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use faults::FaultsOptions;
use heat::Heat;
use jobs::JobsOptions;
use progress::Progress;
use scaling::ScalingOptions;
use scenario::Scenario;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match &cli.command {
        Some(Command::RunOne(order)) => run_one::obey(order, cli.conditions, cli.count),
        Some(Command::FaultOne(order)) => faults::obey(order),
        Some(Command::Faults(options)) => look_for_faults(&cli, options),
        Some(Command::Compute) => conditions::compute(cli.conditions.cores),
        Some(Command::RemoveGroup(order)) => conditions::remove_at_the_end(order),
        Some(Command::Scaling(options)) => scale(&cli, options),
        Some(Command::Jobs(options)) => race_jobs(&cli, options),
        _ => race(&cli),
    }
}

/// Looks for the chosen faults, and turns the table into the exit code: 1 when formic showed one.
fn look_for_faults(cli: &Cli, options: &FaultsOptions) -> ExitCode {
    let chosen = cli.faults(options).unwrap_or_else(|error| error.exit());
    let rows = faults::run(&chosen, options, cli.allocator);
    let text = if cli.json { faults::json(&rows) } else { faults::text(&rows) };
    print(&text, rows.iter().all(faults::Row::formic_is_clean))
}

/// Runs the workload that was asked for, or the tour.
fn race(cli: &Cli) -> ExitCode {
    let scenarios = cli.scenarios().unwrap_or_else(|error| error.exit());
    if counts::IS_COUNTED && !cli.count {
        eprintln!("race: this build counts, its times are longer than those of an ordinary one");
    }
    if cfg!(debug_assertions) {
        eprintln!("race: this is a debug build, its figures mean little; use --release");
    }
    if let Err(failure) = cli.conditions.check_quota() {
        eprintln!("race: {failure}");
        return ExitCode::FAILURE;
    }
    if cli.command.is_none() {
        eprintln!("race: the tour takes about {}", tour::DURATION);
    }
    let heats = run_all(scenarios);
    let place = cli.page();
    let page = place.as_deref().map_or(Ok(()), |place| page::write(&heats, place));
    let code = publish(&heats, cli.json);
    match (page, place) {
        (Ok(()), Some(place)) if !cli.json => println!("\nWith plots: {}", place.display()),
        (Err(error), _) => {
            eprintln!("race: the report could not be written: {error}");
            return ExitCode::FAILURE;
        }
        _ => {}
    }
    code
}

/// Prints the tables of `docs/scaling.md`.
fn scale(cli: &Cli, options: &ScalingOptions) -> ExitCode {
    cli.check_scaling().unwrap_or_else(|error| error.exit());
    let progress = Progress::over(scaling::runs(options));
    interrupt::heed(&progress);
    let tables = scaling::tables(options, &progress);
    progress.finish();
    match tables {
        Ok(text) => print(&text, true),
        Err(failure) => {
            eprintln!("race: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the bench of formic-nats, which prints its results.
fn race_jobs(cli: &Cli, options: &JobsOptions) -> ExitCode {
    cli.check_jobs().unwrap_or_else(|error| error.exit());
    match jobs::run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("race: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the scenarios one after another under a single progress bar.
fn run_all(scenarios: Vec<Scenario>) -> Vec<Heat> {
    let progress = Progress::over(scenarios.iter().map(Scenario::runs).sum());
    interrupt::heed(&progress);
    let heats = scenarios
        .into_iter()
        .map(|scenario| {
            // Held while the contenders run in turn, so that the conditions are the same for all.
            let mut imposed = scenario.params.conditions.impose();
            Heat::run(scenario, |scenario, entry| {
                progress.announce(format!("{scenario}: {}", entry.name));
                let result = match &mut imposed {
                    Ok(imposed) => child::sample(scenario, entry, imposed),
                    Err(failure) => Err(failure.clone()),
                };
                progress.advance();
                result
            })
        })
        .collect();
    progress.finish();
    heats
}

/// Prints the results, and turns them into the exit code: 1 when a contender failed.
fn publish(heats: &[Heat], as_json: bool) -> ExitCode {
    let text = if as_json { json::lines(heats) } else { report::text(heats) };
    print(&text, heats.iter().all(Heat::is_complete))
}

/// Prints the text, and returns whether all went well as an exit code.
fn print(text: &str, is_well: bool) -> ExitCode {
    match io::stdout().lock().write_all(text.as_bytes()) {
        // The reader has left, as `head` does; that is no failure of the race.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(error) => {
            eprintln!("race: the results could not be printed: {error}");
            return ExitCode::FAILURE;
        }
        Ok(()) => {}
    }
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
