//! The gate: who may put a task into the queue, and who must wait, in order of arrival.
//!
//! A task has a place from the moment it is accepted until it has ended, and a permit holds a
//! place for a task to come. There are as many places as workers and queue together, so a queue
//! of zero means that a task enters only when a worker is free to take it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::scheduler::core::{Actions, Scheduler};
use crate::engine::scheduler::ends::Ended;
use crate::engine::wait::{Verdict, Waiter};
use crate::engine::wait_list::{Key, WaitList};
use crate::error::Refused;

/// How long a submitter lets places gather before it relies on each one. To wake it costs about seven
/// microseconds, so one that is woken by the clock alone loses less than half a per cent of its time.
pub(crate) const TIMED_PARK: Duration = Duration::from_millis(2);

/// The part of the gate that lives under the lock.
///
/// A place is free for the next submitter only while none waits. The verdict of a waiter in the
/// queue is open; the thread that gives one takes the waiter out.
pub(crate) struct Gate<J> {
    /// The task enters the queue with the verdict, so that tasks enter in the order their submitters came; without a
    /// task, a place is held.
    pub(super) waiters: WaitList<(Arc<Waiter>, Option<J>)>,
    /// Tasks of submitters that were sent away and have not come for them yet.
    dismissed: BTreeMap<Key, J>,
    pub(in crate::engine) permits: usize,
    /// Until this many tasks are published a submitter enters at once: the pool is open, no submitter
    /// waits, there is a place, and there is a worker. Zero when one of these is in doubt.
    pub(super) clear_until: u64,
    pub(crate) refused: u64,
}

/// A refusal, with the task if there was one.
pub(super) type Back<J> = (Option<J>, Refused);

impl<J> Gate<J> {
    pub(crate) fn new() -> Self {
        let (waiters, dismissed) = (WaitList::default(), BTreeMap::new());
        Gate { waiters, dismissed, permits: 0, clear_until: 0, refused: 0 }
    }

    /// Makes the next submitter look closer.
    pub(crate) fn shut(&mut self) {
        self.clear_until = 0;
    }

    /// Whether the first waiter relies on being woken for each place. None if no submitter waits.
    fn first_is_eager(&self) -> Option<bool> {
        self.waiters.first().map(|(first, _)| first.is_eager())
    }
}

impl<J> Scheduler<J> {
    /// The closer look. Without a worker, a submitter starts the first one and looks again.
    pub(crate) fn admission(&mut self) -> Result<(), Refused> {
        if self.is_closed() {
            return Err(self.refusal());
        }
        if self.worker_table.present() == 0 {
            return Err(Refused::NoWorker);
        }
        let places = self.places();
        if places == 0 || !self.gate.waiters.is_empty() {
            return Err(Refused::Full);
        }
        self.gate.clear_until = self.queue.published().saturating_add(places as u64);
        Ok(())
    }

    /// Whether one more submitter may wait.
    pub(crate) fn may_wait(&self) -> bool {
        self.gate.waiters.len() < self.limits.waiters
    }

    /// Joins the queue at the gate, with the task that is to enter.
    pub(crate) fn queue_up(&mut self, waiter: Arc<Waiter>, job: Option<J>) {
        self.gate.shut();
        waiter.set_key(self.gate.waiters.next_key());
        self.gate.waiters.push((waiter, job));
        self.heed_waiters();
    }

    /// A submitter that does not want to wait any longer leaves the gate, unless it has a verdict meanwhile: that holds.
    /// If it does not enter, it gets its task back.
    pub(crate) fn withdraw(
        &mut self,
        waiter: &Waiter,
        actions: &mut Actions,
    ) -> Result<(), Back<J>> {
        // A place that was left to gather with others is a place.
        self.grant(1, actions);
        match waiter.verdict() {
            Some(Verdict::Granted) => Ok(()),
            Some(Verdict::Closed) => {
                Err((self.gate.dismissed.remove(&waiter.key()), self.refusal()))
            }
            None => {
                let waiting = self.gate.waiters.remove(waiter.key());
                self.serve_waiters(actions);
                Err((waiting.and_then(|(_, job)| job), Refused::TimedOut))
            }
        }
    }

