//! Lent places: a task that waits for another task lends its place.
//!
//! 1. A task starts only while fewer than `capacity` tasks of its pool run without waiting.
//! 2. A lent place starts only a task that a task waits for, one at a time for each waiting task. So a chain of
//!    waiting tasks has one running leaf, and waiting never starts unrelated tasks.
//! 3. A task that resumes never waits for its place. If its place is still in use, the pool is above its capacity
//!    by one until one of the two ends, and starts nothing meanwhile.
//! 4. A joining thread runs the awaited task itself only if rule 1 or 2 lets that task start, and if the thread has
//!    all that the task's pool gives its workers. Otherwise it parks, and a worker of that pool runs the task; for
//!    a lent place, that may be a worker beyond the capacity.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::engine::actions::{Actions, Release};
use crate::engine::contain::contain;
use crate::engine::context::{Lender, depth, is_innermost};
use crate::engine::queue::fast_path::MOST_BUSY;
use crate::engine::scheduler::accounting::{Counts, End};
use crate::engine::scheduler::call::START_PAUSE;
use crate::engine::scheduler::core::{Scheduler, WorkerKind};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::{Engine, Work};
use crate::on_cancel::{Cancels, Epoch, Stoppable};

/// So many tasks run on one stack, one inside the other. Each takes some hundred bytes of the engine's and what the
/// task needs: a stack of two megabytes leaves 32 kilobytes to each.
const MOST_NESTED: usize = if cfg!(loom) { 2 } else { 64 };

/// Which places are lent, and to which tasks they could be.
pub(crate) struct Lending<J> {
    /// Tasks that wait for another task. Each lends its place.
    waiting: usize,
    /// Tasks that are run by the threads that join them.
    guests: usize,
    /// Queued tasks that a task waits for, in the order in which that began. Those that have started are passed
    /// over.
    awaited: VecDeque<Weak<dyn Queued<J>>>,
}

impl<J> Default for Lending<J> {
    fn default() -> Self {
        Lending { waiting: 0, guests: 0, awaited: VecDeque::new() }
    }
}

/// A queued task with a handle.
pub(crate) trait Queued<J>: Release {
    /// Takes the task out of its turn: the job by which it is started. An error if it has started, or no task
    /// waits for it any more. Then it is not listed any more.
    fn claim(self: Arc<Self>) -> Result<J, Arc<dyn Release>>;

    /// Whether it is still queued, and a task waits for it. Otherwise it is not listed any more.
    fn is_awaited(&self) -> bool;
}

/// Stands for a task without a handle.
impl<W: Work> Stoppable for Engine<W> {
    fn should_stop(&self, epoch: Epoch) -> bool {
        self.cancels.epoch() != epoch
    }

    fn cancels(&self) -> &Arc<Cancels> {
        &self.cancels
    }
}

impl<W: Work> Lender for Engine<W> {
    fn note_wait(&self, waits: bool) -> Actions {
        let mut actions = Actions::default();
        let mut scheduler = self.lock();
        if waits {
            scheduler.begin_wait(&mut actions);
        } else {
            scheduler.end_wait(&mut actions);
        }
        actions
    }

    fn carry_out(self: Arc<Self>, actions: Actions) {
        self.perform(actions);
    }
}

impl<J> Scheduler<J> {
    fn begin_wait(&mut self, actions: &mut Actions) {
        self.lending.waiting += 1;
        self.call_for_help(actions);
    }

    fn end_wait(&mut self, actions: &mut Actions) {
        self.lending.waiting -= 1;
        self.worker_table.quiet = false;
        // Above the capacity, each worker asks before its next task.
        self.heed_waiters();
        self.call_surplus(actions);
    }

    /// Tasks that have started and not ended. A worker that is between two tasks counts as one.
    fn started(&self) -> usize {
        match self.worker_kind {
            WorkerKind::Threads => {
                self.worker_table.count(WorkerState::Engaged) + self.lending.guests
            }
            WorkerKind::Drivers(_) => self.queue.fast_path.driven() + self.accounting.out_of_turn,
        }
    }

    /// Started tasks that count for the capacity: those in lent places do not, as far as there are tasks that
    /// wait.
    fn in_places(&self) -> usize {
        self.started().saturating_sub(self.accounting.out_of_turn.min(self.lending.waiting))
    }

    /// How many more tasks may start, whatever they are.
    pub(crate) fn free_places(&self) -> usize {
        self.most_running().saturating_sub(self.in_places())
    }

    /// Whether more tasks run than may: the capacity has become smaller, or a task has resumed whose place is
    /// still in use.
    pub(crate) fn is_over_capacity(&self) -> bool {
        self.in_places() > self.most_running()
    }

    /// How many more tasks may start that a task waits for, in lent places or in free ones. At least as many as there
    /// are free places. A task that starts out of its turn counts as one in a lent place.
    fn lendable(&self) -> usize {
        let (waiting, borrowing) = (self.lending.waiting, self.accounting.out_of_turn);
        let running = self.started().saturating_sub(waiting);
        // A free place will do as well: the task that waits may have a lent place itself, whose owner has ended.
        let places = waiting.saturating_sub(borrowing).max(self.free_places());
        places.min(self.most_running().saturating_sub(running))
    }

