//! Tests of the scheduler's decisions, one at a time and without threads.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod by_load;
mod call;
mod drive;
mod gate;
mod leave;
mod ready;

use std::time::Duration;

use crate::engine::queue::ClaimedBlock;
use crate::engine::queue::fast_path::FastPath;
use crate::engine::scheduler::accounting::End;
use crate::engine::scheduler::core::{Actions, Limits, Order, Report, Scheduler, WorkerKind};
use crate::engine::scheduler::growth::ByLoad;
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::sync::Arc as Shared;
use crate::engine::wait::{Waiter, this_thread};

/// A scheduler that is asked by hand.
struct Trial {
    scheduler: Scheduler<u32>,
    fast_path: Shared<FastPath>,
}

impl Trial {
    fn new(capacity: usize, minimum: usize) -> Self {
        let fast_path = Shared::new(FastPath::default());
        let (keep_alive, waiters) = (Some(Duration::MAX), usize::MAX);
        let limits =
            Limits { capacity, minimum, queue: 1000, waiters, keep_alive, ..Limits::default() };
        let mut scheduler = Scheduler::new(fast_path.clone(), limits, WorkerKind::Threads);
        scheduler.cores = 2;
        Trial { scheduler, fast_path }
    }

    /// A scheduler that grows by two workers when more than three of ten tasks wait, and shrinks by two
    /// below one.
    fn by_load(capacity: usize, minimum: usize) -> Self {
        let mut trial = Trial::new(capacity, minimum);
        trial.scheduler.limits.queue = 10;
        trial.scheduler.limits.growth = Some(ByLoad { step: 2, grow_at: 0.3, shrink_at: 0.1 });
        // Until it is known how long a task takes, one worker is enough for short ones.
        trial.scheduler.task_times.note(1, 8_000, true);
        trial
    }

    fn ask(&mut self, me: usize, report: Report<u32>) -> Order<u32> {
        self.scheduler.next(me, report, &mut Actions::default())
    }

    /// An idle worker wakes up whose time is over.
    fn expire(&mut self, me: usize) -> Order<u32> {
        let kept = self.scheduler.limits.keep_alive.replace(Duration::ZERO);
        let next = self.ask(me, Report::Rest);
        self.scheduler.limits.keep_alive = kept;
        next
    }

    /// A worker comes into being and asks for the first time.
    fn arrive(&mut self) -> (usize, Order<u32>) {
        let me = self.scheduler.worker_table.add(WorkerState::Called);
        (me, self.ask(me, Report::Arrive(this_thread())))
    }

    /// Submits a task; returns how many workers are woken or started for it.
    fn submit(&mut self, job: u32) -> usize {
        let mut actions = Actions::default();
        self.scheduler.queue.push(job);
        if !self.scheduler.worker_table.quiet {
            self.scheduler.call_for_help(&mut actions);
        }
        actions.call.len() + actions.start.len()
    }

    /// A worker on the fast path that reports its only task, which was short.
    fn report(&mut self, me: usize, claimed: ClaimedBlock<u32>) -> Order<u32> {
        let last = Some(End::Completed);
        self.ask(me, Report::Run { claimed: Some(claimed), tasks: 1, last, nanos: 1_000 })
    }

    /// A worker that has just run a short task, so that tasks are known to be short; it is idle.
    fn with_short_tasks(capacity: usize) -> (Self, usize) {
        let mut trial = Trial::new(capacity, 0);
        trial.scheduler.queue.push(0);
        let (me, next) = trial.arrive();
        let Order::Run(0, Some(claimed)) = next else { panic!("there was a task") };
        assert!(matches!(trial.report(me, claimed), Order::Rest(_)));
        assert!(trial.scheduler.task_times.is_short());
        (trial, me)
    }

