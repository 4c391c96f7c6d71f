//! The gate: who may put a task into the line, and who must wait, in order of arrival.
//!
//! A task has a place from the moment it is accepted until it has ended, and a permit holds a
//! place for a task to come. There are as many places as workers and queue together, so a queue
//! of zero means that a task enters only when a worker is free to take it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::scheduler::crew::{Acts, Crew};
use crate::engine::wait::{Mood, Verdict, Waiter};
use crate::engine::wait_list::{Key, WaitList};

/// The part of the gate that lives under the lock.
///
/// A place is free for the next submitter only while nobody waits. The verdict of a waiter in the
/// queue is open; whoever gives one takes the waiter out.
pub(crate) struct Gate<J> {
    waiters: WaitList<Waiting<J>>,
    waiters_limit: usize,
    /// Tasks of submitters that were sent away and have not come for them yet.
    dismissed: BTreeMap<Key, J>,
    permits: usize,
    /// Until this many tasks are published nobody needs to look closer: the pool is open, nobody
    /// waits, there is a place, and there is a worker. Zero when one of these is in doubt.
    clear_until: u64,
    pub(crate) refused: u64,
}

/// One who waits at the gate. The task enters the line with the verdict, so that tasks enter in the
/// order their submitters came; without a task, a place is held.
struct Waiting<J> {
    waiter: Arc<Waiter>,
    job: Option<J>,
}

/// What somebody at the gate gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Enter,
    /// All places are taken, or others wait for one.
    Full,
    Closed,
    /// There is no worker: one must be started first.
    Unmanned,
}

impl<J> Gate<J> {
    pub(crate) fn new(waiters_limit: usize) -> Self {
        Gate {
            waiters: WaitList::default(),
            waiters_limit,
            dismissed: BTreeMap::new(),
            permits: 0,
            clear_until: 0,
            refused: 0,
        }
    }

    pub(crate) fn permits(&self) -> usize {
        self.permits
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiters.len()
    }

    /// Makes the next submitter look closer.
    pub(crate) fn shut(&mut self) {
        self.clear_until = 0;
    }

    fn first_mood(&self) -> Option<Mood> {
        self.waiters.first().map(|first| first.waiter.mood())
    }
}

impl<J> Crew<J> {
    /// The usual case: whether a task may enter without a closer look.
    #[inline]
    pub(crate) fn is_clear(&self) -> bool {
        self.line.published() < self.gate.clear_until
    }

    /// The closer look.
    pub(crate) fn admission(&mut self) -> Admission {
        if self.is_closed() {
            return Admission::Closed;
        }
        if self.roster.present() == 0 {
            return Admission::Unmanned;
        }
        let places = self.places();
        if places == 0 || !self.gate.waiters.is_empty() {
            return Admission::Full;
        }
        self.gate.clear_until = self.line.published().saturating_add(places as u64);
        Admission::Enter
    }

    /// Whether one more submitter may wait.
    pub(crate) fn may_wait(&self) -> bool {
        self.gate.waiters.len() < self.gate.waiters_limit
    }

    /// Joins the queue at the gate, with the task that is to enter.
    pub(crate) fn queue_up(&mut self, waiter: Arc<Waiter>, job: Option<J>) {
        self.gate.shut();
        waiter.set_key(self.gate.waiters.next_key());
        self.gate.waiters.push(Waiting { waiter, job });
        self.heed_waiters();
    }

    /// Takes a waiter out of the queue, because it does not want to wait any longer, and gives its
    /// task back. If it has a verdict meanwhile, it is not in the queue, and the verdict holds.
    pub(crate) fn withdraw(
        &mut self,
        waiter: &Arc<Waiter>,
        acts: &mut Acts,
    ) -> Result<Verdict, Option<J>> {
        if let Some(verdict) = waiter.verdict() {
            return Ok(verdict);
        }
        let waiting = self.gate.waiters.remove(waiter.key());
        self.serve_waiters(acts);
        Err(waiting.and_then(|waiting| waiting.job))
    }

    /// A submitter hears that it was sent away, and gets its task back.
    pub(crate) fn reclaim(&mut self, waiter: &Arc<Waiter>) -> Option<J> {
        self.gate.refused += 1;
        self.gate.dismissed.remove(&waiter.key())
    }

    /// A waiting thread has looked for long enough, and parks unless there is a place now.
    pub(crate) fn park_at_gate(&mut self, waiter: &Arc<Waiter>, acts: &mut Acts) {
        waiter.set_mood(Mood::Parked);
        // First the seal, then the look: a place that gets free later is free at the lock.
        self.heed_waiters();
        self.grant(acts);
        self.heed_waiters();
    }

    /// Holds a place for a task to come.
    pub(crate) fn hold_place(&mut self) {
        self.gate.permits += 1;
        self.gate.shut();
    }

    /// Turns a held place into a task's, or gives it back.
    pub(crate) fn release_place(&mut self) {
        self.gate.permits -= 1;
        self.gate.shut();
    }

    /// Tells all waiters what they wait for, as far as it has come true.
    pub(crate) fn serve_waiters(&mut self, acts: &mut Acts) {
        self.grant(acts);
        self.tell_ends(acts);
        self.heed_waiters();
    }

