//! The contenders: each pool behind the same two calls, without a layer between.

mod callers;
mod channels;
mod executors;
mod formic;
pub(crate) mod formic_futures;
pub(crate) mod futures;
mod gate;
mod peers;
mod runtimes;
pub(crate) mod stage;
mod threads;

pub(crate) use self::callers::{Argument, Caller, FormicCall, Replying, answer};
pub(crate) use self::channels::{Crossbeam, CrossbeamValues, SyncChannel};
pub(crate) use self::executors::{AsyncExecutor, Blocking};
pub(crate) use self::formic::{Formic, FormicMulti, FormicValues};
pub(crate) use self::gate::Gated;
pub(crate) use self::peers::{Rayon, RustyPool, Threadfin, Threadpool};
pub(crate) use self::runtimes::{TokioBlocking, TokioSemaphore, TokioSpawn};
pub(crate) use self::threads::ThreadPerTask;

use crate::failure::Failure;

/// A pool in the race. Generic, never an object: a submit costs what the pool's own submit costs.
pub(crate) trait Contender: Sized + Send + Sync + 'static {
    /// Hands a task over, and waits for room where the pool has a bound.
    fn submit(&self, task: impl FnOnce() + Send + 'static) -> Result<(), Refused>;

    /// Ends the pool when all tasks have run; outside the clock.
    fn shut_down(self) -> Result<(), Failure>;
}

/// A pool of one function, which is given values instead of closures.
pub(crate) trait Values<T>: Sized {
    /// As [`Contender::submit`].
    fn submit(&self, value: T) -> Result<(), Refused>;

    /// As [`Contender::shut_down`].
    fn shut_down(self) -> Result<(), Failure>;
}

/// The pool took no more tasks, which none should do in a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused;

impl From<Refused> for Failure {
    fn from(_: Refused) -> Self {
        Self::new("a task was refused")
    }
}
