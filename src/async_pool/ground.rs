//! What a pool of futures stands on: somebody's runtime, or threads of its own.
//!
//! The threads of a runtime share its timers and sockets, under one lock. Two drivers whose futures do little
//! but wait meet there all the time, so that one alone is faster: see the engine's lookout. On threads of the
//! pool's own each driver has a runtime to itself. They share nothing but what they take from the line, and
//! stay apart, unless one of them is stuck.
//!
//! A future that a task of another pool has taken in is polled over there, and may come back. Its timers and
//! sockets must be those of its own pool all the same: the other one's may end before it does.

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};

use super::runtime::{check_runtime, start_driver, start_thread};
use crate::engine::{Board, Drives, Engine, NoStart};
use crate::error::BuildError;

/// More threads than this a pool of futures has not: each looks at the lists of all others.
const MOST_THREADS: usize = 1024;

/// See the module's first lines.
pub(crate) enum Ground {
    /// A runtime that others may use, too.
    Runtime(Handle),
    OwnThreads(OwnThreads),
}

/// Threads each of which has a runtime for one driver: that of each that is there.
#[derive(Clone)]
pub(crate) struct OwnThreads(Arc<Mutex<Vec<Option<Handle>>>>);

/// The runtime of one thread. It ends without a wait for what was given to `spawn_blocking`: nobody who drains
/// waits for that either. And it may have to end inside a task, where tokio lets nobody wait: there a driver
/// starts others, and if one cannot have a thread its runtime is not needed.
pub(super) struct OwnRuntime {
    runtime: Option<Runtime>,
    threads: OwnThreads,
}

impl Ground {
    /// The runtime that this is called in.
    pub(super) fn current() -> Result<Self, BuildError> {
        Handle::try_current().map(Ground::Runtime).map_err(|_| {
            let problem =
                "no tokio runtime is entered here, and neither `runtime` nor `own_threads` is set";
            BuildError::of("runtime", problem)
        })
    }

    pub(super) fn of_threads(threads: usize) -> Result<Self, BuildError> {
        match threads {
            0 => Err(BuildError::of("own_threads", "0 threads cannot run anything")),
            1..=MOST_THREADS => {
                let runtimes = Arc::new(Mutex::new(vec![None; threads]));
                Ok(Ground::OwnThreads(OwnThreads(runtimes)))
            }
            _ => {
                let problem = format!("{threads} is above the limit of {MOST_THREADS}");
                Err(BuildError::of("own_threads", problem))
            }
        }
    }

    /// As many drivers as there are threads, so that all of them have something to do, and no more,
    /// because a driver's futures are cheap and a driver is not.
    pub(super) fn board(&self) -> Board {
        match self {
            Ground::Runtime(runtime) => Board::new(runtime.metrics().num_workers().max(1)),
            Ground::OwnThreads(own) => Board::apart(own.with(|runtimes| runtimes.len())),
        }
    }

    /// Starts a driver. An error if the runtime is no more, or no thread can be had.
    pub(super) fn start<W: Drives>(
        &self,
        engine: &Arc<Engine<W>>,
        index: usize,
    ) -> Result<(), NoStart> {
        match self {
            Ground::Runtime(runtime) => start_driver(engine, index, runtime),
            Ground::OwnThreads(own) => start_thread(engine, index, own.build(index)?),
        }
    }

    /// An error if the runtime is no more.
    pub(super) fn check_start(&self) -> Result<(), NoStart> {
        match self {
            Ground::Runtime(runtime) => check_runtime(runtime),
            Ground::OwnThreads(_) => Ok(()),
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

    /// Calls `poll` with the timers and sockets of the pool, wherever this is.
    pub(super) fn at_home<W: Drives>(&self, engine: &Engine<W>, poll: &mut dyn FnMut()) {
        let runtime = match self {
            Ground::Runtime(runtime) => Some(runtime.clone()),
            Ground::OwnThreads(own) if own.is_here() => None,
            // No driver leaves while a task of the pool is polled elsewhere.
            Ground::OwnThreads(own) => {
                engine.staying_driver().and_then(|index| own.with(|all| all[index].clone()))
            }
        };
        let _inside = runtime.as_ref().map(Handle::enter);
        poll();
    }
}

impl OwnThreads {
    fn with<R>(&self, act: impl FnOnce(&mut Vec<Option<Handle>>) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The runtime of this thread. It is known before anything is accepted that would rely on it.
    fn build(&self, index: usize) -> io::Result<OwnRuntime> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        self.with(|runtimes| runtimes[index] = Some(runtime.handle().clone()));
        Ok(OwnRuntime { runtime: Some(runtime), threads: self.clone() })
    }

    /// Whether the calling thread is in one of the runtimes.
    fn is_here(&self) -> bool {
        Handle::try_current().is_ok_and(|current| {
            let is_current = |runtime: &Handle| runtime.id() == current.id();
            self.with(|runtimes| runtimes.iter().flatten().any(is_current))
        })
    }
}

impl OwnRuntime {
    /// Runs a driver to its end.
    pub(super) fn run<F>(self, driving: impl FnOnce(Handle) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if let Some(runtime) = &self.runtime {
            let driving = driving(runtime.handle().clone());
            // As a task: what `block_on` polls itself is woken by a system call, also by its own thread.
            drop(runtime.block_on(runtime.spawn(driving)));
        }
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        let ended = runtime.handle().id();
        let is_ended = |known: &mut Handle| known.id() == ended;
        // Perhaps another one has its place by now.
        let known = self.threads.with(|all| all.iter_mut().find_map(|one| one.take_if(is_ended)));
        drop(known);
        runtime.shutdown_background();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn known(own: &OwnThreads) -> Vec<bool> {
        own.with(|runtimes| runtimes.iter().map(Option::is_some).collect())
    }

    #[test]
    fn a_runtime_is_known_while_it_is_there() {
        let Ok(Ground::OwnThreads(own)) = Ground::of_threads(2) else {
            panic!("these are threads")
        };
        assert_eq!(known(&own), [false, false]);
        let (first, second) = (own.build(0).unwrap(), own.build(1).unwrap());
        assert_eq!(known(&own), [true, true]);
        let successor = own.build(0).unwrap();
        drop(first);
        assert_eq!(known(&own), [true, true], "another one has its place");
        drop(second);
        assert_eq!(known(&own), [true, false]);
        drop(successor);
        assert_eq!(known(&own), [false, false]);
    }

    #[test]
    fn whoever_is_in_one_of_the_runtimes_is_at_home() {
        let Ok(Ground::OwnThreads(own)) = Ground::of_threads(1) else {
            panic!("these are threads")
        };
        let runtime = own.build(0).unwrap();
        assert!(!own.is_here());
        let other = Builder::new_current_thread().build().unwrap();
        let inside = other.enter();
        assert!(!own.is_here());
        drop(inside);
        let inside = runtime.runtime.as_ref().map(|runtime| runtime.enter());
        assert!(own.is_here());
        drop(inside);
        let (tell, told) = std::sync::mpsc::channel();
        runtime.run(|_| async move { tell.send(own.is_here()).unwrap() });
        assert_eq!(told.recv(), Ok(true), "what runs there");
    }
}
