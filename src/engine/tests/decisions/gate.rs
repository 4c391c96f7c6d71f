//! The gate: how submitters wait there, and how much attention those who wait get.

use std::sync::Arc;
use std::task::Waker;

use super::Trial;
use crate::engine::scheduler::core::{Actions, Phase};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::wait::{Verdict, Waiter};

/// A scheduler of one worker that is here, and a queue of 80.
fn trial() -> Trial {
    let mut trial = Trial::new(1, 0);
    trial.scheduler.limits.queue = 80;
    trial.scheduler.worker_table.add(WorkerState::Called);
    trial
}

#[test]
fn an_eager_submitter_has_the_attention_of_the_workers() {
    let attention = |waiter| {
        let mut trial = trial();
        trial.scheduler.queue_up(waiter, None);
        trial.scheduler.needs_attention()
    };
    assert!(attention(Waiter::future(Waker::noop())));
    assert!(!attention(Waiter::thread()));
}

#[test]
fn a_thread_that_has_let_places_gather_takes_any_place_there_is() {
    for places in 0..2 {
        let (mut trial, waiter) = (trial(), Waiter::thread());
        (0..81).for_each(|job| trial.scheduler.queue.push(job));
        trial.scheduler.queue_up(Arc::clone(&waiter), None);
        for _ in 0..places {
            trial.scheduler.queue.pop();
            trial.scheduler.queue.fast_path.end_locked();
        }
        let mut actions = Actions::default();
        trial.scheduler.rely_on(&waiter, &mut actions);
        assert_eq!((waiter.verdict().is_some(), actions.wake.len()), (places > 0, places));
        assert_eq!(trial.scheduler.needs_attention(), places == 0, "it waits for the next one");
    }
}

#[test]
fn a_thread_enters_when_half_of_the_queue_is_free() {
    let (mut trial, waiter) = (trial(), Waiter::thread());
    (0..81).for_each(|job| trial.scheduler.queue.push(job));
    trial.scheduler.queue_up(Arc::clone(&waiter), None);
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
