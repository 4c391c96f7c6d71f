//! Settings that a pool cannot have, and workers that could not be started for them.

use std::error::Error;
use std::fmt;
use std::io;

use crate::engine::NoStart;

/// A setting that a pool cannot have. Every variant names the setting and the value.
///
/// # Examples
///
/// ```
/// use formic::{BuildError, Pool};
///
/// let error = Pool::builder().workers(5..=2).build().unwrap_err();
/// assert!(matches!(error, BuildError::Workers { minimum: 5, capacity: 2 }));
/// assert_eq!(error.to_string(), "workers: the minimum 5 is above the capacity 2");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// `workers(0)`: a pool without workers could not run anything.
    NoWorkers,
    /// `workers(minimum..=capacity)` with the minimum above the capacity.
    Workers {
        /// What was asked for as the minimum.
        minimum: usize,
        /// What was asked for as the capacity.
        capacity: usize,
    },
    /// More workers than a pool may have.
    TooManyWorkers {
        /// What was asked for.
        workers: usize,
        /// The most that is possible: [`Builder::MAX_WORKERS`](crate::Builder::MAX_WORKERS).
        limit: usize,
    },
    /// `stack_size` below what a thread can live on.
    StackSize {
        /// What was asked for, in bytes.
        bytes: usize,
        /// The least that is possible.
        least: usize,
    },
    /// `prestart` above the capacity.
    Prestart {
        /// What was asked for.
        workers: usize,
        /// The capacity.
        capacity: usize,
    },
    /// `keep_alive(Duration::ZERO)`: workers would be gone before they could be reused.
    KeepAlive,
    /// `growth` with a step of zero, which would change nothing.
    GrowthStep,
    /// `growth` with a mark that is no load: not from 0 to 1.
    GrowthMark {
        /// `"grow_at"` or `"shrink_at"`.
        mark: &'static str,
        /// What was asked for.
        load: f64,
    },
    /// `growth` with `shrink_at` not below `grow_at`: the pool could not rest in between.
    GrowthOrder {
        /// Where it was to grow.
        grow_at: f64,
        /// Where it was to shrink.
        shrink_at: f64,
    },
    /// `growth` by load for a queue without a load: its length is zero, or it has no bound.
    GrowthQueue {
        /// The queue that was asked for; `None` if it has no bound.
        queue: Option<usize>,
    },
    /// `preallocate` for a queue or a crew without a bound: there is no end to it.
    Preallocate {
        /// The setting that has no bound: `"queue_unbounded"` or `"unlimited"`.
        unbounded: &'static str,
    },
    /// `preallocate` for a queue that is too long to be reserved.
    TooLong {
        /// The queue that was asked for.
        queue: usize,
        /// The longest that can be reserved.
        limit: usize,
    },
    /// `name` with a NUL byte, which no thread can have.
    Name(String),
    /// A pool of futures was built outside of a runtime, and was not given one.
    NoRuntime,
    /// A pool of futures was built on a runtime that has shut down.
    RuntimeGone,
    /// `own_threads(0)`: nobody would drive the futures of such a pool.
    NoThreads,
    /// `own_threads` with more of them than a pool of futures may have.
    TooManyThreads {
        /// What was asked for.
        threads: usize,
        /// The most that is possible.
        limit: usize,
    },
    /// A setting for threads, of a pool of futures whose threads are those of a runtime.
    NoOwnThreads {
        /// The setting: `"stack_size"`, `"on_worker_start"` or `"on_worker_stop"`.
        setting: &'static str,
    },
    /// `when_full(WhenFull::CallerRuns)` for a pool of futures: whoever submits could only run a future
    /// by waiting for its end, and then it might as well await it without a pool.
    CallerRuns,
    /// A thread for the minimum or for `prestart` could not be started.
    Thread(io::Error),
    /// `build_global` when there is a global pool: it was built, or used, before.
    GlobalExists,
    /// A [`Multi`](crate::Multi) of no shards: nothing could be submitted to it.
    NoShards,
}