    /// Two workers: the first is on the fast path with a short task, the second parks for a moment.
    fn with_monitor() -> (Self, usize, ClaimedBlock<u32>, usize) {
        let (mut trial, first) = Trial::with_short_tasks(2);
        trial.submit(1);
        let Order::Run(1, Some(claimed)) = trial.ask(first, Report::Rest) else {
            panic!("there was a task")
        };
        let (second, next) = trial.arrive();
        assert!(matches!(next, Order::Rest(Some(_))), "it watches the first one");
        assert_eq!(trial.scheduler.worker_table.monitor, Some(second));
        (trial, first, claimed, second)
    }
}

#[test]
fn each_long_task_gets_a_worker() {
    let mut trial = Trial::new(3, 0);
    let called: Vec<_> = (0..4).map(|job| trial.submit(job)).collect();
    assert_eq!(called, [1, 1, 1, 0], "one each, up to the capacity");
}

#[test]
fn a_worker_between_two_tasks_needs_no_call() {
    let mut trial = Trial::new(3, 0);
    trial.scheduler.queue.push(0);
    let (_, next) = trial.arrive();
    let Order::Run(0, Some(_claimed)) = next else { panic!("there was a task") };
    assert!(trial.fast_path.end(), "it has ended its task, and not come to the lock yet");
    assert_eq!(trial.submit(1), 0);
    assert_eq!(trial.submit(2), 1);
}

#[test]
fn short_tasks_wake_no_worker_while_one_watches() {
    let (mut trial, _, _claimed, _) = Trial::with_monitor();
    assert_eq!((0..100).map(|job| trial.submit(job)).sum::<usize>(), 0);
}

#[test]
fn a_short_task_calls_a_worker_if_only_the_monitoring_one_is_there() {
    let (mut trial, first, claimed, _) = Trial::with_monitor();
    assert!(matches!(trial.report(first, claimed), Order::Rest(_)));
    assert_eq!(trial.submit(2), 1);
}

#[test]
fn short_tasks_call_one_to_watch() {
    let (mut trial, first) = Trial::with_short_tasks(8);
    trial.submit(1);
    let Order::Run(1, Some(_claimed)) = trial.ask(first, Report::Rest) else {
        panic!("there was a task")
    };
    assert_eq!((0..100).map(|job| trial.submit(job)).sum::<usize>(), 1);
}

#[test]
fn the_monitoring_worker_takes_over_when_the_queue_stands_still() {
    let (mut trial, _, _claimed, second) = Trial::with_monitor();
    trial.submit(2);
    trial.submit(3);
    // It has not seen them yet; now it has, and next time they are still there.
    let mut next = trial.ask(second, Report::Rest);
    if matches!(next, Order::Rest(_)) {
        next = trial.ask(second, Report::Rest);
    }
    assert!(
        matches!(next, Order::Run(2, Some(_))),
        "it takes the task that stood behind the first"
    );
    assert!(!trial.scheduler.task_times.is_short(), "and tasks are no longer taken for short");
    assert_eq!(trial.submit(4), 0, "both workers are busy");
}

#[test]
fn the_monitor_worker_parks_on_while_the_queue_moves_and_no_core_is_free() {
    let (mut trial, _, mut claimed, second) = Trial::with_monitor();
    trial.scheduler.cores = 1;
    for job in 2..10 {
        trial.submit(job);
        trial.submit(job);
        assert!(claimed.next(&trial.fast_path, true).is_ok(), "the first one takes a task");
        let next = trial.ask(second, Report::Rest);
        assert!(matches!(next, Order::Rest(Some(_))));
    }
}

#[test]
fn the_monitoring_worker_parks_when_no_tasks_come() {
    let (mut trial, _, _claimed, second) = Trial::with_monitor();
    let next = trial.ask(second, Report::Rest);
    assert!(matches!(next, Order::Rest(None)), "nothing ticks in an idle pool");
    assert_eq!(trial.scheduler.worker_table.monitor, None);
}

#[test]
fn an_expired_worker_goes_unless_it_is_of_the_minimum() {
    let mut trial = Trial::new(4, 1);
    let workers: Vec<_> = (0..3).map(|_| trial.arrive().0).collect();
    let mut outcomes = Vec::new();
    for me in workers {
        outcomes.push(matches!(trial.expire(me), Order::Leave));
    }
    assert_eq!(outcomes, [true, true, false]);
}

