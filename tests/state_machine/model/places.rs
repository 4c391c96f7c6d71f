//! The reference model of places that are granted in order of arrival: a weighted semaphore. A pool has one
//! place for each task that runs or is queued, and one for each permit.

use std::collections::VecDeque;

/// Identifies one request for a place, and the task that takes it. Ids are part of the steps, so that they stay
/// the same while a failing sequence of steps is shrunk.
pub(crate) type Id = u32;

#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) size: usize,
    /// The weight of all places that are taken. Exceeds the size after the size was reduced.
    pub(crate) held: usize,
    pub(crate) closed: bool,
    waiters: VecDeque<Waiter>,
}

#[derive(Clone, Debug)]
struct Waiter {
    id: Id,
    weight: usize,
}

/// The reply to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ruling {
    Enter,
    /// The request does not fit, or others wait.
    Wait,
    /// The request is larger than the size.
    TooLarge,
    Closed,
}

impl Places {
    pub(crate) fn new(size: usize) -> Self {
        Places { size, held: 0, closed: false, waiters: VecDeque::new() }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiters.len()
    }

    pub(crate) fn free(&self) -> usize {
        self.size.saturating_sub(self.held)
    }

    /// Returns the reply to a new request. Changes nothing.
    pub(crate) fn rule(&self, weight: usize) -> Ruling {
        match () {
            () if self.closed => Ruling::Closed,
            () if weight > self.size => Ruling::TooLarge,
            () if weight == 0 => Ruling::Enter,
            () if self.waiters.is_empty() && weight <= self.free() => Ruling::Enter,
            () => Ruling::Wait,
        }
    }

    pub(crate) fn take(&mut self, weight: usize) {
        self.held += weight;
    }

    pub(crate) fn give_back(&mut self, weight: usize) {
        self.held -= weight;
    }

    /// Appends a request to the queue of waiters.
    pub(crate) fn wait(&mut self, id: Id, weight: usize) {
        self.waiters.push_back(Waiter { id, weight });
    }

    /// Removes a waiter that gave up.
    pub(crate) fn leave(&mut self, id: Id) {
        self.waiters.retain(|waiter| waiter.id != id);
    }

    /// Grants places in order of arrival, up to the first waiter that does not fit. Returns the waiters that
    /// now hold a place.
    pub(crate) fn grant(&mut self) -> Vec<Id> {
        let mut granted = Vec::new();
        while let Some(first) = self.waiters.front()
            && first.weight <= self.free()
        {
            self.held += first.weight;
            granted.extend(self.waiters.pop_front().map(|waiter| waiter.id));
        }
        granted
    }

    /// Changes the size. Returns the waiters whose requests exceed it.
    pub(crate) fn resize(&mut self, size: usize) -> Vec<Id> {
        self.size = size;
        let (stay, go) = self.waiters.drain(..).partition(|waiter| waiter.weight <= size);
        self.waiters = stay;
        ids(go)
    }

    /// Refuses requests from now on. Returns the waiters, which are sent away.
    pub(crate) fn close(&mut self) -> Vec<Id> {
        self.closed = true;
        ids(std::mem::take(&mut self.waiters))
    }
}

fn ids(waiters: VecDeque<Waiter>) -> Vec<Id> {
    waiters.into_iter().map(|waiter| waiter.id).collect()
}
