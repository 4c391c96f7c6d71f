//! What the calling thread runs: tasks of pools, one inside the other.
//!
//! A task is to stop if its handle was cancelled, or if all tasks of its pool were ([`Cancels`]) since it has started.
//! In the destructor of a thread-local what is said here may be gone: there a thread runs no task.

use std::cell::{Cell, RefCell};
use std::mem::replace;
use std::ptr::addr_eq;
use std::sync::Arc;

use crate::engine::actions::{Actions, Release};
use crate::engine::waits::Waits;
use crate::on_cancel::{Cancels, Epoch, Owner, Stoppable};

#[cfg(not(loom))]
thread_local! {
    /// Of the innermost task. It has no destructor, so to read and to write it costs nothing.
    static MARK: Mark = const { Mark::new() };
    static CONTEXT: RefCell<Context> = const { RefCell::new(Context { task: None, frames: Vec::new() }) };
}

#[cfg(loom)]
loom::thread_local! {
    static MARK: Mark = Mark::new();
    static CONTEXT: RefCell<Context> = RefCell::new(Context { task: None, frames: Vec::new() });
}

/// A pool whose tasks may wait for others.
pub(crate) trait Lender: Release + Stoppable {
    /// A task waits from now on. Returns what is to be done after all locks are free.
    fn begin_wait(&self) -> Actions;

    /// A task does not wait any more.
    fn end_wait(&self) -> Actions;

    /// Does what was decided under the lock.
    fn carry_out(self: Arc<Self>, actions: Actions);
}

/// What changes with each task, or with each poll.
struct Mark {
    /// When the task started.
    epoch: Cell<Epoch>,
    /// Whose functions are its, if it has no handle.
    owner: Cell<Owner>,
    /// It has polled a handle.
    polled: Cell<bool>,
    /// Polls are known to be short.
    #[cfg(any(feature = "tokio", test))]
    short: Cell<bool>,
}

impl Mark {
    const fn new() -> Self {
        Mark {
            epoch: Cell::new(0),
            owner: Cell::new(Owner::Unplaced),
            polled: Cell::new(false),
            #[cfg(any(feature = "tokio", test))]
            short: Cell::new(false),
        }
    }

    fn swap(&self, other: &Mark) {
        self.epoch.swap(&other.epoch);
        self.owner.swap(&other.owner);
        self.polled.swap(&other.polled);
        #[cfg(any(feature = "tokio", test))]
        self.short.swap(&other.short);
    }
}

struct Context {
    /// The innermost task, if it has a handle. A task that its submitter runs has its engine for one.
    task: Option<Arc<dyn Stoppable>>,
    /// The worker that this thread is, and the tasks that it joined and runs itself, the innermost last.
    frames: Vec<Frame>,
}

/// What a thread runs for one pool.
struct Frame {
    pool: Arc<dyn Lender>,
    /// Its tasks have the thread for themselves, one after the other, and may block it. Others are polled by turns.
    has_thread: bool,
    /// What the task waits for, if it has polled a handle.
    waits: Option<Arc<Waits>>,
}

/// `look` calls nothing of a user's. None if what is kept is gone.
fn with_context<R>(look: impl FnOnce(&mut Context) -> R) -> Option<R> {
    CONTEXT.try_with(|context| look(&mut context.borrow_mut())).ok()
}

fn with_innermost<R>(look: impl FnOnce(&mut Frame) -> R) -> Option<R> {
    with_context(|context| context.frames.last_mut().map(look)).flatten()
}

/// Notes that the calling thread runs tasks of this pool, until the guard is dropped: tasks that have the thread for
/// themselves, or others.
pub(crate) fn enter(pool: Arc<dyn Lender>, has_thread: bool) -> Inside {
    let task = with_context(|context| {
        context.frames.push(Frame { pool, has_thread, waits: None });
        context.task.take()
    });
    let mark = Mark::new();
    MARK.with(|kept| kept.swap(&mark));
    Inside { mark, task: task.flatten() }
}

/// See [`enter`]. It keeps what is said of the task outside.
#[must_use]
pub(crate) struct Inside {
    mark: Mark,
    task: Option<Arc<dyn Stoppable>>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        MARK.with(|kept| kept.swap(&self.mark));
        let task = self.task.take();
        // What was inside is dropped after the borrow has ended.
        drop(with_context(|context| (replace(&mut context.task, task), context.frames.pop())));
    }
}

/// Makes a task with a handle the current one while `run` runs, which does not panic.
pub(crate) fn as_current<R>(task: Arc<dyn Stoppable>, run: impl FnOnce() -> R) -> R {
    let outer = with_context(|context| context.task.replace(task));
    let outcome = run();
    if let Some(outer) = outer {
        drop(with_context(|context| replace(&mut context.task, outer)));
    }
    outcome
}

