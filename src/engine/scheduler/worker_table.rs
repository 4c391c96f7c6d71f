//! The worker table: every worker's place and what it is doing.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::task::Waker;
use std::time::Instant;

use crate::engine::scheduler::ready::Lack;

/// What a worker is doing. Each place of the worker table has exactly one state at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WorkerState {
    /// No worker has this place.
    #[default]
    Vacant,
    /// A thread is being started for this place, and that may fail.
    Starting,
    /// Woken, or surely started, and not here yet.
    Called,
    /// At the lock, asking what to do.
    Asking,
    /// Makes its state, which may take long, and may fail.
    Preparing,
    /// Is not ready: it takes no task until its pause is over.
    Unready,
    /// Has a task, or a claimed block of the fast path: then it may spin for a task.
    Engaged,
    /// Waits to be called, in the order of [`WorkerTable::idle`].
    Idle,
    /// Has been told to leave, and tells the hook before it is gone.
    Leaving,
}

const WORKER_STATES: usize = 9;

/// The workers of a scheduler.
///
/// A place is in `idle` exactly when its state is [`WorkerState::Idle`], and `counts` says how many
/// places have which state.
#[derive(Debug, Default)]
pub(crate) struct WorkerTable {
    places: Vec<Worker>,
    /// The lowest first, so that names stay low.
    vacant: BinaryHeap<Reverse<usize>>,
    /// The most recently idle worker is last, and is called first.
    idle: VecDeque<usize>,
    counts: [usize; WORKER_STATES],
    /// The idle worker that looks for itself every now and then.
    pub(crate) monitor: Option<usize>,
    /// Cleared with every change here; set by the scheduler when it found that no worker needs to be
    /// called for the tasks to come, as long as nothing changes here.
    pub(crate) quiet: bool,
}

/// What is known of the worker at a place.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    worker_state: WorkerState,
    /// How it is woken.
    pub(crate) waker: Option<Waker>,
    /// What it said that it lacks when it last came to the lock.
    pub(crate) lack: Lack,
    /// Whether it was not ready for the last task that it could have taken.
    pub(crate) declined: bool,
    /// Since when it has had no task, if it has been idle since.
    pub(crate) idle_since: Option<Instant>,
}

impl WorkerTable {
    pub(crate) fn reserve(&mut self, workers: usize) {
        self.places.reserve(workers);
        self.vacant.reserve(workers);
        self.idle.reserve(workers);
    }

    pub(crate) fn count(&self, worker_state: WorkerState) -> usize {
        self.counts[worker_state as usize]
    }

    /// All that have or will have a thread.
    pub(crate) fn workers(&self) -> usize {
        self.places.len() - self.vacant.len()
    }

    /// Those whose thread exists for certain.
    pub(crate) fn present(&self) -> usize {
        self.workers() - self.count(WorkerState::Starting)
    }

    /// Those that are not leaving. A thread that is being started may still fail.
    pub(crate) fn remaining(&self) -> usize {
        self.workers() - self.count(WorkerState::Leaving)
    }

    /// Those that are here to stay.
    pub(crate) fn staying(&self) -> usize {
        self.present() - self.count(WorkerState::Leaving)
    }

    /// Those on their way to the lock or at it: they will find the next task.
    pub(crate) fn alert(&self) -> usize {
        let coming = self.count(WorkerState::Starting) + self.count(WorkerState::Called);
        coming + self.count(WorkerState::Asking)
    }

    pub(crate) fn worker_state(&self, index: usize) -> WorkerState {
        self.places[index].worker_state
    }

    /// Changes a state; for an idle worker see [`WorkerTable::remove_idle`].
    pub(crate) fn set(&mut self, index: usize, worker_state: WorkerState) {
        let place = &mut self.places[index];
        self.counts[place.worker_state as usize] -= 1;
        self.counts[worker_state as usize] += 1;
        place.worker_state = worker_state;
        self.quiet = false;
    }