    /// A waiting thread has let places gather for long enough, and takes any from now on. If there is one now, it is woken
    /// at once.
    pub(crate) fn rely_on(&mut self, waiter: &Waiter, actions: &mut Actions) {
        waiter.set_eager();
        // First the seal, then the look: a place that gets free later is free at the lock.
        self.heed_waiters();
        self.grant(1, actions);
        self.heed_waiters();
    }

    /// Holds a place for a task to come.
    pub(crate) fn hold_place(&mut self) {
        self.gate.permits += 1;
        self.gate.shut();
    }

    /// Holds up to `most` places that are free, and says how many. A closed pool gives out no more of them, and
    /// none is free for the caller while submitters wait.
    pub(crate) fn hold_free_places(&mut self, most: usize) -> usize {
        if self.admission().is_err() {
            return 0;
        }
        let places = self.places().min(most);
        self.gate.permits += places;
        self.gate.shut();
        places
    }

    /// Turns held places into those of tasks, or gives them back.
    pub(crate) fn release_places(&mut self, places: usize) {
        self.gate.permits -= places;
        self.gate.shut();
    }

    /// Tells all waiters what they wait for, as far as it has come true.
    pub(crate) fn serve_waiters(&mut self, actions: &mut Actions) {
        // Where only so many may wait, each place counts.
        let may_gather = self.limits.waiters == usize::MAX;
        let enough = match self.gate.first_is_eager() {
            Some(false) if may_gather => (self.limits.queue / 2).max(1),
            _ => 1,
        };
        self.grant(enough, actions);
        if !self.awaiting_ends.iter().all(WaitList::is_empty) {
            self.tell_ends(actions);
        }
        self.heed_waiters();
    }

    /// Gives free places, if there are enough, to the submitters that wait, in the order in which they
    /// came.
    fn grant(&mut self, enough: usize, actions: &mut Actions) {
        if self.gate.waiters.is_empty() || self.places() < enough {
            return;
        }
        for _ in 0..self.places() {
            let Some((waiter, job)) = self.gate.waiters.pop_first() else { break };
            waiter.decide(Verdict::Granted);
            actions.wake.push(waiter);
            if let Some(job) = job {
                self.queue.push(job);
                self.call_for_help(actions);
            } else {
                self.gate.permits += 1;
            }
        }
    }

    /// Sends all waiting submitters away.
    pub(crate) fn dismiss_waiters(&mut self, actions: &mut Actions) {
        for (waiter, job) in self.gate.waiters.take_all() {
            self.gate.dismissed.extend(job.map(|job| (waiter.key(), job)));
            waiter.decide(Verdict::Closed);
            actions.wake.push(waiter);
        }
    }

    /// Makes sure that workers come to the lock as often as those who wait need it.
    pub(crate) fn heed_waiters(&mut self) {
        self.queue.fast_path.set_hurry(
            !self.gate.waiters.is_empty() || !self.awaiting_ends[Ended::Tasks as usize].is_empty(),
        );
        if self.needs_attention() {
            self.queue.fast_path.seal();
        }
    }

    /// Whether each worker must come to the lock before each task: the first waiter relies on being woken for each place,
    /// or more tasks run than may.
    pub(crate) fn needs_attention(&self) -> bool {
        self.gate.first_is_eager() == Some(true) || self.is_over_capacity()
    }

