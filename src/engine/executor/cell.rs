//! A cell: a future that a driver runs, and the waker of that future in one.
//!
//! Only the thread that made it Polling touches its future from there on: see [`header`].

mod header;

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

pub(crate) use self::header::Header;
use crate::engine::contain::contain;
use crate::engine::context::{epoch, owner, replace_waits, set_epoch, set_owner};
use crate::engine::scheduler::accounting::End;
use crate::engine::sync::{Mutex, lock};
use crate::engine::waits::Waits;
use crate::error::TaskPanic;
use crate::on_cancel::{Cancels, Owner};

/// A future that says how it ended.
pub(crate) trait TaskFuture: Future<Output = End> + Send {
    /// Where it was submitted.
    fn origin(&self) -> Option<&'static Location<'static>>;

    /// What is to be counted when it is dropped before its end: nothing if it does that itself.
    fn end_by_drop(&self) -> End;

    /// Whether one poll may end a task and start another. Each task that it starts is said by `set_epoch`.
    const STARTS_OTHERS: bool = false;

    /// It is dropped because all tasks were cancelled: calls the functions that it wants to be called first, if its
    /// task has a handle.
    fn make_calls(&self) {}
}

/// See the module's first lines.
pub(crate) struct Cell<F> {
    header: Header,
    /// The future, and what its task waits for, if it has polled a handle. For the thread that made it Polling, or Over
    /// when no thread polled it: no thread waits for this lock.
    body: Mutex<Body<F>>,
    /// Where it goes when it is over, if it is used again.
    free_list: Option<Weak<FreeList<F>>>,
}

type Body<F> = (Option<F>, Option<Arc<Waits>>);

/// Cells that wait for their next future.
pub(crate) type FreeList<F> = Mutex<Vec<Arc<Cell<F>>>>;

/// A cell of whatever future.
pub(crate) trait Runnable: Any + Send + Sync {
    fn header(&self) -> &Header;

    /// Polls the future, if it is Ready, or drops it if all tasks were cancelled since it started. `tell` tells of a panic.
    fn run(self: Arc<Self>, cancels: &Cancels, tell: &mut dyn FnMut(TaskPanic) -> End) -> Polled;

    /// Drops the future, unless the thread that polls it has to, and says how it is to be counted.
    fn abandon(&self) -> End;

    /// After its end, when it has left its run queue. It comes back if it is not kept to be used again.
    fn put_away(self: Arc<Self>) -> Option<Arc<dyn Runnable>>;
}

/// What came of a poll.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Polled {
    Waits,
    /// It was woken meanwhile, so it must be polled again.
    Again,
    Ended(End),
}

impl<F: TaskFuture + 'static> Cell<F> {
    pub(crate) fn new(body: F) -> Arc<Self> {
        Cell::with(body, None)
    }

    fn with(body: F, free_list: Option<Weak<FreeList<F>>>) -> Arc<Self> {
        Arc::new(Cell { header: Header::new(), body: Mutex::new((Some(body), None)), free_list })
    }

    /// A cell from the free list, or a new one for it.
    pub(crate) fn from_free_list(free_list: &Arc<FreeList<F>>, body: F) -> Arc<Self> {
        let kept = lock(free_list).pop();
        let Some(cell) = kept else { return Cell::with(body, Some(Arc::downgrade(free_list))) };
        // It is Over: it is Ready only when it is in a run queue.
        lock(&cell.body).0 = Some(body);
        cell
    }

    /// Changes what has never been polled.
    pub(crate) fn change(&self, change: impl FnOnce(&mut F)) {
        lock(&self.body).0.as_mut().map(change);
    }

    /// Takes out what has never been polled.
    pub(crate) fn take(&self) -> Option<F> {
        if !self.header.begin_poll() {
            return None;
        }
        // It has not been pinned: nothing was polled.
        let body = lock(&self.body).0.take();
        self.header.set_over();
        body
    }

    /// The future, pinned, and what its task waits for.
    #[inline]
    fn with_body<R>(
        &self,
        act: impl FnOnce(Pin<&mut Option<F>>, &mut Option<Arc<Waits>>) -> R,
    ) -> R {
        let (future, waits) = &mut *lock(&self.body);
        // SAFETY: it lies in an `Arc`, and is not moved out of it once it has been polled: it is dropped in its place, and
        // `take` and `change` are for those that never were.
        act(unsafe { Pin::new_unchecked(future) }, waits)
    }
}

