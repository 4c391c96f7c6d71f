//! Drivers: workers that run many tasks at once, because tasks are futures that mostly wait.
//!
//! A driver is a worker to the crew: it is started, called, goes idle and leaves like a thread. But
//! it takes as many tasks as may run, and goes idle with regard to the line only: the futures it
//! drives wake it by themselves.

use super::crew::{Acts, Crew, Hands};
use super::roster::Duty;
use super::run::End;

/// What a driver has to tell the crew.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) completed: usize,
    pub(crate) panicked: usize,
    pub(crate) ghosts: usize,
}

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

impl Report {
    pub(crate) fn note(&mut self, end: End) {
        match end {
            End::Completed => self.completed += 1,
            End::Panicked => self.panicked += 1,
            End::Ghost => self.ghosts += 1,
            // What was dropped is told at once, and the others have been counted.
            End::Cancelled | End::Counted | End::CountedPanic => {}
        }
    }
}

impl<J> Crew<J> {
    /// A driver tells what it did and takes up to `most` tasks. It counts as idle only when it has
    /// nothing to poll: while it polls, it may be stuck with one, so others are called for new tasks.
    pub(crate) fn refill(
        &mut self,
        me: usize,
        report: &Report,
        has: Has,
        (most, jobs): (usize, &mut Vec<J>),
        acts: &mut Acts,
    ) -> Refill {
        self.come_to_lock(me);
        self.note_report(report);
        self.serve_waiters(acts);
        let room = self.limits.capacity.saturating_sub(self.books.driven());
        self.line.pop_some(most.min(room), jobs);
        if !jobs.is_empty() {
            self.books.note_driven(jobs.len());
            self.line.tell_driven(self.books.driven());
            self.roster.set(me, Duty::Engaged);
            self.call_for_help(acts);
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

    /// Whether a driver may go. It stays while tasks run, whosever they are, because it may have to
    /// help with them. Only the books can tell: whether its own list is empty may change with every
    /// poll by another driver. The last one stays while a task might be given back to the line.
    fn needs_no_driver(&self) -> bool {
        let others = self.roster.staying() > 1;
        self.closed
            && self.line.queued() == 0
            && self.books.driven() == 0
            && self.can_spare_one()
            && (others || self.books.adopted() == 0)
    }

    /// A task that a driver ran has ended.
    pub(crate) fn end_driven(&mut self, end: End) {
        self.books.note_driven_end(end);
        self.line.tell_driven(self.books.driven());
    }

    fn come_to_lock(&mut self, me: usize) {
        if self.roster.duty(me) == Duty::Idle {
            self.roster.remove_idle(me);
        } else {
            self.roster.set(me, Duty::Asking);
        }
    }

    pub(crate) fn note_report(&mut self, report: &Report) {
        let ends = [
            (report.completed, End::Completed),
            (report.panicked, End::Panicked),
            (report.ghosts, End::Ghost),
        ];
        for (count, end) in ends {
            (0..count).for_each(|_| self.books.note_driven_end(end));
        }
        self.line.tell_driven(self.books.driven());
    }

    /// A driver is gone without having been told to leave: whatever ran it is no more. If it was the
    /// last one the pool ends here, and what stands in the line is returned, to be dropped.
    #[must_use]
    pub(crate) fn lose(&mut self, me: usize, acts: &mut Acts) -> Vec<J> {
        self.come_to_lock(me);
        self.roster.remove(me);
        let mut lost = Vec::new();
        if self.roster.workers() == 0 {
            self.closed = true;
            self.gate.shut();
            self.dismiss_waiters(acts);
            lost = self.line.take_all();
        }
        // It may have had the last of the tasks that the others stay for.
        self.call_last_to_go(acts);
        lost
    }

    /// Whether one more task may run.
    pub(crate) fn may_begin(&self) -> bool {
        self.limits.hands == Hands::Threads || self.books.driven() < self.limits.capacity
    }
}
