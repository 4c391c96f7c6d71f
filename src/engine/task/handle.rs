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

pub(crate) use self::joinable::Joinable;
use self::panicked::Recipient;
use crate::engine::actions::Release;
use crate::engine::contain::contain;
use crate::engine::context::{as_current, enter, is_innermost, set_epoch};
use crate::engine::scheduler::accounting::{Counts, End};
use crate::engine::sync::atomic::{AtomicBool, Ordering};
use crate::engine::sync::{Mutex, MutexGuard, lock};
use crate::engine::task::queue_entry::QueueEntry;
use crate::engine::waits::Lent;
use crate::engine::{Engine, Work};
use crate::error::{JoinError, TaskPanic};
use crate::on_cancel::{Cancels, Owner, Stoppable};

/// What is packed into a task, and what comes out of it.
pub(crate) trait Data: Send + 'static {}

impl<T: Send + 'static> Data for T {}

/// A pool's work of which single tasks can be run elsewhere: `P` is what is packed into a task state,
/// `R` what comes out.
pub(crate) trait Unpack<P, R>: Work {
    /// What stands in the queue for a task.
    fn job(queue_entry: QueueEntry<Self, P, R>) -> Self::Job
    where
        P: Data,
        R: Data;

    /// Runs a task on the calling thread, which joins it, if that can be done on a thread. True if it has run.
    fn run_here(task_state: &Arc<TaskState<Self, P, R>>) -> bool;
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
    recipient: Recipient,
    /// What the task is, or has, that waits for this one: gone when that task has ended.
    awaited_by: Option<Weak<dyn Release>>,
    /// The pool has it among the tasks that others wait for.
    listed: bool,
    /// It was taken out of its turn, for a lent place.
    claimed: bool,
}

enum Stage<P, R> {
    /// It has not started. If it was claimed, it is about to.
    Packed(P),
    /// It will never start: it waits to be dropped.
    Killed(P),
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

impl<W: Unpack<P, R>, P: Data, R: Data> TaskState<W, P, R> {
    pub(crate) fn new(
        engine: &Arc<Engine<W>>,
        packed: P,
        origin: &'static Location<'static>,
    ) -> Arc<Self> {
        TaskState::at(Stage::Packed(packed), engine, origin)
    }

    #[cfg(any(feature = "tokio", test))]
    /// As [`TaskState::new`], for what knows its task state.
    pub(crate) fn with(
        engine: &Arc<Engine<W>>,
        origin: &'static Location<'static>,
        pack: impl FnOnce(Arc<Self>) -> P,
    ) -> Arc<Self> {
        let task_state = TaskState::at(Stage::Open, engine, origin);
        let packed = pack(Arc::clone(&task_state));
        lock(&task_state.content).stage = Stage::Packed(packed);
        task_state
    }

    fn at(
        stage: Stage<P, R>,
        engine: &Arc<Engine<W>>,
        origin: &'static Location<'static>,
    ) -> Arc<Self> {
        let content = Content {
            stage,
            waker: None,
            recipient: Recipient::Handle,
            awaited_by: None,
            listed: false,
            claimed: false,
        };
        Arc::new(TaskState {
            engine: Arc::clone(engine),
            content: Mutex::new(content),
            done: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            origin,
        })
    }

    #[cfg(any(feature = "tokio", test))]
    pub(crate) fn origin(&self) -> &'static Location<'static> {
        self.origin
    }

    pub(crate) fn engine(&self) -> &Arc<Engine<W>> {
        &self.engine
    }

    /// Takes what is packed. The thread that gets it decides the outcome.
    pub(crate) fn take(&self) -> Option<P> {
        self.take_for(false)
    }

    /// As [`TaskState::take`], for the queue entry that was `claimed` or for the one that was not.
    pub(in crate::engine) fn take_for(&self, claimed: bool) -> Option<P> {
        lock(&self.content).take(claimed, Stage::Open)
    }

    #[cfg(any(feature = "tokio", test))]
    /// As [`TaskState::take_for`], for a driver, which can be told to drop the task.
    pub(crate) fn take_to_drive(&self, claimed: bool) -> Option<P> {
        lock(&self.content).take(claimed, Stage::Driven(None))
    }

    /// Takes back a task that has not started; otherwise asks the task to stop.
    pub(crate) fn take_back(&self) -> Option<P> {
        self.stop.store(true, Ordering::Relaxed);
        let Some(packed) = self.take_to_cancel() else {
            self.make_calls();
            return None;
        };
        self.settle(Err(JoinError::Cancelled));
        Some(packed)
    }

