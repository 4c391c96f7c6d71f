//! The parent's side: each program in a child process of its own, with the peer and with formic.

use std::time::Duration;

use clap::Args;

use super::finding::Seen;
use super::report::Row;
use super::{ALL, Fault};
use crate::allocator::Allocator;
use crate::child;
use crate::interrupt;
use crate::progress::Progress;

/// Far longer than any program goes on; only one that hangs is stopped.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The options of `race faults`.
#[derive(Debug, Args)]
pub(crate) struct FaultsOptions {
    /// Look for these faults only, by name
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    only: Vec<String>,

    /// A fraction of a second for each program: to see that it works, not to find faults
    #[arg(long)]
    short: bool,
}

impl FaultsOptions {
    /// The chosen faults, or the complaint about a name that does not exist.
    pub(crate) fn chosen(&self) -> Result<Vec<&'static Fault>, String> {
        if let Some(unknown) = self.only.iter().find(|name| named(name).is_none()) {
            let names: Vec<&str> = ALL.iter().map(|fault| fault.name).collect();
            return Err(format!("no fault '{unknown}'; there are: {}", names.join(", ")));
        }
        let is_chosen =
            |fault: &Fault| self.only.is_empty() || self.only.iter().any(|name| name == fault.name);
        Ok(ALL.into_iter().filter(|fault| is_chosen(fault)).collect())
    }
}

pub(super) fn named(name: &str) -> Option<&'static Fault> {
    ALL.into_iter().find(|fault| fault.name == name)
}

/// Runs the program of each fault with its peer and with formic.
pub(crate) fn run(
    faults: &[&'static Fault],
    options: &FaultsOptions,
    allocator: Allocator,
) -> Vec<Row> {
    let progress = Progress::over(faults.len() * 2);
    interrupt::heed(&progress);
    let seen_with = |fault: &Fault, pool: &str, more: &[&str]| {
        progress.announce(format!("{}: {pool}", fault.name));
        let seen = seen(fault, options, allocator, more);
        progress.advance();
        seen
    };
    let rows = faults.iter().map(|fault| Row {
        fault,
        peer: seen_with(fault, fault.peer, &[]),
        formic: seen_with(fault, "formic", &["--formic"]),
    });
    let rows = rows.collect();
    progress.finish();
    rows
}

/// Runs one program in a child process.
fn seen(fault: &Fault, options: &FaultsOptions, allocator: Allocator, more: &[&str]) -> Seen {
    let mut command = child::this_program(allocator)?;
    command.args(["fault-one", fault.name, "--leashed"]).args(more);
    if options.short {
        command.arg("--short");
    }
    child::result_within(command, TIME_LIMIT)
}
