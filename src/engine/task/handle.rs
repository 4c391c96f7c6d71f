//! A task with a handle: where its closure waits, and where its outcome waits for the joiner.
//!
//! The task state is shared by the queue, which holds a queue entry for it, and by the handle. The thread
//! that takes what is packed in it, under the task state's lock, decides what becomes of the task: a worker
//! whose turn it is, a joiner that runs it itself, or a caller that cancels it. So there is exactly one
//! outcome.

#[cfg(any(feature = "tokio", test))]
mod driven;
mod joinable;
mod panicked;

use std::mem::replace;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::{Arc, Weak};
use std::task::Waker;

#[cfg(any(feature = "tokio", test))]
pub(crate) use self::driven::Driven;
pub(crate) use self::joinable::Joinable;
use crate::engine::contain::contain;
use crate::engine::context::as_current;
use crate::engine::scheduler::accounting::{Counts, End};
use crate::engine::sync::atomic::{AtomicBool, Ordering};
use crate::engine::sync::{Mutex, MutexGuard, lock};
use crate::engine::waits::Waits;
use crate::engine::{Engine, QueuedTask, Work};
use crate::error::{JoinError, Refused, SubmitError, TaskPanic};
use crate::on_cancel::{Cancels, Epoch, Owner, Stoppable};

/// A pool's work of which single tasks can be run elsewhere: `P` is what is packed into a task state,
/// `R` what comes out.
pub(crate) trait Unpack<P, R>: Work {
    /// What stands in the queue for a task. See [`QueueEntry::new`](crate::engine::QueueEntry::new).
    fn job(task_state: Arc<TaskState<Self, P, R>>, claimed: bool) -> Self::Job
    where
        P: Send + 'static,
        R: Send + 'static;

    /// Runs a task on the calling thread, which is no worker. Only for a work that [runs anywhere](Work::runs_anywhere).
    fn call(&self, _packed: P) -> R {
        unreachable!("the work needs its own workers")
    }
}

/// See the module's first lines.
pub(crate) struct TaskState<W: Work, P, R> {
    engine: Arc<Engine<W>>,
    content: Mutex<Content<P, R>>,
    /// The outcome is there. Only to look for it without the lock.
    done: AtomicBool,
    /// The task has been asked to stop.
    stop: AtomicBool,
    origin: &'static Location<'static>,
}

struct Content<P, R> {
    stage: Stage<P, R>,
    waker: Option<Waker>,
    /// The handle may still collect a panic. If it was dropped, the hook receives it.
    has_handle: bool,
    /// What the task that waits for this one waits by: gone when that task has ended.
    awaited_by: Weak<Waits>,
    listing: Listing,
}

/// When a task that is packed starts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listing {
    /// When it has come to the front of the queue.
    Unlisted,
    /// As before; or in a lent place, because the pool has listed it among the tasks that others wait for.
    Listed,
    /// At once: it was taken out of its turn, for a lent place.
    Claimed,
    /// Never: it was taken out of the queue to be dropped.
    Killed,
}

impl Listing {
    /// Of a task that the queue entry that was `claimed`, or the one that was not, may start.
    fn to_start(claimed: bool) -> &'static [Listing] {
        if claimed { &[Listing::Claimed] } else { &[Listing::Unlisted, Listing::Listed] }
    }
}

enum Stage<P, R> {
    /// It has not started.
    Packed(P),
    /// A thread runs it, or drops it.
    Open,
    #[cfg_attr(
        not(any(feature = "tokio", test)),
        expect(dead_code, reason = "for pools of futures")
    )]
    /// A driver runs it, and is told by the waker if it is to be dropped.
    Driven(Option<Waker>),
    /// It is to be dropped.
    Stopping,
    /// It panicked, and has not been counted: the outcome does not show yet.
    Panicked(TaskPanic),
    Done(Result<R, JoinError>),
    /// The handle, or the hook, has received the outcome.
    Collected,
}

impl<W: Unpack<P, R>, P: Send + 'static, R: Send + 'static> TaskState<W, P, R> {
    /// The task state of a task, and what stands in the queue for it.
    pub(crate) fn new(
        engine: &Arc<Engine<W>>,
        packed: P,
        origin: &'static Location<'static>,
    ) -> (Arc<Self>, W::Job) {
        let content = Content {
            stage: Stage::Packed(packed),
            waker: None,
            has_handle: true,
            awaited_by: Weak::new(),
            listing: Listing::Unlisted,
        };
        let task_state = Arc::new(TaskState {
            engine: Arc::clone(engine),
            content: Mutex::new(content),
            done: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            origin,
        });
        let job = W::job(Arc::clone(&task_state), false);
        (task_state, job)
    }

    /// The task state of a task that was accepted, or what was packed in it.
    pub(crate) fn entered(
        self: Arc<Self>,
        entered: Result<(), (W::Job, Refused)>,
    ) -> Result<Arc<Self>, SubmitError<P>> {
        // The job is dropped last, because it has cancelled what it finds in the task state.
        if let Err((_job, refused)) = entered
            // No other thread has the task state, so what was packed is still in it.
            && let Some(packed) = self.take(false)
        {
            return Err(SubmitError::new(packed, refused));
        }
        Ok(self)
    }

    #[cfg(any(feature = "tokio", test))]
    pub(crate) fn origin(&self) -> &'static Location<'static> {
        self.origin
    }

