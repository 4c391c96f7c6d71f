//! Tests of the crew's decisions, one at a time and without threads.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod by_load;
mod call;
mod drive;
mod gate;
mod leave;
mod several;

use std::sync::Arc;

use crate::engine::queue::block::{Block, CELLS};
use crate::engine::queue::lane::Lane;
use crate::engine::queue::line::{Line, Stretch};
use crate::engine::scheduler::crew::{Acts, Crew, Did, Hands, Limits, Next, Rest};
use crate::engine::scheduler::growth::ByLoad;
use crate::engine::scheduler::roster::Duty;
use crate::engine::task::run::End;
use crate::engine::wait::{Waiter, this_thread};

/// A crew that is asked by hand.
struct Trial {
    crew: Crew<u32>,
    lane: Arc<Lane>,
}

impl Trial {
    fn new(capacity: usize, minimum: usize) -> Self {
        let lane = Arc::new(Lane::new());
        let (queue, lookers, cores, expires) = (1000, 1, 2, true);
        let (hands, growth) = (Hands::Threads, None);
        let limits = Limits { capacity, minimum, queue, lookers, cores, expires, growth, hands };
        Trial { crew: Crew::new(Line::new(Arc::clone(&lane)), limits, usize::MAX), lane }
    }

    /// A crew that grows by two workers when more than three of ten tasks wait, and shrinks by two
    /// below one.
    fn by_load(capacity: usize, minimum: usize) -> Self {
        let mut trial = Trial::new(capacity, minimum);
        trial.crew.limits.queue = 10;
        trial.crew.limits.growth = Some(ByLoad { step: 2, grow_at: 0.3, shrink_at: 0.1 });
        trial
    }

    fn ask(&mut self, me: usize, did: Did<u32>) -> Next<u32> {
        self.crew.next(me, did, &mut Acts::default())
    }

    /// A worker comes into being and asks for the first time.
    fn arrive(&mut self) -> (usize, Next<u32>) {
        let me = self.crew.roster.add(Duty::Called);
        (me, self.ask(me, Did::Arrive(this_thread())))
    }

    /// Submits a task; returns how many workers are woken or started for it.
    fn submit(&mut self, job: u32) -> usize {
        let mut acts = Acts::default();
        self.crew.line.push(job);
        if !self.crew.roster.quiet {
            self.crew.call_for_help(&mut acts);
        }
        acts.call.len() + acts.start.len()
    }

    /// A worker on the lane that reports its only task, which was short.
    fn report(&mut self, me: usize, stretch: Stretch<u32>) -> Next<u32> {
        let last = Some(End::Completed);
        self.ask(me, Did::Drive { stretch, tasks: 1, last, nanos: 1_000 })
    }

    /// A worker that has just run a short task, so that tasks are known to be short; it looks.
    fn with_short_tasks(capacity: usize) -> (Self, usize) {
        let mut trial = Trial::new(capacity, 0);
        trial.crew.line.push(0);
        let (me, next) = trial.arrive();
        let Next::Drive(0, stretch) = next else { panic!("there was a task") };
        assert!(matches!(trial.report(me, stretch), Next::Look { .. }));
        assert!(trial.crew.pace.is_short());
        (trial, me)
    }

    /// Two workers: the first is on the lane with a short task, the second dozes.
    fn with_dozer() -> (Self, usize, Stretch<u32>, usize) {
        let (mut trial, first) = Trial::with_short_tasks(2);
        trial.submit(1);
        let Next::Drive(1, stretch) = trial.ask(first, Did::Look { found: true }) else {
            panic!("there was a task")
        };
        let (second, next) = trial.arrive();
        assert!(matches!(next, Next::Rest(Rest::For(_))), "it watches the first one");
        assert_eq!(trial.crew.roster.dozer(), Some(second));
        (trial, first, stretch, second)
    }
}

#[test]
fn each_long_task_gets_a_worker() {
    let mut trial = Trial::new(3, 0);
    let called: Vec<_> = (0..4).map(|job| trial.submit(job)).collect();
    assert_eq!(called, [1, 1, 1, 0], "one each, up to the capacity");
}

#[test]
fn a_worker_that_looks_needs_no_call() {
    let mut trial = Trial::new(3, 0);
    let (_, next) = trial.arrive();
    assert!(matches!(next, Next::Look { .. }));
    assert_eq!(trial.submit(1), 0);
    assert_eq!(trial.submit(2), 1, "the second task needs another one");
}

#[test]
fn a_worker_between_two_tasks_needs_no_call() {
    let mut trial = Trial::new(3, 0);
    trial.crew.line.push(0);
    let (_, next) = trial.arrive();
    let Next::Drive(0, _stretch) = next else { panic!("there was a task") };
    assert!(trial.lane.end(), "it has ended its task, and not come to the lock yet");
    assert_eq!(trial.submit(1), 0);
    assert_eq!(trial.submit(2), 1);
}

