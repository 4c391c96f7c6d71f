//! The workloads: what there is to do, and who takes part. One file each.

pub(crate) mod bounded;
pub(crate) mod tally;
pub(crate) mod tiny;

use serde::Serialize;

use crate::failure::Failure;
use crate::measure::Sample;

/// All workloads, by the names their subcommands bear.
pub(crate) static ALL: &[&Workload] = &[&tiny::WORKLOAD, &bounded::WORKLOAD];

/// A piece of work, and the contenders that can do it.
#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) entries: &'static [Entry],
}

/// A contender entered for a workload.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) role: Role,
    /// Does the workload once, in this process.
    pub(crate) run: fn(&Params) -> Result<Sample, Failure>,
}

/// How a contender counts in the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The one that is compared to the fastest peer.
    Formic,
    /// Another way to use formic: shown, not compared.
    Variant,
    /// One of those that formic is compared to.
    Peer,
}

/// The sizes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Params {
    pub(crate) tasks: u64,
    pub(crate) workers: usize,
    /// The bound of the queue, in the workloads that set one.
    pub(crate) queue: Option<usize>,
}

impl Workload {
    /// The workload called `name`.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|workload| workload.name == name).copied()
    }

    /// The contender called `name`.
    pub(crate) fn entry(&'static self, name: &str) -> Option<&'static Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The names of all contenders, for messages.
    pub(crate) fn contenders(&self) -> String {
        let names: Vec<&str> = self.entries.iter().map(|entry| entry.name).collect();
        names.join(", ")
    }
}

impl Params {
    /// The bound of the queue, for a contender that cannot do without.
    pub(crate) fn bound(&self) -> Result<usize, Failure> {
        self.queue.ok_or_else(|| Failure::new("this contender needs --queue"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_and_every_contender_is_found_by_its_name() {
        for workload in ALL {
            let found = Workload::named(workload.name).expect("a workload");
            assert_eq!(found.name, workload.name);
            for entry in workload.entries {
                let found = found.entry(entry.name).expect("a contender");
                assert!(std::ptr::eq(found, entry), "{} is there twice", entry.name);
            }
        }
    }

    #[test]
    fn every_workload_compares_one_formic_to_peers() {
        for workload in ALL {
            let count = |role| workload.entries.iter().filter(|e| e.role == role).count();
            assert_eq!(count(Role::Formic), 1, "{}", workload.name);
            assert!(count(Role::Peer) > 1, "{}", workload.name);
        }
    }

    #[test]
    fn every_contender_runs_every_task_once() {
        let params = Params { tasks: 1000, workers: 2, queue: Some(8) };
        for entry in ALL.iter().flat_map(|workload| workload.entries) {
            let sample = (entry.run)(&params);
            assert!(sample.is_ok(), "{}: {sample:?}", entry.name);
        }
    }
}
