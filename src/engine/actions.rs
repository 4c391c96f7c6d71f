//! What a decision asks for, done after the lock is free.

use std::sync::Arc;
use std::task::Waker;

use crate::engine::wait::Waiter;

/// What is to be done once the lock is free.
#[derive(Default)]
#[must_use]
pub(crate) struct Actions {
    /// Idle workers to wake, and those who wait for the pool to be closed.
    pub(crate) call: Wakers,
    /// Places of the worker table for which workers are to be started.
    pub(crate) start: Vec<usize>,
    /// Waiters that have a verdict and must be woken.
    pub(crate) wake: Vec<Arc<Waiter>>,
    /// Dropped.
    pub(crate) release: Vec<Arc<dyn Release>>,
}

/// Workers to wake. Mostly that is one, which needs no allocation.
#[derive(Default)]
pub(crate) struct Wakers {
    first: Option<Waker>,
    others: Vec<Waker>,
}

impl Wakers {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waker> {
        self.first.iter().chain(&self.others)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.iter().count()
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Extend<Waker> for Wakers {
    fn extend<I: IntoIterator<Item = Waker>>(&mut self, wakers: I) {
        let mut wakers = wakers.into_iter();
        if self.first.is_none() {
            self.first = wakers.next();
        }
        self.others.extend(wakers);
    }
}

/// What may be dropped only while no lock is held: that may call user code.
pub(crate) trait Release: Send + Sync {}

impl<T: Send + Sync> Release for T {}
