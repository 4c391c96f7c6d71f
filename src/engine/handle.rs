//! A task with a handle: where its closure waits, and where its outcome waits for whoever joins.
//!
//! The parcel is shared by the line, which holds an errand for it, and by the handle. Whoever takes
//! what is packed in it, under the parcel's lock, decides what becomes of the task: a worker whose
//! turn it is, somebody who joins it and runs it himself, or somebody who cancels it. So there is
//! exactly one outcome.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use super::entry::Departure;
use super::run::{Counts, End, contain};
use super::sync::atomic::{AtomicBool, Ordering};
use super::sync::{Mutex, lock, now};
use super::wait::{LOOK, look, park_until, this_thread};
use super::worker::{enter, is_worker};
use super::{Engine, Work};
use crate::error::{JoinError, TaskPanic};

/// A pool's work of which single tasks can be run elsewhere: `P` is what is packed into a parcel,
/// `R` what comes out.
pub(crate) trait Unpack<P, R>: Work {
    /// Runs a task on a thread that is not its worker.
    fn unpack_here(&self, packed: P) -> R;
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
    Done(Result<R, JoinError>),
    /// The outcome has been given to whoever joined.
    Collected,
}

/// What a handle can do with its task, whatever pool it is on.
pub(crate) trait Joinable<R>: Send + Sync {
    /// Runs the task here and now, if nobody has begun with it.
    fn run_here(self: Arc<Self>);

    /// Has the task dropped if nobody has begun with it: then true. Otherwise asks it to stop.
    fn cancel(&self) -> bool;

    fn is_done(&self) -> bool;

    /// Has `waker` woken when the outcome is there. False if it is there already.
    fn watch(&self, waker: &Waker) -> bool;

    /// The outcome, if it is there. Otherwise `waker` is woken when it is.
    fn collect(&self, waker: &Waker) -> Option<Result<R, JoinError>>;
}

/// Can be asked whether somebody wants the task to stop.
trait Stoppable {
    fn should_stop(&self) -> bool;
}

#[cfg(not(loom))]
thread_local! {
    /// The task that this thread runs, the innermost if it runs one inside another.
    static CURRENT: RefCell<Option<Arc<dyn Stoppable>>> = const { RefCell::new(None) };
}

#[cfg(loom)]
loom::thread_local! {
    static CURRENT: RefCell<Option<Arc<dyn Stoppable>>> = RefCell::new(None);
}

/// Makes a task the current one while `run` runs, which does not panic. A task without a handle is
/// `None`: nobody can ask it to stop.
fn as_current<R>(task: Option<Arc<dyn Stoppable>>, run: impl FnOnce() -> R) -> R {
    let outer = CURRENT.with(|current| current.replace(task));
    let outcome = run();
    drop(CURRENT.with(|current| current.replace(outer)));
    outcome
}

/// Runs a task without a handle, which may be inside of one that has a handle.
pub(crate) fn unheard<R>(run: impl FnOnce() -> R) -> R {
    as_current(None, run)
}

/// Whether somebody has asked the task that the calling thread runs to stop.
pub(crate) fn is_cancelled() -> bool {
    CURRENT
        .try_with(|current| current.borrow().as_ref().is_some_and(|task| task.should_stop()))
        .unwrap_or(false)
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
        let content = Content { stage: Stage::Packed(packed), waker: None };
        Arc::new(Parcel {
            engine: Arc::clone(engine),
            content: Mutex::new(content),
            done: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            origin,
        })
    }

    /// Takes what is packed. Whoever gets it decides the outcome.
    pub(crate) fn take(&self) -> Option<P> {
        let mut content = lock(&self.content);
        match std::mem::replace(&mut content.stage, Stage::Open) {
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
                let panic = TaskPanic::caught(payload, Some(self.origin));
                self.engine.count(End::Panicked, counts);
                self.settle(Err(JoinError::Panicked(panic)));
                End::CountedPanic
            }
        }
    }

    /// Puts the outcome into the parcel and wakes whoever waits for it.
    fn settle(&self, outcome: Result<R, JoinError>) {
        let mut content = lock(&self.content);
        content.stage = Stage::Done(outcome);
        let waker = content.waker.take();
        // Release: pairs with the Acquire in `is_done`.
        self.done.store(true, Ordering::Release);
        drop(content);
        if let Some(waker) = waker {
            // A waker is somebody else's code; whoever settles a task has nothing to do with it.
            contain(|| waker.wake());
        }
    }

    /// Drops what nobody will run any more, and says so.
    fn discard(&self) {
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

/// What stands in the line for a parcel. Dropped there, it has the task cancelled.
pub(crate) struct Slip<W, P, R>(pub(crate) Arc<Parcel<W, P, R>>)
where
    W: Unpack<P, R>,
    P: Send + 'static,
    R: Send + 'static;

impl<W, P, R> Slip<W, P, R>
where
    W: Unpack<P, R>,
    P: Send + 'static,
    R: Send + 'static,
{
    /// Runs the task, if it is still there.
    pub(crate) fn run(self, counts: Counts, task: impl FnOnce(P) -> R) -> End {
        let Some(packed) = self.0.take() else { return End::Ghost };
        let end = self.0.run(packed, counts, task);
        // If nobody wants the outcome it is dropped here, and may panic; the task is counted already.
        contain(|| drop(self));
        end
    }

    /// Makes sure that the task will not run. False if it would not have run anyway. What it owns
    /// is dropped with the slip.
    pub(crate) fn kill(&self) -> bool {
        let mut content = lock(&self.0.content);
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

    pub(crate) fn is_ghost(&self) -> bool {
        !matches!(lock(&self.0.content).stage, Stage::Packed(_))
    }
}

impl<W, P, R> Drop for Slip<W, P, R>
where
    W: Unpack<P, R>,
    P: Send + 'static,
    R: Send + 'static,
{
    fn drop(&mut self) {
        self.0.discard();
    }
}

/// Waits for an outcome, on a thread. A worker, of whatever pool, that waits for a task which nobody
/// has begun runs it itself: the place that the task waits for may be the worker's own.
pub(crate) fn wait_for<R>(
    parcel: &Arc<dyn Joinable<R>>,
    deadline: Option<Instant>,
) -> Option<Result<R, JoinError>> {
    help_out(parcel);
    let waker = this_thread();
    // A deadline that is over already is no reason to look around.
    if deadline.is_none_or(|deadline| now() < deadline) {
        look(LOOK, || parcel.is_done().then_some(()));
    }
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
    if let Some(value) = look(LOOK, || ready(&mut context)) {
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
    if is_worker() {
        Arc::clone(parcel).run_here();
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
        let Some(packed) = self.take() else { return };
        self.engine.depart(Departure::Adopted);
        let _inside = enter(&self.engine);
        let work = &self.engine.work;
        // Counted, and its panic is in the handle.
        let _: End = self.run(packed, Counts::Joiner, |packed| work.unpack_here(packed));
    }

    fn cancel(&self) -> bool {
        self.stop.store(true, Ordering::Relaxed);
        let Some(packed) = self.take() else { return false };
        // First the place, because what is dropped may want one.
        self.engine.depart(Departure::Cancelled);
        contain(|| drop(packed));
        self.settle(Err(JoinError::Cancelled));
        true
    }

    fn is_done(&self) -> bool {
        // Acquire: pairs with the Release in `settle`.
        self.done.load(Ordering::Acquire)
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
