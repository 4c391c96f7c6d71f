//! The books: what became of every task, so that the figures always add up.
//!
//! Most tasks are counted by their ticket alone: published, taken, ended. A task with a handle may
//! leave that way, cancelled or run by whoever joins it, while its ticket still stands in the line:
//! then the ticket is a *ghost*, and is passed over when its turn comes.

use std::sync::Arc;

use crate::engine::queue::lane::Tally;
use crate::engine::scheduler::crew::{Crew, Hands};
use crate::engine::task::run::{Counts, End, contain};
use crate::engine::{Engine, Work};
use crate::error::{Cause, StillRunning};
use crate::stats::Stats;

/// What the tally does not know. A ticket that has ended stands for a completed task, unless it is
/// counted here.
#[derive(Debug, Default)]
pub(crate) struct Books {
    /// Ended tickets whose task panicked.
    panicked: u64,
    /// Ended tickets whose task was dropped.
    discarded: u64,
    /// Ended tickets that stood for no task any more: ghosts, and those that were replaced.
    void: u64,
    /// Tickets that replaced others.
    reissued: u64,
    /// Ghosts in the line. Below zero for a moment when a ghost was passed over before whoever
    /// made it one has told: until then its task counts as queued.
    ghosts: i64,
    /// Ghosts whose task was cancelled.
    cancelled: u64,
    /// Ghosts whose task is being run by whoever joins it.
    adopted: usize,
    /// Tasks that ended beside the line: adopted ones, and those of callers.
    beside: Beside,
    /// Tasks that never came into the line, because their submitter ran them itself.
    callers: u64,
}

#[derive(Debug, Default)]
struct Beside {
    completed: u64,
    panicked: u64,
}

impl Books {
    /// A ticket's task has ended.
    pub(crate) fn note_end(&mut self, end: End) {
        match end {
            End::Panicked => self.panicked += 1,
            End::Ghost => self.note_ghost_passed(),
            End::Cancelled => self.discarded += 1,
            End::Completed | End::Counted | End::CountedPanic => {}
        }
    }

    pub(crate) fn adopted(&self) -> usize {
        self.adopted
    }

    fn note_ghost_passed(&mut self) {
        self.ghosts -= 1;
        self.void += 1;
    }

    /// Tickets were taken to be dropped; each says whether its task was alive. How many were.
    pub(crate) fn discard(&mut self, tickets: impl Iterator<Item = bool>) -> usize {
        let mut alive = 0;
        for is_alive in tickets {
            if is_alive {
                alive += 1;
            } else {
                self.note_ghost_passed();
            }
        }
        self.discarded += alive as u64;
        alive
    }

    /// A submitter has run its task itself.
    pub(crate) fn note_caller(&mut self, end: End) {
        self.callers += 1;
        self.note_beside(end);
    }

    /// A queued task was cancelled: its ticket is a ghost.
    pub(crate) fn note_cancel(&mut self) {
        self.ghosts += 1;
        self.cancelled += 1;
    }

    /// A queued task is run by whoever joins it: its ticket is a ghost.
    pub(crate) fn note_adopt(&mut self) {
        self.ghosts += 1;
        self.adopted += 1;
    }

    /// Such a task has ended.
    pub(crate) fn note_adopted(&mut self, end: End) {
        self.adopted -= 1;
        self.note_beside(end);
    }

    fn note_beside(&mut self, end: End) {
        match end {
            End::Panicked => self.beside.panicked += 1,
            End::Cancelled => self.cancelled += 1,
            _ => self.beside.completed += 1,
        }
    }

    /// A live task got a new ticket instead of its old one.
    fn note_reissue(&mut self) {
        self.reissued += 1;
        self.void += 1;
    }

    /// Whether so many of `tickets` are ghosts that the line should be made anew.
    fn is_haunted(&self, tickets: usize) -> bool {
        self.ghosts > 256 && self.ghosts > tickets as i64 / 2
    }
}

impl<J> Crew<J> {
    /// Counts a ticket's task as ended.
    pub(crate) fn end(&mut self, end: End) {
        self.line.end();
        self.books.note_end(end);
    }

    /// A task that a driver ran has ended.
    pub(crate) fn end_driven(&mut self, end: End) {
        self.line.end_driven();
        self.books.note_end(end);
    }

    /// Tasks that were accepted and have not ended.
    pub(crate) fn pending(&self) -> usize {
        let tally = self.line.tally();
        let tickets = tally.queued(self.line.published()) + self.busy(tally);
        usize::try_from(tickets as i64 - self.books.ghosts).unwrap_or(0)
    }

