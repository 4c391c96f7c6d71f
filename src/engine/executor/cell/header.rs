//! The header of a cell: its state, which says who may touch its future, and where it stands.
//!
//! | state   | it is                                   | becomes                                  |
//! |---------|-----------------------------------------|------------------------------------------|
//! | Ready   | in its run queue's queue, or about to be     | Polling, by the thread that takes it out         |
//! | Polling | being polled                            | Waiting; Again if it was woken meanwhile |
//! | Again   | being polled, and to be polled again    | Ready                                    |
//! | Waiting | no thread's, until it is woken             | Ready                                    |
//! | Over    | ended or dropped: to wake it does nothing | Ready, if it is used again             |
//!
//! Only the thread that made it Polling touches its future from there on, so it is polled by one driver at a time,
//! although any of them may do it. If it is given up meanwhile, it becomes Over, and the thread that polls it
//! drops the future after that.

use std::sync::Arc;

use super::Polled;
use super::home::Home;
use crate::engine::executor::run_queue::RunQueue;
use crate::engine::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, Ordering};
use crate::on_cancel::Epoch;

const READY: u8 = 0;
const POLLING: u8 = 1;
const AGAIN: u8 = 2;
const WAITING: u8 = 3;
const OVER: u8 = 4;

/// What a driver knows of a cell.
pub(crate) struct Header {
    state: AtomicU8,
    /// When its task started. Written before it is in its run queue.
    epoch: AtomicU16,
    /// Where it stands in its run queue.
    index: AtomicU32,
    /// The list of the driver that began with it, for good.
    home: Home,
}

impl Header {
    pub(super) fn new() -> Self {
        let (state, epoch) = (AtomicU8::new(READY), AtomicU16::new(0));
        Header { state, epoch, index: AtomicU32::new(0), home: Home::new() }
    }

    /// Gives it its place in its run queue.
    pub(crate) fn settle(&self, home: &Arc<RunQueue>, index: u32) {
        self.home.set(home);
        debug_assert!(self.is_at_home(home), "a cell has one home");
        self.index.store(index, Ordering::Relaxed);
        // Release: pairs with the Acquire of the thread that wakes it, and reads where.
        self.state.store(READY, Ordering::Release);
    }

    /// Says when its task started.
    pub(crate) fn set_epoch(&self, epoch: Epoch) {
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn index(&self) -> u32 {
        self.index.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn home(&self) -> Option<&RunQueue> {
        self.home.get()
    }

    /// Whether that is its run queue.
    #[inline]
    pub(crate) fn is_at_home(&self, run_queue: &Arc<RunQueue>) -> bool {
        self.home.get().is_some_and(|home| std::ptr::eq(home, Arc::as_ptr(run_queue)))
    }

    /// A thread wakes it.
    #[inline]
    pub(crate) fn wake(&self) {
        let mut seen = self.state.load(Ordering::Acquire);
        loop {
            let next = match seen {
                WAITING => READY,
                POLLING => AGAIN,
                OVER => return,
                // Written all the same: if it were only read, the thread that polls it might have gone on by
                // then, without having seen what the waker's owner did before.
                same => same,
            };
            // Release: what the waker's owner did is there for the thread that polls. Acquire: pairs with
            // the Release in `settle`.
            let done = self.state.compare_exchange(seen, next, Ordering::AcqRel, Ordering::Acquire);
            match done {
                Ok(WAITING) => break,
                Ok(_) => return,
                Err(other) => seen = other,
            }
        }
        if let Some(home) = self.home.get() {
            home.push_ready(self.index());
        }
    }

    /// False if it is not to be polled: it was lost with its driver after it had become ready.
    #[inline]
    #[must_use]
    pub(super) fn begin_poll(&self) -> bool {
        // Acquire: pairs with the Release in `wake`, and of the thread that touched the future before.
        self.change(READY, POLLING)
    }

    /// True if it was in the first of these states.
    #[inline]
    fn change(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Ends a poll after which the future waits, unless it was woken meanwhile. None if it is over.
    #[inline]
    #[must_use]
    pub(super) fn end_poll(&self) -> Option<Polled> {
        if self.change(POLLING, WAITING) {
            return Some(Polled::Waits);
        }
        self.change(AGAIN, READY).then_some(Polled::Again)
    }

    /// It has a future again, which no thread has polled.
    pub(super) fn set_ready(&self) {
        // Release: the thread that polls it acquires the future.
        self.state.store(READY, Ordering::Release);
    }

    #[inline]
    pub(super) fn set_over(&self) {
        self.state.store(OVER, Ordering::Release);
    }

    /// It is over. True if no thread polled it, and no thread has given it up before.
    #[must_use]
    pub(super) fn give_up(&self) -> bool {
        // Acquire: of the thread that touched the future before.
        matches!(self.state.swap(OVER, Ordering::AcqRel), READY | WAITING)
    }
}
