//! What a pool of futures stands on: somebody's runtime, or threads of its own.
//!
//! The threads of a runtime share its timers and sockets, under one lock. Two drivers whose futures do little
//! but wait meet there all the time, so that one alone is faster: see the engine's lookout. On threads of the
//! pool's own each driver has a runtime to itself. They share nothing but what they take from the line, and
//! stay apart, unless one of them is stuck.

use std::io;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::runtime::{start_driver, start_thread};
use crate::engine::{Board, Drives, Engine};
use crate::error::BuildError;

/// More threads than this a pool of futures has not: each looks at the lists of all others.
const MOST_THREADS: usize = 1024;

/// See the module's first lines.
#[derive(Clone, Debug)]
pub(crate) enum Ground {
    /// A runtime that others may use, too.
    Runtime(Handle),
    /// So many threads, each with a runtime for one driver.
    OwnThreads(usize),
}

impl Ground {
    /// The runtime that this is called in.
    pub(super) fn current() -> Result<Self, BuildError> {
        Handle::try_current().map(Ground::Runtime).map_err(|_| BuildError::NoRuntime)
    }

    pub(super) fn check(self) -> Result<Self, BuildError> {
        match self {
            Ground::OwnThreads(0) => Err(BuildError::NoThreads),
            Ground::OwnThreads(threads) if threads > MOST_THREADS => {
                Err(BuildError::TooManyThreads { threads, limit: MOST_THREADS })
            }
            ground => Ok(ground),
        }
    }

    /// As many drivers as there are threads, so that all of them have something to do, and no more,
    /// because a driver's futures are cheap and a driver is not.
    pub(super) fn board(&self) -> Board {
        match self {
            Ground::Runtime(runtime) => Board::new(runtime.metrics().num_workers().max(1)),
            Ground::OwnThreads(threads) => Board::apart(*threads),
        }
    }

    /// Starts a driver. An error if the runtime is no more, or no thread can be had.
    pub(super) fn start<W: Drives>(&self, engine: &Arc<Engine<W>>, index: usize) -> io::Result<()> {
        match self {
            Ground::Runtime(runtime) => start_driver(engine, index, runtime),
            Ground::OwnThreads(_) => start_thread(engine, index),
        }
    }

    /// The runtime whose timers tell when a call has taken too long. The pool's own threads keep theirs to
    /// themselves, because these end with them: then it is whatever runtime this is called in, if any.
    pub(super) fn timers(&self) -> Option<Handle> {
        match self {
            Ground::Runtime(runtime) => Some(runtime.clone()),
            Ground::OwnThreads(_) => Handle::try_current().ok(),
        }
    }
}
