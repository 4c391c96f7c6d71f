//! What the lists of a pool have in common.

use std::sync::{Arc, OnceLock, Weak};

use super::List;
use crate::engine::executor::cell::Runnable;
use crate::engine::executor::remains::Remains;
use crate::engine::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use crate::engine::sync::{Padded, lock};

/// Whichever driver finds it first. Where there is no lookout, this is how it is.
pub(super) const ALL: u8 = 0;
/// One driver that is up, and that is enough.
pub(super) const ONE: u8 = 1;
/// Each driver what is on its own list, and nothing else.
pub(super) const EACH: u8 = 2;

/// What the lists of a pool have in common.
#[derive(Default)]
pub(super) struct Others {
    pub(super) lists: OnceLock<Vec<Weak<List>>>,
    pub(super) sleeping: AtomicUsize,
    /// Drivers that are up.
    pub(super) up: AtomicUsize,
    /// Who polls what is ready on a list: see [`ALL`].
    pub(super) who: AtomicU8,
    /// Each driver has a thread and timers of its own.
    pub(super) apart: bool,
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
        self.is_for_one() && self.up.load(Ordering::Relaxed) > 0
    }

    /// Whether one driver is to poll what is on all lists.
    #[inline]
    pub(super) fn is_for_one(&self) -> bool {
        self.who.load(Ordering::Relaxed) == ONE
    }

    /// Whether each driver polls what is on its own list, and nothing else.
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
        let lists = self.lists.get().into_iter().flatten().filter_map(Weak::upgrade);
        for list in lists {
            let mut inbox = lock(&list.inbox);
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
