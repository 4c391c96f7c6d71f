//! The sizes and settings of a run, and how they travel to a child process.

use clap::ValueEnum;
use serde::Serialize;

use crate::allocator::Allocator;
use crate::conditions::Conditions;
use crate::failure::Failure;

/// The sizes of a run. What a workload does not know is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Params {
    pub(crate) tasks: u64,
    /// Threads, or futures that are under way at once.
    pub(crate) workers: usize,
    /// The bound of the queue, in the workloads that set one.
    pub(crate) queue: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) producers: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<Start>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) runtime: Option<Runtime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) window_ms: Option<u64>,
    pub(crate) allocator: Allocator,
    #[serde(flatten)]
    pub(crate) conditions: Conditions,
    /// Whether each run tells what it has counted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) count: bool,
}

/// Whether the pool has worked before the clock starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Start {
    /// The pool is built while the clock runs.
    Cold,
    /// The same work has been done once before.
    Warm,
}

/// What drives the futures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Runtime {
    /// Two threads of the runtime, and the producer on a third.
    TwoThreads,
    /// One thread for everything, the producer included.
    CurrentThread,
}

impl Params {
    /// Nothing but the two sizes that every workload has.
    pub(crate) const fn of(tasks: u64, workers: usize) -> Self {
        Self {
            tasks,
            workers,
            queue: None,
            producers: None,
            start: None,
            runtime: None,
            window_ms: None,
            allocator: Allocator::System,
            conditions: Conditions::NONE,
            count: false,
        }
    }

    /// The bound of the queue, for a contender that cannot do without.
    pub(crate) fn bound(&self) -> Result<usize, Failure> {
        self.queue.ok_or_else(|| Failure::new("this contender needs --queue"))
    }

    /// The arguments that tell a child process all of this but the allocator and the conditions.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let Self { tasks, workers, queue, producers, start, runtime, window_ms, .. } = self;
        let given = [
            Some(("--tasks", tasks.to_string())),
            Some(("--workers", workers.to_string())),
            queue.map(|bound| ("--queue", bound.to_string())),
            producers.map(|threads| ("--producers", threads.to_string())),
            start.map(|start| ("--start", start.to_string())),
            runtime.map(|runtime| ("--runtime", runtime.to_string())),
            window_ms.map(|time| ("--window-ms", time.to_string())),
        ];
        let given = given.into_iter().flatten();
        let given = given.flat_map(|(flag, value)| [flag.to_owned(), value]);
        given.chain(self.count.then(|| "--count".to_owned())).collect()
    }

    /// The settings beside the number of tasks, for a title: `2 workers, queue 1024`.
    pub(crate) fn in_words(&self) -> String {
        let count = |number: usize, thing: &str| match number {
            1 => format!("1 {thing}"),
            _ => format!("{number} {thing}s"),
        };
        let words = [
            Some(match self.runtime {
                Some(_) => format!("{} at once", self.workers),
                None => count(self.workers, "worker"),
            }),
            self.queue.map(|bound| format!("queue {bound}")),
            self.producers.map(|threads| count(threads, "producer")),
            self.start.map(|start| start.to_string()),
            self.runtime.map(|runtime| runtime.to_string()),
        ];
        let words = words.into_iter().flatten();
        let words: Vec<String> = words.chain(self.conditions.in_words()).collect();
        words.join(", ")
    }
}

/// As on the command line.
impl std::fmt::Display for Start {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
        })
    }
}

/// As on the command line.
impl std::fmt::Display for Runtime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::TwoThreads => "two-threads",
            Self::CurrentThread => "current-thread",
        })
    }
}