/// Polls a future whose task waits for this. Its task runs meanwhile, and is suspended after that if a handle is pending.
#[inline]
fn poll_body<F: TaskFuture>(
    future: Pin<&mut Option<F>>,
    waits: &mut Option<Arc<Waits>>,
    context: &mut Context<'_>,
) -> Result<Option<End>, TaskPanic> {
    waits.iter().for_each(|waits| waits.resume());
    drop(replace_waits(waits.take()));
    let polled = poll_future(future, context);
    let pending = replace_waits(None);
    if let Ok(None) = polled
        && let Some(pending) = pending
    {
        pending.suspend();
        *waits = Some(pending);
    }
    polled
}

/// Polls a future, which is gone with its end, also by a panic. So it is counted once: by the thread that polled it to
/// its end, or by the thread that drops it before.
#[inline]
fn poll_future<F: TaskFuture>(
    mut place: Pin<&mut Option<F>>,
    context: &mut Context<'_>,
) -> Result<Option<End>, TaskPanic> {
    // The thread that has dropped it has counted it.
    let Some(future) = place.as_mut().as_pin_mut() else { return Ok(Some(End::Counted)) };
    match catch_unwind(AssertUnwindSafe(|| future.poll(context))) {
        Ok(Poll::Pending) => Ok(None),
        Ok(Poll::Ready(end)) => {
            place.set(None);
            Ok(Some(end))
        }
        Err(payload) => {
            // A puller may be at another task by now than when the poll began.
            let origin = place.as_ref().get_ref().as_ref().and_then(TaskFuture::origin);
            let panic = TaskPanic::caught(payload, origin);
            contain(|| place.set(None));
            Err(panic)
        }
    }
}

/// Drops a future, and says how it is to be counted.
fn drop_body<F: TaskFuture>(
    mut future: Pin<&mut Option<F>>,
    waits: &mut Option<Arc<Waits>>,
) -> End {
    let end = future.as_ref().get_ref().as_ref().map_or(End::Counted, TaskFuture::end_by_drop);
    contain(|| future.set(None));
    // After the handles of the future, which belong to them.
    *waits = None;
    end
}

/// Drops a future because all tasks were cancelled, after the functions that it wants to be called first: the thread that
/// cancels may not have come to them yet.
fn drop_cancelled<F: TaskFuture>(
    future: Pin<&mut Option<F>>,
    waits: &mut Option<Arc<Waits>>,
    cancels: &Cancels,
) -> End {
    cancels.call_old_for(owner());
    future.as_ref().get_ref().as_ref().into_iter().for_each(F::make_calls);
    drop_body(future, waits)
}

impl<F: TaskFuture + 'static> Runnable for Cell<F> {
    fn header(&self) -> &Header {
        &self.header
    }

    fn run(self: Arc<Self>, cancels: &Cancels, tell: &mut dyn FnMut(TaskPanic) -> End) -> Polled {
        let header = &self.header;
        if !header.begin_poll() {
            return Polled::Waits;
        }
        set_owner(Owner::Cell(std::ptr::from_ref(header).addr()));
        set_epoch(header.epoch());
        let waker = Waker::from(Arc::clone(&self));
        let polled = self.with_body(|future, waits| {
            // After it is Polling: a thread that cancels all and wakes it before is heard here, and later has it polled
            // again.
            if header.epoch() != cancels.epoch() {
                return Ok(Some(drop_cancelled(future, waits, cancels)));
            }
            poll_body(future, waits, &mut Context::from_waker(&waker))
        });
        if let Ok(None) = polled {
            if F::STARTS_OTHERS {
                header.set_epoch(epoch());
            }
            // If it was given up, it was left to this thread.
            return header.end_poll().unwrap_or_else(|| Polled::Ended(self.with_body(drop_body)));
        }
        header.set_over();
        Polled::Ended(polled.map_or_else(tell, |end| end.unwrap_or(End::Counted)))
    }

    fn abandon(&self) -> End {
        // If no thread polled it, none will, now that it is over.
        if self.header.give_up() { self.with_body(drop_body) } else { End::Counted }
    }

    fn put_away(self: Arc<Self>) -> Option<Arc<dyn Runnable>> {
        let Some(free_list) = self.free_list.as_ref().and_then(Weak::upgrade) else {
            return Some(self);
        };
        // The thread that has lost it gives it up, maybe later than now.
        if self.header.is_lost() {
            return Some(self);
        }
        lock(&free_list).push(self);
        None
    }
}

impl<F: TaskFuture + 'static> Wake for Cell<F> {
    fn wake(self: Arc<Self>) {
        self.header.wake();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.header.wake();
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
