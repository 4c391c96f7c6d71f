//! What the calling thread runs: tasks of pools, one inside the other.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::engine::actions::{Actions, Release};
use crate::engine::waits::Waits;
use crate::on_cancel::{Epoch, Owner, Stoppable};

#[cfg(not(loom))]
thread_local! {
    /// A task that has this thread for itself has polled a handle. It has no destructor, so to read it costs nothing.
    static POLLED: Cell<bool> = const { Cell::new(false) };
    /// The worker that this thread is, and the tasks that it joined and runs itself, the innermost last.
    static FRAMES: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
    /// When the innermost task started. It has no destructor, so to write it costs nothing.
    static EPOCH: Cell<Epoch> = const { Cell::new(0) };
}

#[cfg(loom)]
loom::thread_local! {
    static POLLED: Cell<bool> = Cell::new(false);
    static FRAMES: RefCell<Vec<Frame>> = RefCell::new(Vec::new());
    static EPOCH: Cell<Epoch> = Cell::new(0);
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

/// What a thread runs for one pool.
struct Frame {
    pool: Arc<dyn Lender>,
    /// Of a thread that polls many futures.
    polls: Option<Polls>,
    /// What the task waits for, if it is a thread's and has polled a handle.
    waits: Option<Arc<Waits>>,
}

/// What the calling thread runs for a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A task that has the thread for itself, and may block it.
    Thread,
    /// One of many futures.
    Task,
}

/// What a driver knows of the future that the calling thread polls.
#[derive(Clone, Copy)]
pub(crate) struct Polls {
    /// What it waits for, as a task of this pool.
    pub(crate) waits: fn(&Arc<dyn Lender>) -> Arc<Waits>,
    /// Whose functions are its, if its task has no handle.
    pub(crate) owner: fn() -> Owner,
}

fn with_innermost<R>(look: impl FnOnce(&mut Frame) -> R) -> Option<R> {
    FRAMES.try_with(|frames| frames.borrow_mut().last_mut().map(look)).ok().flatten()
}

/// What the calling thread runs for whatever pool, if it does.
pub(crate) fn inside() -> Option<Kind> {
    with_innermost(|frame| if frame.polls.is_some() { Kind::Task } else { Kind::Thread })
}

/// The pool whose task the calling thread runs.
pub(crate) fn current_pool() -> Option<Arc<dyn Lender>> {
    with_current_pool(Arc::clone)
}

/// Looks at the pool whose task the calling thread runs. `look` calls nothing of a user's.
pub(crate) fn with_current_pool<R>(look: impl FnOnce(&Arc<dyn Lender>) -> R) -> Option<R> {
    with_innermost(|frame| look(&frame.pool))
}

/// How many tasks the calling thread runs, one inside the other.
pub(crate) fn depth() -> usize {
    FRAMES.try_with(|frames| frames.borrow().len()).unwrap_or(0)
}

/// Whether the calling thread is running a task of the engine at this address.
pub(crate) fn is_inside(engine: usize) -> bool {
    let is_here = |frame: &Frame| address(&frame.pool) == engine;
    FRAMES.try_with(|frames| frames.borrow().iter().any(is_here)).unwrap_or(false)
}

/// Whether the task that the calling thread runs is one of this engine's.
pub(crate) fn is_innermost<T: ?Sized>(engine: &Arc<T>) -> bool {
    with_innermost(|frame| address(&frame.pool) == address(engine)).unwrap_or(false)
}

/// The address of a pool's engine.
pub(crate) fn address<T: ?Sized>(engine: &Arc<T>) -> usize {
    Arc::as_ptr(engine).cast::<()>().addr()
}

/// When the task started that the calling thread runs.
#[inline]
pub(crate) fn epoch() -> Epoch {
    EPOCH.with(Cell::get)
}

/// Says when the next tasks of this thread started. Returns what was said before.
#[inline]
pub(crate) fn set_epoch(epoch: Epoch) -> Epoch {
    EPOCH.with(|kept| kept.replace(epoch))
}

/// What the task that the calling thread runs waits for.
pub(crate) fn current_waits() -> Option<Arc<Waits>> {
    if let Some(polls) = with_innermost(|frame| frame.polls)? {
        return Some((polls.waits)(&current_pool()?));
    }
    POLLED.with(|polled| polled.set(true));
    with_innermost(|frame| {
        let waits = frame.waits.get_or_insert_with(|| Waits::new(Arc::clone(&frame.pool)));
        Arc::clone(waits)
    })
}

/// Whose functions are those of the task that the calling thread runs, if that has no handle.
pub(crate) fn owner_without_handle() -> Owner {
    let polls = with_innermost(|frame| frame.polls).flatten();
    polls.map_or(Owner::Unplaced, |polls| (polls.owner)())
}

/// A task of a worker has ended. Handles that it has polled may be elsewhere by now, and are not the next one's.
#[inline]
pub(crate) fn end_task() {
    if POLLED.with(|polled| polled.replace(false)) {
        forget_waits();
    }
}

#[cold]
fn forget_waits() {
    drop(with_innermost(|frame| frame.waits.take()));
}

/// A task that has its thread for itself polls a handle, so it runs.
pub(crate) fn resume_on_thread() {
    let waits = with_innermost(|frame| frame.waits.clone()).flatten();
    if let Some(waits) = waits {
        waits.resume();
    }
}

/// Notes that the calling thread runs tasks of this pool, until the guard is dropped. In the destructor
/// of a thread-local, where that cannot be noted any more, this does nothing.
pub(crate) fn enter(pool: Arc<dyn Lender>, polls: Option<Polls>) -> Inside {
    let _ = FRAMES.try_with(|frames| {
        frames.borrow_mut().push(Frame { pool, polls, waits: None });
    });
    Inside(epoch())
}

/// See [`enter`].
#[must_use]
pub(crate) struct Inside(Epoch);

impl Drop for Inside {
    fn drop(&mut self) {
        set_epoch(self.0);
        // The frame is dropped after the borrow has ended.
        drop(FRAMES.try_with(|frames| frames.borrow_mut().pop()));
    }
}