    #[cfg(any(feature = "tokio", all(test, loom)))]
    /// How many more tasks could run at once, if there is somebody to run them.
    pub(crate) fn room_to_run(&self) -> usize {
        let places =
            if self.is_closed() || self.roster.workers() == 0 { 0 } else { self.limits.capacity };
        places.saturating_sub(self.pending())
    }

    /// Tasks that are running, by whomever.
    fn busy(&self, tally: Tally) -> usize {
        tally.busy() + self.books.adopted + self.line.driven()
    }

    /// Whether no task is left: none in the line and none running. Both come from one look at the
    /// tally, or else a task could be taken between two looks and be seen in neither.
    pub(crate) fn is_over(&self) -> bool {
        self.pending() == 0
    }

    /// Makes the line anew without its ghosts if they are many. They are returned, to be dropped
    /// when the lock is free.
    #[must_use]
    pub(crate) fn lay_ghosts(&mut self, is_ghost: impl Fn(&J) -> bool) -> Vec<J> {
        let haunted = self.books.is_haunted(self.line.queued());
        if haunted { self.renew_line(is_ghost) } else { Vec::new() }
    }

    /// Makes the line anew without its ghosts, in the same order. Each job is shown to `is_ghost` once.
    /// The ghosts are returned, to be dropped when the lock is free.
    #[must_use]
    pub(crate) fn renew_line(&mut self, mut is_ghost: impl FnMut(&J) -> bool) -> Vec<J> {
        let mut ghosts = Vec::new();
        for job in self.line.take_all() {
            if is_ghost(&job) {
                self.books.note_ghost_passed();
                ghosts.push(job);
            } else {
                self.books.note_reissue();
                self.line.push(job);
            }
        }
        ghosts
    }

    pub(crate) fn stats(&self) -> Stats {
        let (tally, books) = (self.line.tally(), &self.books);
        let tickets = tally.queued(self.line.published());
        // One look: a driver's task may end at any moment.
        let driven = self.line.driven();
        let ended = self.line.published() - tickets as u64 - (tally.busy() + driven) as u64;
        // The worker that passes a ghost over right now runs no task.
        let queued = tickets as i64 - books.ghosts;
        let busy = (tally.busy() + books.adopted + driven) as i64 + queued.min(0);
        let busy = busy.max(0) as usize;
        let (workers, idle) = match self.limits.hands {
            Hands::Threads => {
                let workers = self.roster.workers();
                (workers, workers.saturating_sub(tally.busy() + self.claimed()))
            }
            // To its users, a pool of futures has a worker for each of them.
            Hands::Drivers(_) => (busy, 0),
        };
        Stats {
            accepted: self.line.published() - books.reissued + books.callers,
            queued: queued.max(0) as usize,
            busy,
            completed: ended + books.beside.completed
                - (books.panicked + books.discarded + books.void),
            panicked: books.panicked + books.beside.panicked,
            cancelled: books.discarded + books.cancelled,
            refused: self.gate.refused,
            capacity: self.limits.capacity,
            workers,
            idle,
            waiting: self.gate.waiting(),
        }
    }

    pub(crate) fn still_running(&self) -> StillRunning {
        let Stats { busy, queued, .. } = self.stats();
        let (permits, cause) = (self.gate.permits(), Cause::TimeOver);
        StillRunning { running: busy, queued, permits, cause }
    }
}

impl<W: Work> Engine<W> {
    /// Counts a task as ended.
    pub(crate) fn count(self: &Arc<Self>, end: End, counts: Counts) {
        // On an open lane this needs no lock.
        if counts == Counts::Ticket && end == End::Completed && self.lane.end() {
            return;
        }
        self.decide(|crew, acts| {
            match counts {
                Counts::Ticket => crew.end(end),
                Counts::Driver => crew.end_driven(end),
                Counts::Caller => crew.books.note_caller(end),
                Counts::Guest(guest) => crew.end_guest(end, guest, acts),
                Counts::Claimed => crew.end_claimed(end, acts),
            }
            crew.serve_waiters(acts);
        });
    }

    /// A queued task was cancelled. Its ticket is a ghost from now on.
    pub(crate) fn depart(self: &Arc<Self>) {
        let ghosts = self.decide(|crew, acts| {
            crew.books.note_cancel();
            let ghosts = crew.lay_ghosts(W::is_ghost);
            crew.gate.shut();
            crew.serve_waiters(acts);
            ghosts
        });
        ghosts.into_iter().for_each(|ghost| contain(|| drop(ghost)));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_haunted_if_most_of_many_tickets_are_ghosts() {
        let haunted = |ghosts, tickets| Books { ghosts, ..Books::default() }.is_haunted(tickets);
        assert!(haunted(257, 513) && haunted(257, 300));
        assert!(!haunted(257, 514), "half of them are not most");
        assert!(!haunted(256, 300), "so few do not matter");
    }
}
