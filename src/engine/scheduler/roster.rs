//! The roster: every worker's place and what it is doing.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::task::Waker;

/// What a worker is doing. Each place of the roster has exactly one duty at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    /// Nobody has this place.
    Vacant,
    /// A thread is being started for this place, and that may fail.
    Starting,
    /// Woken, or surely started, and not here yet.
    Called,
    /// At the lock, asking what to do.
    Asking,
    /// Has a task, or a stretch of the lane.
    Engaged,
    /// Looks around for a task before it goes idle.
    Looking,
    /// Waits to be called, in the order of [`Roster::idle`].
    Idle,
    /// Has been told to leave, and tells the hook before it is gone.
    Leaving,
}

const DUTIES: usize = 8;

/// The workers of a crew.
///
/// A place is in `idle` exactly when its duty is [`Duty::Idle`], and `counts` says how many
/// places have which duty.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    places: Vec<Place>,
    /// The lowest first, so that names stay low.
    vacant: BinaryHeap<Reverse<usize>>,
    /// The most recently idle worker is last, and is called first.
    idle: VecDeque<usize>,
    counts: [usize; DUTIES],
    /// The idle worker that looks for itself every now and then.
    dozer: Option<usize>,
    /// Cleared with every change here; set by the crew when it found that no worker needs to be
    /// called for the tasks to come, as long as nothing changes here.
    pub(crate) quiet: bool,
}

#[derive(Debug)]
struct Place {
    duty: Duty,
    waker: Option<Waker>,
}

impl Roster {
    pub(crate) fn reserve(&mut self, workers: usize) {
        self.places.reserve(workers);
        self.vacant.reserve(workers);
        self.idle.reserve(workers);
    }

    pub(crate) fn count(&self, duty: Duty) -> usize {
        self.counts[duty as usize]
    }

    /// All that have or will have a thread.
    pub(crate) fn workers(&self) -> usize {
        self.places.len() - self.vacant.len()
    }

    /// Those whose thread exists for certain.
    pub(crate) fn present(&self) -> usize {
        self.workers() - self.count(Duty::Starting)
    }

    /// Those that are here to stay.
    pub(crate) fn staying(&self) -> usize {
        self.present() - self.count(Duty::Leaving)
    }

    /// Those on their way to the lock or at it, or looking for a task: they will find the next one.
    pub(crate) fn alert(&self) -> usize {
        let coming = self.count(Duty::Starting) + self.count(Duty::Called);
        coming + self.count(Duty::Asking) + self.count(Duty::Looking)
    }

    pub(crate) fn duty(&self, index: usize) -> Duty {
        self.places[index].duty
    }

    /// Changes a duty; for an idle worker see [`Roster::remove_idle`].
    pub(crate) fn set(&mut self, index: usize, duty: Duty) {
        let place = &mut self.places[index];
        self.counts[place.duty as usize] -= 1;
        self.counts[duty as usize] += 1;
        place.duty = duty;
        self.quiet = false;
    }

    /// Takes a vacant place for a new worker.
    pub(crate) fn add(&mut self, duty: Duty) -> usize {
        let index = match self.vacant.pop() {
            Some(Reverse(index)) => index,
            None => {
                self.places.push(Place { duty: Duty::Vacant, waker: None });
                self.counts[Duty::Vacant as usize] += 1;
                self.places.len() - 1
            }
        };
        self.set(index, duty);
        index
    }

    /// Gives a place back.
    pub(crate) fn remove(&mut self, index: usize) {
        self.set(index, Duty::Vacant);
        self.places[index].waker = None;
        self.vacant.push(Reverse(index));
    }

    /// Notes how a worker is woken.
    pub(crate) fn introduce(&mut self, index: usize, waker: Waker) {
        self.places[index].waker = Some(waker);
    }

    pub(crate) fn push_idle(&mut self, index: usize) {
        self.set(index, Duty::Idle);
        self.idle.push_back(index);
    }

    /// Takes a worker out of the idle ones because it has something to do by itself.
    pub(crate) fn remove_idle(&mut self, index: usize) {
        // The one idle for longest is first, and it is the one that wakes up by itself.
        if let Some(position) = self.idle.iter().position(|idle| *idle == index) {
            self.idle.remove(position);
        }
        self.forget_dozer(index);
        self.set(index, Duty::Asking);
    }

    /// Calls the most recently idle worker: the caller wakes it.
    #[must_use]
    pub(crate) fn call_newest(&mut self) -> Option<Waker> {
        let index = self.idle.pop_back()?;
        self.call(index)
    }

    /// Calls the worker idle for longest: the caller wakes it.
    #[must_use]
    pub(crate) fn call_oldest(&mut self) -> Option<Waker> {
        let index = self.idle.pop_front()?;
        self.call(index)
    }

    fn call(&mut self, index: usize) -> Option<Waker> {
        self.forget_dozer(index);
        self.set(index, Duty::Called);
        self.places[index].waker.clone()
    }

    pub(crate) fn dozer(&self) -> Option<usize> {
        self.dozer
    }

    pub(crate) fn set_dozer(&mut self, index: usize) {
        self.dozer = Some(index);
    }

    pub(crate) fn forget_dozer(&mut self, index: usize) {
        if self.dozer == Some(index) {
            self.dozer = None;
        }
        self.quiet = false;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_as_many_workers_as_were_reserved() {
        let mut roster = Roster::default();
        roster.reserve(100);
        let room = |roster: &Roster| {
            (roster.places.capacity(), roster.vacant.capacity(), roster.idle.capacity())
        };
        let reserved = room(&roster);
        (0..100).for_each(|_| _ = roster.add(Duty::Called));
        (0..100).for_each(|index| roster.push_idle(index));
        while roster.call_oldest().is_some() {}
        (0..100).for_each(|index| roster.remove(index));
        assert_eq!(room(&roster), reserved, "nothing had to grow");
    }
}
