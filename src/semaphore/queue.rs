//! What the semaphore's lock guards: the weight that is held, and those who wait, in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::wait::{Verdict, Waiter};
use crate::engine::wait_list::{Key, WaitList};
use crate::error::AcquireError;

/// Those to be woken once the lock is free.
pub(super) type Wake = Vec<Arc<Waiter>>;

/// The first waiter does not fit into what is free, no waiter asks for more than the size, and
/// no waiter is left once it is closed. The thread that gives a waiter its verdict takes it out.
pub(super) struct Queue {
    size: usize,
    /// What all permits weigh together: above the size after it was made smaller.
    held: usize,
    waiters: WaitList<Waiting>,
    /// Those for whom the size became too small, and what it was; they have not heard of it yet.
    dismissed: BTreeMap<Key, usize>,
    closed: bool,
}

struct Waiting {
    waiter: Arc<Waiter>,
    weight: usize,
}

impl Waiting {
    fn key(&self) -> Key {
        self.waiter.key()
    }
}

impl Queue {
    pub(super) fn new(size: usize) -> Self {
        let (waiters, dismissed) = (WaitList::default(), BTreeMap::new());
        Queue { size, held: 0, waiters, dismissed, closed: false }
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn free(&self) -> usize {
        self.size.saturating_sub(self.held)
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiters.len()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Takes `weight` if that overtakes no waiter.
    pub(super) fn take(&mut self, weight: usize) -> Result<(), AcquireError> {
        if self.closed {
            return Err(AcquireError::Closed);
        }
        if weight > self.size {
            return Err(AcquireError::TooMany { weight, size: self.size });
        }
        // A caller that asks for no permits takes none from those who wait.
        let fits = weight == 0 || (self.waiters.is_empty() && weight <= self.free());
        if !fits {
            return Err(AcquireError::NoPermits);
        }
        self.held += weight;
        Ok(())
    }

    /// As [`Queue::take`], but if there is not enough the waiter joins the queue. True if it did.
    pub(super) fn take_or_wait(
        &mut self,
        weight: usize,
        waiter: &Arc<Waiter>,
    ) -> Result<bool, AcquireError> {
        match self.take(weight) {
            Ok(()) => Ok(false),
            Err(AcquireError::NoPermits) => {
                waiter.set_key(self.waiters.next_key());
                self.waiters.push(Waiting { waiter: Arc::clone(waiter), weight });
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes `weight` back, and lets in those who now fit.
    pub(super) fn give_back(&mut self, weight: usize, wake: &mut Wake) {
        self.held -= weight;
        self.grant(wake);
    }

    /// Takes `weight` out of circulation, together with the part of the size that it was.
    pub(super) fn forget(&mut self, weight: usize, wake: &mut Wake) {
        self.held -= weight;
        self.resize(self.size.saturating_sub(weight), wake);
    }

    /// Takes a waiter out of the queue, because it does not want to wait any longer; those behind
    /// it may fit. If it has a verdict meanwhile, it is not in the queue, and the verdict holds.
    pub(super) fn withdraw(&mut self, waiter: &Arc<Waiter>, wake: &mut Wake) -> Option<Verdict> {
        let verdict = waiter.verdict();
        if verdict.is_none() {
            self.waiters.remove(waiter.key());
            self.grant(wake);
        }
        verdict
    }

    /// Why a waiter was sent away.
    pub(super) fn reason(&mut self, waiter: &Arc<Waiter>, weight: usize) -> AcquireError {
        match self.dismissed.remove(&waiter.key()) {
            Some(size) => AcquireError::TooMany { weight, size },
            None => AcquireError::Closed,
        }
    }

    /// Changes the size. Those who wait for more than that are sent away, which may let others in.
    pub(super) fn resize(&mut self, size: usize, wake: &mut Wake) {
        self.size = size;
        let too_large = |waiting: &&Waiting| waiting.weight > size;
        let keys: Vec<Key> = self.waiters.iter().filter(too_large).map(Waiting::key).collect();
        for waiting in keys.into_iter().filter_map(|key| self.waiters.remove(key)) {
            self.dismissed.insert(waiting.key(), size);
            send_away(waiting.waiter, wake);
        }
        self.grant(wake);
    }

    pub(super) fn close(&mut self, wake: &mut Wake) {
        self.closed = true;
        for Waiting { waiter, .. } in self.waiters.take_all() {
            send_away(waiter, wake);
        }
    }

    /// Lets in those who fit, up to the first who does not: no small waiter overtakes a large one.
    fn grant(&mut self, wake: &mut Wake) {
        while let Some(first) = self.waiters.first()
            && first.weight <= self.free()
        {
            let Some(Waiting { waiter, weight }) = self.waiters.pop_first() else { return };
            self.held += weight;
            waiter.decide(Verdict::Granted);
            wake.push(waiter);
        }
    }
}

fn send_away(waiter: Arc<Waiter>, wake: &mut Wake) {
    waiter.decide(Verdict::Closed);
    wake.push(waiter);
}
