//! Models of permits that are taken several at once, and of waits for a permit that another thread calls off.

use std::sync::Arc;

use loom::sync::atomic::Ordering;
use loom::thread;

use super::counting::{Count, engine};
use super::{WAIT, drain, explore, settings};
use crate::cancel_token::CancelToken;
use crate::engine::{Engine, Patience};
use crate::error::Refused;

/// Places that are taken: by queued and running tasks, and by permits.
fn taken(engine: &Arc<Engine<Arc<Count>>>) -> usize {
    let scheduler = engine.lock();
    scheduler.pending() + scheduler.gate.permits
}

#[test]
fn a_dropped_permit_goes_to_the_next() {
    explore(|| {
        let (engine, count) = engine(settings(1, 0));
        let held = engine.admit(1, WAIT).unwrap();
        let other = Arc::clone(&engine);
        let submitter = thread::spawn(move || other.submit(1, WAIT).unwrap());
        drop(held);
        submitter.join().unwrap();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn permits_taken_at_once_and_submitters_share_the_places() {
    explore(|| {
        let (engine, count) = engine(settings(1, 2));
        let mut held = engine.admit(2, WAIT).unwrap();
        assert_eq!((held.len(), taken(&engine)), (2, 2));
        let other = Arc::clone(&engine);
        let submitter = thread::spawn(move || other.submit(1, WAIT).unwrap());
        drop(held.next());
        let more = engine.admit(9, Patience::None).map_or(0, |more| {
            assert!(taken(&engine) <= 3, "there are three places");
            more.map(|place| place.put(100)).count()
        });
        drop(held);
        submitter.join().unwrap();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 100 * more + 1);
    });
}

#[test]
fn a_closed_pool_gives_out_no_more_permits() {
    explore(|| {
        let (engine, count) = engine(settings(1, 1));
        let mut held = engine.admit(2, WAIT).unwrap();
        let other = Arc::clone(&engine);
        let taker = thread::spawn(move || match other.admit(2, WAIT) {
            Ok(permits) => {
                assert_eq!(permits.len(), 1, "the second place became free after the close");
                permits.for_each(|permit| permit.put(1));
                1
            }
            Err(refused) => {
                assert_eq!(refused, Refused::Closed);
                0
            }
        });
        drop(held.next());
        engine.close();
        drop(held);
        let taken = taker.join().unwrap();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), taken);
    });
}

#[test]
fn a_shrink_counts_the_permits_that_are_out() {
    explore(|| {
        let (engine, count) = engine(settings(3, 0));
        let other = Arc::clone(&engine);
        let taker = thread::spawn(move || {
            let permits = other.admit(2, WAIT).unwrap();
            permits.map(|permit| permit.put(1)).count()
        });
        engine.change_limits(|limits| limits.capacity = 2);
        let left = engine.admit(9, Patience::None).map_or(0, |permits| {
            assert!(taken(&engine) <= 2, "there are two places");
            permits.map(|permit| permit.put(1)).count()
        });
        let taken = taker.join().unwrap();
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), taken + left);
    });
}

#[test]
fn a_cancelled_wait_ends_and_keeps_no_place() {
    explore(|| {
        let (engine, _) = engine(settings(1, 0));
        let held = engine.admit(1, WAIT).unwrap();
        let token = CancelToken::new();
        let (other, its_token) = (Arc::clone(&engine), token.clone());
        let waiter = thread::spawn(move || {
            its_token.block_on(other.admit_async(1)).map(|held| held.is_ok())
        });
        token.cancel();
        assert_eq!(waiter.join().unwrap(), None, "there was no place");
        assert_eq!(engine.stats().waiting, 0);
        drop(held);
        assert!(engine.admit(1, Patience::None).is_ok());
        drain(&engine);
    });
}

#[test]
fn a_cancelled_wait_that_was_granted_a_place_gives_it_back() {
    explore(|| {
        let (engine, _) = engine(settings(1, 0));
        let held = engine.admit(1, WAIT).unwrap();
        let token = CancelToken::new();
        let (other, its_token) = (Arc::clone(&engine), token.clone());
        let waiter = thread::spawn(move || {
            its_token.block_on(other.admit_async(1)).map(|held| held.is_ok())
        });
        drop(held);
        token.cancel();
        assert!(matches!(waiter.join().unwrap(), None | Some(true)));
        assert!(engine.admit(1, Patience::None).is_ok(), "the place is free again");
        drain(&engine);
    });
}
