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
use crate::engine::sync::{Mutex, Place, lock};
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
    /// For the thread that made it Polling, or Over when no thread polled it; or has its only reference.
    body: Place<Option<F>>,
    /// What its task waits for, if it has polled a handle. For the same thread.
    waits: Place<Option<Arc<Waits>>>,
    /// Where it goes when it is over, if it is used again.
    free_list: Option<Weak<FreeList<F>>>,
}

// SAFETY: a reference leads to the body only by the rule above, which lets in one thread at a time. So what
// it needs is to be sent from one to the other.
unsafe impl<F: Send> Sync for Cell<F> {}

/// Cells that wait for their next future.
pub(crate) type FreeList<F> = Mutex<Vec<Arc<Cell<F>>>>;

/// A cell of whatever future.
pub(crate) trait Runnable: Any + Send + Sync {
    fn header(&self) -> &Header;

    /// Polls the future, if it is Ready, or drops it if all tasks were cancelled since it started. If it panicked, that
    /// is left in `panic`.
    fn run(self: Arc<Self>, cancels: &Cancels, panic: &mut Option<TaskPanic>) -> Polled;

    /// Drops the future, unless the thread that polls it has to, and says how it is to be counted.
    fn abandon(&self) -> End;

    /// After its end, when it has left its run queue. It comes back if it is not kept to be used again.
    fn put_away(self: Arc<Self>) -> Option<Arc<dyn Runnable>>;

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

/// What came of a poll.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Polled {
    Waits,
    /// It was woken meanwhile, so it must be polled again.
    Again,
    Ended(End),
}

/// Polls a cell that was taken out of a run queue's queue. `tell` tells of a panic.
#[inline]
pub(crate) fn poll(
    cell: &Arc<dyn Runnable>,
    cancels: &Cancels,
    tell: impl FnOnce(TaskPanic) -> End,
) -> Polled {
    let mut panic = None;
    let polled = Arc::clone(cell).run(cancels, &mut panic);
    match panic {
        None => polled,
        Some(panic) => Polled::Ended(tell(panic)),
    }
}

/// Drops the future of a cell that no thread will poll any more.
pub(crate) fn abandon(cell: &Arc<dyn Runnable>) -> End {
    let mut end = End::Cancelled;
    contain(|| end = cell.abandon());
    end
}

