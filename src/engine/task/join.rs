//! Joining: how a thread, or a future, waits for an outcome.

use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::engine::actions::Release;
use crate::engine::context::{current_waits, has_thread, while_resumed};
use crate::engine::spin::look;
use crate::engine::task::handle::Joinable;
use crate::engine::wait::{is_over, park_until, this_thread};
use crate::engine::waits::Suspension;
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

/// Waits for an outcome, on a thread.
pub(crate) fn wait_for<R>(
    task_state: &Arc<dyn Joinable<R>>,
    deadline: Option<Instant>,
) -> Option<Result<R, JoinError>> {
    wait_with(task_state, deadline, |waker| task_state.collect(waker))
}

/// Waits until a task has ended, on a thread, and for what `poll` finds then. If the thread runs a task, that one
/// runs the awaited one itself or lends its place: see [`lend`](crate::engine::scheduler::lend).
pub(crate) fn wait_with<R, T>(
    task_state: &Arc<dyn Joinable<R>>,
    deadline: Option<Instant>,
    poll: impl FnMut(&Waker) -> Option<T>,
) -> Option<T> {
    while_resumed(|| wait_resumed(task_state, deadline, poll))
}

fn wait_resumed<R, T>(
    task_state: &Arc<dyn Joinable<R>>,
    deadline: Option<Instant>,
    mut poll: impl FnMut(&Waker) -> Option<T>,
) -> Option<T> {
    let found =
        if task_state.is_done() || run_here(task_state) { poll(Waker::noop()) } else { None };
    if found.is_some() || is_over(deadline) {
        return found.or_else(|| poll(Waker::noop()));
    }
    let mut suspension = None;
    let by = suspend_on(&mut suspension, true);
    let want = || by.clone().and_then(|by| Arc::clone(task_state).want(by));
    let mut retry = want();
    if look(|| task_state.is_done().then_some(())).is_some()
        && let Some(found) = poll(Waker::noop())
    {
        return Some(found);
    }
    let waker = this_thread();
    loop {
        if let Some(found) = poll(&waker) {
            return Some(found);
        }
        if !park_until(deadline, retry) {
            task_state.unwant();
            return poll(&waker);
        }
        retry = retry.and_then(|_| want());
    }
}

/// Polls for an outcome. A task that waits for it lends its place as long as it is suspended.
pub(crate) fn poll_outcome<R>(
    task_state: &Arc<dyn Joinable<R>>,
    suspension: &mut Option<Suspension>,
    context: &Context<'_>,
) -> Poll<Result<R, JoinError>> {
    while_resumed(|| {
        let mut outcome = task_state.collect(context.waker());
        if outcome.is_none() && run_here(task_state) {
            outcome = task_state.collect(context.waker());
        }
        if let Some(outcome) = outcome {
            *suspension = None;
            return Poll::Ready(outcome);
        }
        if let Some(by) = suspend_on(suspension, false) {
            Arc::clone(task_state).want(by);
        }
        Poll::Pending
    })
}

/// Runs a queued task on the calling thread, which joins it, if it may. True if it has run.
fn run_here<R>(task_state: &Arc<dyn Joinable<R>>) -> bool {
    has_thread() && Arc::clone(task_state).run_here()
}

/// The task that the calling thread runs is suspended on a handle, or `blocks` on it: what is there as long as that task
/// is. None if the thread runs no task.
pub(crate) fn suspend_on(
    suspension: &mut Option<Suspension>,
    blocks: bool,
) -> Option<Weak<dyn Release>> {
    let waits = current_waits()?;
    if !suspension.as_ref().is_some_and(|known| known.is_of(&waits)) {
        *suspension = Some(Suspension::new(&waits));
    }
    if blocks || has_thread() {
        waits.suspend();
    }
    let waits: Arc<dyn Release> = waits;
    Some(Arc::downgrade(&waits))
}
