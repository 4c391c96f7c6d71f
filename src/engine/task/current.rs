//! The task that a thread runs, so that it can ask whether it is to stop.

use std::cell::RefCell;
use std::sync::Arc;

/// Can be asked whether the task is to stop.
pub(crate) trait Stoppable {
    fn should_stop(&self) -> bool;
}

#[cfg(not(loom))]
thread_local! {
    /// The task that this thread runs, the innermost if it runs one inside another.
    static CURRENT: RefCell<Option<Arc<dyn Stoppable>>> = const { RefCell::new(None) };
}

#[cfg(loom)]
loom::thread_local! {
    static CURRENT: RefCell<Option<Arc<dyn Stoppable>>> = RefCell::new(None);
}

/// Makes a task the current one while `run` runs, which does not panic. A task without a handle is
/// `None`: it cannot be asked to stop. In the destructor of a thread-local this one may be gone: there a task
/// is not told.
pub(crate) fn as_current<R>(task: Option<Arc<dyn Stoppable>>, run: impl FnOnce() -> R) -> R {
    let outer = CURRENT.try_with(|current| current.replace(task));
    let outcome = run();
    if let Ok(outer) = outer {
        drop(CURRENT.try_with(|current| current.replace(outer)));
    }
    outcome
}

/// Runs a task without a handle, which may be inside of one that has a handle.
pub(crate) fn unheard<R>(run: impl FnOnce() -> R) -> R {
    as_current(None, run)
}

/// Whether the task that the calling thread runs has been asked to stop.
pub(crate) fn is_cancelled() -> bool {
    CURRENT
        .try_with(|current| current.borrow().as_ref().is_some_and(|task| task.should_stop()))
        .unwrap_or(false)
}
