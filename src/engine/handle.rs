//! A task with a handle: where its closure waits, and where its outcome waits for whoever joins.
//!
//! The parcel is shared by the line, which holds an errand for it, and by the handle. Whoever takes
//! what is packed in it, under the parcel's lock, decides what becomes of the task: a worker whose
//! turn it is, somebody who joins it and runs it himself, or somebody who cancels it. So there is
//! exactly one outcome.

mod awaited;
mod driven;
mod panicked;

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::task::Waker;

pub(crate) use self::awaited::Awaited;
use self::panicked::Recipient;
use super::cell::{Runnable, abandon};
use super::current::{Stoppable, as_current};
use super::entry::Departure;
use super::rested::{Rested, Rests};
use super::run::{Counts, End, contain};
use super::sync::atomic::{AtomicBool, Ordering};
use super::sync::{Mutex, MutexGuard, lock};
use super::worker::{Kind, enter};
use super::{Engine, Work};
use crate::error::{JoinError, TaskPanic};

/// A pool's work of which single tasks can be run elsewhere: `P` is what is packed into a parcel,
/// `R` what comes out.
pub(crate) trait Unpack<P, R>: Work {
    /// A worker thread joins a task that nobody may have begun with: it runs it, if that can be done
    /// on a thread.
    fn run_here(parcel: &Arc<Parcel<Self, P, R>>);

    /// A future awaits a task that nobody may have begun with: it takes it in, if it is a future, too.
    fn take_in(_: &Arc<Parcel<Self, P, R>>) -> Option<Arc<dyn Runnable>> {
        None
    }

    /// The job of a task that was taken in and goes back to the line; none if none is ever taken in.
    fn resume(_: Rested) -> Option<Self::Job> {
        None
    }
}

/// See the module's first lines.
pub(crate) struct Parcel<W: Work, P, R> {
    engine: Arc<Engine<W>>,
    content: Mutex<Content<P, R>>,
    /// The outcome is there. Only to look for it without the lock.
    done: AtomicBool,
    /// Somebody has asked the task to stop.
    stop: AtomicBool,
    origin: &'static Location<'static>,
}

struct Content<P, R> {
    stage: Stage<P, R>,
    waker: Option<Waker>,
    recipient: Recipient,
}

enum Stage<P, R> {
    /// Nobody has begun with it.
    Packed(P),
    /// Nobody will: it waits to be dropped.
    Killed(P),
    /// Somebody runs it, or drops it.
    Open,
    /// A driver runs it, and is told by the waker if it is to be dropped.
    Driven(Option<Waker>),
    /// Somebody has begun with it, and left it: it stands in the line again.
    Resting(Arc<dyn Runnable>),
    /// It is to be dropped.
    Stopping,
    /// It panicked, and has not been counted: the outcome does not show yet.
    Panicked(TaskPanic),
    Done(Result<R, JoinError>),
    /// The handle, or the hook, has received the outcome.
    Collected,
}

/// What a handle can do with its task, whatever pool it is on.
pub(crate) trait Joinable<R>: Send + Sync {
    /// See [`Unpack::run_here`].
    fn run_here(self: Arc<Self>);

    /// See [`Unpack::take_in`].
    fn take_in(self: Arc<Self>) -> Option<Arc<dyn Runnable>>;

    /// See [`Work::at_home`].
    fn at_home(&self, poll: &mut dyn FnMut());

    /// Puts a task that was taken in back into the line.
    fn give_back(self: Arc<Self>, cell: Arc<dyn Runnable>);

    /// Has the task dropped if nobody has begun with it: then true. Otherwise asks it to stop.
    fn cancel(&self) -> bool;

    /// Whether somebody has begun with the task, or nobody will.
    fn is_begun(&self) -> bool;

    /// Whether its pool cannot begin with all tasks that stand in the line.
    fn is_crowded(&self) -> bool;

    fn is_done(&self) -> bool;

    /// See [`Work::may_block`].
    fn may_block(&self) -> bool;

