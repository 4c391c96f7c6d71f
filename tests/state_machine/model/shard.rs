//! The reference model of one pool: its places, its queue, the tasks that run, and its figures.

use std::collections::{BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use super::places::{Id, Places};
use super::{End, Plan, Runs};

#[derive(Clone, Debug)]
pub(crate) struct Shard {
    pub(crate) capacity: usize,
    queue_size: usize,
    pub(super) waiters_limit: Option<usize>,
    pub(crate) places: Places,
    queue: VecDeque<Entry>,
    running: BTreeSet<Id>,
    pub(crate) counts: Counts,
}

/// An entry of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Task(Id),
    /// A cancelled task has no place, but its entry stays in the queue until its turn comes. The balance of a
    /// `Multi` counts such entries.
    Cancelled,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) accepted: u64,
    pub(crate) completed: u64,
    pub(crate) panicked: u64,
    pub(crate) cancelled: u64,
    pub(crate) refused: u64,
}

/// The figures that the model predicts exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) counts: Counts,
    pub(crate) queued: usize,
    pub(crate) busy: usize,
    pub(crate) capacity: usize,
    pub(crate) waiting: usize,
    pub(crate) closed: bool,
}

impl Figures {
    /// The figures of two pools together, which are closed if both are.
    pub(crate) fn and(self, other: Figures) -> Figures {
        let (one, two) = (self.counts, other.counts);
        let counts = Counts {
            accepted: one.accepted + two.accepted,
            completed: one.completed + two.completed,
            panicked: one.panicked + two.panicked,
            cancelled: one.cancelled + two.cancelled,
            refused: one.refused + two.refused,
        };
        Figures {
            counts,
            queued: self.queued + other.queued,
            busy: self.busy + other.busy,
            capacity: self.capacity + other.capacity,
            waiting: self.waiting + other.waiting,
            closed: self.closed && other.closed,
        }
    }
}

/// The work that keeps a pool from its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) running: usize,
    pub(crate) queued: usize,
    pub(crate) permits: usize,
}

/// How much a pool has to do, as the balance of a `Multi` sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Load {
    pub(crate) standing: Standing,
    pub(crate) tasks: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    Room,
    Full,
    Closed,
}

impl Shard {
    pub(crate) fn new(plan: &Plan) -> Self {
        Shard {
            capacity: plan.capacity,
            queue_size: plan.queue,
            waiters_limit: plan.waiters,
            places: Places::new(plan.capacity + plan.queue),
            queue: VecDeque::new(),
            running: BTreeSet::new(),
            counts: Counts::default(),
        }
    }

    pub(crate) fn may_wait(&self) -> bool {
        self.waiters_limit.is_none_or(|limit| self.places.waiting() < limit)
    }

    /// A task that has a place enters the queue.
    pub(crate) fn accept(&mut self, id: Id) {
        self.counts.accepted += 1;
        self.queue.push_back(Entry::Task(id));
    }

    /// Starts as many queued tasks as the capacity allows, in order.
    pub(crate) fn start(&mut self) -> Vec<Id> {
        let mut started = Vec::new();
        while self.running.len() < self.capacity
            && let Some(entry) = self.queue.pop_front()
        {
            if let Entry::Task(id) = entry {
                self.running.insert(id);
                started.push(id);
            }
        }
        started
    }

    /// A running task ends.
    pub(crate) fn end(&mut self, id: Id, end: End) {
        assert!(self.running.remove(&id), "task {id} runs");
        match end {
            End::Completed => self.counts.completed += 1,
            End::Panicked => self.counts.panicked += 1,
            End::Cancelled => self.counts.cancelled += 1,
        }
        self.places.give_back(1);
    }

    pub(crate) fn cancel_queued(&mut self, id: Id) {
        for entry in self.queue.iter_mut().filter(|entry| **entry == Entry::Task(id)) {
            *entry = Entry::Cancelled;
        }
        self.counts.cancelled += 1;
        self.places.give_back(1);
    }

    /// Whether the queue ends with this task.
    pub(crate) fn is_last(&self, id: Id) -> bool {
        self.queue.back() == Some(&Entry::Task(id))
    }

    /// Drops all queued tasks, and returns them.
    pub(crate) fn discard(&mut self) -> Vec<Id> {
        let dropped: Vec<Id> = self.queued_tasks().collect();
        self.queue.clear();
        self.counts.cancelled += dropped.len() as u64;
        self.places.give_back(dropped.len());
        dropped
    }

    /// Changes the capacity. A pool of futures that shrinks also removes the entries of cancelled tasks. The model
    /// does not, because only a `Multi` counts these entries, and its shards run closures.
    pub(crate) fn resize(&mut self, capacity: usize) {
        self.capacity = capacity;
        let too_large = self.places.resize(capacity + self.queue_size);
        assert!(too_large.is_empty(), "a task needs one place, and there is always one");
    }

    pub(crate) fn set_queue(&mut self, tasks: usize) {
        self.queue_size = tasks;
        self.resize(self.capacity);
    }

    pub(crate) fn running_tasks(&self) -> Vec<Id> {
        self.running.iter().copied().collect()
    }

    fn queued_tasks(&self) -> impl Iterator<Item = Id> {
        self.queue.iter().filter_map(|entry| match entry {
            Entry::Task(id) => Some(*id),
            Entry::Cancelled => None,
        })
    }

    pub(crate) fn left(&self) -> Left {
        let (running, queued) = (self.running.len(), self.queued_tasks().count());
        Left { running, queued, permits: self.places.held - running - queued }
    }

    /// Whether nothing is left that a drain waits for.
    pub(crate) fn is_over(&self) -> bool {
        self.places.held == 0
    }

    pub(crate) fn figures(&self) -> Figures {
        let Left { running, queued, .. } = self.left();
        Figures {
            counts: self.counts,
            queued,
            busy: running,
            capacity: self.capacity,
            waiting: self.places.waiting(),
            closed: self.places.closed,
        }
    }

    /// The possible numbers of workers. A pool of threads may keep idle ones up to its capacity, and keeps at
    /// least one while a permit is held. None is left when a closed pool has come to its end.
    pub(crate) fn workers(&self, runs: Runs) -> RangeInclusive<usize> {
        let Left { running, permits, .. } = self.left();
        match runs {
            Runs::Futures => running..=running,
            Runs::Closures if self.places.closed && self.is_over() => 0..=0,
            Runs::Closures => running.max(permits.min(1))..=self.capacity.max(running),
        }
    }

    pub(crate) fn load(&self) -> Load {
        let tasks = self.queue.len() + self.running.len();
        let standing = match () {
            () if self.places.closed => Standing::Closed,
            () if tasks >= self.places.size => Standing::Full,
            () => Standing::Room,
        };
        Load { standing, tasks }
    }
}
