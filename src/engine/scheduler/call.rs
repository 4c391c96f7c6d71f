//! Calling workers: who is woken or started for the tasks in the queue.

use std::time::Duration;

use crate::engine::scheduler::core::{Actions, Scheduler, WorkerKind};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::sync::now;

/// After a thread could not be started, the scheduler works with those it has for so long.
pub(crate) const START_PAUSE: Duration = Duration::from_millis(10);

impl<J> Scheduler<J> {
    /// Calls workers as far as the tasks in the queue need more than are on their way: the most recently idle, or new
    /// ones.
    pub(crate) fn call_for_help(&mut self, actions: &mut Actions) {
        self.worker_table.quiet = false;
        if self.queue.queued() == 0 {
            return;
        }
        // By load, workers are started a step at a time.
        let may_start = self.limits.growth.is_none();
        if let Some(by_load) = self.limits.growth {
            self.grow_by_load(by_load, actions);
        }
        while self.has_room() && self.can_call(may_start) {
            if self.is_watched() {
                self.worker_table.quiet = true;
                break;
            }
            if self.uncovered() == 0 {
                break;
            }
            self.call(actions);
        }
        while self.coming() < self.startable_when_lent() && self.can_call(true) {
            self.call(actions);
        }
        if !self.has_room() || !self.can_call(may_start) {
            // Nothing changes that by itself, except time if a start has failed, the load, and a driver's task
            // that ends.
            let lasts = self.worker_kind == WorkerKind::Threads || self.free_places() > 0;
            self.worker_table.quiet =
                lasts && self.no_start_before.is_none() && (may_start || !self.may_grow());
        }
    }

    /// Workers that run short tasks take the next one in no time. A worker that is up, or one that looks every now and
    /// then, notices if they do not.
    fn is_watched(&self) -> bool {
        let monitored = self.short_at_work() > 0 && self.worker_table.monitor.is_some();
        monitored || (self.task_times.is_short() && self.worker_table.alert() > 0)
    }

    /// How many workers are at work, if tasks are short.
    pub(super) fn short_at_work(&self) -> usize {
        if self.task_times.is_short() { self.worker_table.count(WorkerState::Engaged) } else { 0 }
    }

    /// How many workers will come to the lock without being called: those on their way, and those that look around.
    fn coming(&self) -> usize {
        let table = &self.worker_table;
        let single_driver = self.single_driver && table.count(WorkerState::Engaged) > 0;
        match self.worker_kind {
            WorkerKind::Threads => table.alert() + table.preparing(),
            // A driver takes as many tasks as there are.
            WorkerKind::Drivers(_) if single_driver || table.alert() > 0 => usize::MAX,
            WorkerKind::Drivers(_) => 0,
        }
    }

    /// How many tasks stand in the queue for which no worker is on its way, or between two tasks on the fast path. The
    /// tally is the one by which the tasks were counted: in another look, such a task would be running already.
    pub(crate) fn uncovered(&self) -> usize {
        let tally = self.queue.fast_path.tally();
        let between = match self.worker_kind {
            WorkerKind::Threads => {
                let at_work = tally.busy() + self.claimed();
                self.worker_table.count(WorkerState::Engaged).saturating_sub(at_work)
            }
            WorkerKind::Drivers(_) => 0,
        };
        tally.queued(self.queue.published()).saturating_sub(self.coming().saturating_add(between))
    }

    /// Whether one more worker could run one more task.
    fn has_room(&self) -> bool {
        match self.worker_kind {
            WorkerKind::Threads => self.free_places() > self.worker_table.alert(),
            WorkerKind::Drivers(_) => self.free_places() > 0,
        }
    }

    fn can_call(&mut self, may_start: bool) -> bool {
        self.worker_table.count(WorkerState::Idle) > 0 || (may_start && self.can_start())
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
            actions.call.extend(self.worker_table.call_to_go());
        }
    }
}
