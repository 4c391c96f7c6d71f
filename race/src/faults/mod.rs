//! Known faults of other pools, and formic in the same programs: `race faults`.
//!
//! The program of a fault gets the calls of a pool, and counts how often the fault shows. It runs once
//! with the peer and once with formic, each time in a child process with a time limit.

mod early_join;
mod finding;
mod order;
mod over_cap;
mod panicked;
mod random;
mod report;
mod run;
mod stranded;

use std::time::Duration;

pub(crate) use self::finding::Finding;
pub(crate) use self::order::{FaultOrder, obey};
pub(crate) use self::report::{Row, json, text};
pub(crate) use self::run::{FaultsOptions, run};

use crate::failure::Failure;

/// A task as the programs make it.
type Task = Box<dyn FnOnce() + Send>;

/// The program of a fault with one pool. Returns what it counted.
type Program = fn(Length) -> Result<Finding, Failure>;

/// One row of the table: a fault, and the peer that has it.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The name of the row on the command line.
    name: &'static str,
    /// The fault, in a clause.
    about: &'static str,
    /// The crate that has the fault.
    peer: &'static str,
    /// The behaviour of a pool without the fault.
    expected: &'static str,
    /// The plural of the checks that the program counts, such as `joins`.
    unit: &'static str,
    /// The fault as the end of a sentence that begins with the unit.
    wrong: &'static str,
    with_peer: Program,
    with_formic: Program,
}

/// All rows, in the order of the table.
static ALL: [&Fault; 5] = [
    &early_join::RUSTY_POOL,
    &stranded::RUSTY_POOL,
    &stranded::THREADFIN,
    &over_cap::THREADPOOL,
    &panicked::FUTURES,
];

/// How long a program goes on. Programs of many rounds end by time, so that a slow machine does fewer
/// rounds and its run is not taken for one that hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// Long enough for the fault to show.
    Full,
    /// Only long enough to see that the command works.
    Short,
}

impl Length {
    /// How long a program may begin new rounds.
    fn time(self) -> Duration {
        match self {
            Self::Full => Duration::from_secs(5),
            Self::Short => Duration::from_millis(200),
        }
    }
}
