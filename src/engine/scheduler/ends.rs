//! How things end, and begin again: resize, discard, close, reopen; `waiting` has how an end is waited for.

mod waiting;

use std::sync::Arc;
#[cfg(feature = "tokio")]
use std::sync::Weak;

#[cfg(feature = "tokio")]
use crate::engine::scheduler::crew::CloseListener;
use crate::engine::scheduler::crew::{Acts, Crew, Hands, Phase};
use crate::engine::scheduler::roster::Duty;
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

impl<J> Crew<J> {
    pub(in crate::engine) fn close(&mut self, phase: Phase, acts: &mut Acts) {
        self.phase = phase;
        self.gate.shut();
        self.dismiss_waiters(acts);
        acts.tell_closed.extend(self.close_listeners.iter().cloned());
        while let Some(waker) = self.roster.call_newest() {
            acts.call.push(waker);
        }
        self.serve_waiters(acts);
    }

    /// The queued tasks, if no worker will ever take them because the runtime of the drivers is gone.
    #[must_use]
    pub(crate) fn abandon(&mut self) -> Vec<J> {
        let lost = self.limits.hands != Hands::Threads && self.is_closed();
        if lost && self.roster.workers() == 0 { self.line.take_all() } else { Vec::new() }
    }

    fn resize(&mut self, capacity: usize, acts: &mut Acts) {
        self.limits.capacity = capacity;
        self.gate.shut();
        self.roster.quiet = false;
        // Those that were called before this will find out by themselves that they are too many.
        self.call_surplus(acts);
        self.serve_waiters(acts);
        self.call_all_needed(acts);
        self.call_for_awaited(acts);
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
        self.decide(|crew, acts| {
            if self.settings.preallocate {
                crew.line.reserve(places);
                crew.roster.reserve(capacity);
            }
            if !crew.is_closed() {
                self.lane.set_places(places);
            }
            crew.resize(capacity, acts);
        });
    }

    /// Starts workers until there are `workers`, as far as the capacity goes.
    pub(crate) fn prestart(self: &Arc<Self>, workers: usize) -> Result<(), NoStart> {
        let mut crew = self.lock();
        let missing = workers.min(crew.limits.most_workers()).saturating_sub(crew.roster.workers());
        if missing == 0 || crew.is_closed() {
            return Ok(());
        }
        let mut missing = missing;
        if crew.roster.present() == 0 {
            self.start_first(&mut crew)?;
            missing -= 1;
        }
        let places: Vec<usize> = (0..missing).map(|_| crew.roster.add(Duty::Starting)).collect();
        drop(crew);
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

    #[cfg(any(feature = "tokio", all(test, loom)))]
    /// The runtime of the drivers has shut down: refuses new tasks for good.
    pub(crate) fn close_for_good(self: &Arc<Self>) {
        self.close_as(Phase::RuntimeGone);
    }

    fn close_as(self: &Arc<Self>, phase: Phase) {
        self.close_crew(self.lock(), phase);
    }

    fn close_crew(self: &Arc<Self>, mut crew: MutexGuard<'_, Crew<W::Job>>, phase: Phase) {
        let mut acts = Acts::default();
        let phase = if crew.phase == Phase::RuntimeGone { crew.phase } else { phase };
        crew.close(phase, &mut acts);
        self.lane.set_places(0);
        drop(crew);
        self.perform(acts);
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
        let (jobs, alive) = self.decide(|crew, acts| {
            let jobs = crew.line.take_all();
            let alive = crew.books.discard(jobs.iter().map(W::kill));
            crew.serve_waiters(acts);
            (jobs, alive)
        });
        jobs.into_iter().for_each(|job| contain(|| drop(job)));
        alive
    }

    /// Drops jobs that were taken out of the line because nobody will ever take them.
    pub(crate) fn drop_lost(
        self: &Arc<Self>,
        mut crew: MutexGuard<'_, Crew<W::Job>>,
        jobs: Vec<W::Job>,
        mut acts: Acts,
    ) {
        crew.books.discard(jobs.iter().map(W::kill));
        crew.serve_waiters(&mut acts);
        drop(crew);
        self.perform(acts);
        jobs.into_iter().for_each(|job| contain(|| drop(job)));
    }

    /// Accepts tasks again after all workers have gone.
    pub(crate) fn reopen(self: &Arc<Self>) -> Result<(), ReopenError> {
        let can_start = self.work.check_start();
        let mut crew = self.lock();
        if !crew.is_closed() {
            return Err(ReopenError::Open);
        }
        if crew.phase == Phase::RuntimeGone {
            return Err(ReopenError::RuntimeGone);
        }
        if !crew.has_ended(Ended::Workers) {
            return Err(ReopenError::StillRunning(crew.still_running()));
        }
        can_start?;
        crew.phase = Phase::Open;
        self.lane.set_places(self.settings.places(crew.limits.capacity));
        let minimum = crew.limits.minimum;
        drop(crew);
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
    use crate::engine::queue::lane::Lane;
    use crate::engine::queue::line::Line;
    use crate::engine::scheduler::crew::{Hands, Limits};

    pub(in crate::engine) fn crew(capacity: usize) -> Crew<u32> {
        let (minimum, queue, lookers, cores, expires) = (0, 8, 1, 2, false);
        let (hands, growth) = (Hands::Threads, None);
        let limits = Limits { capacity, minimum, queue, lookers, cores, expires, growth, hands };
        Crew::new(Line::new(Arc::new(Lane::new())), limits, usize::MAX)
    }

    #[test]
    fn a_smaller_capacity_calls_as_many_idle_workers_as_are_too_many() {
        let mut crew = crew(6);
        for _ in 0..4 {
            let me = crew.roster.add(Duty::Called);
            crew.roster.introduce(me, std::task::Waker::noop().clone());
            crew.roster.push_idle(me);
        }
        crew.roster.add(Duty::Engaged);
        crew.roster.add(Duty::Leaving);
        let mut acts = Acts::default();
        crew.resize(3, &mut acts);
        assert_eq!((acts.call.len(), acts.start.len()), (2, 0), "five, and the one that goes");
    }
}
