//! Models of cancelling all tasks of a pool of threads: what was accepted before is dropped or asked to stop, what
//! comes later is neither.

use std::sync::Arc;

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::closures::{Pool, pool, spawn, submit};
use super::{Event, drain, explore, explore_up_to};
use crate::engine::{Ended, is_cancelled};
use crate::handle::JoinHandle;
use crate::on_cancel::on_cancel;

/// How many tasks ran, and how many of them were asked to stop.
#[derive(Clone)]
struct Told(Arc<(AtomicUsize, AtomicUsize)>);

impl Told {
    fn new() -> Self {
        Told(Arc::new((AtomicUsize::new(0), AtomicUsize::new(0))))
    }

    fn note(&self) {
        self.0.0.fetch_add(1, Ordering::SeqCst);
        self.0.1.fetch_add(is_cancelled().into(), Ordering::SeqCst);
    }

    fn get(&self) -> (usize, usize) {
        (self.0.0.load(Ordering::SeqCst), self.0.1.load(Ordering::SeqCst))
    }

    /// Submits a task that notes itself.
    fn submit_to(&self, pool: &Pool) {
        let told = self.clone();
        submit(pool, move || told.note());
    }
}

/// Cancels all tasks while one is queued or runs, and submits another one.
fn cancel_one_and_submit_another(workers: usize) {
    let pool = pool(workers);
    let (first, second, event) = (Told::new(), Told::new(), Event::default());
    let (its, waits) = (first.clone(), event.clone());
    submit(&pool, move || {
        waits.block();
        its.note();
    });
    let (queued, running) = pool.cancel_all();
    event.happen();
    second.submit_to(&pool);
    let stats = drain(&pool);
    assert_eq!(queued + running, 1);
    assert_eq!(first.get(), (running, running), "it was dropped, or ran and was asked");
    assert_eq!(second.get(), (1, 0), "it came later");
    assert_eq!((stats.accepted, stats.cancelled), (2, queued as u64));
}

#[test]
fn a_running_task_is_asked_to_stop_and_a_later_one_is_not() {
    explore(|| cancel_one_and_submit_another(1));
}

#[test]
fn a_worker_on_the_fast_path_knows_which_task_came_later() {
    explore_up_to(2, || cancel_one_and_submit_another(2));
}

#[test]
fn all_are_cancelled_while_a_pool_is_drained_and_opened_again() {
    explore(|| {
        let (pool, told) = (pool(1), Told::new());
        told.submit_to(&pool);
        let (other, its) = (Arc::clone(&pool), told.clone());
        let opener = thread::spawn(move || {
            drain(&other);
            other.reopen().unwrap();
            its.submit_to(&other);
        });
        let (queued, running) = pool.cancel_all();
        opener.join().unwrap();
        pool.wait_until(Ended::Tasks, None).unwrap();
        let (ran, asked) = told.get();
        assert_eq!(ran + queued, 2);
        assert!(asked <= running && queued + running <= 1);
        let stats = drain(&pool);
        assert_eq!((stats.completed, stats.cancelled), (ran as u64, queued as u64));
    });
}

/// A task that waits until its function is called.
fn until_cancelled() -> usize {
    let event = Event::default();
    let its = event.clone();
    let _guard = on_cancel(move || its.happen());
    event.block();
    1
}

#[test]
fn the_function_of_a_task_is_called_when_its_handle_is_cancelled() {
    explore(|| {
        let pool = pool(1);
        let task = spawn(&pool, until_cancelled);
        let was_queued = task.cancel();
        let outcome = loom::future::block_on(JoinHandle::new(task));
        assert_eq!(outcome.is_err(), was_queued);
        drain(&pool);
    });
}

#[test]
fn the_function_of_a_task_is_called_when_all_are_cancelled() {
    explore(|| {
        let pool = pool(1);
        submit(&pool, || drop(until_cancelled()));
        pool.cancel_all();
        drain(&pool);
    });
}

#[test]
fn nothing_of_a_function_runs_after_its_guard_was_dropped() {
    explore(|| {
        let pool = pool(1);
        let (calls, registered) = (Told::new(), Event::default());
        let (its, event) = (calls.clone(), registered.clone());
        let task = spawn(&pool, move || {
            let called = its.clone();
            let guard = on_cancel(move || {
                called.note();
                called.note();
            });
            event.happen();
            drop(guard);
            its.get().0
        });
        registered.block();
        task.cancel();
        let outcome = loom::future::block_on(JoinHandle::new(task));
        let (noted, _) = calls.get();
        assert!(noted == 0 || noted == 2, "it is called once");
        match outcome {
            Ok(seen) => assert_eq!(seen, noted, "it is not called after the guard was dropped"),
            Err(_) => assert_eq!(noted, 0),
        }
        drain(&pool);
    });
}

#[test]
fn a_guard_is_dropped_while_all_are_cancelled() {
    explore(|| {
        let pool = pool(1);
        let (calls, registered) = (Told::new(), Event::default());
        let (its, event) = (calls.clone(), registered.clone());
        let task = spawn(&pool, move || {
            let called = its.clone();
            let guard = on_cancel(move || {
                called.note();
                called.note();
            });
            event.happen();
            drop(guard);
            its.get().0
        });
        registered.block();
        let (queued, running) = pool.cancel_all();
        assert_eq!((queued, running.min(1)), (0, running), "it runs or is over");
        let (noted, _) = calls.get();
        let seen = loom::future::block_on(JoinHandle::new(task)).unwrap();
        assert!(seen == 0 || seen == 2, "it is called once, and not after the guard was dropped");
        assert_eq!(noted, seen, "a thread that cancels waits for the function");
        drain(&pool);
    });
}

#[test]
fn each_of_two_that_cancel_waits_for_the_function() {
    explore(|| {
        let pool = pool(1);
        let (calls, registered, event) = (Told::new(), Event::default(), Event::default());
        let (its, says, waits) = (calls.clone(), registered.clone(), event.clone());
        let task = spawn(&pool, move || {
            let _guard = on_cancel(move || its.note());
            says.happen();
            waits.block();
            1
        });
        registered.block();
        let (other, its) = (Arc::clone(&pool), calls.clone());
        let canceller = thread::spawn(move || {
            other.cancel_all();
            assert_eq!(its.get().0, 1);
        });
        assert!(!task.cancel(), "it runs");
        assert_eq!(calls.get().0, 1);
        canceller.join().unwrap();
        event.happen();
        drain(&pool);
    });
}

#[test]
fn a_task_is_run_or_taken_out_of_the_queue() {
    explore(|| {
        let (pool, told) = (pool(1), Told::new());
        told.submit_to(&pool);
        told.submit_to(&pool);
        let taken = pool.take_queued();
        let number = taken.len();
        drop(taken);
        let stats = drain(&pool);
        assert_eq!(told.get(), (2 - number, 0));
        assert_eq!((stats.completed, stats.cancelled), (2 - number as u64, number as u64));
    });
}
