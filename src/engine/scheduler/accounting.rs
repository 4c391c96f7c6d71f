//! The accounting: what became of every task, so that the figures always add up.
//!
//! Most tasks are counted by their ticket alone: published, taken, ended. A task with a handle may
//! leave that way, cancelled or run by its joiner, while its ticket still stands in the queue:
//! then the ticket is a *tombstone*, and is passed over when its turn comes.

use std::sync::Arc;

use crate::engine::contain::contain;
use crate::engine::scheduler::core::{Scheduler, WorkerKind};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::{Engine, QueuedTask, Work};
use crate::error::{Cause, StillRunning};
use crate::stats::Stats;

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum End {
    Completed,
    Panicked,
    /// It was not there any more: its handle had it cancelled, or run elsewhere.
    Tombstone,
    /// It was dropped while it ran.
    Cancelled,
    /// It completed, and has been counted.
    Counted,
    /// It panicked, and has been counted.
    CountedPanic,
}

/// Who counts a task that is counted before its outcome shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// It has a ticket of the queue.
    Ticket,
    /// Its submitter runs it.
    Caller,
    /// The thread that joins it runs it, in a lent place, and its ticket is a tombstone. `within` says that this
    /// thread runs a task of the same pool, which waits meanwhile.
    Guest { within: bool },
    /// It was taken out of its turn for a lent place, and its ticket is a tombstone.
    Claimed,
}

impl End {
    /// What is counted for a task that is not there any more. One that was claimed has been counted.
    pub(crate) fn gone(claimed: bool) -> Self {
        if claimed { End::Counted } else { End::Tombstone }
    }
}

/// What the tally does not know. A ticket that has ended stands for a completed task, unless it is
/// counted here.
#[derive(Debug, Default)]
pub(crate) struct Accounting {
    panicked: u64,
    /// Tasks that were cancelled, or discarded.
    cancelled: u64,
    /// Tasks that never had a ticket, because their submitter ran them, less tickets that stood for no new task.
    beside: i64,
    /// Ended tickets that do not stand for a completed task, less completed tasks whose ticket did not end with them.
    uncompleted: i64,
    /// Tombstones in the queue. Below zero for a moment when a worker passed one over before the thread
    /// that made it has counted it: until then its task counts as queued.
    tombstones: i64,
    /// Tasks that are being run out of their turn, by their joiner or in a lent place. Their tickets are tombstones.
    pub(in crate::engine) out_of_turn: usize,
}

impl Accounting {
    /// A task has ended, and with it a ticket if there is one.
    fn note_end(&mut self, end: End, tickets: i64) {
        match end {
            End::Panicked => self.panicked += 1,
            End::Tombstone => self.tombstones -= 1,
            End::Cancelled => self.cancelled += 1,
            End::Completed | End::Counted | End::CountedPanic => {}
        }
        self.uncompleted += tickets - i64::from(end == End::Completed);
    }

    /// Tickets were taken to be dropped; each says whether its task was alive. How many were.
    pub(crate) fn discard(&mut self, tickets: impl Iterator<Item = bool>) -> usize {
        let ends = tickets.map(|is_alive| if is_alive { End::Cancelled } else { End::Tombstone });
        ends.inspect(|end| self.note_end(*end, 1)).filter(|end| *end == End::Cancelled).count()
    }

    /// A queued task was cancelled: its ticket is a tombstone.
    pub(crate) fn note_cancel(&mut self) {
        self.tombstones += 1;
        self.cancelled += 1;
    }

    /// A queued task is run out of its turn: its ticket is a tombstone.
    pub(crate) fn note_out_of_turn(&mut self) {
        self.tombstones += 1;
        self.out_of_turn += 1;
    }

    /// Such a task has ended.
    pub(crate) fn note_ended_out_of_turn(&mut self, end: End) {
        self.out_of_turn -= 1;
        self.note_end(end, 0);
    }

    /// Tickets were passed over that stood for no task, or for one that got a new ticket.
    pub(crate) fn note_passed(&mut self, tickets: u64) {
        self.beside -= tickets as i64;
        self.uncompleted += tickets as i64;
    }

    /// Whether all of `tickets` are certainly tombstones.
    pub(crate) fn are_tombstones(&self, tickets: usize) -> bool {
        self.tombstones >= tickets as i64
    }

    /// Whether so many of `tickets` are tombstones that the queue should be made anew.
    fn is_sparse(&self, tickets: usize) -> bool {
        self.tombstones > 256 && self.tombstones > tickets as i64 / 2
    }
}

impl<J> Scheduler<J> {
    /// Counts a ticket's task as ended, which a thread or a driver ran.
    pub(crate) fn end(&mut self, end: End) {
        match self.worker_kind {
            WorkerKind::Threads => self.queue.fast_path.end_locked(),
            WorkerKind::Drivers(_) => self.queue.fast_path.end_driven(),
        }
        self.accounting.note_end(end, 1);
    }