#[test]
fn short_tasks_wake_nobody_while_somebody_watches() {
    let (mut trial, _, _stretch, _) = Trial::with_dozer();
    assert_eq!((0..100).map(|job| trial.submit(job)).sum::<usize>(), 0);
}

#[test]
fn a_short_task_calls_a_worker_if_only_the_dozing_one_is_there() {
    let (mut trial, first, stretch, _) = Trial::with_dozer();
    assert!(matches!(trial.report(first, stretch), Next::Look { .. }));
    assert!(matches!(trial.ask(first, Did::Look { found: false }), Next::Rest(_)));
    assert_eq!(trial.submit(2), 1);
}

#[test]
fn short_tasks_call_one_to_watch() {
    let (mut trial, first) = Trial::with_short_tasks(8);
    trial.submit(1);
    let Next::Drive(1, _stretch) = trial.ask(first, Did::Look { found: true }) else {
        panic!("there was a task")
    };
    assert_eq!((0..100).map(|job| trial.submit(job)).sum::<usize>(), 1);
}

#[test]
fn the_dozing_worker_takes_over_when_the_line_stands_still() {
    let (mut trial, _, _stretch, second) = Trial::with_dozer();
    trial.submit(2);
    trial.submit(3);
    // It has not seen them yet; now it has, and next time they are still there.
    let mut next = trial.ask(second, Did::Rest { expired: false });
    if matches!(next, Next::Rest(_)) {
        next = trial.ask(second, Did::Rest { expired: false });
    }
    assert!(matches!(next, Next::Drive(2, _)), "it takes the task that stood behind the first");
    assert!(!trial.crew.pace.is_short(), "and tasks are no longer taken for short");
    assert_eq!(trial.submit(4), 0, "both workers are busy");
}

#[test]
fn the_dozing_worker_dozes_on_while_the_line_moves() {
    let (mut trial, _, mut stretch, second) = Trial::with_dozer();
    for job in 2..10 {
        trial.submit(job);
        trial.submit(job);
        assert!(stretch.next(&trial.lane, true).is_ok(), "the first one takes a task");
        let next = trial.ask(second, Did::Rest { expired: false });
        assert!(matches!(next, Next::Rest(Rest::For(_))));
    }
}

#[test]
fn the_dozing_worker_parks_when_no_tasks_come() {
    let (mut trial, _, _stretch, second) = Trial::with_dozer();
    let next = trial.ask(second, Did::Rest { expired: false });
    assert!(matches!(next, Next::Rest(Rest::UntilExpired)), "nothing ticks in an idle pool");
    assert_eq!(trial.crew.roster.dozer(), None);
}

#[test]
fn an_expired_worker_goes_unless_it_is_of_the_minimum() {
    let mut trial = Trial::new(4, 1);
    let workers: Vec<_> = (0..3).map(|_| trial.arrive().0).collect();
    trial.ask(workers[0], Did::Look { found: false });
    let mut outcomes = Vec::new();
    for me in workers {
        outcomes.push(matches!(trial.ask(me, Did::Rest { expired: true }), Next::Leave));
    }
    assert_eq!(outcomes, [true, true, false]);
}

#[test]
fn a_worker_at_the_lock_takes_the_task_of_one_who_waited() {
    let mut trial = Trial::new(2, 0);
    trial.crew.limits.queue = 0;
    trial.crew.line.push(1);
    let (me, next) = trial.arrive();
    let Next::Drive(1, stretch) = next else { panic!("there was a task") };
    trial.crew.hold_place();
    trial.crew.queue_up(Waiter::thread(), Some(2));
    let mut acts = Acts::default();
    let did = Did::Drive { stretch, tasks: 1, last: Some(End::Completed), nanos: 0 };
    let next = trial.crew.next(me, did, &mut acts);
    assert!(matches!(next, Next::Drive(2, _) | Next::Run(2)));
    assert!(acts.call.is_empty() && acts.start.is_empty(), "nobody else is needed");
}

#[test]
fn nobody_dozes_while_nobody_is_at_work() {
    let (mut trial, me) = Trial::with_short_tasks(2);
    let next = trial.ask(me, Did::Look { found: false });
    assert!(matches!(next, Next::Rest(Rest::UntilExpired)));
    assert_eq!(trial.crew.roster.dozer(), None);
}

#[test]
fn one_dozes_and_the_others_park() {
    let (mut trial, _, _stretch, second) = Trial::with_dozer();
    trial.crew.limits.capacity = 3;
    let (_, next) = trial.arrive();
    assert!(matches!(next, Next::Rest(Rest::UntilExpired)));
    assert_eq!(trial.crew.roster.dozer(), Some(second));
}

