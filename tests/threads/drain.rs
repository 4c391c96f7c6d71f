//! Clean ends: a drain returns after everything accepted has run and every worker's thread is gone.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::common::{self, Census, Door, PATIENCE, Random, block_on, poll_once, submit_held};
use formic::{Pool, Refused, ReopenError};

/// A pool of up to `workers`, and the count of its threads.
fn counted(workers: usize) -> (Pool, Census) {
    let census = Census::default();
    let pool = Pool::builder().workers(workers).on_worker_start(census.hook());
    (pool.build().expect("the settings are good"), census)
}

#[test]
fn a_drain_returns_when_every_task_has_run_and_every_thread_is_joined() {
    for round in 0..50 {
        let (pool, census) = counted(4);
        let door = Door::new();
        let ran = submit_held(&pool, &door, 100);
        door.open();
        pool.drain().unwrap();
        assert_eq!(census.count(), 0, "in round {round}");
        assert_eq!(ran.load(Ordering::Relaxed), 100);
        let stats = pool.stats();
        assert_eq!((stats.workers, stats.completed, stats.queued), (0, 100, 0));
        assert!(pool.is_closed());
    }
}

#[test]
fn a_drain_joins_idle_workers_too() {
    for keep_alive in [None, Some(Duration::from_millis(1))] {
        for _ in 0..50 {
            let census = Census::default();
            let pool = Pool::builder().workers(1..=6).prestart(6).keep_alive(keep_alive);
            let pool = pool.on_worker_start(census.hook()).build().unwrap();
            pool.drain().unwrap();
            assert_eq!((census.count(), pool.workers()), (0, 0));
        }
    }
}

#[test]
fn a_drain_waits_for_the_stop_hook() {
    let (door, stopped) = (Door::new(), Arc::new(AtomicUsize::new(0)));
    let (held, count) = (door.clone(), Arc::clone(&stopped));
    let pool = Pool::builder().workers(3).prestart(3).on_worker_stop(move |_| {
        held.wait();
        count.fetch_add(1, Ordering::Relaxed);
    });
    let pool = pool.build().unwrap();
    pool.close();
    door.await_waiting(3);
    let left = pool.drain_timeout(Duration::from_millis(1)).unwrap_err();
    assert_eq!((left.running(), left.queued()), (0, 0));
    assert_eq!(pool.workers(), 3, "a worker counts until its hook has returned");
    door.open();
    pool.drain().unwrap();
    assert_eq!(stopped.load(Ordering::Relaxed), 3);
}

#[test]
fn everyone_who_drains_returns_after_the_end() {
    for _ in 0..50 {
        let (pool, census) = counted(3);
        let door = Door::new();
        let ran = submit_held(&pool, &door, 20);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    pool.drain().unwrap();
                    assert_eq!(ran.load(Ordering::Relaxed), 20);
                    assert_eq!((census.count(), pool.workers()), (0, 0));
                });
            }
            door.await_waiting(3);
            door.open();
        });
    }
}

#[test]
fn a_drain_with_a_deadline_says_what_is_left_and_can_be_called_again() {
    let (pool, census) = counted(2);
    let door = Door::new();
    let ran = submit_held(&pool, &door, 7);
    door.await_waiting(2);
    for _ in 0..3 {
        let left = pool.drain_timeout(Duration::from_millis(2)).unwrap_err();
        assert_eq!((left.running(), left.queued(), left.permits()), (2, 5, 0));
        assert!(!left.is_from_inside());
    }
    assert_eq!(pool.submit(|| ()).unwrap_err().reason(), Refused::Closed);
    door.let_one_pass();
    common::eventually("the next task begins", || ran.load(Ordering::Relaxed) == 1);
    common::eventually("it is counted", || pool.queued() == 4);
    let left = pool.drain_timeout(Duration::ZERO).unwrap_err();
    assert_eq!((left.running(), left.queued()), (2, 4));
    door.open();
    pool.drain_timeout(PATIENCE).unwrap();
    assert_eq!((ran.load(Ordering::Relaxed), census.count()), (7, 0));
}

#[test]
fn a_drain_waits_for_a_permit() {
    let pool = Pool::new(2);
    let permit = pool.admit().unwrap();
    let left = pool.drain_timeout(Duration::from_millis(2)).unwrap_err();
    assert_eq!((left.running(), left.queued(), left.permits()), (0, 0, 1));
    let ran = Arc::new(AtomicBool::new(false));
    let run = Arc::clone(&ran);
    permit.submit(move || run.store(true, Ordering::Relaxed));
    pool.drain().unwrap();
    assert!(ran.load(Ordering::Relaxed));
}

