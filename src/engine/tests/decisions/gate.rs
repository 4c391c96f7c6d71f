//! The gate: who looks or parks there, and how much attention those who wait get.

use std::sync::Arc;

use super::Trial;
use crate::engine::scheduler::crew::{Acts, Phase};
use crate::engine::scheduler::roster::Duty;
use crate::engine::wait::{Mood, Waiter};

/// A crew of one worker that is here, and a queue of 80.
fn trial() -> Trial {
    let mut trial = Trial::new(1, 0);
    trial.crew.limits.queue = 80;
    trial.crew.roster.add(Duty::Called);
    trial
}

#[test]
fn a_parked_submitter_has_the_attention_of_the_workers() {
    let attention = |mood| {
        let (mut trial, waiter) = (trial(), Waiter::thread());
        waiter.set_mood(mood);
        trial.crew.queue_up(waiter, None);
        trial.crew.needs_attention()
    };
    assert!(attention(Mood::Parked) && !attention(Mood::Looking));
}

#[test]
fn a_thread_that_is_about_to_park_takes_any_place_there_is() {
    for free in [true, false] {
        let (mut trial, waiter) = (trial(), Waiter::thread());
        (0..81).for_each(|job| trial.crew.line.push(job));
        trial.crew.queue_up(Arc::clone(&waiter), None);
        if free {
            trial.crew.line.pop();
            trial.crew.line.end();
        }
        trial.crew.park_at_gate(&waiter, &mut Acts::default());
        assert_eq!(waiter.mood(), Mood::Parked);
        assert_eq!(waiter.verdict().is_some(), free);
        assert_eq!(trial.crew.needs_attention(), !free);
    }
}

#[test]
fn workers_hurry_while_somebody_waits() {
    let mut trial = trial();
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
