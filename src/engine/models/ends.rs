//! Models of how a pool comes to its end: what was accepted runs or is discarded, and each waiter sees the end.

use std::sync::Arc;

use loom::sync::atomic::Ordering;
use loom::thread;

use super::counting::engine;
use super::{WAIT, drain, explore, explore_up_to, settings};
use crate::engine::Ended;
use crate::error::Refused;

#[test]
fn over_is_one_look() {
    // To be seen in neither of two looks takes a task four turns.
    explore_up_to(4, || {
        let (engine, count) = engine(settings(1, 8));
        engine.submit(1, WAIT).unwrap();
        engine.submit(10, WAIT).unwrap();
        engine.wait_until(Ended::Tasks, None).unwrap();
        assert_eq!(count.ran.load(Ordering::SeqCst), 11);
        drain(&engine);
    });
}

#[test]
fn the_end_is_told_to_futures() {
    explore(|| {
        let (engine, count) = engine(settings(1, 8));
        engine.submit(1, WAIT).unwrap();
        loom::future::block_on(engine.until(Ended::Tasks)).unwrap();
        assert_eq!(count.ran.load(Ordering::SeqCst), 1);
        engine.close();
        loom::future::block_on(engine.until(Ended::Workers)).unwrap();
        assert_eq!(engine.stats().workers, 0);
    });
}

#[test]
fn close_refuses_or_runs() {
    explore(|| {
        let (engine, count) = engine(settings(1, 8));
        let other = Arc::clone(&engine);
        let submitter = thread::spawn(move || {
            let first = other.submit(1, WAIT);
            let second = other.submit(10, WAIT);
            [(1, first), (10, second)]
                .into_iter()
                .map(|(job, outcome)| match outcome {
                    Ok(()) => job,
                    Err((back, refused)) => {
                        assert_eq!((back, refused), (job, Refused::Closed));
                        0
                    }
                })
                .sum::<usize>()
        });
        drain(&engine);
        let ran = count.ran.load(Ordering::SeqCst);
        assert_eq!(submitter.join().unwrap(), ran, "what was accepted has run when drain returns");
        assert_eq!(count.ran.load(Ordering::SeqCst), ran, "and nothing runs afterwards");
    });
}

#[test]
fn a_task_is_run_or_discarded() {
    explore(|| {
        let (engine, count) = engine(settings(1, 8));
        for job in [1, 1, 1] {
            engine.submit(job, WAIT).unwrap();
        }
        let discarded = engine.discard();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst) + discarded, 3);
        assert_eq!(engine.stats().cancelled, discarded as u64);
    });
}

#[test]
fn a_permit_outlives_close() {
    explore(|| {
        let (engine, count) = engine(settings(1, 0));
        let held = engine.admit(1, WAIT).unwrap();
        let other = Arc::clone(&engine);
        let closer = thread::spawn(move || drain(&other));
        held.put(1);
        closer.join().unwrap();
        assert_eq!(count.ran.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_drain_sees_its_end_although_the_pool_is_opened_again() {
    explore(|| {
        let (engine, _) = engine(settings(1, 4));
        let other = Arc::clone(&engine);
        let opener = thread::spawn(move || other.reopen().is_ok());
        engine.wait_until(Ended::Workers, None).unwrap();
        opener.join().unwrap();
    });
}
