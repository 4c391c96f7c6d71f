//! Growth by load: when a step of workers comes, and when one goes.

use super::Trial;
use crate::engine::scheduler::crew::{Acts, Did, Next};
use crate::engine::scheduler::growth::ByLoad;
use crate::engine::scheduler::roster::Duty;
use crate::engine::task::run::End;
use crate::engine::wait::this_thread;

#[test]
fn workers_are_started_a_step_at_a_time() {
    let mut trial = Trial::by_load(6, 0);
    trial.crew.line.push(0);
    let (_, next) = trial.arrive();
    assert!(matches!(next, Next::Drive(0, _)));
    let started: Vec<_> = (0..12).map(|job| trial.submit(job)).collect();
    assert_eq!(started, [0, 0, 0, 2, 0, 2, 0, 1, 0, 0, 0, 0], "up to the capacity");
    assert!(trial.crew.roster.quiet, "and then nobody looks any more");
}

#[test]
fn short_tasks_do_not_hide_the_load() {
    let (mut trial, me) = Trial::with_short_tasks(4);
    trial.crew.limits.queue = 10;
    trial.crew.limits.growth = Some(ByLoad { step: 2, grow_at: 0.3, shrink_at: 0.0 });
    trial.submit(1);
    let Next::Drive(1, _stretch) = trial.ask(me, Did::Look { found: true }) else {
        panic!("there was a task")
    };
    let started: Vec<_> = (0..5).map(|job| trial.submit(job)).collect();
    assert_eq!(started, [0, 0, 0, 2, 0]);
}

#[test]
fn a_thread_that_could_not_be_started_is_not_counted_on() {
    let mut trial = Trial::by_load(6, 0);
    trial.crew.line.push(0);
    let (_, next) = trial.arrive();
    assert!(matches!(next, Next::Drive(0, _)));
    assert_eq!((0..4).map(|job| trial.submit(job)).sum::<usize>(), 2);
    for index in [1, 2] {
        trial.crew.could_not_start(index, &mut Acts::default());
    }
    assert_eq!(trial.submit(4), 0, "not so soon after it failed");
    trial.crew.no_start_before = None;
    assert_eq!(trial.submit(5), 2, "but then again");
}

#[test]
fn what_is_still_to_go_stays_if_the_load_has_risen() {
    let mut trial = Trial::by_load(3, 0);
    (0..3).for_each(|job| trial.crew.line.push(job));
    let mut workers: Vec<_> = (0..3).map(|_| trial.arrive()).collect();
    let mut end = |trial: &mut Trial| match workers.remove(0) {
        (me, Next::Drive(_, stretch)) => trial.report(me, stretch),
        _ => panic!("there was a task for each"),
    };
    assert!(matches!(end(&mut trial), Next::Leave), "nothing is left to do");
    assert_eq!(trial.crew.retiring, 1, "and another one is to go");
    trial.submit(3);
    trial.submit(4);
    assert!(matches!(end(&mut trial), Next::Drive(3, _)));
    assert_eq!(trial.crew.retiring, 0);
}

#[test]
fn the_last_worker_that_is_certain_stays() {
    let mut trial = Trial::by_load(3, 0);
    trial.crew.line.push(0);
    let (me, next) = trial.arrive();
    let Next::Drive(0, stretch) = next else { panic!("there was a task") };
    let starting = trial.crew.roster.add(Duty::Starting);
    assert!(!matches!(trial.report(me, stretch), Next::Leave), "the other may fail");
    assert_eq!(trial.crew.retiring, 1, "it goes as soon as the other is here");
    let next = trial.ask(starting, Did::Arrive(this_thread()));
    assert!(matches!(next, Next::Leave));
}

#[test]
fn a_new_step_begins_when_the_last_one_has_been_made() {
    let mut trial = Trial::by_load(6, 0);
    (0..3).for_each(|job| trial.crew.line.push(job));
    let at_work: Vec<_> = (0..3).map(|_| trial.arrive()).collect();
    for _ in 0..2 {
        let (me, next) = trial.arrive();
        let looks = matches!(next, Next::Look { .. });
        let rest = if looks { trial.ask(me, Did::Look { found: false }) } else { next };
        assert!(matches!(rest, Next::Rest(_)));
    }
    let mut called = Vec::new();
    for (me, next) in at_work {
        let Next::Drive(_, stretch) = next else { panic!("there was a task for each") };
        let mut acts = Acts::default();
        let did = Did::Drive { stretch, tasks: 1, last: Some(End::Completed), nanos: 1_000 };
        assert!(matches!(trial.crew.next(me, did, &mut acts), Next::Leave));
        called.push((acts.call.len(), trial.crew.retiring));
    }
    assert_eq!(called, [(1, 1), (0, 0), (1, 1)], "two go, and then two more");
}

#[test]
fn a_step_ends_at_the_capacity() {
    let mut trial = Trial::by_load(5, 0);
    (0..3).for_each(|_| _ = trial.crew.roster.add(Duty::Engaged));
    let started: Vec<_> = (0..8).map(|job| trial.submit(job)).collect();
    assert_eq!(started, [0, 0, 0, 0, 0, 0, 2, 0], "three workers take a task each at once");
}

#[test]
fn nobody_is_started_while_a_worker_is_idle() {
    let mut trial = Trial::by_load(5, 0);
    let me = trial.crew.roster.add(Duty::Called);
    trial.crew.roster.introduce(me, this_thread());
    trial.crew.roster.push_idle(me);
    (0..9).for_each(|job| trial.crew.line.push(job));
    let mut acts = Acts::default();
    trial.crew.call_for_help(&mut acts);
    assert_eq!((acts.call.len(), acts.start.len()), (1, 0));
}

#[test]
fn a_load_on_the_mark_lets_nobody_go() {
    let mut trial = Trial::by_load(3, 0);
    (0..3).for_each(|job| trial.crew.line.push(job));
    let (me, next) = trial.arrive();
    let Next::Drive(0, stretch) = next else { panic!("there was a task") };
    trial.arrive();
    assert_eq!(trial.crew.line.queued(), 1, "of ten");
    assert!(matches!(trial.report(me, stretch), Next::Drive(2, _)));
    assert_eq!(trial.crew.retiring, 0);
}

#[test]
fn the_minimum_does_not_rely_on_a_thread_that_is_being_started() {
    let mut trial = Trial::by_load(4, 2);
    trial.crew.line.push(0);
    let (me, next) = trial.arrive();
    let Next::Drive(0, stretch) = next else { panic!("there was a task") };
    trial.crew.roster.add(Duty::Engaged);
    trial.crew.roster.add(Duty::Starting);
    assert!(!matches!(trial.report(me, stretch), Next::Leave), "the third one may fail");
    assert_eq!(trial.crew.retiring, 1);
}