#[test]
fn a_permit_dropped_after_close_lets_the_drain_end() {
    for prestart in [1, 3] {
        let pool = Pool::builder().workers(3).prestart(prestart).build().unwrap();
        let permit = pool.admit().unwrap();
        thread::scope(|scope| {
            let drainer = scope.spawn(|| pool.drain_timeout(PATIENCE));
            common::eventually("the last worker stays", || pool.is_closed() && pool.workers() == 1);
            drop(permit);
            drainer.join().unwrap().unwrap();
        });
        assert_eq!(pool.workers(), 0);
    }
}

#[test]
fn a_drain_can_be_awaited() {
    let (pool, census) = counted(3);
    let door = Door::new();
    let ran = submit_held(&pool, &door, 20);
    let mut drain = pin!(pool.drain_async());
    assert!(!pool.is_closed(), "a future that was not polled has done nothing");
    assert!(poll_once(drain.as_mut()).is_pending());
    assert!(pool.is_closed());
    door.open();
    block_on(drain).unwrap();
    assert_eq!((ran.load(Ordering::Relaxed), census.count(), pool.workers()), (20, 0, 0));
}

#[test]
fn a_dropped_drain_future_leaves_the_pool_closed_and_drainable() {
    let (pool, census) = counted(2);
    let door = Door::new();
    let ran = submit_held(&pool, &door, 5);
    for _ in 0..10 {
        assert!(poll_once(pin!(pool.drain_async())).is_pending());
    }
    assert!(pool.is_closed());
    assert!(matches!(pool.reopen(), Err(ReopenError::StillRunning(_))));
    door.open();
    block_on(pool.drain_async()).unwrap();
    assert_eq!((ran.load(Ordering::Relaxed), census.count()), (5, 0));
}

#[test]
fn a_pool_that_never_ran_anything_drains() {
    Pool::new(3).drain().unwrap();
    Pool::new(3).drain_timeout(Duration::ZERO).unwrap();
    block_on(Pool::new(3).drain_async()).unwrap();
}

#[test]
fn draining_twice_does_no_harm() {
    let pool = Pool::new(2);
    pool.submit(|| ()).unwrap();
    for _ in 0..3 {
        pool.drain().unwrap();
        pool.drain_timeout(Duration::ZERO).unwrap();
        block_on(pool.drain_async()).unwrap();
        pool.close();
    }
    assert_eq!(pool.stats().completed, 1);
}

/// Two drain, the first to return opens the pool again. The other's end has come all the same: it
/// must not wait for workers that were started afterwards.
#[test]
fn a_drain_does_not_wait_for_the_workers_of_a_pool_that_was_reopened() {
    let pool = Pool::builder().workers(1..=2).build().unwrap();
    let door = Door::new();
    submit_held(&pool, &door, 1);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let mut drain = Box::pin(pool.drain_async());
        assert!(poll_once(drain.as_mut()).is_pending());
        door.open();
        pool.drain().unwrap();
        pool.reopen().unwrap();
        scope.spawn(move || {
            block_on(drain).unwrap();
            sender.send(()).unwrap();
        });
        let returned = receiver.recv_timeout(PATIENCE);
        // Let the other thread go, whatever came of it.
        pool.close();
        assert!(returned.is_ok(), "the drain waits for the minimum of the reopened pool");
    });
}

/// Every task either ran before the drain returned, or came back as closed.
#[test]
fn no_task_is_lost_between_submit_and_close() {
    let mut random = Random(common::seed("no_task_is_lost_between_submit_and_close"));
    for round in 0..200 {
        let queue = [0, 1, 16, 4096][round % 4];
        let pool = Pool::builder().workers(1 + round % 3).queue(queue).build().unwrap();
        let (ran, drained) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let late = Arc::new(AtomicUsize::new(0));
        let accepted = AtomicUsize::new(0);
        let close_at = random.below(300) as usize;
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    loop {
                        let (ran, drained) = (Arc::clone(&ran), Arc::clone(&drained));
                        let late = Arc::clone(&late);
                        let task = move || {
                            if drained.load(Ordering::SeqCst) {
                                late.fetch_add(1, Ordering::SeqCst);
                            }
                            ran.fetch_add(1, Ordering::SeqCst);
                        };
                        let Err(error) = pool.submit(task) else {
                            accepted.fetch_add(1, Ordering::SeqCst);
                            continue;
                        };
                        assert_eq!(error.reason(), Refused::Closed);
                        return;
                    }
                });
            }
            while accepted.load(Ordering::SeqCst) < close_at {
                thread::yield_now();
            }
            if round % 2 == 0 {
                pool.close();
            }
            pool.drain().unwrap();
            drained.store(true, Ordering::SeqCst);
        });
        let (ran, accepted) = (ran.load(Ordering::SeqCst), accepted.load(Ordering::SeqCst));
        assert_eq!(ran, accepted, "in round {round}");
        assert_eq!(late.load(Ordering::SeqCst), 0, "a task ran after the drain, round {round}");
        assert_eq!(pool.stats().completed, ran as u64);
        assert_eq!(Arc::strong_count(&drained), 1, "a task was kept");
    }
}
