//! Workers that go: who may, who must stay, and who is called back.

use super::Trial;
use crate::engine::scheduler::core::{Actions, Order, Report};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::wait::this_thread;

#[test]
fn the_last_worker_stays_while_a_permit_is_out() {
    let mut trial = Trial::new(1, 0);
    let (me, _) = trial.arrive();
    trial.scheduler.hold_place();
    let next = trial.expire(me);
    assert!(matches!(next, Order::Rest(Some(_))));
    trial.scheduler.release_places(1);
    assert!(matches!(trial.expire(me), Order::Leave));
}

#[test]
fn a_leaving_worker_is_called_back_by_a_task() {
    let mut trial = Trial::new(1, 0);
    let (me, _) = trial.arrive();
    assert!(matches!(trial.expire(me), Order::Leave));
    assert_eq!(trial.submit(7), 0, "its place is not vacant yet");
    assert!(trial.scheduler.calls_back(me));
    let next = trial.ask(me, Report::Rest);
    assert!(matches!(next, Order::Run(7, Some(_))));
}

#[test]
fn a_surplus_worker_that_was_counted_on_calls_another() {
    let mut trial = Trial::new(2, 0);
    let (first, _) = trial.arrive();
    trial.arrive();
    assert_eq!(trial.scheduler.worker_table.count(WorkerState::Idle), 2);
    trial.scheduler.limits.capacity = 1;
    assert!(trial.scheduler.worker_table.call_oldest().is_some(), "one is called, to be sent away");
    assert_eq!(trial.submit(1), 0, "and counted on");
    let mut actions = Actions::default();
    let next = trial.scheduler.next(first, Report::Rest, &mut actions);
    assert!(matches!(next, Order::Leave));
    assert_eq!(actions.call.len(), 1, "so the one that stays is called");
}

#[test]
fn the_minimum_does_not_rely_on_a_thread_that_is_being_started() {
    let mut trial = Trial::new(4, 2);
    let (first, _) = trial.arrive();
    trial.arrive();
    let expire = |trial: &mut Trial| trial.expire(first);
    assert!(matches!(expire(&mut trial), Order::Rest(None)));
    let starting = trial.scheduler.worker_table.add(WorkerState::Starting);
    assert!(matches!(expire(&mut trial), Order::Rest(Some(_))), "it may fail");
    trial.ask(starting, Report::Arrive(this_thread()));
    assert!(matches!(expire(&mut trial), Order::Leave), "now there is one too many");
}

/// A worker on its way out, and so many others that stay.
fn leaver(capacity: usize, others: usize) -> (Trial, usize) {
    let mut trial = Trial::new(capacity, 0);
    let me = trial.scheduler.worker_table.add(WorkerState::Called);
    (0..others).for_each(|_| _ = trial.scheduler.worker_table.add(WorkerState::Engaged));
    assert!(matches!(trial.scheduler.leave(me), Order::Leave));
    (trial, me)
}

#[test]
fn a_leaving_worker_is_called_back_up_to_the_capacity() {
    let called_back = |capacity, staying, starting| {
        let (mut trial, me) = leaver(capacity, staying);
        (0..starting).for_each(|_| _ = trial.scheduler.worker_table.add(WorkerState::Starting));
        trial.scheduler.queue.push(1);
        trial.scheduler.calls_back(me)
    };
    assert!(called_back(3, 2, 0) && called_back(3, 1, 1), "there is a place for one more");
    assert!(!called_back(2, 2, 0) && !called_back(2, 1, 1) && !called_back(1, 2, 0));
    assert!(called_back(1, 0, 1), "the one that is being started may fail");
}

#[test]
fn a_leaving_worker_that_is_not_needed_goes() {
    let (mut trial, me) = leaver(3, 0);
    assert!(!trial.scheduler.calls_back(me), "it may be the last one");
    let (mut trial, me) = leaver(3, 1);
    trial.scheduler.hold_place();
    trial.scheduler.worker_table.add(WorkerState::Starting);
    assert!(!trial.scheduler.calls_back(me), "another one stays");
}

#[test]
fn the_last_leaving_worker_is_called_back_for_those_who_rely_on_it() {
    let (mut trial, me) = leaver(3, 0);
    trial.scheduler.hold_place();
    assert!(trial.scheduler.calls_back(me), "a permit is out");
    let (mut trial, me) = leaver(3, 0);
    trial.scheduler.worker_table.add(WorkerState::Starting);
    assert!(trial.scheduler.calls_back(me), "a thread is being started");
}

#[test]
fn one_of_several_workers_may_go_while_a_permit_is_out() {
    let mut trial = Trial::new(2, 0);
    let (first, _) = trial.arrive();
    trial.arrive();
    trial.scheduler.hold_place();
    assert!(matches!(trial.expire(first), Order::Leave));
}

#[test]
fn the_last_certain_worker_is_not_too_many() {
    let mut trial = Trial::new(1, 0);
    let me = trial.scheduler.worker_table.add(WorkerState::Engaged);
    trial.scheduler.worker_table.add(WorkerState::Starting);
    let next = trial.ask(me, Report::Run { claimed: None, tasks: 1, last: None, nanos: 1_000_000 });
    assert!(!matches!(next, Order::Leave), "the other one may fail");
}
