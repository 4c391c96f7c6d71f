//! A task that was begun by somebody who awaited it, who does so no longer: it rests in the line until a
//! driver goes on with it, or somebody else who awaits it takes it in.

use std::sync::Arc;

use super::cell::Runnable;
use super::handle::Awaited;
use super::run::contain;
use super::sync::{Mutex, lock};

/// A parcel whose task may rest.
pub(crate) trait Rests: Awaited {
    /// Takes the task, to go on with it.
    fn take_rested(&self) -> Option<Arc<dyn Runnable>>;

    fn is_resting(&self) -> bool;
}

/// What stands in the line for it. Dropped there, it has the task cancelled.
pub(crate) struct Rested {
    parcel: Arc<dyn Rests>,
    /// Is dropped with it: it was told not to run.
    killed: Mutex<Option<Arc<dyn Runnable>>>,
}

impl Rested {
    pub(crate) fn new(parcel: Arc<dyn Rests>) -> Self {
        Rested { parcel, killed: Mutex::new(None) }
    }

    /// The task, if it still rests.
    pub(crate) fn take(self) -> Option<Arc<dyn Runnable>> {
        self.parcel.take_rested()
    }

    /// Makes sure that the task will not run. False if it would not have run anyway.
    pub(crate) fn kill(&self) -> bool {
        let Some(cell) = self.parcel.take_rested() else { return false };
        let alive = cell.kill();
        *lock(&self.killed) = Some(cell);
        alive
    }

    /// Somebody may await it, and has to look again when the pool shrinks.
    pub(crate) fn awaited(&self) -> Arc<dyn Awaited> {
        Arc::clone(&self.parcel) as _
    }

    pub(crate) fn is_ghost(&self) -> bool {
        !self.parcel.is_resting()
    }
}

impl Drop for Rested {
    fn drop(&mut self) {
        if let Some(cell) = self.parcel.take_rested() {
            contain(|| drop(cell));
        }
    }
}
