//! How things end, and begin again: resize, discard, close, reopen; `waiting` has how an end is waited for.

mod waiting;

use std::sync::Arc;
#[cfg(feature = "tokio")]
use std::sync::Weak;

#[cfg(feature = "tokio")]
use crate::engine::scheduler::core::CloseListener;
use crate::engine::scheduler::core::{Actions, Phase, Scheduler, WorkerKind};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::sync::MutexGuard;
use crate::engine::task::run::contain;
#[cfg(feature = "tokio")]
use crate::engine::wait_list::Key;
use crate::engine::{Engine, NoStart, Work};
#[cfg(feature = "tokio")]
use crate::error::StillRunning;
use crate::error::{Refused, ReopenError};
use crate::stats::Stats;

pub(crate) use self::waiting::Ended;

impl<J> Scheduler<J> {
    pub(in crate::engine) fn close(&mut self, phase: Phase, actions: &mut Actions) {
        self.phase = phase;
        self.gate.shut();
        self.dismiss_waiters(actions);
        actions.tell_closed.extend(self.close_listeners.iter().cloned());
        while let Some(waker) = self.worker_table.call_newest() {
            actions.call.push(waker);
        }
        self.serve_waiters(actions);
    }

    /// The queued tasks, if no worker will ever take them because the runtime of the drivers is gone.
    #[must_use]
    pub(crate) fn abandon(&mut self) -> Vec<J> {
        let lost = self.limits.worker_kind != WorkerKind::Threads && self.is_closed();
        if lost && self.worker_table.workers() == 0 { self.queue.take_all() } else { Vec::new() }
    }

    fn resize(&mut self, capacity: usize, actions: &mut Actions) {
        self.limits.capacity = capacity;
        self.gate.shut();
        self.worker_table.quiet = false;
        // Those that were called before this will find out by themselves that they are too many.
        self.call_surplus(actions);
        self.serve_waiters(actions);
        self.call_all_needed(actions);
        self.call_for_awaited(actions);
    }
}

impl<W: Work> Engine<W> {
    pub(crate) fn stats(&self) -> Stats {
        self.lock().stats()
    }

    #[cfg(feature = "tokio")]
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

    /// Lets at most `capacity` workers work from now on.
    pub(crate) fn resize(self: &Arc<Self>, capacity: usize) {
        let places = self.settings.places(capacity);
        self.decide(|scheduler, actions| {
            if self.settings.preallocate {
                scheduler.queue.reserve(places);
                scheduler.worker_table.reserve(capacity);
            }
            if !scheduler.is_closed() {
                self.fast_path.set_places(places);
            }
            scheduler.resize(capacity, actions);
        });
    }

    /// Starts workers until there are `workers`, as far as the capacity goes.
    pub(crate) fn prestart(self: &Arc<Self>, workers: usize) -> Result<(), NoStart> {
        let mut scheduler = self.lock();
        let missing = workers
            .min(scheduler.limits.most_workers())
            .saturating_sub(scheduler.worker_table.workers());
        if missing == 0 || scheduler.is_closed() {
            return Ok(());
        }
        let mut missing = missing;
        if scheduler.worker_table.present() == 0 {
            self.start_first(&mut scheduler)?;
            missing -= 1;
        }
        let places: Vec<usize> =
            (0..missing).map(|_| scheduler.worker_table.add(WorkerState::Starting)).collect();
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

    #[cfg(any(feature = "tokio", test))]
    /// The runtime of the drivers has shut down: refuses new tasks for good.
    pub(crate) fn close_for_good(self: &Arc<Self>) {
        self.close_as(Phase::RuntimeGone);
    }

    fn close_as(self: &Arc<Self>, phase: Phase) {
        self.close_scheduler(self.lock(), phase);
    }

    fn close_scheduler(
        self: &Arc<Self>,
        mut scheduler: MutexGuard<'_, Scheduler<W::Job>>,
        phase: Phase,
    ) {
        let mut actions = Actions::default();
        let phase = if scheduler.phase == Phase::RuntimeGone { scheduler.phase } else { phase };
        scheduler.close(phase, &mut actions);
        self.fast_path.set_places(0);
        drop(scheduler);
        self.perform(actions);
    }

    /// Has `listener` told each time that the pool is closed, until the subscription is dropped.
    #[cfg(feature = "tokio")]
    pub(crate) fn listen_for_close(
        self: &Arc<Self>,
        listener: Weak<dyn CloseListener>,
    ) -> CloseSubscription<W> {
        let key = self.lock().close_listeners.push(listener);
        CloseSubscription { engine: Arc::clone(self), key }
    }

    /// Drops what has not been started, and says how much that was.
    pub(crate) fn discard(self: &Arc<Self>) -> usize {
        let (jobs, alive) = self.decide(|scheduler, actions| {
            let jobs = scheduler.queue.take_all();
            let alive = scheduler.accounting.discard(jobs.iter().map(W::kill));
            scheduler.serve_waiters(actions);
            (jobs, alive)
        });
        jobs.into_iter().for_each(|job| contain(|| drop(job)));
        alive
    }

    /// Drops jobs that were taken out of the queue because no worker will ever take them.
    pub(crate) fn drop_lost(
        self: &Arc<Self>,
        mut scheduler: MutexGuard<'_, Scheduler<W::Job>>,
        jobs: Vec<W::Job>,
        mut actions: Actions,
    ) {
        scheduler.accounting.discard(jobs.iter().map(W::kill));
        scheduler.serve_waiters(&mut actions);
        drop(scheduler);
        self.perform(actions);
        jobs.into_iter().for_each(|job| contain(|| drop(job)));
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
        self.fast_path.set_places(self.settings.places(scheduler.limits.capacity));
        let minimum = scheduler.limits.minimum;
        drop(scheduler);
        self.prestart(minimum).map_err(ReopenError::from)
    }
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
    use crate::engine::queue::Queue;
    use crate::engine::queue::fast_path::FastPath;
    use crate::engine::scheduler::core::{Limits, WorkerKind};

    pub(in crate::engine) fn scheduler(capacity: usize) -> Scheduler<u32> {
        let (minimum, queue, lookers, cores, expires) = (0, 8, 1, 2, false);
        let (worker_kind, growth) = (WorkerKind::Threads, None);
        let limits =
            Limits { capacity, minimum, queue, lookers, cores, expires, growth, worker_kind };
        Scheduler::new(Queue::new(Arc::new(FastPath::new())), limits, usize::MAX)
    }

    #[test]
    fn a_smaller_capacity_calls_as_many_idle_workers_as_are_too_many() {
        let mut scheduler = scheduler(6);
        for _ in 0..4 {
            let me = scheduler.worker_table.add(WorkerState::Called);
            scheduler.worker_table.introduce(me, std::task::Waker::noop().clone());
            scheduler.worker_table.push_idle(me);
        }
        scheduler.worker_table.add(WorkerState::Engaged);
        scheduler.worker_table.add(WorkerState::Leaving);
        let mut actions = Actions::default();
        scheduler.resize(3, &mut actions);
        assert_eq!(
            (actions.call.len(), actions.start.len()),
            (2, 0),
            "five, and the one that goes"
        );
    }
}
