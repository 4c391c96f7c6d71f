//! The command line.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;

use crate::plan::Kind;

/// Drive every kind of pool at random, and check each against books of its own.
#[derive(Clone, Debug, Parser)]
#[command(name = "soak", version)]
pub(crate) struct Cli {
    /// How long to go on
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,

    /// Take the decisions of an earlier run again; any number, from the clock unless given
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Only this phase of that run, again and again
    #[arg(long, value_name = "N", requires = "seed")]
    pub(crate) phase: Option<u64>,

    /// Only phases of this kind; may be given more than once
    #[arg(long, value_name = "KIND", conflicts_with = "phase")]
    kind: Vec<Kind>,

    /// Print the plan of each phase before it begins, in case the process does not survive it
    #[arg(long)]
    pub(crate) plans: bool,

    /// Print one JSON object as the last line
    #[arg(long)]
    pub(crate) json: bool,
}

impl Cli {
    /// How long to go on.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// Whether phases of this kind are run.
    pub(crate) fn includes(&self, kind: Kind) -> bool {
        self.kind.is_empty() || self.kind.contains(&kind)
    }

    /// The seed, given or not.
    pub(crate) fn seed(&self) -> u64 {
        let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_nanos());
        self.seed.unwrap_or_else(|| clock() as u64)
    }
}

/// The command that repeats a phase.
pub(crate) fn replay(seed: u64, phase: u64) -> String {
    let release = if cfg!(debug_assertions) { "" } else { " --release" };
    format!("cargo run{release} -p soak -- --seed {seed} --phase {phase}")
}
