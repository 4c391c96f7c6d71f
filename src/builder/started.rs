//! An engine with its first workers: what every kind of pool is made of.

use std::sync::Arc;

use super::{Builder, WhenFull};
use crate::control::Control;
use crate::engine::{Engine, Patience, Work};
use crate::error::BuildError;

/// What every kind of pool is made of.
pub(crate) struct Started<W: Work> {
    pub(crate) engine: Arc<Engine<W>>,
    pub(crate) control: Control,
    pub(crate) when_full: WhenFull,
}

impl<W: Work> Started<W> {
    /// What a submitter does when there is no place.
    pub(crate) fn patience(&self) -> Patience {
        match self.when_full {
            WhenFull::Wait => Patience::Until(None),
            WhenFull::Refuse => Patience::None,
            WhenFull::CallerRuns => Patience::RunHere,
        }
    }
}

/// The last handle is gone: the pool closes, and what was accepted still runs.
impl<W: Work> Drop for Started<W> {
    fn drop(&mut self) {
        self.control.abandon();
    }
}

impl<P> Builder<P> {
    /// Checks the settings, makes the engine, and starts the first workers.
    pub(crate) fn start<W: Work>(self, work: W) -> Result<Started<W>, BuildError> {
        let (when_full, first) = (self.when_full, self.prestart);
        let settings = self.check(W::MOST)?;
        let first = first.max(settings.limits.minimum);
        let engine = Engine::new(settings, work);
        let control = Control::new(Arc::clone(&engine));
        let started = Started { engine, control, when_full };
        started.control.start_workers(first).map_err(BuildError::from)?;
        Ok(started)
    }
}
