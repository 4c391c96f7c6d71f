//! Where a pool of futures runs: on a runtime of the user, or on threads of its own.
//!
//! The threads of a runtime share its timers and sockets, under one lock. Two drivers whose futures do little
//! but wait meet there all the time, so that one alone is faster: see the engine's watchdog. On threads of the
//! pool's own each driver has a runtime to itself. They share nothing but what they take from the queue, and
//! stay apart, unless one of them is stuck.

use std::future::Future;
use std::sync::Arc;

use tokio::runtime::{Builder, Handle, Runtime};

use super::runtime::{check_runtime, start_driver, start_thread};
use crate::engine::{DriverThreads, Drives, Engine, Executor, NoStart};
use crate::error::BuildError;

/// More threads than this a pool of futures has not: each may look at the run queues of all others.
const MOST_THREADS: usize = 1024;

/// See the module's first lines.
pub(crate) enum Host {
    /// A runtime that others may use, too.
    Runtime(Handle),
    /// So many threads, each of which has a runtime for one driver.
    OwnThreads(usize),
}

/// The runtime of one thread. It ends without waiting for what was given to `spawn_blocking`: a drain does not
/// wait for that either. It may also have to end inside a task, where tokio lets no thread block: there a driver
/// starts others, and if one cannot have a thread its runtime is not needed.
pub(super) struct OwnRuntime(Option<Runtime>);

impl Host {
    /// The runtime that this is called in.
    pub(super) fn current() -> Result<Self, BuildError> {
        Handle::try_current().map(Host::Runtime).map_err(|_| {
            let problem =
                "no tokio runtime is entered here, and neither `runtime` nor `own_threads` is set";
            BuildError::of("runtime", problem)
        })
    }

    pub(super) fn of_threads(threads: usize) -> Result<Self, BuildError> {
        match threads {
            0 => Err(BuildError::of("own_threads", "0 threads cannot run anything")),
            1..=MOST_THREADS => Ok(Host::OwnThreads(threads)),
            _ => {
                let problem = format!("{threads} is above the limit of {MOST_THREADS}");
                Err(BuildError::of("own_threads", problem))
            }
        }
    }

    /// As many drivers as there are threads, so that all of them have something to do, and no more,
    /// because a driver's futures are cheap and a driver is not.
    pub(super) fn executor(&self) -> Arc<Executor> {
        match self {
            Host::Runtime(runtime) => {
                Executor::new(runtime.metrics().num_workers().max(1), DriverThreads::Shared)
            }
            Host::OwnThreads(threads) => Executor::new(*threads, DriverThreads::Own),
        }
    }

    /// Starts a driver. An error if the runtime is no more, or no thread can be had.
    pub(super) fn start<W: Drives>(
        &self,
        engine: &Arc<Engine<W>>,
        index: usize,
    ) -> Result<(), NoStart> {
        match self {
            Host::Runtime(runtime) => start_driver(engine, index, runtime),
            Host::OwnThreads(_) => {
                let runtime =
                    Builder::new_current_thread().enable_all().build().map_err(NoStart::Thread)?;
                let handle = runtime.handle().clone();
                start_thread(engine, index, OwnRuntime(Some(runtime)), &handle)
            }
        }
    }

    /// An error if the runtime is no more.
    pub(super) fn check_start(&self) -> Result<(), NoStart> {
        match self {
            Host::Runtime(runtime) => check_runtime(runtime),
            Host::OwnThreads(_) => Ok(()),
        }
    }

    /// The runtime whose timers tell when a call has taken too long. The pool's own threads keep theirs to
    /// themselves, because these end with them: then it is whatever runtime this is called in, if any.
    pub(super) fn timers(&self) -> Option<Handle> {
        match self {
            Host::Runtime(runtime) => Some(runtime.clone()),
            Host::OwnThreads(_) => Handle::try_current().ok(),
        }
    }
}

impl OwnRuntime {
    /// Runs a driver to its end.
    pub(super) fn run(self, driving: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.0 {
            // As a task: what `block_on` polls itself is woken by a system call, also by its own thread.
            drop(runtime.block_on(runtime.spawn(driving)));
        }
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
