//! The task that a thread runs, so that it can ask whether it is to stop.
//!
//! A task is to stop if its handle was cancelled, or if all tasks of its pool were ([`Cancels`]) since it has started.

use std::cell::RefCell;
use std::sync::Arc;

use crate::engine::context::{epoch, owner_without_handle, with_current_pool};
use crate::on_cancel::{Cancels, Epoch, Owner, Stoppable};

#[cfg(not(loom))]
thread_local! {
    /// The task that this thread runs, the innermost if it runs one inside another.
    static CURRENT: RefCell<Option<Arc<dyn Stoppable>>> = const { RefCell::new(None) };
}

#[cfg(loom)]
loom::thread_local! {
    static CURRENT: RefCell<Option<Arc<dyn Stoppable>>> = RefCell::new(None);
}

/// Makes a task the current one while `run` runs, which does not panic. `None` is a task without a handle, of the
/// pool whose task the thread runs. In the destructor of a thread-local this one may be gone: there a task
/// is not told.
pub(crate) fn as_current<R>(task: Option<Arc<dyn Stoppable>>, run: impl FnOnce() -> R) -> R {
    let outer = CURRENT.try_with(|current| current.replace(task));
    let outcome = run();
    if let Ok(outer) = outer {
        drop(CURRENT.try_with(|current| current.replace(outer)));
    }
    outcome
}

/// Whether the task that the calling thread runs has been asked to stop.
pub(crate) fn is_cancelled() -> bool {
    let of_task =
        CURRENT.try_with(|current| current.borrow().as_ref().map(|task| task.should_stop()));
    match of_task {
        Ok(Some(is_cancelled)) => is_cancelled,
        Ok(None) => with_current_pool(|pool| pool.should_stop()).unwrap_or(false),
        Err(_) => false,
    }
}

/// Looks at the task that the calling thread runs: the cancels of its pool, the task if it has a handle, whose
/// functions are its, and when it started. `look` calls nothing of a user's.
pub(crate) fn with_current<R>(
    look: impl FnOnce(&Arc<Cancels>, Option<&Arc<dyn Stoppable>>, Owner, Epoch) -> R,
) -> Option<R> {
    let looked = CURRENT.try_with(|current| match &*current.borrow() {
        Some(task) => {
            Some(look(task.cancels(), Some(task), Owner::task(Arc::as_ptr(task)), epoch()))
        }
        None => {
            let owner = owner_without_handle();
            with_current_pool(|pool| look(pool.cancels(), None, owner, epoch()))
        }
    });
    looked.ok().flatten()
}
