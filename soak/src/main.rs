//! `soak`: every kind of pool, driven at random for a given time, and checked after every phase against
//! books that the tasks keep themselves.
//!
//! What it checks: each task is accounted for exactly once; no more run at one instant than the
//! capacity allows; when an outcome shows, everything the task owned is gone; the figures add up at
//! every sample and are those of the books at the end; no thread, no reference and no memory is left;
//! nothing hangs.

#![forbid(unsafe_code)]

mod cli; // what was asked for
mod plan; // what a phase will be, from the seed and its number
mod settings; // .. and its pool
mod random;
mod phase; // a phase, from its pool's first task to the last trace of it
mod drivers; // .. for each kind of pool
mod host; // any pool of threads
mod errand; // .. and what its tasks do
mod async_errand; // any pool of futures, and what these do
mod books; // what became of every task
mod floor; // how many run at once
mod watch; // whether anything happens at all
mod memory; // how much of the heap is in use
mod progress;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;

use cli::Cli;
use memory::Leftovers;
use phase::Tally;
use plan::Plan;
use progress::Progress;
use watch::Watch;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let seed = cli.seed();
    println!("seed {seed}");
    let (watch, current) = (Watch::default(), Arc::new(AtomicU64::new(0)));
    let hanging = Arc::clone(&current);
    watch.guard(move |text| {
        let phase = hanging.load(Ordering::Relaxed);
        report_failure(&Plan::new(seed, phase), &[text], seed);
        // The phase would hang for ever.
        std::process::exit(1);
    });
    report_panics(seed, &current);
    let begun = Instant::now();
    let done = run_phases(&cli, seed, &watch, &current);
    match done {
        Some(done) => {
            report(&cli, seed, done, watch.beats(), begun.elapsed());
            ExitCode::SUCCESS
        }
        None => ExitCode::FAILURE,
    }
}

/// Runs phases until the time is over, or one of them fails.
fn run_phases(cli: &Cli, seed: u64, watch: &Watch, current: &AtomicU64) -> Option<Tally> {
    let (begun, mut done) = (Instant::now(), Tally::default());
    let (progress, mut leftovers) = (Progress::over(cli.time()), Leftovers::default());
    for number in 0.. {
        let plan = Plan::new(seed, cli.phase.unwrap_or(number));
        if !cli.includes(plan.kind) {
            continue;
        }
        current.store(plan.number, Ordering::Relaxed);
        progress.announce(&plan, done, begun.elapsed());
        if cli.plans {
            eprintln!("{plan:?}");
        }
        match phase::run(&plan, watch, &mut leftovers) {
            Ok(tally) => done = done.and(tally),
            Err(faults) => {
                progress.finish();
                report_failure(&plan, &faults, seed);
                return None;
            }
        }
        if begun.elapsed() >= cli.time() {
            break;
        }
    }
    progress.finish();
    Some(done)
}

/// Has each panic say in which phase it was. The panics of tasks print nothing, so this is one that must
/// not be, and the process may not survive it.
fn report_panics(seed: u64, current: &Arc<AtomicU64>) {
    let (print, current) = (std::panic::take_hook(), Arc::clone(current));
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        eprintln!("replay: {}", cli::replay(seed, current.load(Ordering::Relaxed)));
    }));
}

fn report_failure(plan: &Plan, faults: &[String], seed: u64) {
    eprintln!("FAILED in phase {}: {plan:#?}", plan.number);
    for fault in faults {
        eprintln!("- {fault}");
    }
    eprintln!("replay: {}", cli::replay(seed, plan.number));
}

fn report(cli: &Cli, seed: u64, done: Tally, operations: u64, time: Duration) {
    let rate = (operations as f64 / time.as_secs_f64()).round();
    if cli.json {
        let line = serde_json::json!({
            "seed": seed, "seconds": time.as_secs_f64(), "phases": done.phases,
            "operations": operations, "operations_per_second": rate, "tasks": done.tasks,
            "ran": done.ran, "cancelled": done.cancelled, "returned": done.returned,
        });
        println!("{line}");
        return;
    }
    println!(
        "{} phases in {:.1} s: {operations} operations, {rate} per second",
        done.phases,
        time.as_secs_f64()
    );
    println!(
        "{} tasks: {} ran, {} were cancelled, {} came back; all are accounted for",
        done.tasks, done.ran, done.cancelled, done.returned
    );
}