    /// Takes a vacant place for a new worker.
    pub(crate) fn add(&mut self, worker_state: WorkerState) -> usize {
        let index = match self.vacant.pop() {
            Some(Reverse(index)) => index,
            None => {
                self.places.push(Worker::default());
                self.counts[WorkerState::Vacant as usize] += 1;
                self.places.len() - 1
            }
        };
        self.set(index, worker_state);
        index
    }

    /// Gives a place back.
    pub(crate) fn remove(&mut self, index: usize) {
        self.set(index, WorkerState::Vacant);
        self.places[index] = Worker::default();
        self.vacant.push(Reverse(index));
    }

    /// What is known of a worker, to read it and to note more.
    pub(crate) fn worker(&mut self, index: usize) -> &mut Worker {
        &mut self.places[index]
    }

    /// A worker takes a task.
    pub(crate) fn engage(&mut self, index: usize) {
        self.set(index, WorkerState::Engaged);
        (self.places[index].declined, self.places[index].idle_since) = (false, None);
    }

    /// Those that make their state. They come for a task, too, but an idle worker comes sooner.
    pub(crate) fn preparing(&self) -> usize {
        if self.idle.is_empty() { self.count(WorkerState::Preparing) } else { 0 }
    }

    /// A worker that was not ready is called after all others.
    pub(crate) fn push_idle(&mut self, index: usize) {
        self.set(index, WorkerState::Idle);
        if self.places[index].declined {
            self.idle.push_front(index);
        } else {
            self.idle.push_back(index);
        }
    }

    /// Takes a worker out of the idle ones because it has something to do by itself.
    pub(crate) fn remove_idle(&mut self, index: usize) {
        // The one idle for longest is first, and it is the one that wakes up by itself.
        if let Some(position) = self.idle.iter().position(|idle| *idle == index) {
            self.idle.remove(position);
        }
        self.forget_monitor(index);
        self.set(index, WorkerState::Asking);
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

    /// To wake the idle workers without a call: each looks how long it may stay, and rests again.
    pub(crate) fn idle_wakers(&self) -> impl Iterator<Item = Waker> {
        self.idle.iter().filter_map(|index| self.places[*index].waker.clone())
    }

    /// Calls a worker that is not ready: the caller wakes it.
    #[must_use]
    pub(crate) fn call_unready(&mut self) -> Option<Waker> {
        if self.count(WorkerState::Unready) == 0 {
            return None;
        }
        let unready = |worker: &Worker| worker.worker_state == WorkerState::Unready;
        let index = self.places.iter().position(unready)?;
        self.call(index)
    }

    /// Calls a worker that is to go, the most recently idle first.
    #[must_use]
    pub(crate) fn call_to_go(&mut self) -> Option<Waker> {
        self.call_newest().or_else(|| self.call_unready())
    }

    fn call(&mut self, index: usize) -> Option<Waker> {
        self.forget_monitor(index);
        self.set(index, WorkerState::Called);
        self.places[index].waker.clone()
    }

    pub(crate) fn forget_monitor(&mut self, index: usize) {
        if self.monitor == Some(index) {
            self.monitor = None;
        }
        self.quiet = false;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_as_many_workers_as_were_reserved() {
        let mut worker_table = WorkerTable::default();
        worker_table.reserve(100);
        let room = |worker_table: &WorkerTable| {
            (
                worker_table.places.capacity(),
                worker_table.vacant.capacity(),
                worker_table.idle.capacity(),
            )
        };
        let reserved = room(&worker_table);
        (0..100).for_each(|_| _ = worker_table.add(WorkerState::Called));
        (0..100).for_each(|index| worker_table.push_idle(index));
        while worker_table.call_oldest().is_some() {}
        (0..100).for_each(|index| worker_table.remove(index));
        assert_eq!(room(&worker_table), reserved, "nothing had to grow");
    }
}
