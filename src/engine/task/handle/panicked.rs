//! Who receives the panic of a task with a handle: the handle, or the hook if the handle was dropped.
//!
//! The task state's lock decides it, so each panic is told once. A panic is put into the task state, or told to the
//! hook, before its task is counted: when a wait for the end of all tasks returns, the hook has been called
//! for each handle that was dropped before.

use std::mem::replace;

use super::{Content, Stage, TaskState, Unpack, lock};
use crate::engine::scheduler::accounting::{Counts, End};
use crate::error::{JoinError, TaskPanic};

impl<W: Unpack<P, R>, P: Send + 'static, R: Send + 'static> TaskState<W, P, R> {
    /// Ends a task that panicked: tells its recipient, and counts the task.
    #[cold]
    pub(super) fn end_panicked(&self, panic: TaskPanic, counts: Counts) -> End {
        let mut content = lock(&self.content);
        content.stage = Stage::Panicked(panic);
        let untold = if content.has_handle { None } else { content.take_panic() };
        drop(content);
        self.tell_hook(untold);
        self.engine.count(End::Panicked, counts);
        let mut content = lock(&self.content);
        content.stage = match content.take_panic() {
            Some(panic) => Stage::Done(Err(JoinError::Panicked(panic))),
            None => Stage::Collected,
        };
        self.show(content);
        End::CountedPanic
    }

    pub(super) fn tell_hook(&self, panic: Option<TaskPanic>) {
        if let Some(panic) = panic {
            let _: End = self.engine.hooks().tell_panic(panic);
        }
    }
}

impl<P, R> Content<P, R> {
    /// Takes the panic out, whether or not it shows already.
    pub(super) fn take_panic(&mut self) -> Option<TaskPanic> {
        if let Stage::Panicked(_) | Stage::Done(Err(JoinError::Panicked(_))) = self.stage
            && let Stage::Panicked(panic) | Stage::Done(Err(JoinError::Panicked(panic))) =
                replace(&mut self.stage, Stage::Collected)
        {
            return Some(panic);
        }
        None
    }
}