impl From<NoStart> for BuildError {
    fn from(error: NoStart) -> Self {
        match error {
            NoStart::Thread(error) => BuildError::Thread(error),
            NoStart::RuntimeGone => BuildError::RuntimeGone,
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::NoWorkers => f.write_str("workers: 0 workers cannot run anything"),
            BuildError::Workers { minimum, capacity } => {
                write!(f, "workers: the minimum {minimum} is above the capacity {capacity}")
            }
            BuildError::TooManyWorkers { workers, limit } => {
                write!(f, "workers: {workers} is above the limit of {limit}")
            }
            BuildError::StackSize { bytes, least } => {
                write!(f, "stack_size: {bytes} bytes are not enough, the least is {least}")
            }
            BuildError::Prestart { workers, capacity } => {
                write!(f, "prestart: {workers} is above the capacity {capacity}")
            }
            BuildError::KeepAlive => f.write_str(
                "keep_alive: zero leaves no worker to be reused; use None to keep them for good",
            ),
            BuildError::GrowthStep => f.write_str("growth: a step of 0 would change nothing"),
            BuildError::GrowthMark { mark, load } => {
                write!(f, "growth: {mark} is {load}, and must be from 0.0 to 1.0")
            }
            BuildError::GrowthOrder { grow_at, shrink_at } => {
                write!(f, "growth: shrink_at {shrink_at} must be below grow_at {grow_at}")
            }
            BuildError::GrowthQueue { queue: None } => {
                f.write_str("growth: a queue without a bound has no load; set one with `queue`")
            }
            BuildError::GrowthQueue { queue: Some(queue) } => {
                write!(f, "growth: a queue of {queue} has no load; make it longer with `queue`")
            }
            BuildError::Preallocate { unbounded } => {
                write!(f, "preallocate: nothing can be reserved for `{unbounded}`")
            }
            BuildError::TooLong { queue, limit } => {
                write!(f, "preallocate: a queue of {queue} is above the limit of {limit}")
            }
            BuildError::Name(name) => write!(f, "name: {name:?} contains a NUL byte"),
            BuildError::NoRuntime => f.write_str(
                "runtime: there is no tokio runtime here; build the pool inside of one \
                 (`Runtime::enter` does), give the builder its handle with `runtime`, or have \
                 `own_threads`",
            ),
            BuildError::RuntimeGone => f.write_str("runtime: the tokio runtime has shut down"),
            BuildError::NoThreads => f.write_str("own_threads: 0 threads cannot run anything"),
            BuildError::TooManyThreads { threads, limit } => {
                write!(f, "own_threads: {threads} is above the limit of {limit}")
            }
            BuildError::NoOwnThreads { setting } => write!(
                f,
                "{setting}: the threads are the runtime's; set it there, or have `own_threads`"
            ),
            BuildError::CallerRuns => {
                f.write_str("when_full: a pool of futures has no CallerRuns; choose Wait or Refuse")
            }
            BuildError::Thread(error) => write!(f, "a worker could not be started: {error}"),
            BuildError::GlobalExists => {
                f.write_str("build_global: the global pool exists; build it before its first use")
            }
            BuildError::NoShards => f.write_str("shards: 0 shards cannot run anything"),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            BuildError::Thread(error) => Some(error),
            _ => None,
        }
    }
}

/// A capacity that a pool cannot be given.
///
/// # Examples
///
/// ```
/// use formic::{Pool, ResizeError};
///
/// let pool = Pool::builder().workers(4..=8).build()?;
/// let error = pool.resize(2).unwrap_err();
/// assert_eq!(error, ResizeError::BelowMinimum { workers: 2, minimum: 4 });
/// assert_eq!(error.to_string(), "resize: 2 is below the minimum 4");
/// # Ok::<(), formic::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResizeError {
    /// `resize(0)`: a pool without workers could not run anything. Use `close` to stop it.
    NoWorkers,
    /// Below the minimum that the pool was built with.
    BelowMinimum {
        /// What was asked for.
        workers: usize,
        /// The pool's minimum.
        minimum: usize,
    },
    /// More workers than a pool may have.
    TooManyWorkers {
        /// What was asked for.
        workers: usize,
        /// The most that is possible.
        limit: usize,
    },
}

impl fmt::Display for ResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResizeError::NoWorkers => {
                f.write_str("resize: 0 workers cannot run anything; use `close` to stop a pool")
            }
            ResizeError::BelowMinimum { workers, minimum } => {
                write!(f, "resize: {workers} is below the minimum {minimum}")
            }
            ResizeError::TooManyWorkers { workers, limit } => {
                write!(f, "resize: {workers} is above the limit of {limit}")
            }
        }
    }
}

impl Error for ResizeError {}

/// Workers that could not be started ahead of time.
///
/// # Examples
///
/// ```
/// use formic::{Pool, PrestartError};
///
/// let pool = Pool::new(4);
/// let error = pool.prestart(5).unwrap_err();
/// assert!(matches!(error, PrestartError::AboveCapacity { workers: 5, capacity: 4 }));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum PrestartError {
    /// More than the capacity.
    AboveCapacity {
        /// What was asked for.
        workers: usize,
        /// The capacity.
        capacity: usize,
    },
    /// The pool is closed.
    Closed,
    /// A thread could not be started. Those that were started stay.
    Thread(io::Error),
    /// The runtime of a pool of futures has shut down.
    RuntimeGone,
}

impl From<NoStart> for PrestartError {
    fn from(error: NoStart) -> Self {
        match error {
            NoStart::Thread(error) => PrestartError::Thread(error),
            NoStart::RuntimeGone => PrestartError::RuntimeGone,
        }
    }
}

impl fmt::Display for PrestartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrestartError::AboveCapacity { workers, capacity } => {
                write!(f, "prestart: {workers} is above the capacity {capacity}")
            }
            PrestartError::Closed => f.write_str("prestart: the pool is closed"),
            PrestartError::Thread(error) => write!(f, "a worker could not be started: {error}"),
            PrestartError::RuntimeGone => f.write_str("the runtime of the pool has shut down"),
        }
    }
}

impl Error for PrestartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            PrestartError::Thread(error) => Some(error),
            _ => None,
        }
    }
}
