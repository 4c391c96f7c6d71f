//! The child's side: one program with one pool, and one line of JSON about it.

use std::process::ExitCode;

use clap::Args;

use super::run::named;
use super::{Finding, Length};
use crate::failure::Failure;
use crate::run_one;

/// What a child process is told to do.
#[derive(Debug, Args)]
pub(crate) struct FaultOrder {
    fault: String,
    /// Run the program with formic instead of the peer.
    #[arg(long)]
    formic: bool,
    #[arg(long)]
    short: bool,
    /// End with the parent, which holds the other end of standard input.
    #[arg(long)]
    leashed: bool,
}

/// Does what the order says and prints the finding.
pub(crate) fn obey(order: &FaultOrder) -> ExitCode {
    if order.leashed {
        run_one::end_with_the_parent();
    }
    run_one::print(finding(order))
}

fn finding(order: &FaultOrder) -> Result<Finding, Failure> {
    let fault =
        named(&order.fault).ok_or_else(|| Failure::new(format!("no fault '{}'", order.fault)))?;
    let program = if order.formic { fault.with_formic } else { fault.with_peer };
    program(if order.short { Length::Short } else { Length::Full })
}
