//! A drained pool opens again, as often as wanted, and leaves nothing behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{self, Census, Door};
use formic::{Pool, Refused, ReopenError};

#[test]
fn a_thousand_rounds_leave_nothing_behind() {
    let census = Census::default();
    let pool = Pool::builder().workers(4).name("rounds").on_worker_start(census.hook());
    let pool = pool.build().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    for round in 0..1000 {
        for _ in 0..20 {
            let ran = Arc::clone(&ran);
            let task = move || {
                ran.fetch_add(1, Ordering::Relaxed);
            };
            pool.submit(task).unwrap();
        }
        pool.drain().unwrap();
        assert_eq!(census.count(), 0, "in round {round}");
        assert_eq!(Arc::strong_count(&ran), 1, "in round {round}");
        assert_eq!(pool.submit(|| ()).unwrap_err().reason(), Refused::Closed);
        let stats = pool.stats();
        assert_eq!(stats.workers, 0);
        assert_eq!(stats.completed, 20 * (round + 1), "the figures go on");
        assert_eq!((stats.accepted, stats.refused), (stats.completed, round + 1));
        pool.reopen().unwrap();
        assert!(!pool.is_closed());
    }
    assert_eq!(ran.load(Ordering::Relaxed), 20_000);
    // A thread that was joined may be listed for a moment more.
    #[cfg(target_os = "linux")]
    common::eventually("the threads are gone", || common::threads_named("rounds-") == 0);
}

#[test]
fn hooks_and_settings_are_let_go_with_the_pool() {
    let hooked = Arc::new(AtomicUsize::new(0));
    let (start, stop) = (Arc::clone(&hooked), Arc::clone(&hooked));
    let pool = Pool::builder()
        .workers(1..=3)
        .on_worker_start(move |_| {
            start.fetch_add(1, Ordering::Relaxed);
        })
        .on_worker_stop(move |_| {
            stop.fetch_sub(1, Ordering::Relaxed);
        })
        .build()
        .unwrap();
    for _ in 0..100 {
        pool.submit(|| ()).unwrap();
        pool.drain().unwrap();
        assert_eq!(hooked.load(Ordering::Relaxed), 0, "as many started as stopped");
        pool.reopen().unwrap();
    }
    pool.drain().unwrap();
    drop(pool);
    assert_eq!(Arc::strong_count(&hooked), 1);
}

#[test]
fn an_open_pool_cannot_be_reopened() {
    let pool = Pool::new(1);
    assert!(matches!(pool.reopen(), Err(ReopenError::Open)));
    pool.drain().unwrap();
    pool.reopen().unwrap();
    assert!(matches!(pool.reopen(), Err(ReopenError::Open)));
}

#[test]
fn a_pool_that_still_runs_cannot_be_reopened() {
    let (pool, door) = (Pool::new(1), Door::new());
    for _ in 0..3 {
        let door = door.clone();
        pool.submit(move || door.wait()).unwrap();
    }
    door.await_waiting(1);
    pool.close();
    match pool.reopen() {
        Err(ReopenError::StillRunning(left)) => {
            assert_eq!((left.running(), left.queued()), (1, 2));
        }
        other => panic!("{other:?}"),
    }
    assert!(pool.is_closed(), "a refused reopen changes nothing");
    door.open();
    pool.drain().unwrap();
    pool.reopen().unwrap();
    pool.submit(|| ()).unwrap();
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 4);
}

#[test]
fn a_closed_pool_that_came_to_its_end_reopens_without_a_drain() {
    for _ in 0..200 {
        let census = Census::default();
        let pool = Pool::builder().workers(2).prestart(2).on_worker_start(census.hook());
        let pool = pool.build().unwrap();
        pool.close();
        common::eventually("the workers go", || pool.workers() == 0);
        pool.reopen().unwrap();
        pool.submit(|| ()).unwrap();
        pool.drain().unwrap();
        assert_eq!(census.count(), 0);
    }
}

#[test]
fn the_minimum_is_started_again() {
    let pool = Pool::builder().workers(2..=4).name("again").build().unwrap();
    for _ in 0..100 {
        pool.drain().unwrap();
        assert_eq!(pool.workers(), 0);
        pool.reopen().unwrap();
        assert_eq!((pool.workers(), pool.capacity()), (2, 4));
    }
    #[cfg(target_os = "linux")]
    common::eventually("two threads are there", || common::threads_named("again-") == 2);
}

#[test]
fn a_capacity_set_while_closed_holds_after_reopen() {
    let (pool, door) = (Pool::new(1), Door::new());
    pool.drain().unwrap();
    pool.resize(3).unwrap();
    pool.reopen().unwrap();
    for _ in 0..5 {
        let door = door.clone();
        pool.submit(move || door.wait()).unwrap();
    }
    door.await_waiting(3);
    assert_eq!((pool.busy(), pool.queued()), (3, 2));
    door.open();
}
