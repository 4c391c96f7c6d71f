//! Faults from outside: the operating system refuses threads, the memory is limited, the process ends.
//! Each happens in a child process, which is this test binary again.

#![cfg(target_os = "linux")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::child::{LIMIT_KIB, STACK, child, end_of, exhaust_threads, plays, succeeds};
use crate::common::{self, Door, hold_workers};
use formic::{Pool, Refused};

#[test]
fn a_pool_without_any_worker_says_so() {
    let part = "outside::a_pool_without_any_worker_says_so";
    if !plays(part) {
        return succeeds(part, Some(LIMIT_KIB));
    }
    let others = exhaust_threads();
    let pool = Pool::builder().workers(2).stack_size(STACK).build().unwrap();
    let error = pool.submit(|| ()).unwrap_err();
    assert_eq!(error.reason(), Refused::NoWorker);
    (error.into_task())();
    assert_eq!(pool.try_submit(|| ()).unwrap_err().reason(), Refused::NoWorker);
    assert!(pool.prestart(1).is_err());
    let stats = pool.stats();
    assert_eq!((stats.accepted, stats.refused, stats.workers), (0, 2, 0), "{stats:?}");
    // When there is memory again there are workers again.
    others.iter().for_each(|other| other.drain().unwrap());
    assert_eq!(pool.spawn(|| 6 * 7).unwrap().join().unwrap(), 42);
    pool.drain().unwrap();
}

#[test]
fn a_pool_with_fewer_workers_than_it_may_have_is_only_slower() {
    let part = "outside::a_pool_with_fewer_workers_than_it_may_have_is_only_slower";
    if !plays(part) {
        return succeeds(part, Some(LIMIT_KIB));
    }
    let pool = Pool::builder().workers(64).stack_size(STACK).queue(16).build().unwrap();
    let most = Arc::new(AtomicUsize::new(0));
    for _ in 0..500 {
        let (most, inside) = (Arc::clone(&most), pool.clone());
        let task = move || {
            most.fetch_max(inside.workers(), Ordering::Relaxed);
            std::thread::yield_now();
        };
        pool.submit(task).unwrap();
    }
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 500);
    let most = most.load(Ordering::Relaxed);
    assert!((1..16).contains(&most), "{most} stacks fit into the limit");
}

/// The memory in use, in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_bounded_queue_keeps_a_fast_producer_from_filling_the_memory() {
    let part = "outside::a_bounded_queue_keeps_a_fast_producer_from_filling_the_memory";
    if !plays(part) {
        return succeeds(part, None);
    }
    let (pool, door) = (Pool::builder().workers(1).queue(100).build().unwrap(), Door::new());
    hold_workers(&pool, &door, 1);
    let before = resident();
    let mut refused = 0;
    // A gigabyte, if all of it were kept.
    for _ in 0..100_000 {
        let load = vec![1_u8; 10_000];
        refused += usize::from(pool.try_submit(move || drop(load)).is_err());
    }
    let grown = resident().saturating_sub(before);
    assert_eq!((refused, pool.queued()), (99_900, 100));
    assert!(grown < 50_000, "{grown} KiB for a hundred tasks of ten kilobytes");
    // One that waits is held up instead, and its task with it.
    let timed_out = pool.admit_timeout(Duration::from_millis(1)).unwrap_err();
    assert_eq!(timed_out, Refused::TimedOut);
    door.open();
    pool.drain().unwrap();
}

/// A pool that never comes to its end: its only worker is stuck, and its queue is full.
fn stuck_pool() -> Pool {
    let (pool, door) = (Pool::builder().workers(1).queue(3).build().unwrap(), Door::new());
    hold_workers(&pool, &door, 1);
    while pool.try_submit(|| ()).is_ok() {}
    pool
}

#[test]
fn a_process_exits_at_once_while_tasks_run_and_wait() {
    let part = "outside::a_process_exits_at_once_while_tasks_run_and_wait";
    if plays(part) {
        let pool = stuck_pool();
        // And one who waits for a place.
        let waiting = pool.clone();
        std::thread::spawn(move || waiting.submit(|| ()));
        common::eventually("somebody waits", || pool.waiting() == 1);
        std::process::exit(42);
    }
    assert_eq!(end_of(child(part, None)).status.code(), Some(42));
}

#[test]
fn a_process_returns_from_main_while_tasks_run_and_wait() {
    let part = "outside::a_process_returns_from_main_while_tasks_run_and_wait";
    if plays(part) {
        // The main thread of the child returns when its only test has; the worker is still stuck. The
        // last handle is dropped here, which does not wait.
        return drop(stuck_pool());
    }
    assert_eq!(end_of(child(part, None)).status.code(), Some(0));
}

#[test]
fn a_global_pool_does_not_keep_the_process() {
    let part = "outside::a_global_pool_does_not_keep_the_process";
    if plays(part) {
        let door = Door::new();
        hold_workers(formic::global(), &door, 1);
        return;
    }
    assert_eq!(end_of(child(part, None)).status.code(), Some(0));
}