#[test]
fn a_worker_at_the_lock_takes_the_task_of_one_who_waited() {
    let mut trial = Trial::new(2, 0);
    trial.scheduler.limits.queue = 0;
    trial.scheduler.queue.push(1);
    let (me, next) = trial.arrive();
    let Order::Run(1, Some(claimed)) = next else { panic!("there was a task") };
    trial.scheduler.hold_place();
    trial.scheduler.queue_up(Waiter::thread(), Some(2));
    let mut actions = Actions::default();
    let report =
        Report::Run { claimed: Some(claimed), tasks: 1, last: Some(End::Completed), nanos: 0 };
    let next = trial.scheduler.next(me, report, &mut actions);
    assert!(matches!(next, Order::Run(2, Some(_)) | Order::Run(2, None)));
    assert!(actions.call.is_empty() && actions.start.is_empty(), "no other worker is needed");
}

#[test]
fn no_worker_monitors_while_none_is_at_work() {
    let (trial, me) = Trial::with_short_tasks(2);
    assert_eq!(trial.scheduler.worker_table.worker_state(me), WorkerState::Idle);
    assert_eq!(trial.scheduler.worker_table.monitor, None);
}

#[test]
fn one_idle_worker_monitors_and_the_others_park() {
    let (mut trial, _, _claimed, second) = Trial::with_monitor();
    trial.scheduler.limits.capacity = 3;
    let (_, next) = trial.arrive();
    assert!(matches!(next, Order::Rest(None)));
    assert_eq!(trial.scheduler.worker_table.monitor, Some(second));
}

#[test]
fn a_parked_worker_that_wakes_by_itself_takes_what_is_there() {
    let (mut trial, _, _claimed, monitor) = Trial::with_monitor();
    trial.scheduler.limits.capacity = 3;
    let (third, _) = trial.arrive();
    assert_eq!(trial.submit(2), 0);
    let next = trial.expire(third);
    assert!(matches!(next, Order::Run(2, Some(_))), "it is here, and the queue is not empty");
    assert!(trial.scheduler.task_times.is_short(), "which says nothing about the others");
    assert!(trial.scheduler.worker_table.call_newest().is_some());
    assert_eq!(
        trial.scheduler.worker_table.worker_state(monitor),
        WorkerState::Called,
        "it was the only one to be called"
    );
    assert!(trial.scheduler.worker_table.call_newest().is_none());
}

#[test]
fn the_monitoring_worker_helps_if_a_core_is_free() {
    let backlog = |cores| {
        let (mut trial, _, mut claimed, second) = Trial::with_monitor();
        trial.scheduler.cores = cores;
        (0..200).for_each(|job| assert_eq!(trial.submit(job), 0));
        assert!(claimed.next(&trial.fast_path, true).is_ok(), "the queue moves");
        (trial.ask(second, Report::Rest), claimed).0
    };
    assert!(matches!(backlog(2), Order::Run(1, Some(_))));
    assert!(matches!(backlog(1), Order::Rest(Some(_))), "it parks on");
}

#[test]
fn idle_time_is_counted_from_the_first_rest_after_a_task() {
    let mut trial = Trial::new(2, 0);
    trial.scheduler.limits.keep_alive = Some(Duration::from_secs(3600));
    let (me, arrived) = trial.arrive();
    let until = |next| match next {
        Order::Rest(until) => until,
        _ => panic!("there is no task"),
    };
    let first = until(arrived);
    assert!(trial.scheduler.worker_table.call_newest().is_some());
    assert_eq!(until(trial.ask(me, Report::Rest)), first, "a call without a task is a part of it");
    trial.submit(1);
    let Order::Run(1, Some(claimed)) = trial.ask(me, Report::Rest) else {
        panic!("there is a task")
    };
    assert!(until(trial.report(me, claimed)) > first);
}
