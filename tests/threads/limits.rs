//! The limits of a working pool: its queue, those who wait for a place, and the workers that stay.

use std::thread;
use std::time::Duration;

use formic::{Balance, FnPool, Growth, Multi, Pool, Refused};

use crate::common::{Door, eventually, hold_workers, join};

#[test]
fn a_larger_queue_lets_waiting_submitters_in() {
    let pool = Pool::builder().workers(1).queue(0).build().unwrap();
    let door = Door::new();
    hold_workers(&pool, &door, 1);
    let submitters: Vec<_> = (0..3)
        .map(|_| {
            let pool = pool.clone();
            thread::spawn(move || pool.submit(|| ()).is_ok())
        })
        .collect();
    eventually("three wait", || pool.stats().waiting == 3);
    pool.set_queue(2).unwrap();
    eventually("one waits", || pool.stats().waiting == 1);
    assert_eq!(pool.stats().queued, 2);
    pool.set_queue(usize::MAX).unwrap();
    submitters.into_iter().for_each(|submitter| assert!(join(submitter)));
    door.open();
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 4);
}

#[test]
fn a_smaller_queue_keeps_what_is_queued_and_lets_no_more_in() {
    let pool = Pool::builder().workers(1).queue(4).build().unwrap();
    let door = Door::new();
    hold_workers(&pool, &door, 1);
    (0..4).for_each(|_| pool.try_submit(|| ()).unwrap());
    pool.set_queue(1).unwrap();
    assert_eq!(
        (pool.try_submit(|| ()).unwrap_err().reason(), pool.stats().queued),
        (Refused::Full, 4)
    );
    door.open();
    pool.wait_idle().unwrap();
    let places: Vec<_> = std::iter::from_fn(|| pool.try_admit().ok()).collect();
    assert_eq!(places.len(), 2, "one runs and one is queued");
    drop(places);
    pool.drain().unwrap();
    pool.reopen().unwrap();
    assert_eq!(std::iter::from_fn(|| pool.try_admit().ok()).collect::<Vec<_>>().len(), 2);
}

#[test]
fn the_number_of_waiters_changes() {
    let pool = Pool::builder().workers(1).queue(0).waiters(0).build().unwrap();
    let permit = pool.admit().unwrap();
    assert_eq!(pool.submit(|| ()).unwrap_err().reason(), Refused::Full);
    pool.set_waiters(1);
    let other = pool.clone();
    let submitter = thread::spawn(move || other.submit(|| ()).is_ok());
    eventually("it waits", || pool.stats().waiting == 1);
    assert_eq!(pool.submit(|| ()).unwrap_err().reason(), Refused::Full, "one may wait");
    pool.set_waiters(0);
    assert_eq!(pool.stats().waiting, 1, "it is not sent away");
    drop(permit);
    assert!(join(submitter));
}

#[test]
fn a_larger_minimum_starts_workers_and_a_smaller_one_lets_them_go() {
    let keep_alive = Duration::from_millis(1);
    let pool = Pool::builder().workers(4).keep_alive(keep_alive).build().unwrap();
    pool.set_minimum(3).unwrap();
    assert_eq!(pool.workers(), 3);
    pool.prestart(4).unwrap();
    eventually("the fourth goes", || pool.workers() == 3);
    assert!(pool.resize(2).is_err(), "it is below the minimum");
    pool.set_minimum(1).unwrap();
    eventually("two go", || pool.workers() == 1);
    pool.drain().unwrap();
    pool.set_minimum(2).unwrap();
    assert_eq!(pool.workers(), 0, "it is closed");
    pool.reopen().unwrap();
    assert_eq!(pool.workers(), 2);
}

#[test]
fn a_shorter_keep_alive_holds_for_idle_workers() {
    let pool = Pool::builder().workers(4).keep_alive(None).build().unwrap();
    pool.prestart(4).unwrap();
    pool.set_keep_alive(Duration::from_secs(1000)).unwrap();
    pool.set_keep_alive(Duration::from_millis(1)).unwrap();
    eventually("all go", || pool.workers() == 0);
    pool.set_keep_alive(None).unwrap();
    pool.spawn(|| ()).unwrap().join().unwrap();
    assert_eq!(pool.workers(), 1);
}

#[test]
fn what_a_builder_refuses_is_refused() {
    let growth = Growth::by_load(1, 0.5, 0.1);
    let by_load = Pool::builder().workers(2).queue(4).growth(growth).build().unwrap();
    for tasks in [0, usize::MAX] {
        assert_eq!(by_load.set_queue(tasks).unwrap_err().setting(), Some("queue"));
    }
    let reserved = Pool::builder().workers(2).queue(4).preallocate().build().unwrap();
    assert_eq!(reserved.set_queue(usize::MAX).unwrap_err().setting(), Some("preallocate"));
    assert_eq!(by_load.set_minimum(3).unwrap_err().setting(), Some("workers"));
    assert_eq!(by_load.set_keep_alive(Duration::ZERO).unwrap_err().setting(), Some("keep_alive"));
    let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(2));
    assert_eq!(multi.set_minimum(3).unwrap_err().into_iter().count(), 2);
    assert_eq!(multi.stats().workers, 0, "nothing has changed");
}

/// The limits of workers on every kind of pool of threads. `$make` is a pool of four workers, or of shards of four.
macro_rules! limits_of_workers {
    ($($kind:ident: $make:expr, $shards:literal;)*) => {
        $(mod $kind {
            use super::*;

            #[test]
            fn a_larger_minimum_starts_workers_and_a_smaller_one_lets_them_go() {
                let pool = $make;
                pool.set_keep_alive(Duration::from_millis(1)).unwrap();
                pool.set_minimum(3).unwrap();
                assert_eq!(pool.stats().workers, 3 * $shards);
                assert!(pool.set_minimum(5).is_err() && pool.resize(2).is_err());
                pool.set_minimum(1).unwrap();
                eventually("the others go", || pool.stats().workers == $shards);
                pool.set_minimum(0).unwrap();
                eventually("all go", || pool.stats().workers == 0);
            }

            #[test]
            fn a_shorter_keep_alive_holds_for_idle_workers() {
                let pool = $make;
                pool.set_keep_alive(None).unwrap();
                pool.prestart(4).unwrap();
                pool.set_keep_alive(Duration::from_millis(1)).unwrap();
                eventually("all go", || pool.stats().workers == 0);
                assert!(pool.set_keep_alive(Duration::ZERO).is_err());
            }
        })*
    };
}

limits_of_workers! {
    fn_pool: FnPool::new(4, |(): ()| ()), 1;
    multi: Multi::new(2, Balance::RoundRobin, || Pool::new(4)), 2;
    multi_fn: Multi::new(2, Balance::RoundRobin, || FnPool::new(4, |(): ()| ())), 2;
}
