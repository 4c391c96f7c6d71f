//! How whoever awaits a queued task is told to look again, although the task has not ended.

use super::{Parcel, Work, contain, lock};

/// A queued task that somebody may await.
pub(crate) trait Awaited: Send + Sync {
    /// Wakes whoever awaits the task.
    fn wake_waiting(&self);
}

impl<W, P, R> Awaited for Parcel<W, P, R>
where
    W: Work,
    P: Send,
    R: Send,
{
    fn wake_waiting(&self) {
        // A copy, because whoever is woken too early need not come back before the end.
        let waker = lock(&self.content).waker.clone();
        if let Some(waker) = waker {
            // A waker is somebody else's code; whoever has it woken has nothing to do with it.
            contain(|| waker.wake());
        }
    }
}
