//! What the lists of a pool have in common.

use std::sync::{Arc, OnceLock, Weak};

use super::super::cell::Runnable;
use super::super::remains::Remains;
use super::super::sync::Padded;
use super::super::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use super::List;

/// What the lists of a pool have in common.
#[derive(Default)]
pub(super) struct Others {
    pub(super) lists: OnceLock<Vec<Weak<List>>>,
    pub(super) sleeping: AtomicUsize,
    /// Drivers that are up.
    pub(super) up: AtomicUsize,
    /// One that is up is enough. Only while there is a lookout.
    pub(super) one: AtomicBool,
    /// Drivers that a runtime has.
    pub(super) at_work: AtomicUsize,
    /// The number, and one, of the list whose driver sleeps although something is ready; none if it is zero.
    pub(super) low: AtomicUsize,
    /// How often that has been.
    pub(super) lows: AtomicU64,
    pub(super) remains: Padded<Remains>,
    /// A driver was woken to help and has not found anything yet.
    pub(super) searching: AtomicBool,
}

impl Others {
    pub(super) fn put_away(&self, cell: Arc<dyn Runnable>) {
        if let Some(cell) = cell.put_away() {
            self.remains.keep(cell);
        }
    }

    /// Whether one driver is enough, and there is one that is up.
    pub(super) fn is_one_enough(&self) -> bool {
        self.one.load(Ordering::Relaxed) && self.up.load(Ordering::Relaxed) > 0
    }

    /// Whether a driver sleeps, or lies low and will be known to sleep at once.
    #[inline]
    pub(super) fn may_sleep(&self) -> bool {
        self.sleeping.load(Ordering::Relaxed) > 0 || self.low.load(Ordering::Relaxed) > 0
    }

    /// Wakes a driver that sleeps, unless one that was woken still searches.
    #[inline]
    pub(super) fn call_one(&self) {
        if self.sleeping.load(Ordering::Relaxed) > 0 && !self.is_one_enough() {
            self.call_sleeper();
        }
    }

    #[cold]
    fn call_sleeper(&self) {
        // Release: pairs with the Acquire of the one that searches.
        if self.searching.swap(true, Ordering::Release) {
            return;
        }
        let lists = self.lists.get().into_iter().flatten().filter_map(Weak::upgrade);
        for list in lists {
            let mut inbox = list.inbox.hold();
            if list.wake_up(&mut inbox) {
                list.called.store(true, Ordering::Relaxed);
                let waker = inbox.waker.clone();
                drop(inbox);
                if let Some(waker) = waker {
                    waker.wake();
                }
                return;
            }
        }
        self.searching.store(false, Ordering::Relaxed);
    }
}
