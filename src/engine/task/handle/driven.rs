//! A task state whose task a driver runs: it can be told to stop.

use std::mem::replace;
use std::task::Waker;

use super::{Listing, Stage, TaskState, Unpack, contain, lock};
use crate::engine::scheduler::accounting::{Counts, End};
use crate::error::{JoinError, TaskPanic};
use crate::on_cancel::Stoppable;

/// A task state as the future of its task sees it.
pub(crate) trait Driven<R>: Stoppable {
    /// Says who is to be woken when the task is to be dropped. False if it is.
    fn drive(&self, waker: &Waker) -> bool;

    /// The task has ended, and everything it owned is gone. A panic while it was `dropped` is its own. If it had
    /// panicked before, the handle receives the first panic, and the hook the second.
    fn end(&self, outcome: Result<R, JoinError>, dropped: Result<(), TaskPanic>) -> End;
}

impl<W: Unpack<P, R>, P: Send + 'static, R: Send + 'static> TaskState<W, P, R> {
    /// As [`TaskState::take`], for a driver, which can be told to drop the task.
    pub(crate) fn take_to_drive(&self, claimed: bool) -> Result<P, End> {
        let packed = lock(&self.content).take(Listing::to_start(claimed), Stage::Driven(None));
        packed.ok_or_else(|| End::gone(claimed))
    }

    /// The handle will not receive this outcome. If it is a panic, the hook does.
    fn give_up(&self, outcome: Result<R, JoinError>) {
        match outcome {
            Err(JoinError::Panicked(panic)) => self.tell_hook(Some(panic)),
            unwanted => contain(|| drop(unwanted)),
        }
    }
}

impl<W: Unpack<P, R>, P: Send + 'static, R: Send + 'static> Driven<R> for TaskState<W, P, R> {
    fn drive(&self, waker: &Waker) -> bool {
        let mut content = lock(&self.content);
        let Stage::Driven(kept) = &mut content.stage else { return false };
        if kept.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            return true;
        }
        let old = kept.replace(waker.clone());
        drop(content);
        drop(old);
        true
    }

    fn end(&self, mut outcome: Result<R, JoinError>, dropped: Result<(), TaskPanic>) -> End {
        if let Err(panic) = dropped {
            let panicked = Err(JoinError::Panicked(panic));
            let unwanted = if outcome.is_ok() { replace(&mut outcome, panicked) } else { panicked };
            self.give_up(unwanted);
        }
        let mut content = lock(&self.content);
        let counts =
            if content.listing == Listing::Claimed { Counts::Claimed } else { Counts::Ticket };
        let stage = replace(&mut content.stage, Stage::Open);
        drop(content);
        if let Stage::Stopping = stage {
            // `cancel` has said that the task will be dropped, so the outcome is `Cancelled`.
            self.give_up(replace(&mut outcome, Err(JoinError::Cancelled)));
        }
        drop(stage);
        self.end_as(outcome, counts)
    }
}