    /// How many more tasks may enter.
    fn places(&self) -> usize {
        // By load, those count that are here: the others may never be started.
        let workers = match self.limits.growth {
            None => self.limits.capacity,
            Some(_) => self.worker_table.workers().min(self.limits.capacity),
        };
        let all = workers.saturating_add(self.limits.queue);
        all.saturating_sub(self.pending()).saturating_sub(self.gate.permits)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::engine::queue::fast_path::FastPath;
    use crate::engine::scheduler::core::{Limits, WorkerKind};
    use crate::engine::scheduler::worker_table::WorkerState;
    use crate::engine::sync::Arc as Shared;

    /// A scheduler with one present worker, a capacity of one and a queue of eight.
    fn scheduler() -> Scheduler<u32> {
        scheduler_with(usize::MAX)
    }

    fn scheduler_with(waiters: usize) -> Scheduler<u32> {
        let limits = Limits { capacity: 1, queue: 8, waiters, ..Limits::default() };
        let fast_path = Shared::new(FastPath::default());
        let mut scheduler = Scheduler::new(fast_path, limits, WorkerKind::Threads);
        scheduler.worker_table.add(WorkerState::Called);
        scheduler
    }

    #[test]
    fn capacity_and_queue_are_places() {
        let mut scheduler = scheduler();
        for job in 0..9 {
            assert_eq!(scheduler.admission(), Ok(()));
            scheduler.queue.push(job);
        }
        assert_eq!(scheduler.admission(), Err(Refused::Full));
        scheduler.queue.pop();
        assert_eq!(scheduler.admission(), Err(Refused::Full), "a running task has its place");
        scheduler.queue.fast_path.end_locked();
        assert_eq!(scheduler.admission(), Ok(()));
    }

    #[test]
    fn a_held_place_is_taken() {
        let mut scheduler = scheduler();
        (0..9).for_each(|_| scheduler.hold_place());
        assert_eq!(scheduler.admission(), Err(Refused::Full));
        scheduler.release_places(1);
        assert_eq!(scheduler.admission(), Ok(()));
    }

    #[test]
    fn no_submitter_overtakes_those_that_wait() {
        let mut scheduler = scheduler();
        (0..9).for_each(|job| scheduler.queue.push(job));
        scheduler.queue_up(Waiter::thread(), None);
        scheduler.queue.pop();
        scheduler.queue.fast_path.end_locked();
        assert_eq!(scheduler.places(), 1);
        assert_eq!(scheduler.admission(), Err(Refused::Full));
        assert_eq!(scheduler.gate.clear_until, 0);
        assert_eq!(scheduler.hold_free_places(1), 0);
    }

    #[test]
    fn as_many_places_are_held_at_once_as_are_free() {
        let mut scheduler = scheduler();
        assert_eq!((scheduler.hold_free_places(4), scheduler.gate.permits), (4, 4));
        assert_eq!((scheduler.hold_free_places(9), scheduler.hold_free_places(9)), (5, 0));
    }

    #[test]
    fn those_who_wait_enter_in_order_and_hold_their_place() {
        let mut scheduler = scheduler_with(2);
        let (first, second) = (Waiter::thread(), Waiter::thread());
        (0..9).for_each(|job| scheduler.queue.push(job));
        scheduler.queue_up(Arc::clone(&first), Some(9));
        scheduler.queue_up(Arc::clone(&second), None);
        assert!(!scheduler.may_wait(), "two may wait");
        scheduler.queue.pop();
        scheduler.queue.fast_path.end_locked();
        scheduler.grant(1, &mut Actions::default());
        assert_eq!((first.verdict(), second.verdict()), (Some(Verdict::Granted), None));
        assert_eq!(
            (scheduler.places(), scheduler.queue.published()),
            (0, 10),
            "the task has entered"
        );
        scheduler.queue.pop();
        scheduler.queue.fast_path.end_locked();
        scheduler.grant(1, &mut Actions::default());
        assert_eq!(second.verdict(), Some(Verdict::Granted));
        assert_eq!((scheduler.places(), scheduler.gate.permits), (0, 1), "the place is held");
    }

    #[test]
    fn each_free_place_is_given_at_once_to_a_future_and_where_few_may_wait() {
        let (thread, future) = (Waiter::thread(), Waiter::future(std::task::Waker::noop()));
        for (waiter, may_wait) in [(thread, 2), (future, usize::MAX)] {
            let mut scheduler = scheduler_with(may_wait);
            (0..9).for_each(|job| scheduler.queue.push(job));
            scheduler.queue_up(Arc::clone(&waiter), None);
            assert_eq!(scheduler.needs_attention(), waiter.is_eager());
            scheduler.queue.pop();
            scheduler.queue.fast_path.end_locked();
            scheduler.serve_waiters(&mut Actions::default());
            assert_eq!(waiter.verdict(), Some(Verdict::Granted));
        }
    }
}
