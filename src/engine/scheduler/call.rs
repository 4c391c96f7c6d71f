//! Calling workers: who is woken or started for the tasks in the line.

use std::time::Duration;

use crate::engine::queue::lane::Tally;
use crate::engine::scheduler::crew::{Acts, Crew, Hands};
use crate::engine::scheduler::roster::Duty;
use crate::engine::sync::now;

/// After a thread could not be started, the crew works with those it has for so long.
pub(crate) const START_PAUSE: Duration = Duration::from_millis(10);

impl<J> Crew<J> {
    /// Calls a worker if the tasks in the line need one: the most recently idle, or a new one.
    pub(crate) fn call_for_help(&mut self, acts: &mut Acts) {
        let tally = self.line.tally();
        let queued = tally.queued(self.line.published());
        if queued == 0 {
            return;
        }
        self.grow_by_load(acts);
        if !self.can_call() {
            // Nothing changes that by itself, except time if a start has failed, the load, and a driver's task
            // that ends.
            let lasts = self.limits.hands == Hands::Threads || self.free_places() > 0;
            self.roster.quiet = lasts && self.no_start_before.is_none() && !self.may_grow();
            return;
        }
        // Workers that run short tasks take the next one in no time. A worker that is up, or one that
        // looks every now and then, notices if they do not.
        let at_work = self.roster.count(Duty::Engaged) > 0;
        let watched = self.roster.alert() > 0 || (at_work && self.roster.dozer().is_some());
        if self.pace.is_short() && watched {
            self.roster.quiet = true;
            return;
        }
        // One driver is enough, and there is a lookout in case it is not.
        if self.one_drives && self.on_their_way() > 0 {
            self.roster.quiet = true;
            return;
        }
        if queued <= self.alert(tally) {
            return;
        }
        self.call(acts);
    }

    /// Calls as many workers as the line has tasks.
    pub(crate) fn call_all_needed(&mut self, acts: &mut Acts) {
        self.grow_by_load(acts);
        loop {
            let tally = self.line.tally();
            let queued = tally.queued(self.line.published());
            if queued <= self.alert(tally) || !self.can_call() {
                return;
            }
            self.call(acts);
        }
    }

    /// How many workers will take the next task without being called: those on their way, those
    /// that look around, and those on the lane that are between two tasks. The tally is the one by
    /// which the tasks were counted: in another look, such a task would be running already.
    fn alert(&self, tally: Tally) -> usize {
        if self.limits.hands != Hands::Threads {
            // A driver takes as many tasks as there are.
            return if self.roster.alert() > 0 { usize::MAX } else { 0 };
        }
        let at_work = tally.busy() + self.claimed();
        let between = self.roster.count(Duty::Engaged).saturating_sub(at_work);
        self.roster.alert() + between
    }

    /// How many tasks stand in the line for which no worker is on its way.
    pub(crate) fn uncovered(&self) -> usize {
        let tally = self.line.tally();
        tally.queued(self.line.published()).saturating_sub(self.alert(tally))
    }

    fn can_call(&mut self) -> bool {
        let free = self.free_places();
        let has_place = match self.limits.hands {
            Hands::Threads => free > self.roster.alert(),
            Hands::Drivers(_) => free > 0,
        };
        // By load, workers are started a step at a time.
        let may_start = self.limits.growth.is_none();
        has_place && (self.roster.count(Duty::Idle) > 0 || (may_start && self.can_start()))
    }

    /// Calls a worker for each task that could start in a lent place.
    pub(crate) fn call_for_awaited(&mut self, acts: &mut Acts) {
        let wanted = match self.limits.hands {
            Hands::Threads => self.startable_when_lent(),
            // A driver takes as many tasks as there are.
            Hands::Drivers(_) => self.startable_when_lent().min(1),
        };
        for _ in self.on_their_way()..wanted {
            if self.roster.count(Duty::Idle) == 0 && !self.can_start() {
                return;
            }
            self.call(acts);
        }
    }

    /// Workers that will look for a task without being called. One driver is enough if a watchdog watches it.
    fn on_their_way(&self) -> usize {
        let driver = self.one_drives && self.roster.count(Duty::Engaged) > 0;
        self.roster.alert() + usize::from(driver)
    }

    pub(crate) fn can_start(&mut self) -> bool {
        if self.roster.workers() >= self.most_workers() {
            return false;
        }
        if self.no_start_before.is_some_and(|time| now() < time) {
            return false;
        }
        self.no_start_before = None;
        true
    }

    fn call(&mut self, acts: &mut Acts) {
        match self.roster.call_newest() {
            Some(waker) => acts.call.push(waker),
            None => acts.start.push(self.roster.add(Duty::Starting)),
        }
    }

    /// A thread could not be started for this place.
    pub(crate) fn could_not_start(&mut self, index: usize, acts: &mut Acts) {
        self.roster.remove(index);
        self.gate.shut();
        self.no_start_before = now().checked_add(START_PAUSE);
        self.call_last_to_go(acts);
        self.serve_waiters(acts);
    }

    /// Calls idle workers to leave that were there for lent places.
    pub(crate) fn call_surplus(&mut self, acts: &mut Acts) {
        let workers = self.roster.workers() - self.roster.count(Duty::Leaving);
        let surplus = workers.saturating_sub(self.most_workers());
        acts.call.extend((0..surplus).map_while(|_| self.roster.call_oldest()));
    }

    /// In a closed pool a worker is idle only because others work off what is left, or because
    /// somebody relies on it: see [`Crew::can_spare_one`]. When that is over it is called once
    /// more, to go. It calls the next.
    pub(crate) fn call_last_to_go(&mut self, acts: &mut Acts) {
        if self.is_closed() && self.line.queued() == 0 && self.can_spare_one() {
            acts.call.extend(self.roster.call_newest());
        }
    }
}