    /// Has `waker` woken when the outcome is there. False if it is there already.
    fn watch(&self, waker: &Waker) -> bool;

    /// The outcome, if it is there. Otherwise `waker` is woken when it is.
    fn collect(&self, waker: &Waker) -> Option<Result<R, JoinError>>;

    /// The handle is dropped, and has not collected the outcome: the hook receives the task's panic.
    fn detach(&self);
}

impl<W, P, R> Parcel<W, P, R>
where
    W: Unpack<P, R>,
    P: Send + 'static,
    R: Send + 'static,
{
    pub(crate) fn new(
        engine: &Arc<Engine<W>>,
        packed: P,
        origin: &'static Location<'static>,
    ) -> Arc<Self> {
        Parcel::at(Stage::Packed(packed), engine, origin)
    }

    /// As [`Parcel::new`], for what knows its parcel.
    pub(crate) fn with(
        engine: &Arc<Engine<W>>,
        origin: &'static Location<'static>,
        pack: impl FnOnce(Arc<Self>) -> P,
    ) -> Arc<Self> {
        let parcel = Parcel::at(Stage::Open, engine, origin);
        let packed = pack(Arc::clone(&parcel));
        lock(&parcel.content).stage = Stage::Packed(packed);
        parcel
    }

    fn at(
        stage: Stage<P, R>,
        engine: &Arc<Engine<W>>,
        origin: &'static Location<'static>,
    ) -> Arc<Self> {
        let content = Content { stage, waker: None, recipient: Recipient::Handle };
        Arc::new(Parcel {
            engine: Arc::clone(engine),
            content: Mutex::new(content),
            done: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            origin,
        })
    }

    pub(crate) fn origin(&self) -> &'static Location<'static> {
        self.origin
    }

    pub(crate) fn engine(&self) -> &Arc<Engine<W>> {
        &self.engine
    }

    /// Takes what is packed. Whoever gets it decides the outcome.
    pub(crate) fn take(&self) -> Option<P> {
        self.take_as(Stage::Open)
    }

    /// As [`Parcel::take`], for somebody who can be told to drop it.
    pub(crate) fn take_to_drive(&self) -> Option<P> {
        self.take_as(Stage::Driven(None))
    }

    fn take_as(&self, next: Stage<P, R>) -> Option<P> {
        let mut content = lock(&self.content);
        match std::mem::replace(&mut content.stage, next) {
            Stage::Packed(packed) => Some(packed),
            other => {
                content.stage = other;
                None
            }
        }
    }

    /// Takes back what nobody has begun with; otherwise asks the task to stop.
    pub(crate) fn take_back(&self) -> Option<P> {
        self.stop.store(true, Ordering::Relaxed);
        let packed = self.take()?;
        self.engine.depart(Departure::Cancelled);
        self.settle(Err(JoinError::Cancelled));
        Some(packed)
    }

    /// Runs the task on the calling thread, with what was taken from the parcel. It is counted
    /// before its outcome shows.
    pub(crate) fn run(
        self: &Arc<Self>,
        packed: P,
        counts: Counts,
        task: impl FnOnce(P) -> R,
    ) -> End {
        let this: Arc<dyn Stoppable> = Arc::clone(self) as _;
        let outcome = as_current(Some(this), || catch_unwind(AssertUnwindSafe(|| task(packed))));
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

    /// Runs a task on the calling thread, which is not its worker but joins it.
    pub(crate) fn run_for_joiner(self: &Arc<Self>, task: impl FnOnce(P) -> R) {
        let Some(packed) = self.take() else { return };
        self.engine.depart(Departure::Adopted);
        let _inside = enter(&self.engine, Kind::Thread);
        // It is counted, and its panic has a recipient.
        let _: End = self.run(packed, Counts::Joiner, task);
    }

    /// Puts an outcome other than a panic into the parcel, and shows it.
    fn settle(&self, outcome: Result<R, JoinError>) {
        let mut content = lock(&self.content);
        content.stage = Stage::Done(outcome);
        self.show(content);
    }

    /// Lets the outcome be seen, and wakes the thread or the future that waits for it.
    fn show(&self, mut content: MutexGuard<'_, Content<P, R>>) {
        let waker = content.waker.take();
        drop(content);
        // After the lock, for whoever looks for this takes the lock next.
        // Release: pairs with the Acquire in `is_done`.
        self.done.store(true, Ordering::Release);
        if let Some(waker) = waker {
            // A waker is somebody else's code; whoever settles a task has nothing to do with it.
            contain(|| waker.wake());
        }
    }

    /// Makes sure that the task will not run. False if it would not have run anyway. What it owns
    /// is dropped later, by [`Parcel::discard`].
    pub(crate) fn kill(&self) -> bool {
        let mut content = lock(&self.content);
        match std::mem::replace(&mut content.stage, Stage::Open) {
            Stage::Packed(packed) => {
                content.stage = Stage::Killed(packed);
                true
            }
            other => {
                content.stage = other;
                false
            }
        }
    }

    /// Whether the task's ticket does not stand for it any more.
    pub(crate) fn is_ghost(&self) -> bool {
        !matches!(lock(&self.content).stage, Stage::Packed(_))
    }

    /// Drops what nobody will run any more, and says so.
    pub(crate) fn discard(&self) {
        let mut content = lock(&self.content);
        let packed = match std::mem::replace(&mut content.stage, Stage::Open) {
            Stage::Packed(packed) | Stage::Killed(packed) => packed,
            other => {
                content.stage = other;
                return;
            }
        };
        drop(content);
        contain(|| drop(packed));
        self.settle(Err(JoinError::Cancelled));
    }
}

impl<W, P, R> Stoppable for Parcel<W, P, R>
where
    W: Work,
{
    fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl<W, P, R> Joinable<R> for Parcel<W, P, R>
where
    W: Unpack<P, R>,
    P: Send + 'static,
    R: Send + 'static,
{
    fn run_here(self: Arc<Self>) {
        W::run_here(&self);
    }

    fn take_in(self: Arc<Self>) -> Option<Arc<dyn Runnable>> {
        let Some(cell) = self.take_rested() else { return W::take_in(&self) };
        self.engine.depart(Departure::Adopted);
        cell.set_adopted(true);
        Some(cell)
    }

    fn at_home(&self, poll: &mut dyn FnMut()) {
        W::at_home(&self.engine, poll);
    }

    fn give_back(self: Arc<Self>, cell: Arc<dyn Runnable>) {
        cell.set_adopted(false);
        let job = W::resume(Rested::new(Arc::clone(&self) as _));
        // Marked under the engine's lock, so that whoever takes it next finds it in the line.
        if !job.is_some_and(|job| self.engine.put_back(job, || self.lay_to_rest(&cell))) {
            // It was told to stop. It counts itself when it is dropped.
            cell.set_adopted(true);
            let _: End = abandon(&cell);
        }
    }

    fn cancel(&self) -> bool {
        self.stop.store(true, Ordering::Relaxed);
        if self.cancel_rested() {
            return true;
        }
        let Some(packed) = self.take() else { return self.stop_driven() };
        // First the place, because what is dropped may want one.
        self.engine.depart(Departure::Cancelled);
        contain(|| drop(packed));
        self.settle(Err(JoinError::Cancelled));
        true
    }

    fn is_begun(&self) -> bool {
        !matches!(lock(&self.content).stage, Stage::Packed(_) | Stage::Resting(_))
    }

    fn is_crowded(&self) -> bool {
        self.engine.lock().is_crowded()
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
        drop(old);
        true
    }

    fn collect(&self, waker: &Waker) -> Option<Result<R, JoinError>> {
        let mut content = lock(&self.content);
        if let Stage::Done(_) = content.stage {
            match std::mem::replace(&mut content.stage, Stage::Collected) {
                Stage::Done(outcome) => return Some(outcome),
                other => content.stage = other,
            }
        }
        let old = content.waker.replace(waker.clone());
        drop(content);
        drop(old);
        None
    }

    fn detach(&self) {
        self.leave_to_hook();
    }
}
