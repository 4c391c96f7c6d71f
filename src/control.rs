//! `Control`: what every pool has beside its way of submitting: figures, size and ends.

mod steer; // any engine behind one face
mod figures; // how it goes
mod size; // how many workers there may be
mod ends; // waiting, closing, and opening again

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::steer::Steer;
use crate::engine::{Ended, Engine, Load, NoStart, Work};
use crate::error::StillRunning;

/// The figures, the size and the ends of a pool, whatever it runs. [`Pool`](crate::Pool),
/// [`FnPool`](crate::FnPool) and the pools of futures dereference to it, so these are methods of every
/// pool. A pool of futures has `wait_idle`, `drain` and `drain_timeout` of its own, which are futures. Those of
/// `Control` block the thread: `Control::drain(&pool)`.
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
/// ```
pub struct Control {
    engine: Arc<dyn Steer>,
}

impl Control {
    pub(crate) fn new<W: Work>(engine: Arc<Engine<W>>) -> Self {
        Control { engine }
    }

    fn steer(&self) -> Arc<dyn Steer> {
        Arc::clone(&self.engine)
    }

    pub(crate) fn start_workers(&self, workers: usize) -> Result<(), NoStart> {
        self.steer().prestart(workers)
    }

    /// Costs two or three reads, and no lock.
    pub(crate) fn load(&self) -> Load {
        self.engine.load()
    }

    /// An error if whoever asks would wait for itself.
    pub(crate) fn check_outside(&self, what: Ended) -> Result<(), StillRunning> {
        self.engine.check_outside(what)
    }

    #[cfg(feature = "tokio")]
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
