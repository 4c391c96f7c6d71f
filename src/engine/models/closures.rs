//! A pool of closures, and its tasks with and without a handle.

use std::panic::Location;
use std::sync::Arc;

use super::{WAIT, settings};
use crate::engine::task::closure::Task;
use crate::engine::{Engine, Joinable, TaskState};
use crate::pool::Closures;

pub(super) type Pool = Arc<Engine<Closures>>;

/// A pool that queues up to eight tasks.
pub(super) fn pool(workers: usize) -> Pool {
    Engine::new(settings(workers, 8), Closures)
}

pub(super) fn submit(pool: &Pool, task: impl FnOnce() + Send + 'static) {
    assert!(pool.submit(Task::new(task), WAIT).is_ok());
}

/// Spawns a task; returns what a handle is made of.
pub(super) fn spawn<T: Send + 'static>(
    pool: &Pool,
    task: impl FnOnce() -> T + Send + 'static,
) -> Arc<dyn Joinable<T>> {
    let (task_state, queued) = TaskState::new(pool, task, Location::caller());
    assert!(pool.submit(queued, WAIT).is_ok());
    task_state
}