/// Whether the task that the calling thread runs has been asked to stop.
pub(crate) fn is_cancelled() -> bool {
    let asked = with_context(|context| match (&context.task, context.frames.last()) {
        (Some(task), _) => task.should_stop(),
        (None, Some(frame)) => frame.pool.should_stop(),
        (None, None) => false,
    });
    asked.unwrap_or(false)
}

/// Looks at the task that the calling thread runs: the cancels of its pool, the task if it has a handle, whose
/// functions are its, and when it started. `look` calls nothing of a user's.
pub(crate) fn with_current<R>(
    look: impl FnOnce(&Arc<Cancels>, Option<&Arc<dyn Stoppable>>, Owner, Epoch) -> R,
) -> Option<R> {
    let (owner, epoch) = MARK.with(|mark| (mark.owner.get(), mark.epoch.get()));
    let looked = with_context(|context| match &context.task {
        Some(task) => Some(look(task.cancels(), Some(task), Owner::task(Arc::as_ptr(task)), epoch)),
        None => Some(look(context.frames.last()?.pool.cancels(), None, owner, epoch)),
    });
    looked.flatten()
}

/// How many tasks the calling thread runs, one inside the other.
pub(crate) fn depth() -> usize {
    with_context(|context| context.frames.len()).unwrap_or(0)
}

/// Whether the calling thread runs a task that has the thread for itself, and may block it.
pub(crate) fn has_thread() -> bool {
    with_innermost(|frame| frame.has_thread).unwrap_or(false)
}

/// Whether the calling thread is running a task of this engine.
pub(crate) fn is_inside<T>(engine: *const T) -> bool {
    let is_here = |frame: &Frame| addr_eq(Arc::as_ptr(&frame.pool), engine);
    with_context(|context| context.frames.iter().any(is_here)).unwrap_or(false)
}

/// Whether the task that the calling thread runs is one of this engine's.
pub(crate) fn is_innermost<T>(engine: *const T) -> bool {
    with_innermost(|frame| addr_eq(Arc::as_ptr(&frame.pool), engine)).unwrap_or(false)
}

/// When the task started that the calling thread runs.
#[inline]
pub(crate) fn epoch() -> Epoch {
    MARK.with(|mark| mark.epoch.get())
}

/// Says when the next tasks of this thread started. Returns what was said before.
#[inline]
pub(crate) fn set_epoch(epoch: Epoch) -> Epoch {
    MARK.with(|mark| mark.epoch.replace(epoch))
}

/// What the task that the calling thread runs waits for.
pub(crate) fn current_waits() -> Option<Arc<Waits>> {
    let waits = with_innermost(|frame| {
        let waits = frame.waits.get_or_insert_with(|| Waits::new(Arc::clone(&frame.pool)));
        Arc::clone(waits)
    });
    if waits.is_some() {
        MARK.with(|mark| mark.polled.set(true));
    }
    waits
}

/// The thread goes on with a task that waits for this, or for nothing. What the last one waited for: handles that it
/// has polled may be elsewhere by now, and are not the next one's.
#[inline]
pub(crate) fn replace_waits(waits: Option<Arc<Waits>>) -> Option<Arc<Waits>> {
    let polls = waits.is_some();
    if MARK.with(|mark| mark.polled.replace(polls)) || polls {
        return replace_in_frame(waits);
    }
    None
}

#[cold]
fn replace_in_frame(waits: Option<Arc<Waits>>) -> Option<Arc<Waits>> {
    with_innermost(|frame| replace(&mut frame.waits, waits)).flatten()
}

/// Calls `run`, which polls a handle or blocks. If the task has the thread for itself, it counts as running meanwhile, and
/// waits again for its pending handles after that.
pub(crate) fn while_resumed<R>(run: impl FnOnce() -> R) -> R {
    let waits_of = |frame: &mut Frame| frame.waits.clone().filter(|_| frame.has_thread);
    let has_polled = MARK.with(|mark| mark.polled.get());
    let waits = if has_polled { with_innermost(waits_of).flatten() } else { None };
    waits.iter().for_each(|waits| waits.resume());
    let result = run();
    waits.iter().for_each(|waits| waits.suspend());
    result
}

/// Says whose functions are those of the task that the thread goes on with, if it has no handle.
#[cfg(any(feature = "tokio", test))]
#[inline]
pub(crate) fn set_owner(owner: Owner) {
    MARK.with(|mark| mark.owner.set(owner));
}

/// Says whether polls are short.
#[cfg(any(feature = "tokio", test))]
pub(crate) fn set_short(short: bool) {
    MARK.with(|mark| mark.short.set(short));
}

/// Whether polls are known to be short where the calling thread polls, so that one may do more at a time.
#[cfg(feature = "tokio")]
#[inline]
pub(crate) fn polls_are_short() -> bool {
    MARK.with(|mark| mark.short.get())
}
