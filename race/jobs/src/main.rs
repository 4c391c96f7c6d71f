//! Jobs per second through a NATS server with file storage: a bare loop of async-nats, formic-nats and apalis-nats in turns, each
//! in a process of its own.
//!
//! ```sh
//! cargo run --release -- jobs --rounds 5
//! ```
//!
//! That is race, which builds this package and runs it with the number of rounds. It starts a server of its own: the program that `NATS_SERVER` names, or `nats-server`. apalis-nats needs one from 2.12 on; with
//! an older one it is left out.

mod contenders; // what is measured
mod server; // a server of its own

use std::process::{Command, ExitCode};

use server::Server;

/// How many jobs are worked on at once, by each contender.
const PLACES: usize = 64;

/// The two workloads: the number of jobs, and how long each takes, in milliseconds.
const WORKLOADS: [(&str, u64, u64); 2] = [("no-op", 20_000, 0), ("10 ms", 19_200, 10)];

/// `formic-8` fetches eight jobs more than it has free places. `bare-ack` does not wait for confirmations, as apalis does not.
/// `floor` is the least that a client can do; it has no handlers.
const CONTENDERS: [&str; 6] = ["bare", "formic", "formic-8", "bare-ack", "apalis", "floor"];

/// What a run took.
#[derive(Clone, Copy)]
struct Figures {
    seconds: f64,
    cpu_seconds: f64,
    /// The share of the places that had a handler at work, from the start of the first one to the end of the last.
    busy: f64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [contender, url, stream, jobs, pause] = arguments.as_slice() {
        let (jobs, pause) = (jobs.parse().unwrap_or(0), pause.parse().unwrap_or(0));
        return contenders::run(contender, url, stream, jobs, pause);
    }
    let rounds = arguments.first().and_then(|rounds| rounds.parse().ok()).unwrap_or(5);
    let Some(server) = Server::start() else {
        eprintln!("race: no nats-server was found; NATS_SERVER names one");
        return ExitCode::FAILURE;
    };
    println!("{PLACES} places, {rounds} rounds in turns, medians");
    for (name, jobs, pause) in WORKLOADS {
        race(&server, name, jobs, pause, rounds);
    }
    ExitCode::SUCCESS
}

fn race(server: &Server, name: &str, jobs: u64, pause: u64, rounds: usize) {
    let takes_part = |contender: &&str| pause == 0 || *contender != "floor";
    let contenders: Vec<&str> = CONTENDERS.into_iter().filter(takes_part).collect();
    let mut runs = vec![Vec::new(); contenders.len()];
    for round in 0..=rounds {
        for (contender, runs) in contenders.iter().zip(&mut runs) {
            let stream = format!("{contender}-{jobs}-{round}");
            let figures = run_one(contender, &server.url(), &stream, jobs, pause);
            // The first round warms up the server.
            if round > 0 {
                runs.extend(figures);
            }
        }
    }
    println!("\n{name}, {jobs} jobs");
    println!("{:<10} {:>10} {:>14} {:>14} {:>8}", "", "jobs/s", "CPU/job", "time/bare", "busy");
    let bare = median(&runs[0], |figures| figures.seconds);
    for (contender, runs) in contenders.iter().zip(&runs) {
        if runs.is_empty() {
            println!("{contender:<10} did not run");
            continue;
        }
        let seconds = median(runs, |figures| figures.seconds);
        let cpu = median(runs, |figures| figures.cpu_seconds) / jobs as f64 * 1e6;
        let busy = 100.0 * median(runs, |figures| figures.busy);
        let rate = jobs as f64 / seconds;
        print!("{contender:<10} {rate:>10.0} {cpu:>11.1} µs {:>14.2}", seconds / bare);
        if pause > 0 {
            print!(" {busy:>6.1} %");
        }
        println!();
    }
}

/// Runs a contender in a process of its own. It prints its figures.
fn run_one(contender: &str, url: &str, stream: &str, jobs: u64, pause: u64) -> Option<Figures> {
    let (jobs, pause) = (jobs.to_string(), pause.to_string());
    let program = std::env::current_exe().ok()?;
    let output =
        Command::new(program).args([contender, url, stream, &jobs, &pause]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut words = text.split_whitespace().map(str::parse::<f64>);
    let mut next = || words.next().and_then(Result::ok);
    Some(Figures { seconds: next()?, cpu_seconds: next()?, busy: next()? })
}

fn median(runs: &[Figures], figure: impl Fn(&Figures) -> f64) -> f64 {
    let mut figures: Vec<f64> = runs.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
