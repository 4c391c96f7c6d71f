//! A task with a handle: where its closure waits, and where its outcome waits for whoever joins.
//!
//! The parcel is shared by the line, which holds an errand for it, and by the handle. Whoever takes
//! what is packed in it, under the parcel's lock, decides what becomes of the task: a worker whose
//! turn it is, somebody who joins it and runs it himself, or somebody who cancels it. So there is
//! exactly one outcome.

mod awaited;

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::task::Waker;

pub(crate) use self::awaited::Awaited;
use super::cell::{Runnable, abandon};
use super::current::{Stoppable, as_current};
use super::entry::Departure;
use super::rested::{Rested, Rests};
use super::run::{Counts, End, contain};
use super::sync::atomic::{AtomicBool, Ordering};
use super::sync::{Mutex, lock};
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
    Done(Result<R, JoinError>),
    /// The outcome has been given to whoever joined.
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
        Arc::new(Parcel {
            engine: Arc::clone(engine),
            content: Mutex::new(Content { stage, waker: None }),
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

    /// Says who is to be woken when the task is to be dropped. False if it is.
    pub(crate) fn drive(&self, waker: &Waker) -> bool {
        let mut content = lock(&self.content);
        let Stage::Driven(kept) = &mut content.stage else { return false };
        if kept.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            return true;
        }
        let old = kept.replace(waker.clone());
        drop(content);
        drop(old);
        true
    }

    /// The task stands in the line again. False if it is to be dropped.
    fn lay_to_rest(&self, cell: &Arc<dyn Runnable>) -> bool {
        let mut content = lock(&self.content);
        if !matches!(content.stage, Stage::Driven(_)) {
            return false;
        }
        let driven = std::mem::replace(&mut content.stage, Stage::Resting(Arc::clone(cell)));
        drop(content);
        // It has a waker, which is somebody else's code, but only the cell's own clone of it is
        // dropped here.
        drop(driven);
        true
    }

    /// Drops a task that rests. False if there is none.
    fn cancel_rested(&self) -> bool {
        let Some(cell) = self.take_rested_as(Stage::Open) else { return false };
        // First the place, because what is dropped may want one.
        self.engine.depart(Departure::Cancelled);
        let _: End = abandon(&cell);
        self.settle(Err(JoinError::Cancelled));
        true
    }

    fn take_rested_as(&self, next: Stage<P, R>) -> Option<Arc<dyn Runnable>> {
        let mut content = lock(&self.content);
        match std::mem::replace(&mut content.stage, next) {
            Stage::Resting(cell) => Some(cell),
            other => {
                content.stage = other;
                None
            }
        }
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

    /// A task that was driven has ended, and everything it owned is gone. It is counted before its
    /// outcome shows.
    pub(crate) fn end_driven(&self, outcome: Result<R, JoinError>, counts: Counts) -> End {
        let mut content = lock(&self.content);
        // Whoever was told that it will be dropped has the last word.
        let stopped = matches!(content.stage, Stage::Stopping);
        if !stopped && !matches!(content.stage, Stage::Driven(_)) {
            // Nobody had begun with it: whoever drops it counts it, and says so.
            return End::Counted;
        }
        let waker = std::mem::replace(&mut content.stage, Stage::Open);
        drop(content);
        drop(waker);
        let mut outcome = outcome;
        if stopped {
            let unwanted = std::mem::replace(&mut outcome, Err(JoinError::Cancelled));
            contain(|| drop(unwanted));
        }
        let (end, counted) = match &outcome {
            Ok(_) => (End::Completed, End::Counted),
            Err(JoinError::Panicked(_)) => (End::Panicked, End::CountedPanic),
            Err(JoinError::Cancelled | JoinError::Refused(_)) => (End::Cancelled, End::Counted),
        };
        self.engine.count(end, counts);
        self.settle(outcome);
        counted
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
                let panic = TaskPanic::caught(payload, Some(self.origin));
                self.engine.count(End::Panicked, counts);
                self.settle(Err(JoinError::Panicked(panic)));
                End::CountedPanic
            }
        }
    }

    /// Runs a task on the calling thread, which is not its worker but joins it.
    pub(crate) fn run_for_joiner(self: &Arc<Self>, task: impl FnOnce(P) -> R) {
        let Some(packed) = self.take() else { return };
        self.engine.depart(Departure::Adopted);
        let _inside = enter(&self.engine, Kind::Thread);
        // Counted, and its panic is in the handle.
        let _: End = self.run(packed, Counts::Joiner, task);
    }

    /// Puts the outcome into the parcel and wakes whoever waits for it.
    fn settle(&self, outcome: Result<R, JoinError>) {
        let mut content = lock(&self.content);
        content.stage = Stage::Done(outcome);
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

impl<W, P, R> Rests for Parcel<W, P, R>
where
    W: Unpack<P, R>,
    P: Send + 'static,
    R: Send + 'static,
{
    fn take_rested(&self) -> Option<Arc<dyn Runnable>> {
        self.take_rested_as(Stage::Driven(None))
    }

    fn is_resting(&self) -> bool {
        matches!(lock(&self.content).stage, Stage::Resting(_))
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
}
