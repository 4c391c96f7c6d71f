//! The workloads: what there is to do, and who takes part. One file each.

pub(crate) mod bounded;
pub(crate) mod burst;
pub(crate) mod cpu;
pub(crate) mod histogram;
pub(crate) mod idle;
pub(crate) mod lateness;
pub(crate) mod nested;
pub(crate) mod params;
pub(crate) mod producers;
pub(crate) mod round_trip;
pub(crate) mod sleep;
pub(crate) mod sleep_pull;
pub(crate) mod tally;
pub(crate) mod tiny;

pub(crate) use self::params::{Params, Runtime, Start};

use crate::failure::Failure;
use crate::measure::Sample;
use crate::yardstick::Yardstick;

/// All workloads, by the names their subcommands bear.
pub(crate) static ALL: &[&Workload] = &[
    &tiny::WORKLOAD,
    &bounded::WORKLOAD,
    &producers::WORKLOAD,
    &nested::WORKLOAD,
    &round_trip::WORKLOAD,
    &burst::WORKLOAD,
    &cpu::WORKLOAD,
    &sleep::WORKLOAD,
    &sleep_pull::WORKLOAD,
    &lateness::WORKLOAD,
    &idle::WORKLOAD,
];

/// A piece of work, and the contenders that can do it.
#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// What is done, in a sentence.
    pub(crate) about: &'static str,
    pub(crate) yardstick: Yardstick,
    /// The sizes and the measured rounds when nothing else is asked for.
    pub(crate) params: Params,
    pub(crate) rounds: usize,
    pub(crate) entries: &'static [Entry],
}

/// A contender entered for a workload.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) role: Role,
    /// How it is set up, for the report.
    pub(crate) settings: &'static str,
    /// Does the workload once, in this process.
    pub(crate) run: Run,
}

/// One run of a contender.
pub(crate) type Run = fn(&Params) -> Result<Sample, Failure>;

/// How a contender counts in the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The one that is compared to the fastest peer.
    Formic,
    /// Another way to use formic: shown, not compared.
    Variant,
    /// One of those that formic is compared to.
    Peer,
    /// Something else that does the work but is no pool, or does less: shown, not compared.
    Beside,
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

impl Entry {
    pub(crate) const fn formic(settings: &'static str, run: Run) -> Self {
        Self { name: "formic", role: Role::Formic, settings, run }
    }

    pub(crate) const fn variant(name: &'static str, settings: &'static str, run: Run) -> Self {
        Self { name, role: Role::Variant, settings, run }
    }

    pub(crate) const fn peer(name: &'static str, settings: &'static str, run: Run) -> Self {
        Self { name, role: Role::Peer, settings, run }
    }

    pub(crate) const fn beside(name: &'static str, settings: &'static str, run: Run) -> Self {
        Self { name, role: Role::Beside, settings, run }
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
                assert!(!entry.settings.is_empty(), "{}", entry.name);
            }
        }
    }

    #[test]
    fn every_workload_compares_one_formic_to_peers() {
        for workload in ALL {
            let count = |role| workload.entries.iter().filter(|e| e.role == role).count();
            assert_eq!(count(Role::Formic), 1, "{}", workload.name);
            assert!(count(Role::Peer) > 0, "{}", workload.name);
        }
    }

    #[test]
    fn every_contender_runs_every_task_once_and_tells_what_decides() {
        for workload in ALL {
            let params = small(workload.params);
            for entry in workload.entries {
                let sample = (entry.run)(&params);
                let name = format!("{} in {}", entry.name, workload.name);
                let sample = sample.unwrap_or_else(|failure| panic!("{name}: {failure}"));
                let decisive = workload.yardstick.of(&sample, params.tasks);
                assert!(decisive.is_some(), "{name}: {sample:?}");
            }
        }
    }

    #[test]
    fn futures_run_on_one_thread_as_well() {
        for workload in ALL.iter().filter(|workload| workload.params.runtime.is_some()) {
            let runtime = Some(Runtime::CurrentThread);
            let params = Params { runtime, ..small(workload.params) };
            for entry in workload.entries {
                let sample = (entry.run)(&params);
                assert!(sample.is_ok(), "{} in {}: {sample:?}", entry.name, workload.name);
            }
        }
    }

    #[test]
    fn a_warm_pool_runs_every_task_once() {
        let params = Params { start: Some(Start::Warm), ..small(burst::WORKLOAD.params) };
        for entry in burst::WORKLOAD.entries {
            let sample = (entry.run)(&params);
            assert!(sample.is_ok(), "{}: {sample:?}", entry.name);
        }
    }

    /// Sizes at which a test can afford every contender.
    fn small(params: Params) -> Params {
        let (tasks, workers) = match params {
            Params { runtime: Some(_), .. } => (200, 100),
            // Each task blocks.
            Params { start: Some(_), .. } => (32, 8),
            _ => (500, 8),
        };
        Params {
            tasks: params.tasks.min(tasks),
            workers: params.workers.min(workers),
            queue: params.queue.map(|_| 8),
            window_ms: params.window_ms.map(|_| 20),
            ..params
        }
    }
}
