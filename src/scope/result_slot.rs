//! The result slot: where a task of a scope leaves its result, which may borrow.

use std::sync::Arc;
use std::task::Waker;

use crate::engine::sync::{Mutex, lock};
use crate::error::{JoinError, TaskPanic};

/// Where a task leaves its result.
pub(super) struct ResultSlot<T>(pub(super) Mutex<Content<T>>);

pub(super) struct Content<T> {
    pub(super) outcome: Option<Result<T, JoinError>>,
    pub(super) waker: Option<Waker>,
}

impl<T> ResultSlot<T> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(ResultSlot(Mutex::new(Content { outcome: None, waker: None })))
    }
}

/// Can be emptied, whatever is in it. Returns the panic if no handle took it.
pub(super) trait Empty: Send + Sync {
    fn empty(&self) -> Option<TaskPanic>;
    fn is_empty(&self) -> bool;
}

impl<T: Send> Empty for ResultSlot<T> {
    fn empty(&self) -> Option<TaskPanic> {
        let outcome = lock(&self.0).outcome.take();
        match outcome {
            Some(Err(error)) => error.into_panic(),
            _ => None,
        }
    }

    fn is_empty(&self) -> bool {
        lock(&self.0).outcome.is_none()
    }
}

/// A result slot that says `Cancelled` if its task is dropped without having run.
pub(super) struct Unfilled<T>(pub(super) Arc<ResultSlot<T>>);

impl<T> Unfilled<T> {
    pub(super) fn fill(&self, outcome: Result<T, JoinError>) {
        let mut content = lock(&self.0.0);
        if content.outcome.is_none() {
            content.outcome = Some(outcome);
        }
        let waker = content.waker.take();
        drop(content);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Drop for Unfilled<T> {
    fn drop(&mut self) {
        self.fill(Err(JoinError::Cancelled));
    }
}
