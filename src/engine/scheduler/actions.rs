//! What a decision asks for, done after the lock is free.

use std::sync::{Arc, Weak};
use std::task::Waker;

use crate::engine::scheduler::core::CloseListener;
use crate::engine::scheduler::lend::Release;
use crate::engine::wait::Waiter;

/// What is to be done once the lock is free.
#[derive(Default)]
#[must_use]
pub(crate) struct Actions {
    pub(crate) call: Wakers,
    pub(crate) start: Vec<usize>,
    pub(crate) wake: Vec<Arc<Waiter>>,
    pub(crate) tell_closed: Vec<Weak<dyn CloseListener>>,
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
    pub(crate) fn push(&mut self, waker: Waker) {
        match self.first {
            None => self.first = Some(waker),
            Some(_) => self.others.push(waker),
        }
    }

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
        wakers.into_iter().for_each(|waker| self.push(waker));
    }
}
