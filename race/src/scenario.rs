//! A scenario: a workload at one size, and those who take part in it.

use std::fmt;

use crate::workloads::{Entry, Params, Workload};

/// What is about to be raced.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) workload: &'static Workload,
    pub(crate) params: Params,
    /// Measured rounds; one more runs before them, to warm up.
    pub(crate) rounds: usize,
    pub(crate) entries: Vec<&'static Entry>,
}

impl Scenario {
    /// With all contenders of the workload.
    pub(crate) fn with_all(workload: &'static Workload, params: Params, rounds: usize) -> Self {
        Self { workload, params, rounds, entries: workload.entries.iter().collect() }
    }

    /// Only those named, in the workload's order; an unknown name is told with those that exist.
    pub(crate) fn keep_only(&mut self, names: &[String]) -> Result<(), String> {
        let workload = self.workload;
        if let Some(unknown) = names.iter().find(|name| workload.entry(name).is_none()) {
            return Err(format!(
                "no contender '{unknown}' in {}; there are: {}",
                workload.name,
                workload.contenders()
            ));
        }
        self.entries.retain(|entry| names.iter().any(|name| name == entry.name));
        Ok(())
    }

    /// How many child processes it takes: the warm-up and each round, for each contender.
    pub(crate) fn runs(&self) -> usize {
        (self.rounds + 1) * self.entries.len()
    }
}

/// Names the workload and its sizes: `bounded, 2 workers, queue 1024`.
impl fmt::Display for Scenario {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, {}", self.workload.name, self.params.in_words())
    }
}