    /// How many tasks may run.
    pub(super) fn most_running(&self) -> usize {
        match self.worker_kind {
            WorkerKind::Threads => self.limits.capacity.min(MOST_BUSY),
            WorkerKind::Drivers(_) => self.limits.capacity,
        }
    }

    /// How many workers there may be: a thread whose task waits does not run one.
    pub(crate) fn most_workers(&self) -> usize {
        match self.worker_kind {
            WorkerKind::Threads => self.most_running() + self.lending.waiting,
            WorkerKind::Drivers(drivers) => drivers,
        }
    }

    /// How many tasks wait for another task.
    #[cfg(test)]
    pub(crate) fn waiting_for_tasks(&self) -> usize {
        self.lending.waiting
    }

    /// Workers that run a task which was claimed out of its turn.
    pub(crate) fn claimed(&self) -> usize {
        self.accounting.out_of_turn.saturating_sub(self.lending.guests)
    }

    /// Takes a queued task that a task waits for, if there is a lent place for it.
    pub(crate) fn take_awaited(&mut self, actions: &mut Actions) -> Option<J> {
        while self.lendable() > 0 {
            let Some(queued) = self.lending.awaited.pop_front()?.upgrade() else { continue };
            match queued.claim() {
                Ok(job) => {
                    self.accounting.note_out_of_turn();
                    return Some(job);
                }
                // What it holds is a user's, and must not be dropped under the lock.
                Err(started) => actions.release.push(started),
            }
        }
        None
    }

    /// How many tasks could be started in lent places now, as far as is known.
    pub(crate) fn startable_when_lent(&self) -> usize {
        if self.lending.awaited.is_empty() {
            0
        } else {
            self.lendable().min(self.lending.awaited.len())
        }
    }

    /// A task waits for this queued one.
    fn note_awaited(&mut self, task: Weak<dyn Queued<J>>, actions: &mut Actions) {
        while let Some(first) = self.lending.awaited.front() {
            let first = first.upgrade();
            let is_awaited = first.as_ref().is_some_and(|task| task.is_awaited());
            actions.release.extend(first.map(|task| task as Arc<dyn Release>));
            if is_awaited {
                break;
            }
            self.lending.awaited.pop_front();
        }
        self.lending.awaited.push_back(task);
        self.call_for_help(actions);
    }

    /// A task that ran in a lent place has ended.
    pub(crate) fn end_out_of_turn(&mut self, end: End, counts: Counts, actions: &mut Actions) {
        self.accounting.note_ended_out_of_turn(end);
        if let Counts::Guest { within } = counts {
            self.lending.guests -= 1;
            self.lending.waiting -= usize::from(within);
        }
        self.call_last_to_go(actions);
        self.call_for_help(actions);
        self.call_surplus(actions);
    }

    /// A place for a task that the calling thread joins, which `take` takes.
    fn admit_guest<P>(&mut self, within: bool, take: impl FnOnce() -> Option<P>) -> Option<P> {
        self.lending.waiting += usize::from(within);
        let Some(task) = (if self.lendable() > 0 { take() } else { None }) else {
            self.lending.waiting -= usize::from(within);
            return None;
        };
        self.lending.guests += 1;
        self.worker_table.quiet = false;
        self.accounting.note_out_of_turn();
        Some(task)
    }
}

impl<W: Work> Engine<W> {
    /// Whether a thread that joins a task of this pool has all that the pool gives its workers.
    pub(crate) fn may_run_here(&self) -> bool {
        let has_all = || {
            let settings = &self.settings;
            self.threads.is_one()
                || (settings.stack_size.is_none() && !settings.hooks.tell_of_workers())
        };
        (1..MOST_NESTED).contains(&depth()) && self.work.runs_anywhere() && has_all()
    }

    /// A place for a task of this pool that the calling thread joins, if there is one now. `take` takes the task,
    /// under the lock.
    pub(crate) fn admit_guest<P>(
        self: &Arc<Self>,
        take: impl FnOnce() -> Option<P>,
    ) -> Option<(P, Counts)> {
        let within = is_innermost(Arc::as_ptr(self));
        let mut scheduler = self.lock();
        let task = scheduler.admit_guest(within, take)?;
        let tombstones = scheduler.remove_tombstones(Self::is_tombstone);
        drop(scheduler);
        tombstones.into_iter().for_each(|tombstone| contain(|| drop(tombstone)));
        Some((task, Counts::Guest { within }))
    }

    /// A task waits for this queued one, which is given the first time. If a thread could not be started for it,
    /// returns when to try again.
    pub(crate) fn await_queued(
        self: &Arc<Self>,
        task: Option<Weak<dyn Queued<W::Job>>>,
    ) -> Option<Duration> {
        self.decide(|scheduler, actions| match task {
            Some(task) => scheduler.note_awaited(task, actions),
            None => scheduler.call_for_help(actions),
        });
        self.lock().no_start_before.is_some().then_some(START_PAUSE)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
