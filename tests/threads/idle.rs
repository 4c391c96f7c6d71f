//! `wait_idle` returns when nothing is left, and not before; `discard` leaves nothing that waits.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::common::{Door, block_on, eventually, poll_once, submit_held};
use formic::{Pool, Refused};

const ROUNDS: usize = if cfg!(debug_assertions) { 30_000 } else { 300_000 };

fn submit_count(pool: &Pool, ran: &Arc<AtomicUsize>) {
    let ran = Arc::clone(ran);
    let task = move || {
        ran.fetch_add(1, Ordering::Relaxed);
    };
    pool.submit(task).expect("the pool is open");
}

#[test]
fn wait_idle_never_returns_before_the_task_has_run() {
    for workers in [1, 4] {
        let (pool, ran) = (Pool::new(workers), Arc::new(AtomicUsize::new(0)));
        for round in 1..=ROUNDS / 2 {
            submit_count(&pool, &ran);
            pool.wait_idle().unwrap();
            assert_eq!(ran.load(Ordering::Relaxed), round);
        }
    }
}

#[test]
fn wait_idle_never_returns_before_a_burst_has_run() {
    let (pool, ran) = (Pool::new(3), Arc::new(AtomicUsize::new(0)));
    let mut submitted = 0;
    for round in 0..ROUNDS / 30 {
        for _ in 0..round % 70 {
            submit_count(&pool, &ran);
            submitted += 1;
        }
        pool.wait_idle().unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), submitted);
        assert_eq!(Arc::strong_count(&ran), 1, "what a task owned is gone when it has ended");
    }
}

#[test]
fn eight_joiners_all_return_and_none_too_early() {
    let (pool, ran) = (Pool::new(2), Arc::new(AtomicUsize::new(0)));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..ROUNDS / 100 {
                    let mine = Arc::new(AtomicUsize::new(0));
                    (0..3).for_each(|_| submit_count(&pool, &mine));
                    submit_count(&pool, &ran);
                    pool.wait_idle().unwrap();
                    assert_eq!(mine.load(Ordering::Relaxed), 3);
                }
            });
        }
    });
    assert_eq!(ran.load(Ordering::Relaxed), 8 * (ROUNDS / 100));
}

#[test]
fn eight_who_wait_for_one_task_all_return() {
    let pool = Pool::new(2);
    for _ in 0..200 {
        let door = Door::new();
        let ran = submit_held(&pool, &door, 1);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    pool.wait_idle().unwrap();
                    assert_eq!(ran.load(Ordering::Relaxed), 1);
                });
            }
            door.await_waiting(1);
            door.open();
        });
    }
}

#[test]
fn wait_idle_returns_at_once_when_there_is_nothing() {
    let pool = Pool::new(2);
    pool.wait_idle().unwrap();
    block_on(pool.wait_idle_async()).unwrap();
    pool.drain().unwrap();
    pool.wait_idle().unwrap();
}

#[test]
fn wait_idle_can_be_awaited() {
    let (pool, ran) = (Pool::new(2), Arc::new(AtomicUsize::new(0)));
    for round in 1..=ROUNDS / 10 {
        submit_count(&pool, &ran);
        block_on(pool.wait_idle_async()).unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), round);
    }
}

#[test]
fn a_dropped_wait_idle_future_waits_no_longer() {
    let (pool, door) = (Pool::new(2), Door::new());
    let ran = submit_held(&pool, &door, 4);
    let mut kept = pin!(pool.wait_idle_async());
    assert!(poll_once(kept.as_mut()).is_pending());
    for _ in 0..10 {
        assert!(poll_once(pin!(pool.wait_idle_async())).is_pending());
    }
    door.open();
    block_on(kept).unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 4);
    pool.wait_idle().unwrap();
}

#[test]
fn wait_idle_leaves_the_pool_open() {
    let pool = Pool::new(1);
    pool.submit(|| ()).unwrap();
    pool.wait_idle().unwrap();
    assert!(!pool.is_closed());
    pool.submit(|| ()).unwrap();
    pool.wait_idle().unwrap();
    assert_eq!(pool.stats().completed, 2);
}

#[test]
fn discard_drops_what_has_not_been_started() {
    let (pool, door) = (Pool::new(2), Door::new());
    let ran = submit_held(&pool, &door, 2);
    door.await_waiting(2);
    let owned = Arc::new(());
    for _ in 0..1000 {
        let owned = Arc::clone(&owned);
        pool.submit(move || drop(owned)).unwrap();
    }
    assert_eq!(Arc::strong_count(&owned), 1001);
    assert_eq!(pool.discard(), 1000);
    assert_eq!(Arc::strong_count(&owned), 1);
    let stats = pool.stats();
    assert_eq!((stats.cancelled, stats.queued, stats.busy, stats.completed), (1000, 0, 2, 0));
    assert!(stats.adds_up());
    assert_eq!(pool.discard(), 0);
    door.open();
    pool.wait_idle().unwrap();
    assert_eq!((ran.load(Ordering::Relaxed), pool.stats().completed), (2, 2));
}

#[test]
fn discard_frees_places_for_blocked_submitters() {
    let pool = Pool::builder().workers(1).queue(3).build().unwrap();
    let door = Door::new();
    submit_held(&pool, &door, 4);
    door.await_waiting(1);
    let ran = Arc::new(AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| submit_count(&pool, &ran));
        }
        eventually("three submitters wait", || pool.waiting() == 3);
        assert_eq!(pool.discard(), 3);
    });
    // All three have returned although the worker is still held.
    assert_eq!((pool.queued(), pool.waiting(), pool.busy()), (3, 0, 1));
    assert_eq!(pool.try_submit(|| ()).unwrap_err().reason(), Refused::Full);
    door.open();
    pool.wait_idle().unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 3);
}

#[test]
fn wait_idle_returns_when_the_rest_is_discarded() {
    let (pool, door) = (Pool::new(1), Door::new());
    let ran = submit_held(&pool, &door, 100);
    door.await_waiting(1);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| pool.wait_idle().unwrap());
        door.let_one_pass();
        door.await_waiting(1);
        let dropped = pool.discard();
        door.let_one_pass();
        waiting.join().unwrap();
        assert_eq!(ran.load(Ordering::Relaxed) + dropped, 100);
    });
}

#[test]
fn a_closed_pool_can_be_discarded_and_drained() {
    let (pool, door) = (Pool::new(2), Door::new());
    submit_held(&pool, &door, 50);
    door.await_waiting(2);
    pool.close();
    assert_eq!(pool.discard(), 48);
    door.open();
    pool.drain().unwrap();
    let stats = pool.stats();
    assert_eq!((stats.completed, stats.cancelled, stats.workers), (2, 48, 0));
}
