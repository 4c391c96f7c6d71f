//! How things end, and begin again: limits that change, discard, close, reopen; `waiting` has how an end is waited for.

mod waiting;

use std::sync::Arc;
#[cfg(feature = "tokio")]
use std::task::Waker;

use crate::engine::contain::contain;
use crate::engine::scheduler::core::{Actions, Limits, Phase, Scheduler, WorkerKind};
use crate::engine::scheduler::worker_table::WorkerState;
#[cfg(feature = "tokio")]
use crate::engine::wait_list::Key;
use crate::engine::{Engine, NoStart, QueuedTask, Work};
use crate::error::{Refused, ReopenError, StillRunning};
use crate::stats::Stats;

pub(crate) use self::waiting::Ended;

impl<J> Scheduler<J> {
    /// Refuses new tasks from now on.
    pub(in crate::engine) fn close(&mut self, phase: Phase, actions: &mut Actions) {
        if self.phase != Phase::RuntimeGone {
            self.phase = phase;
        }
        self.show_limits();
        self.gate.shut();
        self.dismiss_waiters(actions);
        actions.call.extend(self.close_listeners.iter().cloned());
        actions.call.extend(std::iter::from_fn(|| self.worker_table.call_to_go()));
        self.serve_waiters(actions);
    }

    /// Whether no worker will ever take a queued task, because the runtime of the drivers is gone.
    pub(in crate::engine) fn is_abandoned(&self) -> bool {
        let has_drivers = self.worker_kind != WorkerKind::Threads;
        has_drivers && self.is_closed() && self.worker_table.workers() == 0
    }

    /// The limits have changed.
    fn resize(&mut self, actions: &mut Actions) {
        self.apply_limits();
        self.gate.shut();
        // Those that were called before this will find out by themselves that they are too many.
        self.call_surplus(actions);
        self.serve_waiters(actions);
        self.call_for_help(actions);
    }
}

impl<W: Work> Engine<W> {
    pub(crate) fn stats(&self) -> Stats {
        self.lock().stats()
    }

    pub(crate) fn still_running(&self) -> StillRunning {
        self.lock().still_running()
    }

    /// Why the pool, which is closed, refuses tasks.
    pub(crate) fn refusal(&self) -> Refused {
        self.lock().refusal()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed()
    }

    /// Changes limits, in one step with what `change` checks. Submitters that wait already are not sent away, and the
    /// caller starts workers that are missing.
    pub(crate) fn change_limits<R>(self: &Arc<Self>, change: impl FnOnce(&mut Limits) -> R) -> R {
        self.decide(|scheduler, actions| {
            let stay = |limits: &Limits| (limits.minimum, limits.keep_alive);
            let before = stay(&scheduler.limits);
            let changed = change(&mut scheduler.limits);
            scheduler.resize(actions);
            if stay(&scheduler.limits) != before {
                // Each idle worker looks anew how long it may stay.
                actions.call.extend(scheduler.worker_table.idle_wakers());
            }
            changed
        })
    }

    /// Starts workers until there are `workers`, as far as the capacity goes.
    pub(crate) fn prestart(self: &Arc<Self>, workers: usize) -> Result<(), NoStart> {
        let mut scheduler = self.lock();
        let wanted = workers.min(scheduler.most_workers());
        if wanted <= scheduler.worker_table.workers() || scheduler.is_closed() {
            return Ok(());
        }
        if scheduler.worker_table.present() == 0 {
            self.start_first(&mut scheduler)?;
        }
        let missing = scheduler.worker_table.workers()..wanted;
        let places: Vec<usize> =
            missing.map(|_| scheduler.worker_table.add(WorkerState::Starting)).collect();
        drop(scheduler);
        let mut outcome = Ok(());
        for index in places {
            // All of them are tried: a place that was not would be waited for in vain.
            outcome = self.start_at(index).and(outcome);
        }
        outcome
    }

    /// Refuses new tasks from now on.
    pub(crate) fn close(self: &Arc<Self>) {
        self.close_as(Phase::Closed);
    }

    pub(crate) fn close_as(self: &Arc<Self>, phase: Phase) {
        self.decide(|scheduler, actions| scheduler.close(phase, actions));
    }

    /// Has `listener`, which calls nothing of a user's that may panic, woken each time that the pool is closed, until
    /// the subscription is dropped.
    #[cfg(feature = "tokio")]
    pub(crate) fn listen_for_close(self: &Arc<Self>, listener: Waker) -> CloseSubscription<W> {
        let key = self.lock().close_listeners.push(listener);
        CloseSubscription { engine: Arc::clone(self), key }
    }

    /// Drops what has not been started, and says how much that was.
    pub(crate) fn discard(self: &Arc<Self>) -> usize {
        let (jobs, alive) = self.decide(Self::clear_queue);
        drop_all(jobs);
        alive
    }

