//! What the calling thread runs: tasks of pools, one inside the other.
//!
//! A task is to stop if its handle was cancelled, or if all tasks of its pool were ([`Cancels`]) since it has started.
//! In the destructor of a thread-local what is said here may be gone: there a thread runs no task.

use std::cell::RefCell;
use std::iter::successors;
use std::mem::replace;
use std::ptr::addr_eq;
use std::sync::Arc;

use crate::engine::actions::{Actions, Release};
use crate::engine::waits::Waits;
use crate::on_cancel::{Cancels, Epoch, Owner, Stoppable};

#[cfg(not(loom))]
thread_local! {
    /// The innermost frame, which holds the others.
    static FRAME: RefCell<Frame> = const { RefCell::new(Frame::OUTERMOST) };
}

#[cfg(loom)]
loom::thread_local! {
    static FRAME: RefCell<Frame> = RefCell::new(Frame::OUTERMOST);
}

/// A pool whose tasks may wait for others.
pub(crate) trait Lender: Release + Stoppable {
    /// A task `waits` from now on, or does not wait any more. Returns what is to be done after all locks are free.
    fn note_wait(&self, waits: bool) -> Actions;

    /// Does what was decided under the lock.
    fn carry_out(self: Arc<Self>, actions: Actions);
}

/// What a thread runs for one pool: as its worker, or as a joiner that runs a task itself.
struct Frame {
    /// None outside of all pools.
    pool: Option<Arc<dyn Lender>>,
    /// Its tasks have the thread for themselves, one after the other, and may block it. Others are polled by turns.
    has_thread: bool,
    /// The task, if it has a handle. A task that its submitter runs has its engine for one.
    task: Option<Arc<dyn Stoppable>>,
    /// When the task started.
    epoch: Epoch,
    /// Whose functions are the task's, if it has no handle.
    owner: Owner,
    /// What the task waits for, if it has polled a handle.
    waits: Option<Arc<Waits>>,
    /// Polls are known to be short.
    #[cfg(any(feature = "tokio", test))]
    short: bool,
    outer: Option<Box<Frame>>,
}

impl Frame {
    const OUTERMOST: Frame = Frame {
        pool: None,
        has_thread: false,
        task: None,
        epoch: 0,
        owner: Owner::Unplaced,
        waits: None,
        #[cfg(any(feature = "tokio", test))]
        short: false,
        outer: None,
    };

    /// The task, or its pool if it has no handle.
    fn stoppable(&self) -> Option<&dyn Stoppable> {
        match &self.task {
            Some(task) => Some(&**task),
            None => Some(&**self.pool.as_ref()?),
        }
    }

    /// This one and those around it. The last is outside of all pools.
    fn outwards(&self) -> impl Iterator<Item = &Frame> {
        successors(Some(self), |frame| frame.outer.as_deref())
    }

    fn is_of<T>(&self, engine: *const T) -> bool {
        self.pool.as_ref().is_some_and(|pool| addr_eq(Arc::as_ptr(pool), engine))
    }
}

/// `look` calls nothing of a user's. If what is kept is gone, the thread runs no task.
#[inline]
fn with_frame<R: Default>(look: impl FnOnce(&mut Frame) -> R) -> R {
    FRAME.try_with(|frame| look(&mut frame.borrow_mut())).unwrap_or_default()
}

/// Notes that the calling thread runs tasks of this pool, until the guard is dropped: tasks that have the thread for
/// themselves, or others.
pub(crate) fn enter(pool: Arc<dyn Lender>, has_thread: bool) -> Inside {
    with_frame(|frame| {
        let outer = replace(frame, Frame { pool: Some(pool), has_thread, ..Frame::OUTERMOST });
        frame.outer = Some(Box::new(outer));
    });
    Inside
}

/// See [`enter`].
#[must_use]
pub(crate) struct Inside;

impl Drop for Inside {
    fn drop(&mut self) {
        // What was inside is dropped after the borrow has ended.
        drop(with_frame(|frame| frame.outer.take().map(|outer| replace(frame, *outer))));
    }
}

/// Makes a task with a handle the current one while `run` runs, which does not panic.
pub(crate) fn as_current<R>(task: Arc<dyn Stoppable>, run: impl FnOnce() -> R) -> R {
    let outer = with_frame(|frame| frame.task.replace(task));
    let outcome = run();
    drop(with_frame(|frame| replace(&mut frame.task, outer)));
    outcome
}

