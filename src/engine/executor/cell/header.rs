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

use std::sync::{Arc, OnceLock};

use crate::engine::executor::Owner;
use crate::engine::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, Ordering};
use crate::on_cancel::Epoch;

/// See the table above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum State {
    Ready,
    Polling,
    Again,
    Waiting,
    Over,
}

impl State {
    #[inline]
    fn of(number: u8) -> Self {
        let states = [State::Ready, State::Polling, State::Again, State::Waiting, State::Over];
        states[usize::from(number)]
    }
}

/// What a driver knows of a cell.
#[derive(Default)]
pub(crate) struct Header {
    state: AtomicU8,
    /// When its task started. Written before it is in its run queue.
    epoch: AtomicU16,
    /// Where it stands in its run queue. Written before it is there.
    index: AtomicU32,
    /// The run queue that it began with, for good.
    owner: OnceLock<Arc<Owner>>,
}

impl Header {
    /// Gives it its place in a run queue.
    pub(crate) fn settle(&self, owner: &Arc<Owner>, index: u32) {
        self.owner.get_or_init(|| Arc::clone(owner));
        self.index.store(index, Ordering::Relaxed);
        // Release: pairs with the Acquire of the thread that wakes it, and reads where.
        self.state.store(State::Ready as u8, Ordering::Release);
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
    pub(crate) fn owner(&self) -> Option<&Arc<Owner>> {
        self.owner.get()
    }

    /// A thread wakes it.
    #[inline]
    pub(crate) fn wake(&self) {
        let mut seen = self.state.load(Ordering::Acquire);
        loop {
            let next = match State::of(seen) {
                State::Waiting => State::Ready,
                State::Polling => State::Again,
                State::Over => return,
                // Written all the same: if it were only read, the thread that polls it might have gone on by
                // then, without having seen what the waker's owner did before.
                same => same,
            };
            // Release: what the waker's owner did is there for the thread that polls. Acquire: pairs with
            // the Release in `settle`.
            let done =
                self.state.compare_exchange(seen, next as u8, Ordering::AcqRel, Ordering::Acquire);
            match done {
                Ok(_) if State::of(seen) == State::Waiting => return self.push_ready(),
                Ok(_) => return,
                Err(other) => seen = other,
            }
        }
    }

    /// Puts it into its run queue. It is Ready.
    fn push_ready(&self) {
        if let Some(owner) = self.owner.get() {
            owner.executor.push_ready(owner.run_queue, self.index());
        }
    }

    /// False if it is not to be polled: it was lost with its driver after it had become ready.
    #[inline]
    #[must_use]
    pub(super) fn begin_poll(&self) -> bool {
        // Acquire: pairs with the Release in `wake`, and of the thread that touched the future before.
        self.change(State::Ready, State::Polling)
    }

    /// True if it was in the first of these states.
    #[inline]
    fn change(&self, from: State, to: State) -> bool {
        let (from, to) = (from as u8, to as u8);
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Ends a poll after which the future waits, or is ready if it was woken meanwhile. False if it is over.
    #[inline]
    #[must_use]
    pub(super) fn end_poll(&self) -> bool {
        if self.change(State::Polling, State::Waiting) {
            return true;
        }
        let again = self.change(State::Again, State::Ready);
        if again {
            self.push_ready();
        }
        again
    }

    #[inline]
    pub(super) fn set_over(&self) {
        self.state.store(State::Over as u8, Ordering::Release);
    }

    /// It is over. True if no thread polled it, and no thread has given it up before.
    #[must_use]
    pub(super) fn give_up(&self) -> bool {
        // Acquire: of the thread that touched the future before.
        let was = State::of(self.state.swap(State::Over as u8, Ordering::AcqRel));
        matches!(was, State::Ready | State::Waiting)
    }
}
