//! How things end, and begin again: resize, discard, close, reopen; `waiting` has how an end is waited for.

mod waiting;

use std::convert::Infallible;
use std::sync::Arc;
#[cfg(feature = "tokio")]
use std::sync::Weak;
use std::time::Duration;

#[cfg(feature = "tokio")]
use crate::engine::actions::CloseListener;
use crate::engine::contain::contain;
use crate::engine::scheduler::core::{Actions, Limits, Phase, Scheduler, WorkerKind};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::sync::MutexGuard;
#[cfg(feature = "tokio")]
use crate::engine::wait_list::Key;
use crate::engine::{Engine, NoStart, QueuedTask, Work};
use crate::error::{Refused, ReopenError, StillRunning};
use crate::stats::Stats;

pub(crate) use self::waiting::Ended;

impl<J> Scheduler<J> {
    pub(in crate::engine) fn close(&mut self, phase: Phase, actions: &mut Actions) {
        self.phase = phase;
        self.gate.shut();
        self.dismiss_waiters(actions);
        actions.tell_closed.extend(self.close_listeners.iter().cloned());
        let table = &mut self.worker_table;
        while let Some(waker) = table.call_newest().or_else(|| table.call_unready()) {
            actions.call.extend([waker]);
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

impl Limits {
    /// How many tasks may be queued and running.
    pub(crate) fn places(&self) -> usize {
        self.queue.saturating_add(self.capacity)
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

    /// Changes how many tasks may run and be queued.
    pub(crate) fn resize(self: &Arc<Self>, change: impl FnOnce(&mut Limits)) {
        let changed = self.try_resize(|limits| {
            change(limits);
            Ok::<(), Infallible>(())
        });
        changed.unwrap_or_else(|never| match never {});
    }

    /// As [`resize`](Engine::resize), unless `change` refuses to. Then it has changed nothing.
    pub(crate) fn try_resize<E>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Limits) -> Result<(), E>,
    ) -> Result<(), E> {
        self.decide(|scheduler, actions| {
            change(&mut scheduler.limits)?;
            let (capacity, places) = (scheduler.limits.capacity, scheduler.limits.places());
            scheduler.queue.keep_room(scheduler.limits.queue);
            if self.settings.preallocate {
                scheduler.queue.reserve(places);
                scheduler.worker_table.reserve(capacity);
            }
            if !scheduler.is_closed() {
                self.fast_path.set_places(places);
            }
            self.fast_path.set_capacity(capacity);
            scheduler.resize(capacity, actions);
            Ok(())
        })
    }

    /// Changes how many submitters may wait. Those that wait already are not sent away.
    pub(crate) fn set_waiters(&self, waiters: usize) {
        self.lock().gate.set_waiters_limit(waiters);
    }

    /// Changes how many workers stay, unless `check` refuses that for this capacity. The caller starts those that are
    /// missing.
    pub(crate) fn set_minimum<E>(
        self: &Arc<Self>,
        minimum: usize,
        check: impl FnOnce(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        self.decide(|scheduler, actions| {
            check(scheduler.limits.capacity)?;
            scheduler.limits.minimum = minimum;
            actions.call.extend(scheduler.worker_table.idle_wakers());
            Ok(())
        })
    }

    /// Changes how long an idle worker stays, also for those that are idle.
    pub(crate) fn set_keep_alive(self: &Arc<Self>, keep_alive: Option<Duration>) {
        self.decide(|scheduler, actions| {
            scheduler.limits.keep_alive = keep_alive;
            actions.call.extend(scheduler.worker_table.idle_wakers());
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
        let (jobs, alive, ()) = self.clear_queue(|_| ());
        drop_all(jobs);
        alive
    }

    /// Takes what has not been started out of the queue. The jobs will not run.
    pub(crate) fn take_queued(self: &Arc<Self>) -> Vec<W::Job> {
        self.clear_queue(|_| ()).0
    }

    /// Drops what has not been started, has running futures dropped, and asks running closures to stop. Returns how
    /// many tasks were queued, and how many ran. Tasks that are accepted later are not concerned.
    pub(crate) fn cancel_all(self: &Arc<Self>) -> (usize, usize) {
        let (jobs, queued, running) = self.clear_queue(|scheduler| {
            // A worker asks the lock before its next task, so what it has taken until now has started in this epoch.
            let passed = scheduler.queue.end_block();
            scheduler.accounting.note_passed(passed);
            self.cancels.begin_epoch();
            scheduler.stats().busy
        });
        self.cancels.call_all();
        self.work.wake_running();
        drop_all(jobs);
        (queued, running)
    }

    /// Takes everything out of the queue, and says how many tasks that are. `also` decides more in the same step.
    fn clear_queue<R>(
        self: &Arc<Self>,
        also: impl FnOnce(&mut Scheduler<W::Job>) -> R,
    ) -> (Vec<W::Job>, usize, R) {
        self.decide(|scheduler, actions| {
            let jobs = scheduler.queue.take_all();
            let alive = scheduler.accounting.discard(jobs.iter().map(QueuedTask::kill));
            let decided = also(scheduler);
            scheduler.serve_waiters(actions);
            // Workers that were not ready for these tasks would stay until their pause is over.
            scheduler.call_last_to_go(actions);
            (jobs, alive, decided)
        })
    }

    /// Drops jobs that were taken out of the queue because no worker will ever take them.
    pub(crate) fn drop_lost(
        self: &Arc<Self>,
        mut scheduler: MutexGuard<'_, Scheduler<W::Job>>,
        jobs: Vec<W::Job>,
        mut actions: Actions,
    ) {
        scheduler.accounting.discard(jobs.iter().map(QueuedTask::kill));
        scheduler.serve_waiters(&mut actions);
        drop(scheduler);
        self.perform(actions);
        drop_all(jobs);
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
        self.fast_path.set_places(scheduler.limits.places());
        let minimum = scheduler.limits.minimum;
        drop(scheduler);
        self.prestart(minimum).map_err(ReopenError::from)
    }
}

/// Drops jobs that will not run. Each may have a handle, which hears of it.
fn drop_all<J>(jobs: Vec<J>) {
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
    use crate::engine::queue::Queue;
    use crate::engine::queue::fast_path::FastPath;
    use crate::engine::scheduler::core::WorkerKind;

    pub(in crate::engine) fn scheduler(capacity: usize) -> Scheduler<u32> {
        let (minimum, queue, lookers, cores, keep_alive) = (0, 8, 1, 2, None);
        let (worker_kind, growth) = (WorkerKind::Threads, None);
        let limits =
            Limits { capacity, minimum, queue, lookers, cores, keep_alive, growth, worker_kind };
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
