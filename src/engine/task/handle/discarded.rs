//! A task that will not run: it was killed in the queue, or is dropped with it.

use std::mem::replace;

use super::{Data, Stage, TaskState, Unpack, contain, lock};
use crate::error::JoinError;

impl<W: Unpack<P, R>, P: Data, R: Data> TaskState<W, P, R> {
    /// Makes sure that the task will not run. False if it would not have run anyway. What it owns
    /// is dropped later, by [`TaskState::discard`].
    pub(crate) fn kill(&self) -> bool {
        let mut content = lock(&self.content);
        let Some(packed) = content.take(false, Stage::Open) else { return false };
        content.stage = Stage::Killed(packed);
        true
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
        if let Stage::Killed(_) = content.stage
            && let Stage::Killed(packed) = replace(&mut content.stage, Stage::Open)
        {
            return Some(packed);
        }
        content.take(false, Stage::Open)
    }
}
