//! A cell: a future that a driver runs, the waker of that future, and where its outcome goes, in one.
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
use crate::engine::context::{as_current, begin_poll, end_poll};
use crate::engine::scheduler::accounting::End;
use crate::engine::sync::{Mutex, lock};
use crate::engine::task::handle::Driven;
use crate::engine::waits::Waits;
use crate::error::{JoinError, TaskPanic};
use crate::on_cancel::{Cancels, Owner, Stoppable};

/// See the module's first lines.
pub(crate) struct Cell<F: Future> {
    header: Header,
    /// For the thread that made it Polling, or Over when no thread polled it: no thread waits for this lock.
    body: Mutex<Body<F>>,
    /// Where it goes when it is over, if it is used again.
    free_list: Option<Weak<FreeList<F>>>,
}

/// A task that is driven.
struct Body<F: Future> {
    /// None when it is over.
    future: Option<F>,
    /// What the task waits for, if it has polled a handle.
    waits: Option<Arc<Waits>>,
    /// Where the outcome goes, from the moment when a driver begins with it, if it has a handle.
    task_state: Option<Arc<dyn Driven<F::Output>>>,
    origin: &'static Location<'static>,
}

/// Cells that wait for their next future.
pub(crate) type FreeList<F> = Mutex<Vec<Arc<Cell<F>>>>;

/// A cell of whatever future.
pub(crate) trait Runnable: Any + Send + Sync {
    fn header(&self) -> &Header;

    /// Polls the future, if it is Ready, or drops it if all tasks were cancelled since it started. How the task has ended, if
    /// it has: with a panic that the hook is to be told, if no handle receives it.
    fn run(self: Arc<Self>, cancels: &Cancels) -> Option<Result<End, TaskPanic>>;

    /// Drops the future, unless the thread that polls it has to, and says how it is to be counted.
    fn abandon(&self) -> End;

    /// After its end, when it has left its run queue. It comes back if it is not kept to be used again.
    fn put_away(self: Arc<Self>) -> Option<Arc<dyn Runnable>>;
}

impl<F: Future> Cell<F> {
    pub(crate) fn new(future: F, origin: &'static Location<'static>) -> Arc<Self> {
        Cell::with(Body::new(future, origin), None)
    }

    fn with(body: Body<F>, free_list: Option<Weak<FreeList<F>>>) -> Arc<Self> {
        Arc::new(Cell { header: Header::default(), body: Mutex::new(body), free_list })
    }

    /// A cell from the free list, or a new one for it.
    pub(crate) fn from_free_list(
        free_list: &Arc<FreeList<F>>,
        future: F,
        origin: &'static Location<'static>,
    ) -> Arc<Self> {
        let (kept, body) = (lock(free_list).pop(), Body::new(future, origin));
        let Some(cell) = kept else { return Cell::with(body, Some(Arc::downgrade(free_list))) };
        // It is Over: it is Ready only when it is in a run queue.
        *lock(&cell.body) = body;
        cell
    }

    /// A driver begins with it, and its outcome goes to this task state.
    pub(crate) fn tell(&self, task_state: Arc<dyn Driven<F::Output>>) {
        lock(&self.body).task_state = Some(task_state);
    }

    /// Takes out a future that has never been polled.
    pub(crate) fn take(&self) -> Option<F> {
        if !self.header.begin_poll() {
            return None;
        }
        // It has not been pinned: nothing was polled.
        let future = lock(&self.body).future.take();
        self.header.set_over();
        future
    }
}

impl<F: Future> Body<F> {
    fn new(future: F, origin: &'static Location<'static>) -> Self {
        Body { future: Some(future), waits: None, task_state: None, origin }
    }

    #[inline]
    fn pinned(&mut self) -> Pin<&mut Option<F>> {
        // SAFETY: it lies in a cell in an `Arc`, and is not moved out of it once it has been polled: it is dropped in its
        // place, and `take` is for those that never were.
        unsafe { Pin::new_unchecked(&mut self.future) }
    }

    /// Does something with the future that may panic.
    fn catch<R>(&mut self, act: impl FnOnce(Pin<&mut Option<F>>) -> R) -> Result<R, TaskPanic> {
        let origin = self.origin;
        catch_unwind(AssertUnwindSafe(|| act(self.pinned())))
            .map_err(|payload| TaskPanic::caught(payload, Some(origin)))
    }

