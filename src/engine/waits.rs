//! What a task waits for: while a thread is blocked, or a task is suspended on handles, its place is lent.
//!
//! A task counts as waiting from the moment its poll returns, if it holds a handle that it has polled and that
//! was pending, until it is polled again or has no such handle any more. A handle belongs to the task that
//! polled it last. When that task has ended, what is left of its handles counts for nothing.
//!
//! A task that has a thread for itself is polled by an executor that the engine does not know. It counts as waiting from the
//! end of the poll of such a handle, and as running while it polls another one. A thread that blocks in a wait of formic's has
//! a pending handle meanwhile.

use std::panic::RefUnwindSafe;
use std::sync::{Arc, Weak};

use crate::engine::context::Lender;
use crate::engine::sync::{Mutex, lock};

/// The handles of one task. It is dropped when the task has ended.
pub(crate) struct Waits {
    pool: Arc<dyn Lender>,
    handles: Mutex<Handles>,
}

#[derive(Default)]
struct Handles {
    pending: usize,
    /// The task is suspended, and its place is lent.
    lent: bool,
}

// A handle may cross a `catch_unwind`: what a task waits for is changed under a lock, in steps that cannot panic.
impl RefUnwindSafe for Waits {}

impl Waits {
    pub(crate) fn new(pool: Arc<dyn Lender>) -> Arc<Self> {
        Arc::new(Waits { pool, handles: Mutex::new(Handles::default()) })
    }

    /// The task is suspended: it lends its place if a handle is pending.
    pub(crate) fn suspend(&self) {
        self.change(|handles| handles.lent = handles.pending > 0);
    }

    /// The task runs again.
    pub(crate) fn resume(&self) {
        self.change(|handles| handles.lent = false);
    }

    /// A handle is not pending any more, or has left the task.
    fn release(&self) {
        self.change(|handles| {
            handles.pending -= 1;
            handles.lent &= handles.pending > 0;
        });
    }

    /// The pool counts the task in the same step. What that asks for is done after the lock.
    fn change(&self, change: impl FnOnce(&mut Handles)) {
        let mut handles = lock(&self.handles);
        let was_lent = handles.lent;
        change(&mut handles);
        if handles.lent != was_lent {
            let actions = self.pool.note_wait(handles.lent);
            drop(handles);
            Arc::clone(&self.pool).carry_out(actions);
        }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.resume();
    }
}

/// A pending handle of a task.
pub(crate) struct Suspension(Weak<Waits>);

impl Suspension {
    pub(crate) fn new(waits: &Arc<Waits>) -> Self {
        lock(&waits.handles).pending += 1;
        Suspension(Arc::downgrade(waits))
    }

    pub(crate) fn is_of(&self, waits: &Arc<Waits>) -> bool {
        std::ptr::eq(self.0.as_ptr(), Arc::as_ptr(waits))
    }
}

impl Drop for Suspension {
    fn drop(&mut self) {
        if let Some(waits) = self.0.upgrade() {
            waits.release();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::engine::tests::stubs::engine;

    #[test]
    fn a_place_is_lent_until_the_last_pending_handle_is_gone() {
        let engine = engine(1, 1);
        let waits = Waits::new(Arc::clone(&engine) as _);
        let [first, second] = [(); 2].map(|()| Suspension::new(&waits));
        waits.suspend();
        drop(first);
        assert_eq!(engine.lock().waiting_for_tasks(), 1);
        drop(second);
        assert_eq!(engine.lock().waiting_for_tasks(), 0, "nothing is left that it waits for");
    }
}