/// Whether the task that the calling thread runs has been asked to stop.
pub(crate) fn is_cancelled() -> bool {
    with_frame(|frame| frame.stoppable().is_some_and(|task| task.should_stop(frame.epoch)))
}

/// Looks at the task that the calling thread runs: the cancels of its pool, the task if it has a handle, whose
/// functions are its, and when it started. `look` calls nothing of a user's.
pub(crate) fn with_current<R>(
    look: impl FnOnce(&Arc<Cancels>, Option<&Arc<dyn Stoppable>>, Owner, Epoch) -> R,
) -> Option<R> {
    with_frame(|frame| {
        let task = frame.task.as_ref();
        let owner = task.map_or(frame.owner, |task| Owner::task(Arc::as_ptr(task)));
        Some(look(frame.stoppable()?.cancels(), task, owner, frame.epoch))
    })
}

/// How many tasks the calling thread runs, one inside the other.
pub(crate) fn depth() -> usize {
    with_frame(|frame| frame.outwards().skip(1).count())
}

/// Whether the calling thread runs a task that has the thread for itself, and may block it.
pub(crate) fn has_thread() -> bool {
    with_frame(|frame| frame.has_thread)
}

/// Whether the calling thread is running a task of this engine.
pub(crate) fn is_inside<T>(engine: *const T) -> bool {
    with_frame(|frame| frame.outwards().any(|frame| frame.is_of(engine)))
}

/// Whether the task that the calling thread runs is one of this engine's.
pub(crate) fn is_innermost<T>(engine: *const T) -> bool {
    with_frame(|frame| frame.is_of(engine))
}

/// Says when the next tasks of this thread started. Returns what was said before.
#[inline]
pub(crate) fn set_epoch(epoch: Epoch) -> Epoch {
    with_frame(|frame| replace(&mut frame.epoch, epoch))
}

/// What the task that the calling thread runs waits for.
pub(crate) fn current_waits() -> Option<Arc<Waits>> {
    with_frame(|frame| {
        let pool = frame.pool.as_ref()?;
        Some(Arc::clone(frame.waits.get_or_insert_with(|| Waits::new(Arc::clone(pool)))))
    })
}

/// The thread goes on with a task that waits for this, or for nothing. What the last one waited for: handles that it
/// has polled may be elsewhere by now, and are not the next one's.
#[inline]
pub(crate) fn replace_waits(waits: Option<Arc<Waits>>) -> Option<Arc<Waits>> {
    with_frame(|frame| replace(&mut frame.waits, waits))
}

/// Calls `run`, which polls a handle or blocks. If the task has the thread for itself, it counts as running meanwhile, and
/// waits again for its pending handles after that.
pub(crate) fn while_resumed<R>(run: impl FnOnce() -> R) -> R {
    let waits = with_frame(|frame| frame.waits.clone().filter(|_| frame.has_thread));
    waits.iter().for_each(|waits| waits.resume());
    let result = run();
    waits.iter().for_each(|waits| waits.suspend());
    result
}

/// The thread goes on with a task that has started at that time and waits for this. The functions of this owner are its,
/// if it has no handle. Returns what the last one waited for.
#[cfg(any(feature = "tokio", test))]
#[inline]
pub(crate) fn begin_poll(
    owner: Owner,
    epoch: Epoch,
    waits: Option<Arc<Waits>>,
) -> Option<Arc<Waits>> {
    with_frame(|frame| {
        (frame.owner, frame.epoch) = (owner, epoch);
        replace(&mut frame.waits, waits)
    })
}

/// What the task that the thread has polled waits for, and when it started: a poll may go on with another task.
#[cfg(any(feature = "tokio", test))]
#[inline]
pub(crate) fn end_poll() -> (Option<Arc<Waits>>, Epoch) {
    with_frame(|frame| (frame.waits.take(), frame.epoch))
}

/// Says whether polls are short.
#[cfg(any(feature = "tokio", test))]
pub(crate) fn set_short(short: bool) {
    with_frame(|frame| frame.short = short);
}

/// Whether polls are known to be short where the calling thread polls, so that one may do more at a time.
#[cfg(feature = "tokio")]
#[inline]
pub(crate) fn polls_are_short() -> bool {
    with_frame(|frame| frame.short)
}
