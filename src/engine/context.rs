//! What the calling thread runs: tasks of pools, one inside the other.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

#[cfg(any(feature = "tokio", test))]
use crate::engine::executor::polling;
use crate::engine::scheduler::lend::Lender;
use crate::engine::task::current::{epoch, set_epoch};
use crate::engine::task::waits::Waits;
use crate::engine::{Engine, Work};
use crate::on_cancel::Epoch;

#[cfg(not(loom))]
thread_local! {
    /// A task that has this thread for itself has polled a handle. It has no destructor, so to read it costs nothing.
    static POLLED: Cell<bool> = const { Cell::new(false) };
    /// The worker that this thread is, and the tasks that it joined and runs itself, the innermost last.
    static FRAMES: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

#[cfg(loom)]
loom::thread_local! {
    static POLLED: Cell<bool> = Cell::new(false);
    static FRAMES: RefCell<Vec<Frame>> = RefCell::new(Vec::new());
}

/// What a thread runs for one pool.
struct Frame {
    pool: Arc<dyn Lender>,
    kind: Kind,
    /// What the task waits for, if it is a thread's and has polled a handle.
    waits: Option<Arc<Waits>>,
}

/// What the calling thread runs for a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A task that has the thread for itself, and may block it.
    Thread,
    #[cfg_attr(
        not(any(feature = "tokio", test)),
        expect(dead_code, reason = "for pools of futures")
    )]
    /// One of many futures.
    Task,
}

fn with_innermost<R>(look: impl FnOnce(&mut Frame) -> R) -> Option<R> {
    FRAMES.try_with(|frames| frames.borrow_mut().last_mut().map(look)).ok().flatten()
}

/// What the calling thread runs for whatever pool, if it does.
pub(crate) fn inside() -> Option<Kind> {
    with_innermost(|frame| frame.kind)
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
pub(crate) fn is_innermost<W: Work>(engine: &Arc<Engine<W>>) -> bool {
    with_innermost(|frame| address(&frame.pool) == address(engine)).unwrap_or(false)
}

/// The address of a pool's engine.
pub(crate) fn address<T: ?Sized>(engine: &Arc<T>) -> usize {
    Arc::as_ptr(engine).cast::<()>().addr()
}

/// What the task that the calling thread runs waits for.
pub(crate) fn current_waits() -> Option<Arc<Waits>> {
    #[cfg(any(feature = "tokio", test))]
    if inside()? == Kind::Task {
        return Some(polling::current_waits(&current_pool()?));
    }
    POLLED.with(|polled| polled.set(true));
    with_innermost(|frame| {
        let waits = frame.waits.get_or_insert_with(|| Waits::new(Arc::clone(&frame.pool)));
        Arc::clone(waits)
    })
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

/// Notes that the calling thread runs a task of this engine, until the guard is dropped. In the destructor
/// of a thread-local, where that cannot be noted any more, this does nothing.
pub(crate) fn enter<W: Work>(engine: &Arc<Engine<W>>, kind: Kind) -> Inside {
    let frame = Frame { pool: Arc::clone(engine) as _, kind, waits: None };
    let _ = FRAMES.try_with(|frames| frames.borrow_mut().push(frame));
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