    /// Gives free places to the submitters that wait, in the order in which they came.
    fn grant(&mut self, acts: &mut Acts) {
        if self.gate.waiters.is_empty() {
            return;
        }
        for _ in 0..self.places() {
            let Some(Waiting { waiter, job }) = self.gate.waiters.pop_first() else { break };
            if waiter.decide(Verdict::Granted) {
                acts.wake.push(waiter);
            }
            if let Some(job) = job {
                self.line.push(job);
                self.call_for_help(acts);
            } else {
                self.gate.permits += 1;
            }
        }
    }

    /// Sends all waiting submitters away.
    pub(crate) fn dismiss_waiters(&mut self, acts: &mut Acts) {
        for Waiting { waiter, job } in self.gate.waiters.take_all() {
            self.gate.dismissed.extend(job.map(|job| (waiter.key(), job)));
            if waiter.decide(Verdict::Closed) {
                acts.wake.push(waiter);
            }
        }
    }

    /// Makes sure that workers come to the lock as often as those who wait need it.
    pub(crate) fn heed_waiters(&mut self) {
        self.line.hurry(!self.gate.waiters.is_empty() || !self.idlers.is_empty());
        if self.needs_attention() {
            self.line.seal();
        }
    }

    /// Whether workers must come to the lock after each task: the first waiter relies on being woken
    /// for each place.
    pub(crate) fn waiters_are_eager(&self) -> bool {
        self.gate.first_mood() == Some(Mood::Parked)
    }

    /// How many more tasks may enter.
    fn places(&self) -> usize {
        // By load, those count that are here: the others may never be started.
        let workers = match self.limits.growth {
            None => self.limits.capacity,
            Some(_) => self.roster.workers().min(self.limits.capacity),
        };
        let all = workers.saturating_add(self.limits.queue);
        all.saturating_sub(self.pending()).saturating_sub(self.gate.permits)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::engine::queue::lane::Lane;
    use crate::engine::queue::line::Line;
    use crate::engine::scheduler::crew::{Hands, Limits};
    use crate::engine::scheduler::roster::Duty;

    /// A crew with one present worker, a capacity of one and a queue of eight.
    fn crew() -> Crew<u32> {
        crew_with(usize::MAX)
    }

    fn crew_with(waiters: usize) -> Crew<u32> {
        let (minimum, lookers, cores, expires) = (0, 1, 2, false);
        let (hands, growth) = (Hands::Threads, None);
        let limits =
            Limits { capacity: 1, minimum, queue: 8, lookers, cores, expires, growth, hands };
        let mut crew = Crew::new(Line::new(Arc::new(Lane::new())), limits, waiters);
        crew.roster.add(Duty::Called);
        crew
    }

    #[test]
    fn capacity_and_queue_are_places() {
        let mut crew = crew();
        for job in 0..9 {
            assert_eq!(crew.admission(), Admission::Enter);
            crew.line.push(job);
        }
        assert_eq!(crew.admission(), Admission::Full);
        crew.line.pop();
        assert_eq!(crew.admission(), Admission::Full, "a running task has its place");
        crew.line.end();
        assert_eq!(crew.admission(), Admission::Enter);
    }

    #[test]
    fn a_held_place_is_taken() {
        let mut crew = crew();
        (0..9).for_each(|_| crew.hold_place());
        assert_eq!(crew.admission(), Admission::Full);
        crew.release_place();
        assert_eq!(crew.admission(), Admission::Enter);
    }

    #[test]
    fn nobody_overtakes_those_who_wait() {
        let mut crew = crew();
        (0..9).for_each(|job| crew.line.push(job));
        crew.queue_up(Waiter::thread(), None);
        crew.line.pop();
        crew.line.end();
        assert_eq!(crew.places(), 1);
        assert_eq!(crew.admission(), Admission::Full);
        assert!(!crew.is_clear());
    }

    #[test]
    fn those_who_wait_enter_in_order_and_hold_their_place() {
        let mut crew = crew_with(2);
        let (first, second) = (Waiter::thread(), Waiter::thread());
        (0..9).for_each(|job| crew.line.push(job));
        crew.queue_up(Arc::clone(&first), Some(9));
        crew.queue_up(Arc::clone(&second), None);
        assert!(!crew.may_wait(), "two may wait");
        crew.line.pop();
        crew.line.end();
        crew.grant(&mut Acts::default());
        assert_eq!((first.verdict(), second.verdict()), (Some(Verdict::Granted), None));
        assert_eq!((crew.places(), crew.line.published()), (0, 10), "the task has entered");
        crew.line.pop();
        crew.line.end();
        crew.grant(&mut Acts::default());
        assert_eq!(second.verdict(), Some(Verdict::Granted));
        assert_eq!((crew.places(), crew.gate.permits()), (0, 1), "the place is held");
    }

    #[test]
    fn each_free_place_is_given_at_once() {
        for waiter in [Waiter::thread(), Waiter::future(std::task::Waker::noop())] {
            let mut crew = crew();
            (0..9).for_each(|job| crew.line.push(job));
            crew.queue_up(Arc::clone(&waiter), None);
            assert_eq!(crew.needs_attention(), waiter.mood() == Mood::Parked);
            crew.line.pop();
            crew.line.end();
            crew.serve_waiters(&mut Acts::default());
            assert_eq!(waiter.verdict(), Some(Verdict::Granted));
        }
    }
}
