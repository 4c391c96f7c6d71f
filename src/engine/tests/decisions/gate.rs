//! The gate: who looks, dozes or parks there, and how much attention those who wait get.

use std::sync::Arc;

use super::Trial;
use crate::engine::scheduler::crew::{Acts, Phase};
use crate::engine::scheduler::gate::DOZE;
use crate::engine::scheduler::roster::Duty;
use crate::engine::wait::{Mood, Verdict, Waiter};

/// A crew of one worker that is here, and a queue of 80. Its tasks take so many nanoseconds.
fn trial(nanos: u64, waiters: usize) -> Trial {
    let mut trial = Trial::with_waiters(1, 0, waiters);
    trial.crew.limits.queue = 80;
    trial.crew.roster.add(Duty::Called);
    trial.crew.pace.note(1, nanos, 1);
    trial
}

fn short() -> Trial {
    trial(1_000, usize::MAX)
}

fn long() -> Trial {
    trial(1_000_000, usize::MAX)
}

/// How a waiting thread is told to rest, and how it is known to rest then.
fn rest(trial: &mut Trial, waiter: &Arc<Waiter>, progress: &mut Option<u64>) -> (bool, Mood) {
    let rest = trial.crew.rest_at_gate(waiter, progress, &mut Acts::default());
    assert!(rest.is_none_or(|rest| rest == DOZE));
    (rest.is_some(), waiter.mood())
}

#[test]
fn a_parked_submitter_has_the_attention_of_the_workers() {
    let attention = |mood| {
        let (mut trial, waiter) = (long(), Waiter::thread());
        waiter.set_mood(mood);
        trial.crew.queue_up(waiter, None);
        trial.crew.needs_attention()
    };
    assert!(attention(Mood::Parked) && !attention(Mood::Looking));
}

#[test]
fn the_first_who_waits_dozes_while_tasks_are_taken() {
    let mut trial = long();
    let (waiter, mut progress) = (Waiter::thread(), None);
    (0..81).for_each(|job| trial.crew.line.push(job));
    trial.crew.queue_up(Arc::clone(&waiter), None);
    assert_eq!(rest(&mut trial, &waiter, &mut progress), (true, Mood::Dozing), "at first");
    assert_eq!(rest(&mut trial, &waiter, &mut progress), (false, Mood::Parked));
    trial.crew.line.pop();
    assert_eq!(rest(&mut trial, &waiter, &mut progress), (true, Mood::Dozing), "one was taken");
    trial.crew.line.push(81);
    assert_eq!(rest(&mut trial, &waiter, &mut progress), (false, Mood::Parked), "none was");
    assert_eq!(waiter.verdict(), None);
}

#[test]
fn the_others_who_wait_park() {
    let mut trial = long();
    let (first, second) = (Waiter::thread(), Waiter::thread());
    (0..81).for_each(|job| trial.crew.line.push(job));
    trial.crew.queue_up(first, None);
    trial.crew.queue_up(Arc::clone(&second), None);
    assert_eq!(rest(&mut trial, &second, &mut None), (false, Mood::Parked));
}

#[test]
fn whoever_comes_to_rest_takes_any_place_there_is() {
    for dozes in [true, false] {
        let mut trial = long();
        let waiter = Waiter::thread();
        (0..81).for_each(|job| trial.crew.line.push(job));
        trial.crew.queue_up(Arc::clone(&waiter), None);
        trial.crew.line.pop();
        trial.crew.line.end();
        let mut progress = if dozes { None } else { Some(1) };
        assert_eq!(rest(&mut trial, &waiter, &mut progress).0, dozes);
        assert_eq!(waiter.verdict(), Some(Verdict::Granted));
    }
}

#[test]
fn workers_hurry_while_somebody_waits() {
    let mut trial = short();
    trial.crew.heed_waiters();
    assert!(!trial.lane.hurry());
    let waiter = Waiter::thread();
    trial.crew.queue_up(Arc::clone(&waiter), None);
    assert!(trial.lane.hurry(), "for a place");
    assert!(trial.crew.withdraw(&waiter, &mut Acts::default()).is_err());
    assert!(!trial.lane.hurry());
    trial.crew.idlers.push(waiter);
    trial.crew.heed_waiters();
    assert!(trial.lane.hurry(), "for the end of all tasks");
}

#[test]
fn a_pool_has_ended_when_it_is_closed_and_empty_and_has_no_worker() {
    let told = |closed, workers: usize, tasks: u32| {
        let mut trial = Trial::new(1, 0);
        let waiter = Waiter::thread();
        trial.crew.drainers.push(Arc::clone(&waiter));
        trial.crew.phase = if closed { Phase::Closed } else { Phase::Open };
        (0..workers).for_each(|_| _ = trial.crew.roster.add(Duty::Idle));
        (0..tasks).for_each(|job| trial.crew.line.push(job));
        trial.crew.serve_waiters(&mut Acts::default());
        waiter.verdict().is_some()
    };
    assert!(told(true, 0, 0));
    assert!(!told(false, 0, 0) && !told(true, 1, 0) && !told(true, 0, 1));
}
