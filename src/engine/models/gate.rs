//! Models of submitters that wait for a place: each gets one, a refusal, or gives up, and no place is lost.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use loom::sync::atomic::Ordering;
use loom::thread;

use super::counting::{BLOCKS, engine};
use super::{WAIT, drain, explore, settings};
use crate::engine::Patience;
use crate::engine::sync::now;
use crate::error::Refused;

#[test]
fn waiting_submitters_get_the_freed_places() {
    explore(|| {
        let (engine, count) = engine(settings(1, 0));
        let other = Arc::clone(&engine);
        let submitter = thread::spawn(move || other.submit(10, WAIT).unwrap());
        engine.submit(1, WAIT).unwrap();
        submitter.join().unwrap();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 11);
        assert_eq!(count.most.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_parked_submitter_gets_a_place_that_is_freed_on_the_fast_path() {
    explore(|| {
        let (engine, count) = engine(settings(1, 1));
        engine.submit(1, WAIT).unwrap();
        engine.submit(BLOCKS, WAIT).unwrap();
        let (other, releaser) = (Arc::clone(&engine), Arc::clone(&count));
        let submitter = thread::spawn(move || {
            other.submit(10, WAIT).unwrap();
            releaser.release.happen();
        });
        submitter.join().unwrap();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 11 + BLOCKS);
    });
}

#[test]
fn a_larger_capacity_lets_submitters_in() {
    explore(|| {
        let (engine, count) = engine(settings(1, 0));
        let held = engine.admit(1, WAIT).unwrap();
        let other = Arc::clone(&engine);
        let submitter = thread::spawn(move || other.submit(1, WAIT).unwrap());
        engine.change_limits(|limits| limits.capacity = 2);
        submitter.join().unwrap();
        drop(held);
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn close_sends_waiting_submitters_away() {
    explore(|| {
        let (engine, count) = engine(settings(1, 0));
        let held = engine.admit(1, WAIT).unwrap();
        let other = Arc::clone(&engine);
        let submitter = thread::spawn(move || other.submit(1, WAIT));
        engine.close();
        assert_eq!(submitter.join().unwrap(), Err((1, Refused::Closed)));
        drop(held);
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn a_time_out_and_a_grant_exclude_each_other() {
    explore(|| {
        let (engine, _) = engine(settings(1, 0));
        let held = engine.admit(1, WAIT).unwrap();
        let other = Arc::clone(&engine);
        let waiter = thread::spawn(move || match other.admit(1, Patience::Until(Some(now()))) {
            Ok(held) => drop(held),
            Err(refused) => assert_eq!(refused, Refused::TimedOut),
        });
        drop(held);
        waiter.join().unwrap();
        assert!(engine.admit(1, Patience::None).is_ok(), "the place is free again");
        assert_eq!(engine.stats().waiting, 0);
        drain(&engine);
    });
}

#[test]
fn a_dropped_future_gives_its_place_back() {
    explore(|| {
        let (engine, _) = engine(settings(1, 0));
        let held = engine.admit(1, WAIT).unwrap();
        let other = Arc::clone(&engine);
        let waiter = thread::spawn(move || {
            let mut future = pin!(other.admit_async(1));
            let mut context = Context::from_waker(Waker::noop());
            for _ in 0..2 {
                if let Poll::Ready(held) = future.as_mut().poll(&mut context) {
                    drop(held.unwrap());
                    break;
                }
            }
        });
        drop(held);
        waiter.join().unwrap();
        assert!(engine.admit(1, Patience::None).is_ok(), "the place is free again");
        drain(&engine);
    });
}

#[test]
fn a_waiting_future_is_woken() {
    explore(|| {
        let (engine, count) = engine(settings(1, 0));
        let other = Arc::clone(&engine);
        let waiter = thread::spawn(move || {
            loom::future::block_on(async {
                // Another task polls it once, as when a future moves from task to task.
                let mut future = pin!(other.admit_async(1));
                let mut elsewhere = Context::from_waker(Waker::noop());
                let held = match future.as_mut().poll(&mut elsewhere) {
                    Poll::Ready(held) => held,
                    Poll::Pending => future.await,
                };
                held.unwrap().put(10);
            });
        });
        engine.submit(1, WAIT).unwrap();
        waiter.join().unwrap();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 11);
    });
}
