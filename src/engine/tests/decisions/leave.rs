//! Workers that go: who may, who must stay, and who is called back.

use super::Trial;
use crate::engine::scheduler::crew::{Acts, Did, Next, Rest};
use crate::engine::scheduler::roster::Duty;
use crate::engine::wait::this_thread;

#[test]
fn the_last_worker_stays_while_a_permit_is_out() {
    let mut trial = Trial::new(1, 0);
    let (me, _) = trial.arrive();
    trial.ask(me, Did::Look { found: false });
    trial.crew.hold_place();
    let next = trial.ask(me, Did::Rest { expired: true });
    assert!(matches!(next, Next::Rest(Rest::Anew)));
    trial.crew.release_place();
    assert!(matches!(trial.ask(me, Did::Rest { expired: true }), Next::Leave));
}

#[test]
fn a_leaving_worker_is_called_back_by_a_task() {
    let mut trial = Trial::new(1, 0);
    let (me, _) = trial.arrive();
    trial.ask(me, Did::Look { found: false });
    assert!(matches!(trial.ask(me, Did::Rest { expired: true }), Next::Leave));
    assert_eq!(trial.submit(7), 0, "its place is not vacant yet");
    assert!(trial.crew.calls_back(me));
    let next = trial.ask(me, Did::Rest { expired: false });
    assert!(matches!(next, Next::Drive(7, _)));
}

#[test]
fn a_surplus_worker_that_was_counted_on_calls_another() {
    let mut trial = Trial::new(2, 0);
    let (first, _) = trial.arrive();
    let (second, _) = trial.arrive();
    trial.ask(first, Did::Look { found: false });
    assert_eq!(trial.crew.roster.count(Duty::Idle), 2);
    trial.crew.limits.capacity = 1;
    assert!(trial.crew.roster.call_oldest().is_some(), "one is called, to be sent away");
    assert_eq!(trial.submit(1), 0, "and counted on");
    let mut acts = Acts::default();
    let next = trial.crew.next(second, Did::Rest { expired: false }, &mut acts);
    assert!(matches!(next, Next::Leave));
    assert_eq!(acts.call.len(), 1, "so the one that stays is called");
}

#[test]
fn the_minimum_does_not_rely_on_a_thread_that_is_being_started() {
    let mut trial = Trial::new(4, 2);
    let (first, _) = trial.arrive();
    trial.ask(first, Did::Look { found: false });
    trial.arrive();
    let expire = |trial: &mut Trial| trial.ask(first, Did::Rest { expired: true });
    assert!(matches!(expire(&mut trial), Next::Rest(Rest::UntilCalled)));
    let starting = trial.crew.roster.add(Duty::Starting);
    assert!(matches!(expire(&mut trial), Next::Rest(Rest::Anew)), "it may fail");
    trial.ask(starting, Did::Arrive(this_thread()));
    assert!(matches!(expire(&mut trial), Next::Leave), "now there is one too many");
}

/// A worker on its way out, and so many others that stay.
fn leaver(capacity: usize, others: usize) -> (Trial, usize) {
    let mut trial = Trial::new(capacity, 0);
    let me = trial.crew.roster.add(Duty::Called);
    (0..others).for_each(|_| _ = trial.crew.roster.add(Duty::Engaged));
    assert!(matches!(trial.crew.leave(me), Next::Leave));
    (trial, me)
}

#[test]
fn a_leaving_worker_is_called_back_up_to_the_capacity() {
    let called_back = |capacity, staying, starting| {
        let (mut trial, me) = leaver(capacity, staying);
        (0..starting).for_each(|_| _ = trial.crew.roster.add(Duty::Starting));
        trial.crew.line.push(1);
        trial.crew.calls_back(me)
    };
    assert!(called_back(3, 2, 0) && called_back(3, 1, 1), "there is a place for one more");
    assert!(!called_back(2, 2, 0) && !called_back(2, 1, 1) && !called_back(1, 2, 0));
    assert!(called_back(1, 0, 1), "the one that is being started may fail");
}

#[test]
fn a_leaving_worker_that_nobody_needs_goes() {
    let (mut trial, me) = leaver(3, 0);
    assert!(!trial.crew.calls_back(me), "it may be the last one");
    let (mut trial, me) = leaver(3, 1);
    trial.crew.hold_place();
    trial.crew.roster.add(Duty::Starting);
    assert!(!trial.crew.calls_back(me), "another one stays");
}

#[test]
fn the_last_leaving_worker_is_called_back_for_those_who_rely_on_it() {
    let (mut trial, me) = leaver(3, 0);
    trial.crew.hold_place();
    assert!(trial.crew.calls_back(me), "a permit is out");
    let (mut trial, me) = leaver(3, 0);
    trial.crew.roster.add(Duty::Starting);
    assert!(trial.crew.calls_back(me), "a thread is being started");
}

#[test]
fn one_of_several_workers_may_go_while_a_permit_is_out() {
    let mut trial = Trial::new(2, 0);
    let (first, _) = trial.arrive();
    trial.ask(first, Did::Look { found: false });
    trial.arrive();
    trial.crew.hold_place();
    assert!(matches!(trial.ask(first, Did::Rest { expired: true }), Next::Leave));
}

#[test]
fn the_last_certain_worker_is_not_too_many() {
    let mut trial = Trial::new(1, 0);
    let me = trial.crew.roster.add(Duty::Engaged);
    trial.crew.roster.add(Duty::Starting);
    let next = trial.ask(me, Did::Run { end: None, nanos: 1_000_000 });
    assert!(!matches!(next, Next::Leave), "the other one may fail");
}
