//! A failure: why one contender has no result, in words for the report.

use std::fmt;
use std::time::Duration;

/// Why a run gave no figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The run had not ended at its time limit.
    Hung(Duration),
    /// Anything else, in words.
    Other(String),
}

impl Failure {
    /// A failure that is told by anything that can be printed, such as an error.
    pub(crate) fn new(reason: impl fmt::Display) -> Self {
        Self::Other(reason.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hung(limit) => write!(formatter, "stopped after {} seconds", limit.as_secs_f64()),
            Self::Other(reason) => formatter.write_str(reason),
        }
    }
}