    /// Takes what is packed, for the queue entry that was `claimed` or for the one that was not. The thread that gets it
    /// decides the outcome.
    pub(in crate::engine) fn take(&self, claimed: bool) -> Option<P> {
        lock(&self.content).take(Listing::to_start(claimed), Stage::Open)
    }

    /// Calls what the task, which runs, wants to be called when it is cancelled.
    fn make_calls(&self) {
        if !self.done.load(Ordering::Relaxed) {
            self.engine.cancels.call_for(Owner::task(std::ptr::from_ref(self)));
        }
    }

    /// Takes back a task that has not started, and counts it as cancelled; otherwise asks the task to stop. It is left to
    /// the caller to settle it.
    pub(crate) fn take_back(&self) -> Option<P> {
        self.stop.store(true, Ordering::Relaxed);
        let mut content = lock(&self.content);
        let listing = content.listing;
        let packed =
            content.take(&[Listing::Unlisted, Listing::Listed, Listing::Claimed], Stage::Open);
        drop(content);
        match (&packed, listing) {
            (None, _) => self.make_calls(),
            (Some(_), Listing::Claimed) => self.engine.count(End::Cancelled, Counts::Claimed),
            (Some(_), _) => self.engine.depart(),
        }
        packed
    }

    /// Runs the task on the calling thread, with what was taken from the task state.
    pub(in crate::engine) fn run(
        self: &Arc<Self>,
        packed: P,
        counts: Counts,
        task: impl FnOnce(&W, P) -> R,
    ) -> End {
        let call = || catch_unwind(AssertUnwindSafe(|| task(self.engine.work(), packed)));
        let outcome = as_current(Arc::clone(self) as _, call);
        let caught = |payload| JoinError::Panicked(TaskPanic::caught(payload, Some(self.origin)));
        self.end_as(outcome.map_err(caught), counts)
    }

    /// The task has ended, and what it owned is gone. It is counted before its outcome shows.
    fn end_as(&self, outcome: Result<R, JoinError>, counts: Counts) -> End {
        let end = match outcome {
            Err(JoinError::Panicked(panic)) => return self.end_panicked(panic, counts),
            Ok(_) => End::Completed,
            Err(JoinError::Cancelled | JoinError::Refused(_)) => End::Cancelled,
        };
        self.engine.count(end, counts);
        self.settle(outcome);
        End::Counted
    }

    /// Has a task that is driven dropped. False if it is too late.
    fn stop_driven(&self) -> bool {
        let mut content = lock(&self.content);
        let Stage::Driven(waker) = &mut content.stage else { return false };
        let waker = waker.take();
        content.stage = Stage::Stopping;
        drop(content);
        if let Some(waker) = waker {
            contain(|| waker.wake());
        }
        true
    }

    /// Puts an outcome other than a panic into the task state, and shows it.
    fn settle(&self, outcome: Result<R, JoinError>) {
        let mut content = lock(&self.content);
        content.stage = Stage::Done(outcome);
        self.show(content);
    }

    /// Lets the outcome be seen, and wakes the thread or the future that waits for it.
    fn show(&self, mut content: MutexGuard<'_, Content<P, R>>) {
        let waker = content.waker.take();
        drop(content);
        // After the lock, because a thread that looks for this takes the lock next.
        // Release: pairs with the Acquire in `is_done`.
        self.done.store(true, Ordering::Release);
        if let Some(waker) = waker {
            // A waker is a user's code: its panic does not reach the thread that settles the task.
            contain(|| waker.wake());
        }
    }

    /// No worker will take the task: hands what is packed to `end`. None if the task has started, or a worker
    /// that claimed it is about to start it.
    pub(crate) fn discard_to<T>(&self, end: impl FnOnce(P) -> T) -> Option<T> {
        let left = [Listing::Unlisted, Listing::Listed, Listing::Killed];
        let packed = lock(&self.content).take(&left, Stage::Open)?;
        let end = end(packed);
        self.settle(Err(JoinError::Cancelled));
        Some(end)
    }
}

impl<W: Unpack<P, R>, P: Send + 'static, R: Send + 'static> QueuedTask for TaskState<W, P, R> {
    fn kill(&self) -> bool {
        let mut content = lock(&self.content);
        let is_queued = content.is_queued();
        if is_queued {
            content.listing = Listing::Killed;
        }
        is_queued
    }

    fn is_tombstone(&self) -> bool {
        !lock(&self.content).is_queued()
    }

    fn discard(&self) {
        self.discard_to(|packed| contain(|| drop(packed)));
    }
}

impl<P, R> Content<P, R> {
    /// Whether it has not started, and stands in the queue.
    fn is_queued(&self) -> bool {
        matches!(self.stage, Stage::Packed(_)) && Listing::to_start(false).contains(&self.listing)
    }

    /// Takes what is packed, if its listing is one of these. Looks first and moves then, here as in each other step of a
    /// stage: what lies in a stage may be large.
    fn take(&mut self, listings: &[Listing], next: Stage<P, R>) -> Option<P> {
        if listings.contains(&self.listing)
            && let Stage::Packed(_) = self.stage
            && let Stage::Packed(packed) = replace(&mut self.stage, next)
        {
            return Some(packed);
        }
        None
    }
}

impl<W: Work, P: Send, R: Send> Stoppable for TaskState<W, P, R> {
    fn should_stop(&self, epoch: Epoch) -> bool {
        self.stop.load(Ordering::Relaxed) || self.engine.should_stop(epoch)
    }

    fn cancels(&self) -> &Arc<Cancels> {
        &self.engine.cancels
    }
}