#[test]
fn a_parked_worker_that_wakes_by_itself_takes_what_is_there() {
    let (mut trial, _, _stretch, dozer) = Trial::with_dozer();
    trial.crew.limits.capacity = 3;
    let (third, _) = trial.arrive();
    assert_eq!(trial.submit(2), 0);
    let next = trial.ask(third, Did::Rest { expired: true });
    assert!(matches!(next, Next::Drive(2, _)), "it is here, and the line is not empty");
    assert!(trial.crew.pace.is_short(), "which says nothing about the others");
    assert!(trial.crew.roster.call_newest().is_some());
    assert_eq!(trial.crew.roster.duty(dozer), Duty::Called, "it was the only one to be called");
    assert!(trial.crew.roster.call_newest().is_none());
}

#[test]
fn the_dozing_worker_helps_with_a_long_backlog() {
    let backlog = |cores| {
        let (mut trial, _, mut stretch, second) = Trial::with_dozer();
        trial.crew.limits.cores = cores;
        (0..200).for_each(|job| assert_eq!(trial.submit(job), 0));
        assert!(stretch.next(&trial.lane, true).is_ok(), "the line moves");
        (trial.ask(second, Did::Rest { expired: false }), stretch).0
    };
    assert!(matches!(backlog(2), Next::Drive(1, _)));
    let Next::Rest(Rest::For(rest)) = backlog(1) else { panic!("there is no core for it") };
    assert_eq!(rest.as_micros(), 400, "it dozes on");
}

#[test]
fn the_dozing_worker_dozes_longer_each_time() {
    let (mut trial, _, mut stretch, second) = Trial::with_dozer();
    let mut rests = Vec::new();
    for job in 0..4 {
        trial.submit(job);
        assert!(stretch.next(&trial.lane, true).is_ok(), "the first one takes it at once");
        match trial.ask(second, Did::Rest { expired: false }) {
            Next::Rest(Rest::For(rest)) => rests.push(rest.as_micros()),
            _ => panic!("tasks came in, so it goes on watching"),
        }
    }
    assert_eq!(rests, [400, 800, 1_000, 1_000]);
}

#[test]
fn the_dozing_worker_prepares_memory_for_a_line_that_grows() {
    let (mut trial, _, mut stretch, second) = Trial::with_dozer();
    trial.crew.limits.cores = 1;
    let mut grow = |trial: &mut Trial, blocks: usize| {
        (0..blocks * CELLS + 1).for_each(|_| trial.crew.line.push(0));
        assert!(stretch.next(&trial.lane, true).is_ok(), "the line moves");
        trial.ask(second, Did::Rest { expired: false })
    };
    let rest = |next| match next {
        Next::Rest(Rest::For(rest)) => rest.as_micros(),
        _ => panic!("it dozes on"),
    };
    assert_eq!(rest(grow(&mut trial, 4)), 400, "that is no growth");
    let Next::Prepare(14) = grow(&mut trial, 7) else { panic!("twice what it has grown by") };
    let prepared = Did::Prepare((0..14).map(|_| Block::on_pages()).collect());
    assert_eq!(rest(trial.ask(second, prepared)), 100, "it looks again soon");
    assert_eq!(trial.crew.line.spare(), 14);
    let Next::Prepare(blocks) = grow(&mut trial, 10) else { panic!("it has grown by more") };
    assert_eq!(blocks + trial.crew.line.spare(), 20, "some are left");
    trial.crew.line.add_spare((0..20).map(|_| Block::on_pages()).collect());
    assert_eq!(rest(grow(&mut trial, 6)), 100, "there is enough");
    let most = (1 << 20) / size_of::<Block<u32>>();
    let Next::Prepare(blocks) = grow(&mut trial, 2 * most) else { panic!("it has grown") };
    assert_eq!(blocks, most / 2, "it is not away for long");
    trial.crew.line.add_spare((0..40).map(|_| Block::on_pages()).collect());
    assert_eq!(rest(grow(&mut trial, 0)), 400, "it grows no more");
    assert!(trial.crew.line.spare() < 40, "what is not needed is let go");
}

#[test]
fn a_worker_that_was_called_while_it_prepared_comes() {
    let (mut trial, _, _stretch, second) = Trial::with_dozer();
    trial.crew.line.push(0);
    trial.crew.roster.remove_idle(second);
    trial.crew.roster.set(second, Duty::Called);
    let next = trial.ask(second, Did::Prepare(vec![Block::on_pages()]));
    assert!(!matches!(next, Next::Rest(_) | Next::Prepare(_)));
    assert_eq!(trial.crew.line.spare(), 1);
}
