//! Joining: how a thread, or a future, waits for an outcome.

use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Instant;

use crate::engine::context::{current_waits, has_thread, while_resumed};
use crate::engine::task::handle::Joinable;
use crate::engine::wait::{block_until, is_over};
use crate::engine::waits::{Suspension, Waits};
use crate::error::{JoinError, Refused};

/// An error if [`wait_for`] would block a thread that must not block.
pub(crate) fn check_wait<R>(
    task_state: &Arc<dyn Joinable<R>>,
    deadline: Option<Instant>,
) -> Result<(), Refused> {
    if task_state.is_done() || is_over(deadline) || task_state.may_block() {
        return Ok(());
    }
    Err(Refused::InRuntime)
}

/// Blocks the thread until the task has ended. False if it has not in time. If the thread runs a task, that one
/// runs the awaited one itself or lends its place: see [`lend`](crate::engine::scheduler::lend).
pub(crate) fn wait_for<R>(task_state: &Arc<dyn Joinable<R>>, deadline: Option<Instant>) -> bool {
    while_resumed(|| {
        if task_state.is_done() || run_here(task_state) {
            return true;
        }
        if is_over(deadline) {
            return false;
        }
        let mut suspension = None;
        let by = suspend_on(&mut suspension, true);
        let want = || Arc::clone(task_state).want(by.clone()?);
        let mut retry = want();
        let has_ended = block_until(
            deadline,
            |waker| match waker {
                None => task_state.is_done().then_some(()),
                Some(waker) => (!task_state.watch(waker)).then_some(()),
            },
            || {
                retry = retry.and_then(|_| want());
                retry
            },
        );
        if has_ended.is_none() {
            task_state.unwant();
        }
        has_ended.is_some()
    })
}

/// Polls for an outcome. A task that waits for it lends its place as long as it is suspended.
pub(crate) fn poll_outcome<R>(
    task_state: &Arc<dyn Joinable<R>>,
    suspension: &mut Option<Suspension>,
    context: &Context<'_>,
) -> Poll<Result<R, JoinError>> {
    while_resumed(|| {
        if task_state.watch(context.waker()) && !run_here(task_state) {
            if let Some(by) = suspend_on(suspension, false) {
                Arc::clone(task_state).want(by);
            }
            return Poll::Pending;
        }
        *suspension = None;
        task_state.collect().map_or(Poll::Pending, Poll::Ready)
    })
}

/// Runs a queued task on the calling thread, which joins it, if it may. True if it has run.
fn run_here<R>(task_state: &Arc<dyn Joinable<R>>) -> bool {
    has_thread() && Arc::clone(task_state).run_here()
}

/// The task that the calling thread runs is suspended on a handle, or `blocks` on it: what is there as long as that task
/// is. None if the thread runs no task.
pub(crate) fn suspend_on(suspension: &mut Option<Suspension>, blocks: bool) -> Option<Weak<Waits>> {
    let waits = current_waits()?;
    if !suspension.as_ref().is_some_and(|known| known.is_of(&waits)) {
        *suspension = Some(Suspension::new(&waits));
    }
    if blocks || has_thread() {
        waits.suspend();
    }
    Some(Arc::downgrade(&waits))
}
