//! The latch: counts the tasks of a scope that have no handle, and tells when there are none left.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;

use crate::engine::sync::{Mutex, lock};
use crate::engine::task::closure::{RunOnce, Task, fits};
use crate::engine::{self, Counts, End, Engine, contain};
use crate::error::TaskPanic;
use crate::pool::Closures;

/// See the module's first line.
pub(super) struct Latch {
    engine: Arc<Engine<Closures>>,
    held: AtomicUsize,
    /// The first panic.
    panic: Mutex<Option<TaskPanic>>,
    /// Wakes the thread or the task that waits for the scope.
    waker: Mutex<Option<Waker>>,
}

/// Holds the latch until it is dropped.
pub(super) struct Hold(Arc<Latch>);

/// A task that holds the latch. It lets go of it last, when the closure and all it owned are gone.
pub(super) struct Latched<F> {
    task: F,
    hold: Hold,
    origin: &'static Location<'static>,
}

impl Latch {
    pub(super) fn new(engine: &Arc<Engine<Closures>>) -> Arc<Self> {
        Arc::new(Latch {
            engine: Arc::clone(engine),
            held: AtomicUsize::new(0),
            panic: Mutex::default(),
            waker: Mutex::default(),
        })
    }

    pub(super) fn hold(self: &Arc<Self>) -> Hold {
        self.held.fetch_add(1, Ordering::Relaxed);
        Hold(Arc::clone(self))
    }

    /// Whether no task holds it. If there is a waker, that is woken when the last one lets go.
    fn is_free(&self, waker: Option<&Waker>) -> bool {
        // First the waker, then the look: the last one that lets go later wakes it.
        if let Some(waker) = waker {
            let old = lock(&self.waker).replace(waker.clone());
            drop(old);
        }
        // Acquire: pairs with the Release in `Hold::drop`, so that all the tasks did is seen.
        self.held.load(Ordering::Acquire) == 0
    }

    /// Blocks until no task holds it.
    pub(super) fn wait(&self) {
        let _: Option<()> =
            engine::block_until(None, |waker| self.is_free(waker).then_some(()), || None);
    }

    /// Keeps the first panic.
    fn note_panic(&self, panic: TaskPanic) {
        let mut kept = lock(&self.panic);
        let other = if kept.is_none() { kept.replace(panic) } else { Some(panic) };
        drop(kept);
        // To drop what a task panicked with may panic, too.
        contain(|| drop(other));
    }

    pub(super) fn take_panic(&self) -> Option<TaskPanic> {
        lock(&self.panic).take()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // AcqRel: pairs with the Acquire in `is_free`, for each of those who let go.
        if self.0.held.fetch_sub(1, Ordering::AcqRel) == 1 {
            let waker = lock(&self.0.waker).take();
            waker.into_iter().for_each(Waker::wake);
        }
    }
}

impl<F: FnOnce() + Send> Latched<F> {
    /// A task that holds the latch, in a box if it is large.
    ///
    /// # Safety
    ///
    /// As for [`Task::borrowing`].
    pub(super) unsafe fn task(task: F, hold: Hold, origin: &'static Location<'static>) -> Task {
        if fits::<Self>() {
            // SAFETY: the caller's.
            return unsafe { Task::borrowing(Latched { task, hold, origin }) };
        }
        // SAFETY: the caller's.
        unsafe { Task::borrowing(Latched { task: Box::new(task), hold, origin }) }
    }
}

impl<F: FnOnce()> RunOnce for Latched<F> {
    fn run(self, counts: Counts) -> End {
        let Latched { task, hold, origin } = self;
        let outcome = catch_unwind(AssertUnwindSafe(task));
        // The task is counted before the thread that waits for the scope is woken.
        let Err(payload) = outcome else {
            hold.0.engine.count(End::Completed, counts);
            return End::Counted;
        };
        hold.0.note_panic(TaskPanic::caught(payload, Some(origin)));
        hold.0.engine.count(End::Panicked, counts);
        End::CountedPanic
    }
}
