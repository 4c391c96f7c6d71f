//! Models of workers that are threads: they take each task once, are woken, retire, and never run more than the capacity.

use std::sync::Arc;
use std::time::Duration;

use loom::sync::atomic::Ordering;
use loom::thread;

use super::counting::{BLOCKS, RELEASES, engine};
use super::{WAIT, drain, explore, explore_up_to, settings};
use crate::engine::Ended;

#[test]
fn an_accepted_task_is_run() {
    explore(|| {
        let (engine, count) = engine(settings(1, 8));
        for job in [1, 10, 100] {
            engine.submit(job, WAIT).unwrap();
        }
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 111);
    });
}

#[test]
fn two_workers_take_each_task_once() {
    explore(|| {
        let (engine, count) = engine(settings(2, 8));
        engine.submit(1, WAIT).unwrap();
        engine.submit(10, WAIT).unwrap();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 11);
    });
}

#[test]
fn a_parked_worker_is_woken() {
    explore(|| {
        let (engine, count) = engine(settings(1, 8));
        engine.submit(1, WAIT).unwrap();
        engine.wait_until(Ended::Tasks, None).unwrap();
        assert_eq!(count.ran.load(Ordering::SeqCst), 1);
        engine.submit(10, WAIT).unwrap();
        engine.wait_until(Ended::Tasks, None).unwrap();
        assert_eq!(count.ran.load(Ordering::SeqCst), 11);
        drain(&engine);
    });
}

#[test]
fn retirement_leaves_no_task_behind() {
    explore(|| {
        let mut settings = settings(1, 8);
        settings.limits.keep_alive = Some(Duration::from_nanos(1));
        let (engine, count) = engine(settings);
        engine.submit(1, WAIT).unwrap();
        thread::yield_now();
        engine.submit(10, WAIT).unwrap();
        engine.wait_until(Ended::Tasks, None).unwrap();
        assert_eq!(count.ran.load(Ordering::SeqCst), 11);
        drain(&engine);
    });
}

#[test]
fn a_task_is_not_held_back_by_one_that_blocks() {
    explore(|| {
        let (engine, count) = engine(settings(2, 8));
        engine.submit(BLOCKS, WAIT).unwrap();
        engine.submit(RELEASES, WAIT).unwrap();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), BLOCKS + RELEASES);
    });
}

#[test]
fn a_short_task_is_not_held_back_by_one_that_blocks() {
    // The largest of the models: two preemptions take it a minute.
    explore_up_to(1, || {
        let (engine, count) = engine(settings(2, 8));
        // Now tasks are known to be short.
        engine.submit(1, WAIT).unwrap();
        engine.wait_until(Ended::Tasks, None).unwrap();
        engine.submit(BLOCKS, WAIT).unwrap();
        engine.submit(RELEASES, WAIT).unwrap();
        engine.wait_until(Ended::Tasks, None).unwrap();
        assert_eq!(count.ran.load(Ordering::SeqCst), 1 + BLOCKS + RELEASES);
        drain(&engine);
    });
}

#[test]
fn a_smaller_capacity_is_kept() {
    explore(|| {
        let (engine, count) = engine(settings(2, 8));
        engine.prestart(2).unwrap();
        engine.change_limits(|limits| limits.capacity = 1);
        engine.submit(1, WAIT).unwrap();
        engine.submit(10, WAIT).unwrap();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 11);
        assert_eq!(count.most.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn the_last_worker_goes_when_no_permit_relies_on_it() {
    explore(|| {
        let (engine, _) = engine(settings(2, 8));
        let held = engine.admit(1, WAIT).unwrap();
        let other = Arc::clone(&engine);
        let starter = thread::spawn(move || other.prestart(2).unwrap());
        engine.close();
        drop(held);
        starter.join().unwrap();
        drain(&engine);
    });
}
