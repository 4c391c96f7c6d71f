//! The tasks of a scope that have a handle, and the wait for all of its tasks.

use std::sync::Arc;

use super::drawer::Empty;
use super::{Scope, locked};
use crate::engine;
use crate::error::{JoinError, TaskPanic};
use crate::handle::JoinHandle;

/// What a scope has to wait for.
pub(super) struct Tasks {
    handles: Vec<Started>,
    /// When there are so many, those that have ended are let go.
    tidy_at: usize,
    pub(super) panic: Option<TaskPanic>,
}

impl Tasks {
    pub(super) fn new() -> Self {
        Tasks { handles: Vec::new(), tidy_at: 64, panic: None }
    }
}

/// A task of a scope, and its drawer if it has a result.
pub(super) struct Started {
    pub(super) handle: JoinHandle<()>,
    /// Emptied before the scope returns.
    pub(super) drawer: Option<Arc<dyn Empty>>,
}

impl Started {
    /// Whether the task has ended, and left nothing in its drawer.
    fn is_over(&self) -> bool {
        self.handle.is_finished() && self.drawer.as_ref().is_none_or(|drawer| drawer.is_empty())
    }
}

impl Scope<'_, '_> {
    pub(super) fn remember(&self, started: Started) {
        let mut tasks = locked(&self.tasks);
        tasks.handles.push(started);
        if tasks.handles.len() < tasks.tidy_at {
            return;
        }
        let all = std::mem::take(&mut tasks.handles);
        let (ended, going_on): (Vec<_>, _) = all.into_iter().partition(Started::is_over);
        tasks.tidy_at = (2 * going_on.len()).max(64);
        tasks.handles = going_on;
        drop(tasks);
        ended.into_iter().for_each(|task| self.settle(task));
    }

    /// Waits for a task and keeps its panic, if it is the first that nobody took.
    fn settle(&self, task: Started) {
        let outcome = task.handle.join();
        let panic = match task.drawer {
            Some(drawer) => drawer.empty(),
            None => outcome.err().and_then(JoinError::into_panic),
        };
        let mut tasks = locked(&self.tasks);
        if tasks.panic.is_none() {
            tasks.panic = panic;
        }
    }

    /// Tasks may start others as long as they run, so this goes on until there are none.
    pub(super) fn wait_for_all(&self) {
        loop {
            while let Some(task) = self.next_with_handle() {
                // What is dropped there may panic, and that must not keep us from the rest.
                engine::contain(|| self.settle(task));
            }
            if let Some(latch) = &self.latch {
                engine::block_on(|context| latch.poll(context));
            }
            // Those without a handle may have started some with one.
            if locked(&self.tasks).handles.is_empty() {
                return;
            }
        }
    }

    fn next_with_handle(&self) -> Option<Started> {
        locked(&self.tasks).handles.pop()
    }
}
