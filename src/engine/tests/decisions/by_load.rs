//! Growth by load: when a step of workers comes, and when one goes.

use super::Trial;
use crate::engine::scheduler::accounting::End;
use crate::engine::scheduler::core::{Actions, Order, Report};
use crate::engine::scheduler::growth::ByLoad;
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::wait::this_thread;

#[test]
fn workers_are_started_a_step_at_a_time() {
    let mut trial = Trial::by_load(6, 0);
    trial.scheduler.queue.push(0);
    let (_, next) = trial.arrive();
    assert!(matches!(next, Order::Run(0, Some(_))));
    let started: Vec<_> = (0..12).map(|job| trial.submit(job)).collect();
    assert_eq!(started, [0, 0, 0, 2, 0, 2, 0, 1, 0, 0, 0, 0], "up to the capacity");
    assert!(trial.scheduler.worker_table.quiet, "and then no worker looks any more");
}

#[test]
fn short_tasks_do_not_hide_the_load() {
    let (mut trial, me) = Trial::with_short_tasks(4);
    trial.scheduler.limits.queue = 10;
    trial.scheduler.limits.growth = Some(ByLoad { step: 2, grow_at: 0.3, shrink_at: 0.0 });
    trial.submit(1);
    let Order::Run(1, Some(_claimed)) = trial.ask(me, Report::Rest) else {
        panic!("there was a task")
    };
    let started: Vec<_> = (0..5).map(|job| trial.submit(job)).collect();
    assert_eq!(started, [0, 0, 0, 2, 0]);
}

#[test]
fn a_thread_that_could_not_be_started_is_not_counted_on() {
    let mut trial = Trial::by_load(6, 0);
    trial.scheduler.queue.push(0);
    let (_, next) = trial.arrive();
    assert!(matches!(next, Order::Run(0, Some(_))));
    assert_eq!((0..4).map(|job| trial.submit(job)).sum::<usize>(), 2);
    for index in [1, 2] {
        trial.scheduler.could_not_start(index, &mut Actions::default());
    }
    assert_eq!(trial.submit(4), 0, "not so soon after it failed");
    trial.scheduler.no_start_before = None;
    assert_eq!(trial.submit(5), 2, "but then again");
}

#[test]
fn what_is_still_to_go_stays_if_the_load_has_risen() {
    let mut trial = Trial::by_load(3, 0);
    (0..3).for_each(|job| trial.scheduler.queue.push(job));
    let mut workers: Vec<_> = (0..3).map(|_| trial.arrive()).collect();
    let mut end = |trial: &mut Trial| match workers.remove(0) {
        (me, Order::Run(_, Some(claimed))) => trial.report(me, claimed),
        _ => panic!("there was a task for each"),
    };
    assert!(matches!(end(&mut trial), Order::Leave), "nothing is left to do");
    assert_eq!(trial.scheduler.retiring, 1, "and another one is to go");
    trial.submit(3);
    trial.submit(4);
    assert!(matches!(end(&mut trial), Order::Run(3, Some(_))));
    assert_eq!(trial.scheduler.retiring, 0);
}

#[test]
fn the_last_worker_that_is_certain_stays() {
    let mut trial = Trial::by_load(3, 0);
    trial.scheduler.queue.push(0);
    let (me, next) = trial.arrive();
    let Order::Run(0, Some(claimed)) = next else { panic!("there was a task") };
    let starting = trial.scheduler.worker_table.add(WorkerState::Starting);
    assert!(!matches!(trial.report(me, claimed), Order::Leave), "the other may fail");
    assert_eq!(trial.scheduler.retiring, 1, "it goes as soon as the other is here");
    let next = trial.ask(starting, Report::Arrive(this_thread()));
    assert!(matches!(next, Order::Leave));
}

#[test]
fn a_new_step_begins_when_the_last_one_has_been_made() {
    let mut trial = Trial::by_load(6, 0);
    (0..3).for_each(|job| trial.scheduler.queue.push(job));
    let at_work: Vec<_> = (0..3).map(|_| trial.arrive()).collect();
    for _ in 0..2 {
        let (_, next) = trial.arrive();
        assert!(matches!(next, Order::Rest(_)));
    }
    let mut called = Vec::new();
    for (me, next) in at_work {
        let Order::Run(_, Some(claimed)) = next else { panic!("there was a task for each") };
        let mut actions = Actions::default();
        let report = Report::Run {
            claimed: Some(claimed),
            tasks: 1,
            last: Some(End::Completed),
            nanos: 1_000,
        };
        assert!(matches!(trial.scheduler.next(me, report, &mut actions), Order::Leave));
        called.push((actions.call.len(), trial.scheduler.retiring));
    }
    assert_eq!(called, [(1, 1), (0, 0), (1, 1)], "two go, and then two more");
}

#[test]
fn a_step_ends_at_the_capacity() {
    let mut trial = Trial::by_load(5, 0);
    (0..3).for_each(|_| _ = trial.scheduler.worker_table.add(WorkerState::Engaged));
    let started: Vec<_> = (0..8).map(|job| trial.submit(job)).collect();
    assert_eq!(started, [0, 0, 0, 0, 0, 0, 2, 0], "three workers take a task each at once");
}

#[test]
fn no_worker_is_started_while_another_is_idle() {
    let mut trial = Trial::by_load(5, 0);
    let me = trial.scheduler.worker_table.add(WorkerState::Called);
    trial.scheduler.worker_table.worker(me).waker = Some(this_thread());
    trial.scheduler.worker_table.push_idle(me);
    (0..9).for_each(|job| trial.scheduler.queue.push(job));
    let mut actions = Actions::default();
    trial.scheduler.call_for_help(&mut actions);
    assert_eq!((actions.call.len(), actions.start.len()), (1, 0));
}

#[test]
fn a_load_on_the_mark_lets_no_worker_go() {
    let mut trial = Trial::by_load(3, 0);
    (0..3).for_each(|job| trial.scheduler.queue.push(job));
    let (me, next) = trial.arrive();
    let Order::Run(0, Some(claimed)) = next else { panic!("there was a task") };
    trial.arrive();
    assert_eq!(trial.scheduler.queue.queued(), 1, "of ten");
    assert!(matches!(trial.report(me, claimed), Order::Run(2, Some(_))));
    assert_eq!(trial.scheduler.retiring, 0);
}

#[test]
fn the_minimum_does_not_rely_on_a_thread_that_is_being_started() {
    let mut trial = Trial::by_load(4, 2);
    trial.scheduler.queue.push(0);
    let (me, next) = trial.arrive();
    let Order::Run(0, Some(claimed)) = next else { panic!("there was a task") };
    trial.scheduler.worker_table.add(WorkerState::Engaged);
    trial.scheduler.worker_table.add(WorkerState::Starting);
    assert!(!matches!(trial.report(me, claimed), Order::Leave), "the third one may fail");
    assert_eq!(trial.scheduler.retiring, 1);
}