impl<F: TaskFuture + 'static> Cell<F> {
    pub(crate) fn new(body: F) -> Arc<Self> {
        Cell::with(body, None)
    }

    fn with(body: F, free_list: Option<Weak<FreeList<F>>>) -> Arc<Self> {
        let (header, body, waits) = (Header::new(), Place::new(Some(body)), Place::new(None));
        Arc::new(Cell { header, body, waits, free_list })
    }

    /// A cell from the free list, or a new one for it.
    pub(crate) fn from_free_list(free_list: &Arc<FreeList<F>>, body: F) -> Arc<Self> {
        let kept = lock(free_list).pop();
        let Some(cell) = kept else { return Cell::with(body, Some(Arc::downgrade(free_list))) };
        // SAFETY: it is Over, and came from the free list. No thread gives up what lies there, and no thread polls it:
        // it is Ready only from here on.
        cell.body.with_mut(|place| unsafe { *place = Some(body) });
        cell.header.set_ready();
        cell
    }

    /// Changes the body of a cell that no other thread knows yet.
    pub(crate) fn change(cell: &mut Arc<Self>, change: impl FnOnce(&mut F)) {
        let Some(cell) = Arc::get_mut(cell) else { unreachable!("it has one reference") };
        // SAFETY: there is no other reference to it.
        cell.body.with_mut(|body| unsafe { (*body).as_mut() }.map(change));
    }

    /// Takes out what has never been polled.
    pub(crate) fn take(&self) -> Option<F> {
        if !self.header.begin_poll() {
            return None;
        }
        // SAFETY: it is Polling by this thread. It has not been pinned: nothing was polled.
        let body = self.body.with_mut(|body| unsafe { (*body).take() });
        self.header.set_over();
        body
    }

    /// Begins a poll, unless it is not to be polled, and says of which task of this thread it is.
    #[inline]
    fn begin_poll(&self) -> bool {
        let begins = self.header.begin_poll();
        if begins {
            set_owner(Owner::Cell(std::ptr::from_ref(&self.header).addr()));
            set_epoch(self.header.epoch());
        }
        begins
    }

    /// The body, pinned. It lies in an `Arc` and is not moved out of it once it has been polled: it is
    /// dropped in its place, and `take` is for those that never were.
    ///
    /// # Safety
    /// Only for whom the rule of `body` lets in, and only until it is let go.
    #[inline]
    unsafe fn with_body<R>(&self, act: impl FnOnce(Pin<&mut Option<F>>) -> R) -> R {
        self.body.with_mut(|body| {
            // SAFETY: no other thread is let in meanwhile.
            let body = unsafe { &mut *body };
            // SAFETY: as above.
            act(unsafe { Pin::new_unchecked(body) })
        })
    }

    /// Polls the body. It is gone with its end, also by a panic. So it is counted once: by the thread that polled
    /// it to its end, or by the thread that drops it before.
    ///
    /// # Safety
    /// As for `with_body`.
    #[inline]
    unsafe fn poll_body(&self, context: &mut Context<'_>) -> Result<Option<End>, TaskPanic> {
        // SAFETY: the caller's.
        unsafe {
            self.with_body(|mut body| {
                // Who has dropped it has counted it.
                let Some(future) = body.as_mut().as_pin_mut() else {
                    return Ok(Some(End::Counted));
                };
                match catch_unwind(AssertUnwindSafe(|| future.poll(context))) {
                    Ok(Poll::Pending) => Ok(None),
                    Ok(Poll::Ready(end)) => {
                        body.set(None);
                        Ok(Some(end))
                    }
                    Err(payload) => {
                        // A puller may be at another task by now than when the poll began.
                        let origin = body.as_ref().get_ref().as_ref().and_then(TaskFuture::origin);
                        let panic = TaskPanic::caught(payload, origin);
                        contain(|| body.set(None));
                        Err(panic)
                    }
                }
            })
        }
    }

    /// Drops the body because all tasks were cancelled, after the functions that it wants to be called first: the thread
    /// that cancels may not have come to them yet.
    ///
    /// # Safety
    /// As for `with_body`.
    unsafe fn drop_cancelled(&self, cancels: &Cancels) -> End {
        cancels.call_old_for(owner());
        // SAFETY: the caller's.
        unsafe {
            self.with_body(|body| {
                body.as_ref().get_ref().as_ref().into_iter().for_each(F::make_calls);
            });
        }
        // SAFETY: the caller's.
        unsafe { self.drop_body() }
    }

    /// Puts waits in the place of others.
    ///
    /// # Safety
    /// As for `with_body`.
    #[inline]
    unsafe fn replace_waits(&self, waits: Option<Arc<Waits>>) -> Option<Arc<Waits>> {
        // SAFETY: no other thread is let in meanwhile.
        self.waits.with_mut(|place| unsafe { std::mem::replace(&mut *place, waits) })
    }

    /// Its task runs again, if it was suspended on handles.
    ///
    /// # Safety
    /// As for `with_body`.
    #[inline]
    unsafe fn resume(&self) {
        // SAFETY: the caller's.
        let waits = unsafe { self.replace_waits(None) };
        waits.iter().for_each(|waits| waits.resume());
        drop(replace_waits(waits));
    }

    /// The poll has ended, and not its task: its place is lent if a handle is pending.
    ///
    /// # Safety
    /// As for `with_body`.
    #[inline]
    unsafe fn suspend(&self) {
        if let Some(waits) = replace_waits(None) {
            waits.suspend();
            // SAFETY: the caller's.
            unsafe { self.replace_waits(Some(waits)) };
        }
    }

    /// Drops the body, and says how it is to be counted.
    ///
    /// # Safety
    /// As for `with_body`.
    unsafe fn drop_body(&self) -> End {
        // SAFETY: the caller's.
        let waits = unsafe { self.replace_waits(None) };
        // SAFETY: the caller's.
        let end = unsafe {
            self.with_body(|mut body| {
                let end =
                    body.as_ref().get_ref().as_ref().map_or(End::Counted, TaskFuture::end_by_drop);
                contain(|| body.set(None));
                end
            })
        };
        // After the handles of the future, which belong to them.
        drop(waits);
        end
    }
}

impl<F: TaskFuture + 'static> Runnable for Cell<F> {
    fn header(&self) -> &Header {
        &self.header
    }

    fn run(self: Arc<Self>, cancels: &Cancels, panic: &mut Option<TaskPanic>) -> Polled {
        let header = &self.header;
        if !self.begin_poll() {
            return Polled::Waits;
        }
        // After it is Polling: a thread that cancels all and wakes it before is heard here, and later has it polled again.
        if header.epoch() != cancels.epoch() {
            // SAFETY: it is Polling by this thread, until `set_over`.
            let end = unsafe { self.drop_cancelled(cancels) };
            header.set_over();
            return Polled::Ended(end);
        }
        // SAFETY: it is Polling by this thread, until `end_poll` or `set_over`.
        unsafe { self.resume() };
        let waker = Waker::from(Arc::clone(&self));
        // SAFETY: it is Polling by this thread, until `end_poll` or `set_over`.
        let end = match unsafe { self.poll_body(&mut Context::from_waker(&waker)) } {
            Ok(None) => {
                // While it is Polling, so that the next poll comes after this.
                // SAFETY: it is still Polling by this thread.
                unsafe { self.suspend() };
                if F::STARTS_OTHERS {
                    header.set_epoch(epoch());
                }
                return match header.end_poll() {
                    Some(polled) => polled,
                    // SAFETY: it was given up, and left to this thread.
                    None => Polled::Ended(unsafe { self.drop_body() }),
                };
            }
            Ok(Some(end)) => end,
            Err(caught) => {
                *panic = Some(caught);
                End::Panicked
            }
        };
        drop(replace_waits(None));
        header.set_over();
        Polled::Ended(end)
    }

    fn abandon(&self) -> End {
        // SAFETY: no thread polled it, and now that it is over no thread will.
        if self.header.give_up() { unsafe { self.drop_body() } } else { End::Counted }
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

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
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
