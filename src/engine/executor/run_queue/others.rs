//! What the run queues of a pool have in common.

use std::sync::{Arc, OnceLock, Weak};

use super::RunQueue;
use crate::engine::executor::cell::Runnable;
use crate::engine::executor::deferred_frees::DeferredFrees;
use crate::engine::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use crate::engine::sync::{Padded, lock};

/// Whichever driver finds it first. Where there is no watchdog, this is how it is.
pub(super) const ALL: u8 = 0;
/// One driver that is up, and that is enough.
pub(super) const ONE: u8 = 1;
/// Each driver what is on its own run queue, and nothing else.
pub(super) const EACH: u8 = 2;

/// What the run queues of a pool have in common.
#[derive(Default)]
pub(super) struct ExecutorState {
    pub(super) run_queues: OnceLock<Vec<Weak<RunQueue>>>,
    pub(super) sleeping: AtomicUsize,
    /// Drivers that are up.
    pub(super) up: AtomicUsize,
    /// Who polls what is ready on a run queue: see [`ALL`].
    pub(super) who: AtomicU8,
    /// Each driver has a thread and timers of its own.
    pub(super) apart: bool,
    pub(super) deferred_frees: Padded<DeferredFrees>,
    /// A driver was woken to help and has not found anything yet.
    pub(super) searching: AtomicBool,
}

impl ExecutorState {
    pub(super) fn put_away(&self, cell: Arc<dyn Runnable>) {
        if let Some(cell) = cell.put_away() {
            self.deferred_frees.keep(cell);
        }
    }

    /// Whether one driver is enough, and there is one that is up.
    pub(super) fn is_one_enough(&self) -> bool {
        self.is_for_one() && self.up.load(Ordering::Relaxed) > 0
    }

    /// Whether one driver is to poll what is on all run queues.
    #[inline]
    pub(super) fn is_for_one(&self) -> bool {
        self.who.load(Ordering::Relaxed) == ONE
    }

    /// Whether each driver polls what is on its own run queue, and nothing else.
    #[inline]
    pub(super) fn is_each_for_itself(&self) -> bool {
        self.who.load(Ordering::Relaxed) == EACH
    }

    /// Whether a driver that would help sleeps.
    #[inline]
    pub(super) fn may_be_called(&self) -> bool {
        self.sleeping.load(Ordering::Relaxed) > 0 && !self.is_each_for_itself()
    }

    /// Wakes a driver that sleeps, unless one that was woken still searches.
    #[inline]
    pub(super) fn call_one(&self) {
        if self.sleeping.load(Ordering::Relaxed) > 0
            && !self.is_one_enough()
            && !self.is_each_for_itself()
        {
            self.call_sleeper();
        }
    }

    #[cold]
    fn call_sleeper(&self) {
        // Release: pairs with the Acquire of the one that searches.
        if self.searching.swap(true, Ordering::Release) {
            return;
        }
        let run_queues = self.run_queues.get().into_iter().flatten().filter_map(Weak::upgrade);
        for run_queue in run_queues {
            let mut wake_queue = lock(&run_queue.wake_queue);
            if run_queue.wake_up(&mut wake_queue) {
                run_queue.called.store(true, Ordering::Relaxed);
                let waker = wake_queue.waker.clone();
                drop(wake_queue);
                if let Some(waker) = waker {
                    waker.wake();
                }
                return;
            }
        }
        self.searching.store(false, Ordering::Relaxed);
    }
}
