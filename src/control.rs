//! `Control`: what every pool has beside its way of submitting: figures, size and ends.

mod any_engine; // an engine without the type of its work
mod figures; // how it goes
mod size; // how many workers there may be
mod limits; // .. and how many tasks and submitters may wait, and how long workers stay
mod ends; // waiting, closing, and opening again
mod stop; // stopping what runs
mod timer; // .. when its time is over
#[cfg(all(test, loom))]
mod models;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use self::any_engine::AnyEngine;
pub use self::stop::Cancelled;
pub(crate) use self::stop::LAST_WAIT;
pub(crate) use self::timer::within;
use crate::engine::{Ended, Engine, Limits, NoStart, Work};
use crate::error::StillRunning;
use crate::multi::load::Load;

/// The figures, the size and the ends of a pool, whatever it runs. [`Pool`](crate::Pool),
/// [`FnPool`](crate::FnPool) and the pools of futures dereference to it, so these are methods of every
/// pool.
///
/// **How a verb waits is told by its name, or by the kind of pool.** A name with `blocking_` blocks the thread and a
/// name with `_async` is a future, on every pool. A plain name waits as its pool does: `drain` blocks on a pool of
/// threads, and is a future on a pool of futures. `Control` stands for both kinds, so it has no plain verb that
/// waits, and no method of a pool hides one of `Control` that has its name and another meaning.
///
/// A clone watches and steers the same pool, and does not keep it open: when the last handle of the pool itself is
/// dropped, the pool closes, [`is_closed`](Control::is_closed) says so, and [`reopen`](Control::reopen) is refused.
/// A monitoring thread or a shutdown hook can hold one.
///
/// # Examples
///
/// ```
/// use formic::{Control, Pool};
///
/// fn report(pool: &Control) -> String {
///     format!("{} of {} workers are busy", pool.busy(), pool.capacity())
/// }
///
/// let pool = Pool::new(4);
/// assert_eq!(report(&pool), "0 of 4 workers are busy");
///
/// let control = Control::clone(&pool);
/// drop(pool); // the last handle
/// assert!(control.is_closed());
/// ```
#[derive(Clone)]
pub struct Control {
    engine: Arc<dyn AnyEngine>,
    /// Whether the last handle of the pool is gone, so that nothing can be submitted any more.
    abandoned: Arc<AtomicBool>,
}

impl Control {
    pub(crate) fn new<W: Work>(engine: Arc<Engine<W>>) -> Self {
        Control { engine, abandoned: Arc::default() }
    }

    fn engine(&self) -> Arc<dyn AnyEngine> {
        Arc::clone(&self.engine)
    }

    /// Closes the pool for good, because its last handle is gone.
    pub(crate) fn abandon(&self) {
        // Relaxed is enough: this `close` overrules a `reopen` that took the engine's lock before it, and one that
        // takes the lock later sees the flag.
        self.abandoned.store(true, Relaxed);
        self.close();
    }

    fn is_abandoned(&self) -> bool {
        self.abandoned.load(Relaxed)
    }

    /// Changes limits, in one step with what `change` checks.
    fn change_limits<E>(&self, change: impl Fn(&mut Limits) -> Result<(), E>) -> Result<(), E> {
        let mut outcome = Ok(());
        self.engine().change_limits(&mut |limits| outcome = change(limits));
        outcome
    }

    pub(crate) fn start_workers(&self, workers: usize) -> Result<(), NoStart> {
        self.engine().prestart(workers)
    }

    /// Costs two or three reads, and no lock.
    pub(crate) fn load(&self) -> Load {
        self.engine.load()
    }

    /// An error if the caller would wait for itself.
    pub(crate) fn check_outside(&self, what: Ended) -> Result<(), StillRunning> {
        self.engine.check_wait(what, false)
    }

    pub(crate) fn still_running(&self) -> StillRunning {
        self.engine.still_running()
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// The end of a wait; `None`, that is never, if the clock cannot tell it.
pub(crate) fn deadline(time: Duration) -> Option<Instant> {
    Instant::now().checked_add(time)
}
