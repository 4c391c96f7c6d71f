//! The life of one request: it waits for a place, becomes a permit or a task, runs and ends.

use formic::Refused;

use super::step::{Answer, By, Outcome, Verb};

/// One request, and the task that came of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) shard: usize,
    pub(crate) by: By,
    pub(crate) verb: Verb,
    pub(crate) stage: Stage,
    /// The test has the handle, or the future of a call.
    pub(crate) handle: bool,
    /// The handle was polled while the task had not ended.
    pub(crate) watched: bool,
    pub(crate) asked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Waits for a place or for an end.
    Waiting,
    /// The wait of a future is over, which its next poll will tell.
    Granted,
    /// The pool was closed, which the next poll of the future will tell.
    Dismissed,
    /// Holds a place for a task.
    Permit,
    Queued,
    Running,
    Ended(Outcome),
    Refused(Refused),
    /// Given up before there was a task.
    Gone,
}

impl Slot {
    pub(crate) fn new(shard: usize, by: By, verb: Verb) -> Self {
        let (handle, watched, asked) = (false, false, false);
        Slot { shard, by, verb, stage: Stage::Waiting, handle, watched, asked }
    }

    /// Whether the task exists: it waits with its submitter, is queued or runs.
    pub(crate) fn has_task(&self) -> bool {
        match self.stage {
            Stage::Waiting | Stage::Granted | Stage::Dismissed => {
                matches!(self.verb, Verb::Submit | Verb::Spawn | Verb::Call)
            }
            Stage::Queued | Stage::Running => true,
            Stage::Permit | Stage::Ended(_) | Stage::Refused(_) | Stage::Gone => false,
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.stage, Stage::Ended(_))
    }

    /// Whether a handle, a future or a blocked thread will receive the outcome.
    pub(crate) fn is_awaited(&self) -> bool {
        self.handle || (self.verb == Verb::Call && self.by == By::Thread)
    }

    pub(crate) fn has_join_handle(&self) -> bool {
        self.handle && self.verb == Verb::Spawn
    }

    /// Whether there is a future to poll.
    pub(crate) fn is_pollable(&self) -> bool {
        let at_gate = matches!(self.stage, Stage::Waiting | Stage::Granted | Stage::Dismissed);
        self.by == By::Future && (at_gate || (self.handle && self.verb == Verb::Call))
    }

    /// Whether a pending future, or a polled handle, must have been woken.
    pub(crate) fn is_woken(&self) -> bool {
        match self.stage {
            Stage::Granted | Stage::Dismissed => true,
            Stage::Ended(_) => self.watched || (self.is_pollable() && self.verb == Verb::Call),
            _ => false,
        }
    }

    /// The answer that a thread with a blocking call has returned by now.
    pub(crate) fn thread_answer(&self) -> Option<Answer> {
        match (self.verb, self.stage) {
            (_, Stage::Refused(reason)) => Some(Answer::Refused(reason)),
            (_, Stage::Waiting) => None,
            (Verb::Call, Stage::Ended(outcome)) => Some(Answer::Outcome(outcome)),
            (Verb::Call, _) => None,
            _ => Some(Answer::Entered),
        }
    }
}