    /// How many tasks are queued, and how many tickets and tasks are running, by whichever thread. Both come from one look
    /// at the tally, or else a task could be taken between two looks and be seen in neither. Below zero tasks are queued
    /// as long as the worker that passes a tombstone over counts as running one.
    fn figures(&self) -> (i64, usize) {
        let (tally, driven) = (self.queue.fast_path.tally(), self.queue.fast_path.driven());
        let queued = tally.queued(self.queue.published()) as i64 - self.accounting.tombstones;
        (queued, tally.busy() + driven)
    }

    /// Tasks that were accepted and have not ended.
    pub(crate) fn pending(&self) -> usize {
        let (queued, running) = self.figures();
        usize::try_from(queued + (running + self.accounting.out_of_turn) as i64).unwrap_or(0)
    }

    #[cfg(any(feature = "tokio", test))]
    /// How many more tasks could run at once, if there is a worker to run them.
    pub(crate) fn room_to_run(&self) -> usize {
        let places = if self.is_closed() || self.worker_table.workers() == 0 {
            0
        } else {
            self.limits.capacity
        };
        places.saturating_sub(self.pending())
    }

    /// Makes the queue anew without its tombstones if they are many, in the same order. They are returned, to be
    /// dropped when the lock is free.
    #[must_use]
    pub(crate) fn remove_tombstones(&mut self, is_tombstone: impl Fn(&J) -> bool) -> Vec<J> {
        let mut tombstones = Vec::new();
        if !self.accounting.is_sparse(self.queue.queued()) {
            return tombstones;
        }
        for job in self.queue.take_all() {
            if is_tombstone(&job) {
                self.accounting.note_end(End::Tombstone, 1);
                tombstones.push(job);
            } else {
                self.accounting.note_passed(1);
                self.queue.push(job);
            }
        }
        tombstones
    }

    pub(crate) fn stats(&self) -> Stats {
        let accounting = &self.accounting;
        let (queued, running) = self.figures();
        let tickets = queued + accounting.tombstones;
        let ended = self.queue.published() - tickets as u64 - running as u64;
        let busy = (running + accounting.out_of_turn) as i64 + queued.min(0);
        let busy = busy.max(0) as usize;
        let (workers, idle) = match self.worker_kind {
            WorkerKind::Threads => {
                let workers = self.worker_table.workers();
                (workers, workers.saturating_sub(running + self.claimed()))
            }
            // To its users, a pool of futures has a worker for each of them.
            WorkerKind::Drivers(_) => (busy, 0),
        };
        Stats {
            accepted: self.queue.published().wrapping_add_signed(accounting.beside),
            queued: queued.max(0) as usize,
            busy,
            completed: ended.wrapping_add_signed(-accounting.uncompleted),
            panicked: accounting.panicked,
            cancelled: accounting.cancelled,
            refused: self.gate.refused,
            capacity: self.limits.capacity,
            workers,
            idle,
            unready: self.worker_table.count(WorkerState::Preparing)
                + self.worker_table.count(WorkerState::Unready),
            waiting: self.gate.waiters.len(),
        }
    }

    pub(crate) fn still_running(&self) -> StillRunning {
        let Stats { busy, queued, workers, .. } = self.stats();
        let (permits, cause) = (self.gate.permits, Cause::TimeOver);
        StillRunning { running: busy, queued, permits, workers, cause }
    }
}

impl<W: Work> Engine<W> {
    /// Counts a task as ended.
    pub(crate) fn count(self: &Arc<Self>, end: End, counts: Counts) {
        // On an open fast path, which only threads have, this needs no lock.
        if counts == Counts::Ticket && end == End::Completed && self.fast_path.end() {
            return;
        }
        self.decide(|scheduler, actions| {
            match counts {
                Counts::Ticket => scheduler.end(end),
                Counts::Caller => {
                    scheduler.accounting.beside += 1;
                    scheduler.accounting.note_end(end, 0);
                }
                Counts::Guest { .. } | Counts::Claimed => {
                    scheduler.end_out_of_turn(end, counts, actions);
                }
            }
            scheduler.serve_waiters(actions);
        });
    }

    /// Whether the job's ticket is a tombstone.
    pub(crate) fn is_tombstone(job: &W::Job) -> bool {
        W::queued_task(job).is_some_and(QueuedTask::is_tombstone)
    }

    /// A queued task was cancelled. Its ticket is a tombstone from now on.
    pub(crate) fn depart(self: &Arc<Self>) {
        let tombstones = self.decide(|scheduler, actions| {
            scheduler.accounting.note_cancel();
            let tombstones = scheduler.remove_tombstones(Self::is_tombstone);
            scheduler.gate.shut();
            scheduler.serve_waiters(actions);
            tombstones
        });
        tombstones.into_iter().for_each(|tombstone| contain(|| drop(tombstone)));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_sparse_if_most_of_many_tickets_are_tombstones() {
        let sparse = |tombstones, tickets| {
            Accounting { tombstones, ..Accounting::default() }.is_sparse(tickets)
        };
        assert!(sparse(257, 513) && sparse(257, 300));
        assert!(!sparse(257, 514), "half of them are not most");
        assert!(!sparse(256, 300), "so few do not matter");
    }
}