    /// Calls what the task, which runs, wants to be called when it is cancelled.
    pub(in crate::engine) fn make_calls(&self) {
        if !self.done.load(Ordering::Relaxed) {
            self.engine.cancels.call_for(Owner::task(std::ptr::from_ref(self)));
        }
    }

    /// Takes a task that has not started, and counts it as cancelled.
    fn take_to_cancel(&self) -> Option<P> {
        if let Some(packed) = self.take() {
            self.engine.depart();
            return Some(packed);
        }
        let packed = self.take_for(true)?;
        self.engine.count(End::Cancelled, Counts::Claimed);
        Some(packed)
    }

    /// Runs the task on the calling thread, with what was taken from the task state. It is counted
    /// before its outcome shows.
    pub(crate) fn run(
        self: &Arc<Self>,
        packed: P,
        counts: Counts,
        task: impl FnOnce(P) -> R,
    ) -> End {
        let this: Arc<dyn Stoppable> = Arc::clone(self) as _;
        let outcome = as_current(this, || catch_unwind(AssertUnwindSafe(|| task(packed))));
        match outcome {
            Ok(value) => {
                self.engine.count(End::Completed, counts);
                self.settle(Ok(value));
                End::Counted
            }
            Err(payload) => {
                self.end_panicked(TaskPanic::caught(payload, Some(self.origin)), counts)
            }
        }
    }

    /// Runs a queued task on the calling thread, which joins it, if there is a place for it and the thread may.
    /// True if it has run.
    pub(crate) fn run_for_joiner(self: &Arc<Self>, task: impl FnOnce(P) -> R) -> bool {
        if self.is_tombstone() || !self.engine.may_run_here() {
            return false;
        }
        let _lent = if is_innermost(&raw const *self.engine) { None } else { Lent::begin() };
        // Before it is admitted: a task that was accepted is concerned when all are cancelled from here on.
        let epoch = self.engine.cancels.epoch();
        let Some((packed, guest)) = self.engine.admit_guest(|| self.take()) else { return false };
        let _inside = enter(Arc::clone(&self.engine) as _, true);
        set_epoch(epoch);
        // It is counted, and its panic has a recipient.
        let _: End = self.run(packed, Counts::Guest(guest), task);
        true
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

    /// Makes sure that the task will not run. False if it would not have run anyway. What it owns
    /// is dropped later, by [`TaskState::discard`].
    pub(crate) fn kill(&self) -> bool {
        let mut content = lock(&self.content);
        let Some(packed) = content.take(false, Stage::Open) else { return false };
        content.stage = Stage::Killed(packed);
        true
    }

    /// Drops a task that will not run any more, and settles it as cancelled.
    pub(crate) fn discard(&self) {
        if let Some(packed) = self.take_discarded() {
            contain(|| drop(packed));
            self.settle(Err(JoinError::Cancelled));
        }
    }

    /// As [`TaskState::discard`], and gives back what was packed.
    pub(crate) fn take_killed(&self) -> Option<P> {
        let packed = self.take_discarded()?;
        self.settle(Err(JoinError::Cancelled));
        Some(packed)
    }

    fn take_discarded(&self) -> Option<P> {
        let mut content = lock(&self.content);
        if let Stage::Killed(_) = content.stage
            && let Stage::Killed(packed) = replace(&mut content.stage, Stage::Open)
        {
            return Some(packed);
        }
        content.take(false, Stage::Open)
    }

    /// Whether the task's ticket does not stand for it any more.
    pub(crate) fn is_tombstone(&self) -> bool {
        !lock(&self.content).is_queued()
    }
}

impl<P, R> Content<P, R> {
    /// Whether it has not started, and stands in the queue.
    fn is_queued(&self) -> bool {
        matches!(self.stage, Stage::Packed(_)) && !self.claimed
    }

    /// Looks first and moves then, here as in each other step of a stage: what lies in a stage may be large.
    fn take(&mut self, claimed: bool, next: Stage<P, R>) -> Option<P> {
        if self.claimed == claimed
            && let Stage::Packed(_) = self.stage
            && let Stage::Packed(packed) = replace(&mut self.stage, next)
        {
            return Some(packed);
        }
        None
    }
}

impl<W: Work, P: Send, R: Send> Stoppable for TaskState<W, P, R> {
    fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.engine.should_stop()
    }

    fn cancels(&self) -> &Arc<Cancels> {
        &self.engine.cancels
    }
}

impl<W: Work, P: Send, R: Send> Release for TaskState<W, P, R> {}
