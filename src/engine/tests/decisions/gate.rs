//! The gate: how submitters wait there, and how much attention those who wait get.

use std::sync::Arc;

use super::Trial;
use crate::engine::scheduler::core::{Actions, Phase};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::wait::{Verdict, WaitMode, Waiter};

/// A scheduler of one worker that is here, and a queue of 80.
fn trial() -> Trial {
    let mut trial = Trial::new(1, 0);
    trial.scheduler.limits.queue = 80;
    trial.scheduler.worker_table.add(WorkerState::Called);
    trial
}

#[test]
fn a_parked_submitter_has_the_attention_of_the_workers() {
    let attention = |wait_mode| {
        let (mut trial, waiter) = (trial(), Waiter::thread());
        waiter.set_wait_mode(wait_mode);
        trial.scheduler.queue_up(waiter, None);
        trial.scheduler.needs_attention()
    };
    assert!(attention(WaitMode::Parked));
    assert!(!attention(WaitMode::Looking) && !attention(WaitMode::TimedPark));
}

#[test]
fn a_submitter_parks_for_a_while_first_and_then_until_it_is_woken() {
    let (mut trial, waiter) = (trial(), Waiter::thread());
    (0..81).for_each(|job| trial.scheduler.queue.push(job));
    trial.scheduler.queue_up(Arc::clone(&waiter), None);
    for wait_mode in [WaitMode::TimedPark, WaitMode::Parked, WaitMode::Parked] {
        let told = trial.scheduler.rest_at_gate(&waiter, &mut Actions::default());
        assert_eq!((told, waiter.wait_mode()), (wait_mode, wait_mode));
        assert_eq!(trial.scheduler.needs_attention(), wait_mode == WaitMode::Parked);
    }
    assert_eq!(waiter.verdict(), None, "there is no place");
}

#[test]
fn a_thread_that_is_about_to_rest_takes_any_place_there_is() {
    for wait_mode in [WaitMode::TimedPark, WaitMode::Parked] {
        let (mut trial, waiter) = (trial(), Waiter::thread());
        (0..81).for_each(|job| trial.scheduler.queue.push(job));
        trial.scheduler.queue_up(Arc::clone(&waiter), None);
        if wait_mode == WaitMode::Parked {
            waiter.set_wait_mode(WaitMode::TimedPark);
        }
        trial.scheduler.queue.pop();
        trial.scheduler.queue.fast_path.end_locked();
        let mut actions = Actions::default();
        let told = trial.scheduler.rest_at_gate(&waiter, &mut actions);
        assert_eq!((told, waiter.verdict()), (WaitMode::Looking, Some(Verdict::Granted)));
        assert!(actions.wake.is_empty(), "it does not rest");
        assert!(!trial.scheduler.needs_attention());
    }
}

#[test]
fn a_submitter_in_a_timed_park_enters_when_half_of_the_queue_is_free() {
    let (mut trial, waiter) = (trial(), Waiter::thread());
    (0..81).for_each(|job| trial.scheduler.queue.push(job));
    trial.scheduler.queue_up(Arc::clone(&waiter), None);
    let _ = trial.scheduler.rest_at_gate(&waiter, &mut Actions::default());
    for ended in 1..=40 {
        assert_eq!(waiter.verdict(), None, "{} places are not enough", ended - 1);
        trial.scheduler.queue.pop();
        trial.scheduler.queue.fast_path.end_locked();
        trial.scheduler.serve_waiters(&mut Actions::default());
    }
    assert_eq!(waiter.verdict(), Some(Verdict::Granted));
}

#[test]
fn a_submitter_whose_time_is_over_takes_a_place_that_was_left_to_gather() {
    let (mut trial, waiter) = (trial(), Waiter::thread());
    (0..81).for_each(|job| trial.scheduler.queue.push(job));
    trial.scheduler.queue_up(Arc::clone(&waiter), None);
    let _ = trial.scheduler.rest_at_gate(&waiter, &mut Actions::default());
    trial.scheduler.queue.pop();
    trial.scheduler.queue.fast_path.end_locked();
    trial.scheduler.serve_waiters(&mut Actions::default());
    assert_eq!(waiter.verdict(), None, "one place is not enough");
    let withdrawn = trial.scheduler.withdraw(&waiter, &mut Actions::default());
    assert_eq!(withdrawn, Ok(()));
}

#[test]
fn workers_hurry_while_a_submitter_waits() {
    let mut trial = trial();
    (0..81).for_each(|job| trial.scheduler.queue.push(job));
    trial.scheduler.heed_waiters();
    assert!(!trial.fast_path.hurry());
    let waiter = Waiter::thread();
    trial.scheduler.queue_up(Arc::clone(&waiter), None);
    assert!(trial.fast_path.hurry(), "for a place");
    assert!(trial.scheduler.withdraw(&waiter, &mut Actions::default()).is_err());
    assert!(!trial.fast_path.hurry());
    trial.scheduler.awaiting_ends[0].push(waiter);
    trial.scheduler.heed_waiters();
    assert!(trial.fast_path.hurry(), "for the end of all tasks");
}

#[test]
fn a_pool_has_ended_when_it_is_closed_and_empty_and_has_no_worker() {
    let told = |closed, workers: usize, tasks: u32| {
        let mut trial = Trial::new(1, 0);
        let waiter = Waiter::thread();
        trial.scheduler.awaiting_ends[1].push(Arc::clone(&waiter));
        trial.scheduler.phase = if closed { Phase::Closed } else { Phase::Open };
        (0..workers).for_each(|_| _ = trial.scheduler.worker_table.add(WorkerState::Idle));
        (0..tasks).for_each(|job| trial.scheduler.queue.push(job));
        trial.scheduler.serve_waiters(&mut Actions::default());
        waiter.verdict().is_some()
    };
    assert!(told(true, 0, 0));
    assert!(!told(false, 0, 0) && !told(true, 1, 0) && !told(true, 0, 1));
}
