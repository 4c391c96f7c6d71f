//! What the semaphore's lock guards: the weight that is held, and those who wait, in order.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::engine::wait::{Verdict, Waiter};
use crate::error::AcquireError;

/// Those to be woken once the lock is free.
pub(super) type Wake = Vec<Arc<Waiter>>;

/// The first who waits does not fit into what is free, nobody waits for more than the size, and
/// nobody waits at all once it is closed. Whoever gives a waiter its verdict takes it out.
pub(super) struct Queue {
    size: usize,
    /// What all permits weigh together: above the size after it was made smaller.
    held: usize,
    waiters: VecDeque<Waiting>,
    /// Those for whom the size became too small, and what it was; they have not heard of it yet.
    dismissed: Vec<(Arc<Waiter>, usize)>,
    closed: bool,
}

struct Waiting {
    waiter: Arc<Waiter>,
    weight: usize,
}

impl Queue {
    pub(super) fn new(size: usize) -> Self {
        let (waiters, dismissed) = (VecDeque::new(), Vec::new());
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

    /// Takes `weight` if nobody is overtaken by that.
    pub(super) fn take(&mut self, weight: usize) -> Result<(), AcquireError> {
        if self.closed {
            return Err(AcquireError::Closed);
        }
        if weight > self.size {
            return Err(AcquireError::TooMany { weight, size: self.size });
        }
        // Whoever asks for nothing takes nothing from those who wait.
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
                self.waiters.push_back(Waiting { waiter: Arc::clone(waiter), weight });
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

    /// Takes a waiter out of the queue, because it does not want to wait any longer; those behind
    /// it may fit. If it has a verdict meanwhile, it is not in the queue, and the verdict holds.
    pub(super) fn withdraw(&mut self, waiter: &Arc<Waiter>, wake: &mut Wake) -> Option<Verdict> {
        let verdict = waiter.verdict();
        if verdict.is_none() {
            self.waiters.retain(|waiting| !Arc::ptr_eq(&waiting.waiter, waiter));
            self.grant(wake);
        }
        verdict
    }

    /// Why a waiter was sent away.
    pub(super) fn reason(&mut self, waiter: &Arc<Waiter>, weight: usize) -> AcquireError {
        let own = self.dismissed.iter().position(|(dismissed, _)| Arc::ptr_eq(dismissed, waiter));
        match own {
            Some(position) => {
                let (_, size) = self.dismissed.swap_remove(position);
                AcquireError::TooMany { weight, size }
            }
            None => AcquireError::Closed,
        }
    }

    /// Changes the size. Those who wait for more than that are sent away, which may let others in.
    pub(super) fn resize(&mut self, size: usize, wake: &mut Wake) {
        self.size = size;
        for waiting in std::mem::take(&mut self.waiters) {
            if waiting.weight <= size {
                self.waiters.push_back(waiting);
            } else {
                self.dismissed.push((Arc::clone(&waiting.waiter), size));
                send_away(waiting.waiter, wake);
            }
        }
        self.grant(wake);
    }

    pub(super) fn close(&mut self, wake: &mut Wake) {
        self.closed = true;
        for Waiting { waiter, .. } in self.waiters.drain(..) {
            send_away(waiter, wake);
        }
    }

    /// Lets in those who fit, up to the first who does not: nobody overtakes a large one.
    fn grant(&mut self, wake: &mut Wake) {
        while let Some(first) = self.waiters.front()
            && first.weight <= self.free()
        {
            let Some(Waiting { waiter, weight }) = self.waiters.pop_front() else { return };
            self.held += weight;
            if waiter.decide(Verdict::Granted) {
                wake.push(waiter);
            }
        }
    }
}

fn send_away(waiter: Arc<Waiter>, wake: &mut Wake) {
    if waiter.decide(Verdict::Closed) {
        wake.push(waiter);
    }
}
