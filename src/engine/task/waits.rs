//! What a task waits for when it is suspended on handles: while it is, its place is lent.
//!
//! A task counts as waiting from the moment its poll returns, if it holds a handle that it has polled and that
//! was pending, until it is polled again or has no such handle any more. A handle belongs to the task that
//! polled it last. When that task has ended, what is left of its handles counts for nothing.

use std::panic::RefUnwindSafe;
use std::sync::{Arc, Weak};

use crate::engine::scheduler::core::Actions;
use crate::engine::scheduler::lend::{Lender, Release};
use crate::engine::sync::{Mutex, lock};

/// The handles of one task. It is dropped when the task has ended.
pub(crate) struct Waits {
    pool: Arc<dyn Lender>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Pending handles.
    handles: usize,
    /// The task is suspended, and its place is lent.
    lent: bool,
}

impl Release for Waits {}

// A handle may cross a `catch_unwind`: what a task waits for is changed under a lock, in steps that cannot panic.
impl RefUnwindSafe for Waits {}

impl Waits {
    pub(crate) fn new(pool: Arc<dyn Lender>) -> Arc<Self> {
        Arc::new(Waits { pool, state: Mutex::new(State::default()) })
    }

    /// The task is suspended: it lends its place if a handle is pending.
    pub(crate) fn suspend(&self) {
        self.change(|state| {
            let lends = state.handles > 0 && !state.lent;
            state.lent |= lends;
            lends.then(|| self.pool.begin_wait())
        });
    }

    /// The task runs again.
    pub(crate) fn resume(&self) {
        self.change(|state| std::mem::take(&mut state.lent).then(|| self.pool.end_wait()));
    }

    /// A handle is not pending any more, or has left the task.
    fn release(&self) {
        self.change(|state| {
            state.handles -= 1;
            let resumes = state.handles == 0 && std::mem::take(&mut state.lent);
            resumes.then(|| self.pool.end_wait())
        });
    }

    /// The pool counts the task in the same step. What that asks for is done after the lock.
    fn change(&self, decide: impl FnOnce(&mut State) -> Option<Actions>) {
        let mut state = lock(&self.state);
        let actions = decide(&mut state);
        drop(state);
        if let Some(actions) = actions {
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
        lock(&waits.state).handles += 1;
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
