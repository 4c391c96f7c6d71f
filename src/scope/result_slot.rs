//! The result slot: where a task of a scope leaves its result, which may borrow.

use std::sync::Arc;

use crate::engine::sync::{Mutex, lock};
use crate::error::{JoinError, TaskPanic};

/// Where a task leaves its result, before it ends.
pub(super) struct ResultSlot<T>(pub(super) Mutex<Option<Result<T, JoinError>>>);

impl<T> ResultSlot<T> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(ResultSlot(Mutex::new(None)))
    }
}

/// Can be emptied, whatever is in it. Returns the panic if no handle took it.
pub(super) trait Empty: Send + Sync {
    fn empty(&self) -> Option<TaskPanic>;
    fn is_empty(&self) -> bool;
}

impl<T: Send> Empty for ResultSlot<T> {
    fn empty(&self) -> Option<TaskPanic> {
        let outcome = lock(&self.0).take();
        match outcome {
            Some(Err(error)) => error.into_panic(),
            _ => None,
        }
    }

    fn is_empty(&self) -> bool {
        lock(&self.0).is_none()
    }
}

/// A result slot that says `Cancelled` if its task is dropped without having run.
pub(super) struct Unfilled<T>(pub(super) Arc<ResultSlot<T>>);

impl<T> Unfilled<T> {
    pub(super) fn fill(&self, outcome: Result<T, JoinError>) {
        let mut kept = lock(&self.0.0);
        if kept.is_none() {
            *kept = Some(outcome);
        }
    }
}

impl<T> Drop for Unfilled<T> {
    fn drop(&mut self) {
        self.fill(Err(JoinError::Cancelled));
    }
}
