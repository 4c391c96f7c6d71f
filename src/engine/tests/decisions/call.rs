//! Calls: who is woken or started for the tasks in the line, and how many.

use super::Trial;
use crate::engine::scheduler::crew::{Acts, Hands};
use crate::engine::scheduler::roster::Duty;
use crate::engine::wait::this_thread;

/// How many workers are called for all that is in the line.
fn call_all(trial: &mut Trial) -> usize {
    let mut acts = Acts::default();
    trial.crew.call_all_needed(&mut acts);
    acts.call.len() + acts.start.len()
}

/// A crew with one idle worker.
fn with_idle(capacity: usize) -> Trial {
    let mut trial = Trial::new(capacity, 0);
    let me = trial.crew.roster.add(Duty::Called);
    trial.crew.roster.introduce(me, this_thread());
    trial.crew.roster.push_idle(me);
    trial
}

/// A crew of two drivers that may drive one task. One of them is idle, the other has this duty.
fn drivers(other: Duty) -> Trial {
    let mut trial = with_idle(1);
    trial.crew.limits.hands = Hands::Drivers(2);
    trial.crew.roster.add(other);
    trial
}

#[test]
fn a_larger_capacity_calls_a_worker_for_each_task_in_the_line() {
    let called = |tasks: u32| {
        let mut trial = with_idle(4);
        trial.crew.roster.add(Duty::Engaged);
        trial.crew.line.push(0);
        trial.crew.line.pop();
        (0..tasks).for_each(|job| trial.crew.line.push(job));
        call_all(&mut trial)
    };
    assert_eq!((called(0), called(2), called(9)), (0, 2, 3));
}

#[test]
fn an_idle_worker_is_not_called_above_the_capacity() {
    let mut trial = with_idle(2);
    trial.crew.roster.add(Duty::Engaged);
    trial.crew.roster.add(Duty::Called);
    (0..3).for_each(|job| trial.crew.line.push(job));
    assert_eq!((trial.submit(3), call_all(&mut trial)), (0, 0));
}

#[test]
fn no_driver_is_called_for_a_task_that_may_not_begin() {
    let mut trial = drivers(Duty::Engaged);
    trial.crew.line.begin_driven(1);
    assert_eq!((trial.submit(0), call_all(&mut trial)), (0, 0));
    trial.crew.line.end_driven();
    assert_eq!(trial.submit(1), 1);
}

#[test]
fn one_driver_on_its_way_is_enough() {
    let mut trial = drivers(Duty::Called);
    assert_eq!((trial.submit(0), trial.submit(1), call_all(&mut trial)), (0, 0, 0));
    let mut trial = drivers(Duty::Engaged);
    (0..2).for_each(|job| trial.crew.line.push(job));
    assert_eq!(call_all(&mut trial), 1);
}