    /// Takes what has not been started out of the queue. The jobs will not run.
    pub(crate) fn take_queued(self: &Arc<Self>) -> Vec<W::Job> {
        self.decide(Self::clear_queue).0
    }

    /// Drops what has not been started, has running futures dropped, and asks running closures to stop. Returns how
    /// many tasks were queued, and how many ran. Tasks that are accepted later are not concerned.
    pub(crate) fn cancel_all(self: &Arc<Self>) -> (usize, usize) {
        let (jobs, queued, running) = self.decide(|scheduler, actions| {
            let (jobs, queued) = Self::clear_queue(scheduler, actions);
            self.cancels.begin_epoch();
            (jobs, queued, scheduler.stats().busy)
        });
        self.cancels.call_all();
        self.work.wake_running();
        drop_all(jobs);
        (queued, running)
    }

    /// Takes everything out of the queue, and says how many tasks that are. A worker asks the lock before its next task:
    /// what it has taken until now has started before this.
    fn clear_queue(
        scheduler: &mut Scheduler<W::Job>,
        actions: &mut Actions,
    ) -> (Vec<W::Job>, usize) {
        let jobs = scheduler.queue.take_all();
        let is_killed = |job| W::queued_task(job).is_none_or(QueuedTask::kill);
        let alive = scheduler.accounting.discard(jobs.iter().map(is_killed));
        let passed = scheduler.queue.end_block();
        scheduler.accounting.note_passed(passed);
        scheduler.serve_waiters(actions);
        // Workers that were not ready for these tasks would stay until their pause is over.
        scheduler.call_last_to_go(actions);
        (jobs, alive)
    }

    /// A worker is gone, or was not started: drops what no worker will ever take.
    pub(crate) fn decide_loss(
        self: &Arc<Self>,
        decision: impl FnOnce(&mut Scheduler<W::Job>, &mut Actions),
    ) {
        let lost = self.decide(|scheduler, actions| {
            decision(scheduler, actions);
            scheduler.is_abandoned().then(|| Self::clear_queue(scheduler, actions))
        });
        drop_all(lost.into_iter().flat_map(|(jobs, _)| jobs));
    }

    /// Accepts tasks again after all workers have gone.
    pub(crate) fn reopen(self: &Arc<Self>) -> Result<(), ReopenError> {
        let can_start = self.work.check_start();
        let mut scheduler = self.lock();
        if !scheduler.is_closed() {
            return Err(ReopenError::Open);
        }
        if scheduler.phase == Phase::RuntimeGone {
            return Err(ReopenError::RuntimeGone);
        }
        if !scheduler.has_ended(Ended::Workers) {
            return Err(ReopenError::StillRunning(scheduler.still_running()));
        }
        can_start?;
        scheduler.phase = Phase::Open;
        scheduler.show_limits();
        let minimum = scheduler.limits.minimum;
        drop(scheduler);
        self.prestart(minimum).map_err(ReopenError::from)
    }
}

/// Drops jobs that will not run. Each may have a handle, which hears of it.
fn drop_all<J>(jobs: impl IntoIterator<Item = J>) {
    jobs.into_iter().for_each(|job| contain(|| drop(job)));
}

/// See [`Engine::listen_for_close`].
#[cfg(feature = "tokio")]
pub(crate) struct CloseSubscription<W: Work> {
    engine: Arc<Engine<W>>,
    key: Key,
}

#[cfg(feature = "tokio")]
impl<W: Work> Drop for CloseSubscription<W> {
    fn drop(&mut self) {
        // What was a listener is dropped after the lock.
        let listener = self.engine.lock().close_listeners.remove(self.key);
        drop(listener);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::engine::queue::fast_path::FastPath;
    use crate::engine::sync::Arc as Shared;

    pub(in crate::engine) fn scheduler(capacity: usize) -> Scheduler<u32> {
        let limits = Limits { capacity, queue: 8, waiters: usize::MAX, ..Limits::default() };
        Scheduler::new(Shared::new(FastPath::default()), limits, WorkerKind::Threads)
    }

    #[test]
    fn a_smaller_capacity_calls_as_many_idle_workers_as_are_too_many() {
        let mut scheduler = scheduler(6);
        for _ in 0..4 {
            let me = scheduler.worker_table.add(WorkerState::Called);
            scheduler.worker_table.worker(me).waker = Some(crate::engine::wait::this_thread());
            scheduler.worker_table.push_idle(me);
        }
        scheduler.worker_table.add(WorkerState::Engaged);
        scheduler.worker_table.add(WorkerState::Leaving);
        let mut actions = Actions::default();
        scheduler.limits.capacity = 3;
        scheduler.resize(&mut actions);
        assert_eq!(
            (actions.call.len(), actions.start.len()),
            (2, 0),
            "five, and the one that goes"
        );
    }
}
