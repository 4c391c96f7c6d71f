//! Tests in which threads cannot be started: an error if there is no worker, otherwise only a
//! slower pool. Never a hang.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::engine::task::closure::Task;
use crate::engine::{Counts, End, Ended, Engine, Hooks, Limits, Patience, Settings};
use crate::error::{Refused, ReopenError};
use crate::pool::Closures;

const WAIT: Patience = Patience::Until(None);

/// An engine whose attempts to start a thread fail when `fails` says so; it is asked with the
/// number of the attempt.
fn engine(
    capacity: usize,
    minimum: usize,
    fails: impl Fn(usize) -> bool + Send + Sync + 'static,
) -> Arc<Engine<Closures>> {
    let attempts = AtomicUsize::new(0);
    let limits = Limits {
        capacity,
        minimum,
        queue: 1000,
        waiters: usize::MAX,
        keep_alive: Some(Duration::from_millis(1)),
        ..Limits::default()
    };
    let settings = Settings {
        limits,
        name: "faults".into(),
        stack_size: None,
        hooks: Hooks::default(),
        faults: Some(Arc::new(move || fails(attempts.fetch_add(1, Ordering::Relaxed)))),
    };
    Engine::new(settings, Closures)
}

fn drain(engine: &Arc<Engine<Closures>>) {
    engine.close();
    engine.wait_until(Ended::Workers, None).unwrap();
    assert!(engine.stats().adds_up());
}

/// Submits a task that reports when it runs.
fn submit(engine: &Arc<Engine<Closures>>, done: &mpsc::Sender<()>) -> Result<(), Refused> {
    let done = done.clone();
    let task = Task::new(move || done.send(()).unwrap());
    engine.submit(task, WAIT).map_err(|(_, refused)| refused)
}

fn all_gone(engine: &Arc<Engine<Closures>>) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while engine.stats().workers > 0 {
        assert!(Instant::now() < deadline, "the workers did not retire");
        std::thread::yield_now();
    }
}

#[test]
fn without_any_worker_the_task_comes_back() {
    let engine = engine(4, 0, |attempt| attempt < 2);
    let (done, all_done) = mpsc::channel();
    assert_eq!(submit(&engine, &done), Err(Refused::NoWorker));
    assert_eq!(engine.admit(1, WAIT).err(), Some(Refused::NoWorker));
    let stats = engine.stats();
    assert_eq!((stats.accepted, stats.refused, stats.workers), (0, 2, 0));
    submit(&engine, &done).unwrap();
    all_done.recv().unwrap();
    drain(&engine);
}

#[test]
fn a_refused_task_is_the_one_that_was_given() {
    let engine = engine(1, 0, |_| true);
    let token = Arc::new(());
    let inside = Arc::clone(&token);
    let (task, refused) = engine.submit(Task::new(move || drop(inside)), WAIT).unwrap_err();
    assert_eq!((refused, Arc::strong_count(&token)), (Refused::NoWorker, 2));
    assert_eq!(task.call(Counts::Ticket), End::Completed);
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn one_worker_does_the_work_of_those_that_cannot_be_started() {
    for first_failure in [1, 3] {
        // With a minimum, so that the one does not retire while the submitter has no core.
        let engine = engine(8, 1, move |attempt| attempt >= first_failure);
        let (done, all_done) = mpsc::channel();
        for _ in 0..500 {
            submit(&engine, &done).unwrap();
        }
        all_done.iter().take(500).count();
        drain(&engine);
        assert_eq!(engine.stats().completed, 500);
    }
}

#[test]
fn every_second_start_fails_and_nothing_is_lost() {
    let engine = engine(8, 0, |attempt| attempt % 2 == 1);
    let (done, all_done) = mpsc::channel();
    for _ in 0..200 {
        while submit(&engine, &done).is_err() {}
        all_done.recv().unwrap();
        // The workers retire in between, so each round starts from none.
        all_gone(&engine);
    }
    drain(&engine);
    assert_eq!(engine.stats().completed, 200);
}

#[test]
fn regrowth_may_fail_too() {
    let engine = engine(4, 0, |attempt| (2..20).contains(&attempt));
    let (done, all_done) = mpsc::channel();
    submit(&engine, &done).unwrap();
    all_done.recv().unwrap();
    all_gone(&engine);
    let mut accepted = 0;
    for _ in 0..100 {
        accepted += usize::from(submit(&engine, &done).is_ok());
    }
    all_done.iter().take(accepted).count();
    drain(&engine);
    assert_eq!(engine.stats().completed, 1 + accepted as u64);
}

#[test]
fn workers_that_cannot_be_started_ahead_are_an_error_and_the_others_stay() {
    let engine = engine(4, 3, |attempt| attempt == 2);
    assert!(engine.prestart(4).is_err());
    assert_eq!(engine.stats().workers, 3);
    drain(&engine);
}

#[test]
fn if_the_first_worker_cannot_be_started_ahead_no_other_is_tried() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&attempts);
    let engine = engine(4, 3, move |_| count.fetch_add(1, Ordering::Relaxed) < 10);
    assert!(engine.prestart(3).is_err());
    assert_eq!((attempts.load(Ordering::Relaxed), engine.stats().workers), (1, 0));
}

#[test]
fn a_pool_opens_again_even_if_its_minimum_cannot_be_started() {
    let engine = engine(4, 2, |attempt| attempt == 2);
    engine.prestart(2).unwrap();
    drain(&engine);
    assert!(matches!(engine.reopen(), Err(ReopenError::Thread(_))));
    let (done, all_done) = mpsc::channel();
    submit(&engine, &done).unwrap();
    all_done.recv().unwrap();
    drain(&engine);
}

#[test]
fn a_permit_has_a_worker() {
    let engine = engine(2, 0, |attempt| attempt > 0);
    let permit = engine.admit(1, WAIT).unwrap();
    let (done, all_done) = mpsc::channel();
    permit.put(Task::new(move || done.send(()).unwrap()));
    all_done.recv().unwrap();
    drain(&engine);
}

#[test]
fn a_task_that_enters_beyond_the_bound_needs_a_worker_too() {
    let engine = engine(1, 0, |_| true);
    let beyond = engine.submit(Task::new(|| ()), Patience::Beyond);
    assert_eq!(beyond.map_err(|(_, refused)| refused), Err(Refused::NoWorker));
    assert_eq!((engine.stats().accepted, engine.stats().queued), (0, 0));
    drain(&engine);
}
