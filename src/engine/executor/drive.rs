//! Drivers: workers that run many tasks at once, because tasks are futures that mostly wait.
//!
//! A driver is a worker to the crew: it is started, called, goes idle and leaves like a thread. But
//! it takes as many tasks as may run, and goes idle with regard to the line only: the futures it
//! drives wake it by themselves.

use crate::engine::scheduler::crew::{Acts, Crew};
use crate::engine::scheduler::roster::Duty;

/// What a driver is to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refill {
    /// There are new tasks.
    Took,
    /// There are none, and it has others to poll.
    Nothing,
    /// There are none, and nothing is ready: it will be called.
    Idle,
    Leave,
}

/// What a driver has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Has {
    /// Futures to poll, as far as it knows.
    Ready,
    /// At most futures that wait.
    Waiting,
}

impl<J> Crew<J> {
    /// A driver takes up to `most` tasks. It counts as idle only when it has
    /// nothing to poll: while it polls, it may be stuck with one, so others are called for new tasks.
    pub(crate) fn refill(
        &mut self,
        me: usize,
        has: Has,
        (most, jobs): (usize, &mut Vec<J>),
        acts: &mut Acts,
    ) -> Refill {
        self.come_to_lock(me);
        self.serve_waiters(acts);
        self.line.pop_some(most.min(self.free_places()), jobs);
        self.line.begin_driven(jobs.len());
        while jobs.len() < most
            && let Some(job) = self.take_awaited(acts)
        {
            jobs.push(job);
        }
        if !jobs.is_empty() {
            self.roster.set(me, Duty::Engaged);
            self.call_for_help(acts);
            self.start_all(acts);
            return Refill::Took;
        }
        if has == Has::Ready {
            self.roster.set(me, Duty::Engaged);
            return Refill::Nothing;
        }
        if self.needs_no_driver() {
            self.roster.set(me, Duty::Leaving);
            self.call_last_to_go(acts);
            return Refill::Leave;
        }
        self.roster.push_idle(me);
        Refill::Idle
    }

    /// Another driver may have to help with what one begins, so all of them are there from then on.
    fn start_all(&mut self, acts: &mut Acts) {
        while self.can_start() {
            acts.start.push(self.roster.add(Duty::Starting));
        }
    }

    /// A driver begins with up to `most` tasks that do not pass through the line. How many it may begin with;
    /// None if somebody stands in the line, who comes first.
    pub(crate) fn begin_beside(&mut self, most: usize, acts: &mut Acts) -> Option<usize> {
        if self.line.queued() > 0 {
            return None;
        }
        let tasks = self.room_to_run().min(most);
        if tasks > 0 {
            self.line.pass(tasks);
            self.line.begin_driven(tasks);
            self.start_all(acts);
        }
        Some(tasks)
    }

    /// Whether a driver may go. It stays while tasks run, whosever they are, because it may have to
    /// help with them. Only the books can tell: whether its own list is empty may change with every
    /// poll by another driver.
    fn needs_no_driver(&self) -> bool {
        self.is_closed()
            && self.line.queued() == 0
            && self.line.driven() == 0
            && self.books.adopted() == 0
            && self.can_spare_one()
    }

    /// A driver goes idle although there may be something to poll, because another one is enough. Not
    /// if it may have been called for a task, and not in a closed pool, where it may have to leave.
    #[must_use]
    pub(crate) fn stand_by(&mut self, me: usize) -> bool {
        self.come_to_lock(me);
        // It is at the lock itself.
        let others = self.roster.alert() + self.roster.count(Duty::Engaged) - 1;
        let needed = self.is_closed() || (others == 0 && self.line.queued() > 0);
        if needed {
            self.roster.set(me, Duty::Engaged);
        } else {
            self.roster.push_idle(me);
        }
        !needed
    }

    fn come_to_lock(&mut self, me: usize) {
        if self.roster.duty(me) == Duty::Idle {
            self.roster.remove_idle(me);
        } else {
            self.roster.set(me, Duty::Asking);
        }
    }

    /// A driver is gone without having been told to leave: whatever ran it is no more, or will be soon.
    /// If it was the last one, what stands in the line is returned, to be dropped.
    #[must_use]
    pub(crate) fn lose(&mut self, me: usize, acts: &mut Acts) -> Vec<J> {
        self.come_to_lock(me);
        self.roster.remove(me);
        // It may have had the last of the tasks that the others stay for.
        self.call_last_to_go(acts);
        self.abandon()
    }
}
