//! The floor: how many tasks run at once without waiting for others, counted by the tasks, and how many may.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::books::Books;

/// Where the tasks of one pool run.
#[derive(Debug, Default)]
pub(crate) struct Floor {
    running: AtomicUsize,
    /// How many may run: in the lower half; how often that was changed: in the upper.
    ceiling: AtomicU64,
    /// Threads from their first hook to the very end of their thread-locals.
    threads: AtomicUsize,
}

thread_local! {
    static HERE: RefCell<Option<Worker>> = const { RefCell::new(None) };
}

/// Marks a thread as a worker of a floor.
struct Worker {
    floor: Arc<Floor>,
    /// Tasks on this thread's stack, one inside the other.
    depth: usize,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.floor.threads.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Floor {
    /// A floor for so many.
    pub(crate) fn new(ceiling: usize) -> Arc<Self> {
        let floor = Floor::default();
        floor.set_ceiling(ceiling);
        Arc::new(floor)
    }

    fn set_ceiling(&self, ceiling: usize) {
        let version = (self.ceiling.load(Ordering::SeqCst) >> 32) + 1;
        let ceiling = u64::from(u32::try_from(ceiling).unwrap_or(u32::MAX));
        self.ceiling.store(version << 32 | ceiling, Ordering::SeqCst);
    }

    fn ceiling(&self) -> usize {
        (self.ceiling.load(Ordering::SeqCst) & 0xffff_ffff) as usize
    }

    /// Threads that have not ended.
    pub(crate) fn threads(&self) -> usize {
        self.threads.load(Ordering::SeqCst)
    }

    /// What is used of it.
    pub(crate) fn used(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    /// Begins to use `weight` of it, until the guard is dropped.
    pub(crate) fn enter(self: &Arc<Self>, weight: usize, books: &Books) -> Entered {
        let ceiling = self.ceiling.load(Ordering::SeqCst);
        let now = self.running.fetch_add(weight, Ordering::SeqCst) + weight;
        // A ceiling that was changed meanwhile says nothing about the sum before.
        if now as u64 > (ceiling & 0xffff_ffff) && self.ceiling.load(Ordering::SeqCst) == ceiling {
            books.fault(format!("{now} run at once, where {} may", ceiling & 0xffff_ffff));
        }
        Entered { floor: Arc::clone(self), weight }
    }

    /// Changes how many may run. `settled` tells when no more than that many do, so that the
    /// ceiling can come down; it is not waited for long, and otherwise the ceiling stays as it was.
    pub(crate) fn resize(&self, to: usize, resize: impl FnOnce(), settled: impl Fn() -> bool) {
        if to > self.ceiling() {
            self.set_ceiling(to);
        }
        resize();
        let patience = Instant::now() + Duration::from_millis(2);
        while to < self.ceiling() && Instant::now() < patience {
            if settled() {
                return self.set_ceiling(to);
            }
            std::thread::yield_now();
        }
    }

    /// The calling thread is a worker of this floor.
    pub(crate) fn hire(self: &Arc<Self>) {
        HERE.with_borrow_mut(|here| {
            if here.is_none() {
                self.threads.fetch_add(1, Ordering::SeqCst);
                *here = Some(Worker { floor: Arc::clone(self), depth: 0 });
            }
        });
    }
}

/// Something on a floor.
pub(crate) struct Entered {
    floor: Arc<Floor>,
    weight: usize,
}

impl Entered {
    /// A task does what may wait for other tasks, and so lend its place. From then on it does not count: when it goes
    /// on the pool may be above its capacity.
    pub(crate) fn lend(&mut self) {
        self.floor.running.fetch_sub(self.weight, Ordering::SeqCst);
        self.weight = 0;
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.floor.running.fetch_sub(self.weight, Ordering::SeqCst);
    }
}

/// A task on the calling thread.
pub(crate) struct OnThread {
    /// None if it is run inside another task, or by a thread that is no worker.
    entered: Option<Entered>,
}

impl OnThread {
    /// Begins a task on the calling thread. One that is run by a task which joins it takes no place
    /// of its own.
    pub(crate) fn enter(books: &Books) -> Self {
        let floor = HERE.with_borrow_mut(|here| {
            let worker = here.as_mut()?;
            worker.depth += 1;
            (worker.depth == 1).then(|| Arc::clone(&worker.floor))
        });
        OnThread { entered: floor.map(|floor| floor.enter(1, books)) }
    }

    /// See [`Entered::lend`].
    pub(crate) fn lend(&mut self) {
        if let Some(entered) = &mut self.entered {
            entered.lend();
        }
    }
}

impl Drop for OnThread {
    fn drop(&mut self) {
        HERE.with_borrow_mut(|here| {
            if let Some(worker) = here {
                worker.depth -= 1;
            }
        });
    }
}

/// Whether the calling thread is a worker of a pool.
pub(crate) fn is_worker() -> bool {
    HERE.with_borrow(Option::is_some)
}
