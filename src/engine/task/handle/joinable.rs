//! A task state as its handle sees it, and as the scheduler does that may start it out of its turn.

use std::mem::replace;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

use super::{Content, Listing, Stage, TaskState, Unpack};
use crate::engine::QueuedTask;
use crate::engine::actions::Release;
use crate::engine::contain::contain;
use crate::engine::context::{enter, is_innermost, set_epoch};
use crate::engine::scheduler::accounting::End;
use crate::engine::scheduler::lend::Queued;
use crate::engine::sync::atomic::Ordering;
use crate::engine::sync::lock;
use crate::engine::task::join::suspend_on;
use crate::engine::waits::Waits;
use crate::error::JoinError;

/// What a handle can do with its task, whatever pool it is on.
pub(crate) trait Joinable<R>: Send + Sync {
    /// Runs a queued task on the calling thread, which joins it, if there is a place for it and the thread may.
    /// True if it has run.
    fn run_here(self: Arc<Self>) -> bool;

    /// A task waits `by` this for this one, which may start in a lent place. If a thread
    /// could not be started for it, returns when to try again.
    fn want(self: Arc<Self>, by: Weak<Waits>) -> Option<Duration>;

    /// No task waits for this one any more.
    fn unwant(&self);

    /// Has the task dropped if it has not started: then true. Otherwise asks it to stop.
    fn cancel(&self) -> bool;

    fn is_done(&self) -> bool;

    /// See [`Work::may_block`](crate::engine::Work::may_block).
    fn may_block(&self) -> bool;

    /// Has `waker` woken when the outcome is there. False if it is there already.
    fn watch(&self, waker: &Waker) -> bool;

    /// The outcome, if it is there.
    fn collect(&self) -> Option<Result<R, JoinError>>;

    /// The handle is dropped, and has not collected the outcome: the hook receives the task's panic.
    fn detach(&self);
}

impl<W: Unpack<P, R>, P: Send + 'static, R: Send + 'static> Queued<W::Job> for TaskState<W, P, R> {
    fn claim(self: Arc<Self>) -> Result<W::Job, Arc<dyn Release>> {
        let mut content = lock(&self.content);
        if !content.is_awaited() {
            drop(content);
            return Err(self);
        }
        content.listing = Listing::Claimed;
        drop(content);
        Ok(W::job(self, true))
    }

    fn is_awaited(&self) -> bool {
        lock(&self.content).is_awaited()
    }
}

impl<P, R> Content<P, R> {
    /// Whether it is still queued, and a task waits for it. Otherwise it is not listed any more.
    fn is_awaited(&mut self) -> bool {
        let is_awaited = self.is_queued() && self.awaited_by.strong_count() > 0;
        if !is_awaited && self.listing == Listing::Listed {
            self.listing = Listing::Unlisted;
        }
        is_awaited
    }
}

impl<W: Unpack<P, R>, P: Send + 'static, R: Send + 'static> Joinable<R> for TaskState<W, P, R> {
    fn run_here(self: Arc<Self>) -> bool {
        if self.is_tombstone() || !self.engine.may_run_here() {
            return false;
        }
        let mut suspension = None;
        if !is_innermost(Arc::as_ptr(&self.engine)) {
            suspend_on(&mut suspension, true);
        }
        // Before it is admitted: a task that was accepted is concerned when all are cancelled from here on.
        let epoch = self.engine.cancels.epoch();
        let Some((packed, counts)) = self.engine.admit_guest(|| self.take(false)) else {
            return false;
        };
        let _inside = enter(Arc::clone(&self.engine) as _, true);
        set_epoch(epoch);
        // It is counted, and its panic has a recipient.
        let _: End = self.run(packed, counts, W::call);
        true
    }

    fn want(self: Arc<Self>, by: Weak<Waits>) -> Option<Duration> {
        let mut content = lock(&self.content);
        if !content.is_queued() {
            return None;
        }
        content.awaited_by = by;
        let is_known = replace(&mut content.listing, Listing::Listed) == Listing::Listed;
        drop(content);
        let queued: Weak<dyn Queued<W::Job>> = Arc::downgrade(&self) as _;
        self.engine.await_queued((!is_known).then_some(queued))
    }

    fn unwant(&self) {
        lock(&self.content).awaited_by = Weak::new();
    }

    fn cancel(&self) -> bool {
        // First the place, because what is dropped may want one.
        let Some(packed) = self.take_back() else { return self.stop_driven() };
        contain(|| drop(packed));
        self.settle(Err(JoinError::Cancelled));
        true
    }

    fn is_done(&self) -> bool {
        // Acquire: pairs with the Release in `settle`.
        self.done.load(Ordering::Acquire)
    }

    fn may_block(&self) -> bool {
        W::may_block()
    }

    fn watch(&self, waker: &Waker) -> bool {
        let mut content = lock(&self.content);
        if matches!(content.stage, Stage::Done(_) | Stage::Collected) {
            return false;
        }
        let old = content.waker.replace(waker.clone());
        drop(content);
        // A waker is a user's code.
        drop(old);
        true
    }

    fn collect(&self) -> Option<Result<R, JoinError>> {
        let mut content = lock(&self.content);
        if let Stage::Done(_) = content.stage
            && let Stage::Done(outcome) = replace(&mut content.stage, Stage::Collected)
        {
            return Some(outcome);
        }
        None
    }

    fn detach(&self) {
        let mut content = lock(&self.content);
        content.has_handle = false;
        content.awaited_by = Weak::new();
        let panic = content.take_panic();
        drop(content);
        self.tell_hook(panic);
    }
}
