//! A task state whose task a driver runs: it can be told to stop.

use std::task::Waker;

use super::{Data, Stage, TaskState, Unpack, contain, lock};
use crate::engine::scheduler::accounting::{Counts, End};
use crate::error::{JoinError, TaskPanic};

impl<W: Unpack<P, R>, P: Data, R: Data> TaskState<W, P, R> {
    /// Says who is to be woken when the task is to be dropped. False if it is.
    pub(crate) fn drive(&self, waker: &Waker) -> bool {
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

    /// The outcome of a task, after it was dropped. A panic in the drop is the task's own. If the task had
    /// panicked before, the handle receives the first panic, and the hook the second.
    pub(crate) fn after_drop(
        &self,
        outcome: Result<R, TaskPanic>,
        dropped: Result<(), TaskPanic>,
    ) -> Result<R, TaskPanic> {
        let Err(panic) = dropped else { return outcome };
        match outcome {
            Ok(unwanted) => {
                contain(|| drop(unwanted));
                Err(panic)
            }
            Err(first) => {
                self.tell_hook(Some(panic));
                Err(first)
            }
        }
    }

    /// Turns the outcome of a task that was told to stop into a cancellation. The handle will not receive
    /// its panic, so the hook does.
    fn end_stopped(&self, outcome: Result<R, JoinError>) -> Result<R, JoinError> {
        match outcome {
            Err(JoinError::Panicked(panic)) => self.tell_hook(Some(panic)),
            unwanted => contain(|| drop(unwanted)),
        }
        Err(JoinError::Cancelled)
    }

    /// A task that was driven has ended, and everything it owned is gone. It is counted before its
    /// outcome shows.
    pub(crate) fn end_driven(&self, outcome: Result<R, JoinError>) -> End {
        let mut content = lock(&self.content);
        let counts = if content.claimed { Counts::Claimed } else { Counts::Driver };
        // `cancel` has said that the task will be dropped, so the outcome is `Cancelled`.
        let stopped = matches!(content.stage, Stage::Stopping);
        if !stopped && !matches!(content.stage, Stage::Driven(_)) {
            // It had not started: the thread that drops it counts it, and settles it.
            return End::Counted;
        }
        let waker = std::mem::replace(&mut content.stage, Stage::Open);
        drop(content);
        drop(waker);
        let outcome = if stopped { self.end_stopped(outcome) } else { outcome };
        let end = match outcome {
            Err(JoinError::Panicked(panic)) => return self.end_panicked(panic, counts),
            Ok(_) => End::Completed,
            Err(JoinError::Cancelled | JoinError::Refused(_)) => End::Cancelled,
        };
        self.engine.count(end, counts);
        self.settle(outcome);
        End::Counted
    }
}
