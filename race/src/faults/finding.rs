//! The counts of a program with one pool, and how a report says them.

use serde::{Deserialize, Serialize};

use super::Fault;
use crate::failure::Failure;

/// The counts of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// How often the fault could have shown.
    pub(crate) checks: u64,
    /// How often it did.
    pub(crate) faults: u64,
    /// How many tasks ran at once at most, where that is the question.
    pub(crate) most: Option<u64>,
}

impl Finding {
    /// Before the first check.
    pub(super) const NONE: Finding = Finding { checks: 0, faults: 0, most: None };

    /// Adds the counts of another run of the same program.
    pub(super) fn add(&mut self, other: Finding) {
        self.checks += other.checks;
        self.faults += other.faults;
        self.most = self.most.max(other.most);
    }
}

/// The outcome of a program with one pool.
pub(crate) type Seen = Result<Finding, Failure>;

/// Whether the pool came to the end of the program without the fault.
pub(crate) fn is_clean(seen: &Seen) -> bool {
    seen.as_ref().is_ok_and(|finding| finding.faults == 0)
}

/// What was seen, in one line: `3 of 20000 tasks had not run after 500 ms`.
pub(crate) fn in_words(fault: &Fault, seen: &Seen) -> String {
    let Fault { unit, wrong, .. } = fault;
    match seen {
        Ok(Finding { checks, faults: 0, most }) => {
            format!("not seen in {checks} {unit}{}", at_once(*most))
        }
        Ok(Finding { checks, faults, most }) => {
            format!("{faults} of {checks} {unit} {wrong}{}", at_once(*most))
        }
        Err(failure @ Failure::Hung(_)) => format!("hung: {failure}"),
        Err(failure) => format!("failed: {failure}"),
    }
}

/// What was seen, in a cell of a table: `3 of 20000`.
pub(crate) fn in_short(seen: &Seen) -> String {
    match seen {
        Ok(Finding { checks, faults, .. }) => format!("{faults} of {checks}"),
        Err(Failure::Hung(_)) => "hung".to_owned(),
        Err(_) => "failed".to_owned(),
    }
}

fn at_once(most: Option<u64>) -> String {
    most.map_or_else(String::new, |most| format!(", at most {most} at once"))
}
