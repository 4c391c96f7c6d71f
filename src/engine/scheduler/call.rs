//! Calling workers: who is woken or started for the tasks in the queue.

use std::time::Duration;

use crate::engine::queue::fast_path::Tally;
use crate::engine::scheduler::core::{Actions, Scheduler, WorkerKind};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::sync::now;

/// After a thread could not be started, the scheduler works with those it has for so long.
pub(crate) const START_PAUSE: Duration = Duration::from_millis(10);

impl<J> Scheduler<J> {
    /// Calls a worker if the tasks in the queue need one: the most recently idle, or a new one.
    pub(crate) fn call_for_help(&mut self, actions: &mut Actions) {
        if self.queue.queued() == 0 {
            return;
        }
        self.grow_by_load(actions);
        if !self.can_call() {
            // Nothing changes that by itself, except time if a start has failed, the load, and a driver's task
            // that ends.
            let lasts = self.limits.worker_kind == WorkerKind::Threads || self.free_places() > 0;
            self.worker_table.quiet = lasts && self.no_start_before.is_none() && !self.may_grow();
            return;
        }
        // Workers that run short tasks take the next one in no time. A worker that is up, or one that
        // looks every now and then, notices if they do not.
        let at_work = self.worker_table.count(WorkerState::Engaged) > 0;
        let watched =
            self.worker_table.alert() > 0 || (at_work && self.worker_table.monitor().is_some());
        if self.task_times.is_short() && watched {
            self.worker_table.quiet = true;
        } else if self.uncovered() > 0 && !self.has_single_driver() {
            self.call(actions);
        }
    }

    /// Whether the one driver that takes all tasks is at work.
    fn has_single_driver(&self) -> bool {
        self.single_driver && self.worker_table.count(WorkerState::Engaged) > 0
    }

    /// Calls as many workers as the queue has tasks.
    pub(crate) fn call_all_needed(&mut self, actions: &mut Actions) {
        self.grow_by_load(actions);
        while self.uncovered() > 0 && self.can_call() {
            self.call(actions);
        }
    }

    /// How many workers will take the next task without being called: those on their way, those
    /// that look around, and those on the fast path that are between two tasks. The tally is the one by
    /// which the tasks were counted: in another look, such a task would be running already.
    fn alert(&self, tally: Tally) -> usize {
        if self.limits.worker_kind != WorkerKind::Threads {
            // A driver takes as many tasks as there are.
            return if self.worker_table.alert() > 0 { usize::MAX } else { 0 };
        }
        let at_work = tally.busy() + self.claimed();
        let between = self.worker_table.count(WorkerState::Engaged).saturating_sub(at_work);
        self.worker_table.alert() + between + self.worker_table.preparing()
    }

    /// How many tasks stand in the queue for which no worker is on its way.
    pub(crate) fn uncovered(&self) -> usize {
        let tally = self.queue.fast_path.tally();
        tally.queued(self.queue.published()).saturating_sub(self.alert(tally))
    }

    fn can_call(&mut self) -> bool {
        let free = self.free_places();
        let has_place = match self.limits.worker_kind {
            WorkerKind::Threads => free > self.worker_table.alert(),
            WorkerKind::Drivers(_) => free > 0,
        };
        // By load, workers are started a step at a time.
        let may_start = self.limits.growth.is_none();
        has_place
            && (self.worker_table.count(WorkerState::Idle) > 0 || (may_start && self.can_start()))
    }

    /// Calls a worker for each task that could start in a lent place.
    pub(crate) fn call_for_awaited(&mut self, actions: &mut Actions) {
        let wanted = match self.limits.worker_kind {
            WorkerKind::Threads => self.startable_when_lent(),
            // A driver takes as many tasks as there are.
            WorkerKind::Drivers(_) => self.startable_when_lent().min(1),
        };
        let coming = self.worker_table.alert() + usize::from(self.has_single_driver());
        for _ in coming + self.worker_table.preparing()..wanted {
            if self.worker_table.count(WorkerState::Idle) == 0 && !self.can_start() {
                return;
            }
            self.call(actions);
        }
    }

    pub(crate) fn can_start(&mut self) -> bool {
        if self.worker_table.workers() >= self.most_workers() {
            return false;
        }
        if self.no_start_before.is_some_and(|time| now() < time) {
            return false;
        }
        self.no_start_before = None;
        true
    }

    fn call(&mut self, actions: &mut Actions) {
        match self.worker_table.call_newest() {
            Some(waker) => actions.call.extend([waker]),
            None => actions.start.push(self.worker_table.add(WorkerState::Starting)),
        }
    }

    /// A thread could not be started for this place.
    pub(crate) fn could_not_start(&mut self, index: usize, actions: &mut Actions) {
        self.worker_table.remove(index);
        self.gate.shut();
        self.no_start_before = now().checked_add(START_PAUSE);
        self.call_last_to_go(actions);
        self.serve_waiters(actions);
    }

    /// Calls idle workers to leave that were there for lent places.
    pub(crate) fn call_surplus(&mut self, actions: &mut Actions) {
        let surplus = self.worker_table.remaining().saturating_sub(self.most_workers());
        let table = &mut self.worker_table;
        let next = |_| table.call_unready().or_else(|| table.call_oldest());
        actions.call.extend((0..surplus).map_while(next));
    }

    /// In a closed pool a worker is idle only because others work off what is left, or because
    /// a permit or a starting thread relies on it: see [`Scheduler::may_go`]. When that is over it is called once
    /// more, to go. It calls the next.
    pub(crate) fn call_last_to_go(&mut self, actions: &mut Actions) {
        if self.is_closed() && self.queue.queued() == 0 && self.may_go(0) {
            let table = &mut self.worker_table;
            actions.call.extend(table.call_newest().or_else(|| table.call_unready()));
        }
    }
}
