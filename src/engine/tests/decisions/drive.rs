//! Drivers: what they take, when they may go, and what is left when they are lost.

use std::sync::Arc;
use std::task::Waker;

use super::Trial;
use crate::engine::executor::driver::Turn;
use crate::engine::scheduler::accounting::End;
use crate::engine::scheduler::core::{Actions, Phase, WorkerKind};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::wait::{Verdict, Waiter, this_thread};

/// A scheduler of drivers, as many as there may be.
fn drivers(count: usize, capacity: usize) -> Trial {
    let mut trial = Trial::new(capacity, 0);
    trial.scheduler.worker_kind = WorkerKind::Drivers(count);
    for _ in 0..count {
        let me = trial.scheduler.worker_table.add(WorkerState::Called);
        trial.scheduler.worker_table.worker(me).waker = Some(this_thread());
    }
    trial
}

/// What the first driver does next, and what it takes.
fn refill(trial: &mut Trial, is_ready: bool) -> (Option<Turn>, Vec<u32>) {
    let mut jobs = Vec::new();
    let turn = trial.scheduler.refill(0, is_ready, &mut jobs, &mut Actions::default());
    (turn, jobs)
}

#[test]
fn a_driver_takes_as_many_as_may_run() {
    let mut trial = drivers(1, 2);
    (0..3).for_each(|job| trial.scheduler.queue.push(job));
    assert_eq!(refill(&mut trial, false), (None, vec![0, 1]));
    assert_eq!((trial.scheduler.queue.fast_path.driven(), trial.scheduler.queue.queued()), (2, 1));
    assert_eq!(refill(&mut trial, true), (None, vec![]));
    assert_eq!(trial.scheduler.worker_table.worker_state(0), WorkerState::Engaged);
    trial.scheduler.end(End::Panicked);
    assert_eq!(trial.scheduler.queue.fast_path.driven(), 1);
    assert_eq!(refill(&mut trial, true), (None, vec![2]));
}

#[test]
fn a_driver_is_idle_only_while_it_has_nothing_to_poll() {
    let mut trial = drivers(1, 2);
    let idle = |trial: &Trial| trial.scheduler.worker_table.count(WorkerState::Idle);
    assert_eq!((refill(&mut trial, false).0, idle(&trial)), (Some(Turn::Sleep), 1));
    assert_eq!((refill(&mut trial, false).0, idle(&trial)), (Some(Turn::Sleep), 1));
    assert_eq!((refill(&mut trial, true).0, idle(&trial)), (None, 0));
    assert!(
        trial.scheduler.worker_table.call_newest().is_none(),
        "it is not in the order of the idle"
    );
}

#[test]
fn a_driver_goes_when_nothing_is_left_that_may_need_it() {
    let next = |count, change: fn(&mut Trial)| {
        let mut trial = drivers(count, 2);
        trial.scheduler.phase = Phase::Closed;
        change(&mut trial);
        refill(&mut trial, false).0
    };
    assert_eq!(next(1, |_| {}), Some(Turn::Leave));
    assert_eq!(next(1, |trial| trial.scheduler.phase = Phase::Open), Some(Turn::Sleep));
    assert_eq!(next(1, |trial| trial.scheduler.queue.fast_path.begin_driven(1)), Some(Turn::Sleep));
    assert_eq!(next(2, |trial| trial.scheduler.queue.fast_path.begin_driven(1)), Some(Turn::Sleep));
    assert_eq!(next(1, |trial| trial.scheduler.hold_place()), Some(Turn::Sleep));
    let adopt = |trial: &mut Trial| trial.scheduler.accounting.note_out_of_turn();
    assert_eq!(next(1, adopt), Some(Turn::Sleep), "one runs in a lent place");
    assert_eq!(next(2, adopt), Some(Turn::Sleep), "another one may need help with it");
}

#[test]
fn what_stands_in_the_line_is_lost_with_the_last_driver() {
    let lost = |count, worker_kind, phase| {
        let mut trial = drivers(count, 2);
        trial.scheduler.queue.push(7);
        (trial.scheduler.worker_kind, trial.scheduler.phase) = (worker_kind, phase);
        trial.scheduler.lose(0, &mut Actions::default());
        trial.scheduler.is_abandoned()
    };
    assert!(lost(1, WorkerKind::Drivers(1), Phase::RuntimeGone));
    assert!(!lost(2, WorkerKind::Drivers(2), Phase::RuntimeGone), "another one takes it");
    assert!(!lost(1, WorkerKind::Drivers(1), Phase::Open), "another one may be started");
    assert!(!lost(1, WorkerKind::Threads, Phase::Closed), "threads are not lost");
}

#[test]
fn no_driver_is_called_while_a_single_one_is_at_work() {
    let called = |single_driver, other| {
        let mut trial = drivers(2, 2);
        trial.scheduler.single_driver = single_driver;
        assert_eq!(refill(&mut trial, false).0, Some(Turn::Sleep));
        trial.scheduler.worker_table.set(1, other);
        trial.submit(0)
    };
    assert_eq!(called(true, WorkerState::Engaged), 0);
    assert_eq!(called(false, WorkerState::Engaged), 1, "it may be stuck");
    assert_eq!(called(true, WorkerState::Leaving), 1, "no other driver is there");
}

/// Has tasks run and end until so many places are free.
fn free_places(trial: &mut Trial, count: usize) {
    for _ in 0..count {
        trial.scheduler.queue.pop();
        trial.scheduler.queue.fast_path.end_locked();
    }
}

/// A full scheduler, and a future that waits for a place.
fn with_waiter() -> (Trial, Arc<Waiter>) {
    let (mut trial, waiter) = (drivers(1, 1), Waiter::future(Waker::noop()));
    // It has no room for them, so they stay in the queue.
    trial.scheduler.queue.fast_path.begin_driven(1);
    (0..trial.scheduler.limits.queue).for_each(|job| trial.scheduler.queue.push(job as u32));
    trial.scheduler.queue_up(Arc::clone(&waiter), None);
    (trial, waiter)
}

#[test]
fn a_driver_lets_in_the_waiter_that_fits() {
    for has in [true, false] {
        let (mut trial, waiter) = with_waiter();
        refill(&mut trial, has);
        assert_eq!(waiter.verdict(), None, "there is no place");
        free_places(&mut trial, 1);
        refill(&mut trial, has);
        assert_eq!(waiter.verdict(), Some(Verdict::Granted));
    }
}
