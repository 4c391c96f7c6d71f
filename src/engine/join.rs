//! Joining: how a thread waits for an outcome.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use super::handle::Joinable;
use super::spin::look;
use super::wait::{is_over, park_until, this_thread};
use super::worker::{Kind, inside};
use crate::error::{JoinError, Refused};

/// An error if [`wait_for`] would block a thread that must not block.
pub(crate) fn check_wait<R>(
    parcel: &Arc<dyn Joinable<R>>,
    deadline: Option<Instant>,
) -> Result<(), Refused> {
    if parcel.is_done() || is_over(deadline) || parcel.may_block() {
        return Ok(());
    }
    Err(Refused::InRuntime)
}

/// Waits for an outcome, on a thread. A worker, of whatever pool, that waits for a task which nobody
/// has begun runs it itself: the place that the task waits for may be the worker's own.
pub(crate) fn wait_for<R>(
    parcel: &Arc<dyn Joinable<R>>,
    deadline: Option<Instant>,
) -> Option<Result<R, JoinError>> {
    help_out(parcel);
    // A deadline that is over already is no reason to look around.
    if !is_over(deadline)
        && look(|| parcel.is_done().then_some(())).is_some()
        && let Some(outcome) = parcel.collect(Waker::noop())
    {
        return Some(outcome);
    }
    let waker = this_thread();
    loop {
        if let Some(outcome) = parcel.collect(&waker) {
            return Some(outcome);
        }
        if !park_until(deadline, None) {
            return parcel.collect(&waker);
        }
    }
}

/// Polls until it is ready, on this thread, which looks around before it parks.
pub(crate) fn block_on<R>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    let waker = this_thread();
    let mut context = Context::from_waker(&waker);
    let mut ready = |context: &mut Context<'_>| match poll(context) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    };
    if let Some(value) = look(|| ready(&mut context)) {
        return value;
    }
    loop {
        if let Some(value) = ready(&mut context) {
            return value;
        }
        park_until(None, None);
    }
}

/// See [`wait_for`].
pub(crate) fn help_out<R>(parcel: &Arc<dyn Joinable<R>>) {
    if inside() == Some(Kind::Thread) {
        Arc::clone(parcel).run_here();
    }
}
