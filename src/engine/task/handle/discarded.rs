//! A task that will not run: it was killed in the queue, or is dropped with it.

use super::{Stage, TaskState, Unpack, contain, lock};
use crate::error::JoinError;

impl<W, P, R> TaskState<W, P, R>
where
    W: Unpack<P, R>,
    P: Send + 'static,
    R: Send + 'static,
{
    /// Makes sure that the task will not run. False if it would not have run anyway. What it owns
    /// is dropped later, by [`TaskState::discard`].
    pub(crate) fn kill(&self) -> bool {
        let mut content = lock(&self.content);
        match std::mem::replace(&mut content.stage, Stage::Open) {
            Stage::Packed(packed) => {
                content.stage = Stage::Killed(packed);
                true
            }
            other => {
                content.stage = other;
                false
            }
        }
    }

    /// Drops a task that will not run any more, and settles it as cancelled.
    pub(crate) fn discard(&self) {
        if let Some(packed) = self.take_discarded() {
            contain(|| drop(packed));
            self.settle(Err(JoinError::Cancelled));
        }
    }

    /// As [`TaskState::discard`], and gives back what was packed.
    pub(crate) fn take_killed(&self) -> Option<P> {
        let packed = self.take_discarded()?;
        self.settle(Err(JoinError::Cancelled));
        Some(packed)
    }

    fn take_discarded(&self) -> Option<P> {
        let mut content = lock(&self.content);
        match std::mem::replace(&mut content.stage, Stage::Open) {
            Stage::Packed(packed) | Stage::Killed(packed) => Some(packed),
            other => {
                content.stage = other;
                None
            }
        }
    }
}
