//! The tasks of a scope that have a handle, and the wait for all of its tasks.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Scope;
use super::result_slot::Empty;
use crate::engine;
use crate::engine::sync::lock;
use crate::error::{JoinError, TaskPanic};
use crate::handle::JoinHandle;

/// What a scope has to wait for.
pub(super) struct Tasks {
    /// In the order of their start, which is that in which a worker runs them itself.
    handles: VecDeque<Started>,
    /// When there are so many, those that have ended are let go.
    tidy_at: usize,
    started: usize,
    /// The panic that was not taken by a handle, of the task that was started first.
    panic: Option<(usize, TaskPanic)>,
}

impl Tasks {
    pub(super) fn new() -> Self {
        Tasks { handles: VecDeque::new(), tidy_at: 64, started: 0, panic: None }
    }

    pub(super) fn take_panic(&mut self) -> Option<TaskPanic> {
        self.panic.take().map(|(_, panic)| panic)
    }
}

/// A task of a scope, and its result slot if it has a result.
pub(super) struct Started {
    /// How many were started before it.
    number: usize,
    pub(super) handle: JoinHandle<()>,
    /// Emptied before the scope returns.
    pub(super) slot: Option<Arc<dyn Empty>>,
}

impl Started {
    /// Whether the task has ended, and left nothing in its result slot.
    fn is_over(&self) -> bool {
        self.handle.is_finished() && self.slot.as_ref().is_none_or(|slot| slot.is_empty())
    }
}

impl Scope<'_, '_> {
    pub(super) fn remember(&self, handle: JoinHandle<()>, slot: Option<Arc<dyn Empty>>) {
        let mut tasks = lock(&self.tasks);
        let number = tasks.started;
        tasks.started += 1;
        tasks.handles.push_back(Started { number, handle, slot });
        if tasks.handles.len() < tasks.tidy_at {
            return;
        }
        let (ended, going_on): (Vec<_>, Vec<_>) =
            tasks.handles.drain(..).partition(Started::is_over);
        tasks.tidy_at = (2 * going_on.len()).max(64);
        tasks.handles = going_on.into();
        drop(tasks);
        ended.into_iter().for_each(|task| self.settle(task));
    }

    /// Waits for a task and keeps its panic, if no task before it has one that was not taken.
    fn settle(&self, task: Started) {
        let outcome = task.handle.join();
        let panic = match task.slot {
            Some(slot) => slot.empty(),
            None => outcome.err().and_then(JoinError::into_panic),
        };
        let Some(panic) = panic else { return };
        let mut tasks = lock(&self.tasks);
        let is_first = tasks.panic.as_ref().is_none_or(|(other, _)| task.number < *other);
        let rest = if is_first {
            tasks.panic.replace((task.number, panic))
        } else {
            Some((task.number, panic))
        };
        drop(tasks);
        // To drop what a task panicked with may panic, too.
        engine::contain(|| drop(rest));
    }

    /// Tasks may start others as long as they run, so this goes on until there are none.
    pub(super) fn wait_for_all(&self) {
        // What is dropped there may panic, and that must not keep us from the rest.
        let settle = |task| engine::contain(|| self.settle(task));
        let mut with_results = Vec::new();
        loop {
            while let Some(task) = self.next_with_handle() {
                match task.handle.task_state() {
                    Some(task_state) if task.slot.is_some() => {
                        engine::wait_for(task_state, None);
                        with_results.push(task);
                    }
                    _ => settle(task),
                }
            }
            if let Some(latch) = &self.latch {
                latch.wait();
            }
            // Those without a handle may have started some with one.
            if lock(&self.tasks).handles.is_empty() {
                break;
            }
        }
        // Now that no task is left that could take a result by its handle.
        with_results.into_iter().for_each(settle);
    }

    fn next_with_handle(&self) -> Option<Started> {
        lock(&self.tasks).handles.pop_front()
    }
}