    /// Polls the future.
    #[inline]
    fn poll(&mut self, context: &mut Context<'_>) -> Option<Result<End, TaskPanic>> {
        let task = self.task_state.clone();
        if task.as_ref().is_some_and(|task| !task.drive(context.waker())) {
            return Some(Ok(self.stop()));
        }
        let poll = |future: Pin<&mut Option<F>>| {
            // It is there: the thread that takes or drops it makes the cell Over.
            future.as_pin_mut().map_or(Poll::Pending, |future| future.poll(context))
        };
        let polled = match task {
            Some(task) => as_current(task as Arc<dyn Stoppable>, || self.catch(poll)),
            None => self.catch(poll),
        };
        match polled {
            Ok(Poll::Pending) => None,
            Ok(Poll::Ready(value)) => Some(self.end(Ok(value))),
            Err(panic) => Some(self.end(Err(panic))),
        }
    }

    /// The future has come to its end, or has panicked. It is gone after that, so the task is counted once: here, or by the
    /// thread that drops the future before.
    fn end(&mut self, outcome: Result<F::Output, TaskPanic>) -> Result<End, TaskPanic> {
        let Some(task_state) = self.task_state.take() else {
            let value = outcome.inspect_err(|_| contain(|| self.pinned().set(None)))?;
            self.catch(|mut future| {
                future.set(None);
                drop(value);
            })?;
            return Ok(End::Completed);
        };
        // What it owns is gone before the outcome shows.
        let dropped = self.catch(|mut future| future.set(None));
        let end = task_state.end(outcome.map_err(JoinError::Panicked), dropped);
        // If no thread wants the outcome it is dropped here, and may panic; the task is counted already.
        contain(|| drop(task_state));
        Ok(end)
    }

    /// Drops the future, unless it is gone, and says how it is to be counted.
    fn stop(&mut self) -> End {
        if self.future.is_none() {
            return End::Counted;
        }
        contain(|| self.pinned().set(None));
        let end = match self.task_state.take() {
            Some(task_state) => task_state.end(Err(JoinError::Cancelled), Ok(())),
            None => End::Cancelled,
        };
        // After the handles of the future, which belong to them.
        self.waits = None;
        end
    }

    /// Drops the future because all tasks were cancelled, after the functions that it wants to be called first: the thread
    /// that cancels may not have come to them yet. They are those of the task state, or of this `owner`.
    fn cancel(&mut self, cancels: &Cancels, owner: Owner) -> End {
        let task = self.task_state.as_ref().map(Arc::as_ptr);
        cancels.call_old_for(task.map_or(owner, Owner::task));
        self.stop()
    }
}

/// Nothing of it has run, or it is dropped where it stands.
impl<F: Future> Drop for Body<F> {
    fn drop(&mut self) {
        let _: End = self.stop();
    }
}

impl<F: Future + Send + 'static> Runnable for Cell<F> {
    fn header(&self) -> &Header {
        &self.header
    }

    fn run(self: Arc<Self>, cancels: &Cancels) -> Option<Result<End, TaskPanic>> {
        let header = &self.header;
        if !header.begin_poll() {
            return None;
        }
        let owner = Owner::Cell(std::ptr::from_ref(header).addr());
        let mut body = lock(&self.body);
        // Its task runs meanwhile, and is suspended after that if a handle is pending.
        body.waits.iter().for_each(|waits| waits.resume());
        drop(begin_poll(owner, header.epoch(), body.waits.take()));
        // After it is Polling: a thread that cancels all and wakes it before is heard here, and later has it polled again.
        let end = if header.epoch() == cancels.epoch() {
            body.poll(&mut Context::from_waker(&Waker::from(Arc::clone(&self))))
        } else {
            Some(Ok(body.cancel(cancels, owner)))
        };
        let (waits, epoch) = end_poll();
        if end.is_some() {
            drop(body);
            header.set_over();
            return end;
        }
        waits.iter().for_each(|waits| waits.suspend());
        body.waits = waits;
        drop(body);
        // One poll of a puller may end a task and start another.
        header.set_epoch(epoch);
        // If it was given up, it was left to this thread.
        if header.end_poll() { None } else { Some(Ok(lock(&self.body).stop())) }
    }

    fn abandon(&self) -> End {
        // If no thread polled it, none will, now that it is over.
        if self.header.give_up() { lock(&self.body).stop() } else { End::Counted }
    }

    fn put_away(mut self: Arc<Self>) -> Option<Arc<dyn Runnable>> {
        // Others may have it still: a waker that was kept, and the thread that has lost it with its driver and gives it up,
        // maybe later than now. Then it is not used again.
        if let Some(free_list) = self.free_list.as_ref().and_then(Weak::upgrade)
            && Arc::get_mut(&mut self).is_some()
        {
            lock(&free_list).push(self);
            return None;
        }
        Some(self)
    }
}

impl<F: Future + Send + 'static> Wake for Cell<F> {
    fn wake(self: Arc<Self>) {
        self.header.wake();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.header.wake();
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
