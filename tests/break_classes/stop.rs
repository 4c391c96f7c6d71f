//! Stopping what runs: `cancel_all` and `shutdown`, on every kind of pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use formic::JoinError;

use crate::common::{PATIENCE, Random, block_on, eventually, seed};
use crate::hold::{Hold, OpenAtLast};
use crate::kinds::{Job, Kind, Plan};
use crate::{counting, rounds, yield_once};

/// A task that runs until it is told to stop; a future until it is dropped.
fn endless<K: Kind>() -> Job {
    Box::pin(async {
        while !(K::THREADS && formic::is_cancelled()) {
            yield_once().await;
        }
    })
}

/// Counts where it is dropped.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Has every worker of the pool run an endless task, submitted or spawned.
fn keep_busy<K: Kind>(pool: &K, workers: usize) {
    pool.submit_each(&endless::<K>, workers);
    eventually("all run", || pool.stats().busy == workers * K::SHARDS);
}

/// What is queued is dropped, what runs is stopped, whether it has a handle or not, and the pool stays open.
fn cancel_all_drops_what_is_queued_and_stops_what_runs<K: Kind>() {
    for workers in [1, 2] {
        let pool = K::build(&Plan::new(workers, 16));
        keep_busy(&pool, workers);
        let dropped = Arc::new(AtomicUsize::new(0));
        let never = || -> Job {
            let dropped = Dropped(Arc::clone(&dropped));
            Box::pin(async move { panic!("{} were dropped", dropped.0.load(Ordering::SeqCst)) })
        };
        (0..4).for_each(|_| block_on(pool.submit(never())).unwrap());
        let handle = block_on(pool.spawn(never())).unwrap();
        let cancelled = pool.cancel_all();
        assert_eq!(cancelled.queued, 5);
        assert_eq!(cancelled.futures + cancelled.asked, workers * K::SHARDS);
        assert_eq!((cancelled.futures == 0, cancelled.asked == 0), (K::THREADS, !K::THREADS));
        assert_eq!(dropped.load(Ordering::SeqCst), 5);
        assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
        assert!(block_on(pool.wait_idle()));
        let (ran, asked) = (
            Arc::default(),
            block_on(pool.spawn(Box::pin(async {
                assert!(!formic::is_cancelled(), "it came later");
            }))),
        );
        block_on(pool.submit(counting(&ran))).expect("the pool is open");
        asked.unwrap().join().unwrap();
        assert!(block_on(pool.drain()));
        let stats = pool.stats();
        assert_eq!(ran.load(Ordering::SeqCst), 1);
        let stopped = (workers * K::SHARDS) as u64;
        let by_futures = if K::THREADS { 0 } else { stopped };
        assert_eq!((stats.cancelled, stats.completed), (5 + by_futures, 2 + stopped - by_futures));
        assert!(stats.adds_up(), "{stats:?}");
    }
}
on_every_pool!(cancel_all_drops_what_is_queued_and_stops_what_runs);

/// A task that was accepted after `cancel_all` is not asked to stop, also on the fast path.
fn a_task_that_comes_after_cancel_all_is_not_concerned<K: Kind>() {
    let (pool, wrong) = (K::build(&Plan::new(2, 1 << 16)), Arc::new(AtomicUsize::new(0)));
    for _ in 0..rounds(5_000) {
        // Short ones, so that workers are on the fast path.
        (0..300).for_each(|_| block_on(pool.submit(Box::pin(async {}))).unwrap());
        pool.cancel_all();
        let accepted = pool.stats().completed + pool.stats().cancelled;
        for _ in 0..20 {
            let wrong = Arc::clone(&wrong);
            let task =
                async move { _ = wrong.fetch_add(formic::is_cancelled().into(), Ordering::SeqCst) };
            block_on(pool.submit(Box::pin(task))).unwrap();
        }
        assert!(block_on(pool.wait_idle()));
        assert!(pool.stats().completed + pool.stats().cancelled >= accepted + 20);
        assert_eq!(wrong.load(Ordering::SeqCst), 0);
    }
    let stats = pool.stats();
    assert_eq!((stats.accepted, stats.adds_up()), (rounds(5_000) * 320, true), "{stats:?}");
}
on_every_pool!(a_task_that_comes_after_cancel_all_is_not_concerned);

/// Tasks are submitted and spawned while all are cancelled again and again: each ends, and is dropped once.
fn each_task_ends_once_while_all_are_cancelled<K: Kind>() {
    let mut random = Random(seed("each_task_ends_once_while_all_are_cancelled"));
    let pool = K::build(&Plan::new(2, 64));
    let (dropped, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (canceller, stop) = (pool.clone(), Arc::clone(&over));
    let canceller = std::thread::spawn(move || {
        let mut cancelled = 0;
        while !stop.load(Ordering::SeqCst) {
            cancelled += canceller.cancel_all().queued;
            std::thread::yield_now();
        }
        cancelled
    });
    let tasks = rounds(50_000) as usize;
    for _ in 0..tasks {
        let (dropped, kind) = (Dropped(Arc::clone(&dropped)), random.below(4));
        let task: Job = Box::pin(async move {
            let _dropped = dropped;
            if kind > 1 {
                endless::<K>().await;
            }
        });
        match kind % 2 {
            0 => block_on(pool.submit(task)).unwrap(),
            _ => drop(block_on(pool.spawn(task)).unwrap()),
        }
    }
    assert!(block_on(pool.wait_idle()), "the last endless one is stopped, too");
    over.store(true, Ordering::SeqCst);
    let queued = canceller.join().unwrap();
    assert!(block_on(pool.drain()));
    let stats = pool.stats();
    assert_eq!(dropped.load(Ordering::SeqCst), tasks);
    assert_eq!((stats.accepted, stats.completed + stats.cancelled), (tasks as u64, tasks as u64));
    assert!(stats.cancelled >= queued as u64 && stats.adds_up(), "{stats:?} {queued}");
    assert!(!K::THREADS || stats.cancelled == queued as u64, "{stats:?} {queued}");
}
on_every_pool!(each_task_ends_once_while_all_are_cancelled);

/// A task may cancel all tasks of its pool, and is asked to stop itself.
fn a_task_cancels_all<K: Kind>() {
    for _ in 0..rounds(500) {
        let (pool, (sender, receiver)) = (K::build(&Plan::new(1, 16)), mpsc::channel());
        let inner = pool.clone();
        let task = async move {
            let before = formic::is_cancelled();
            let cancelled = inner.cancel_all();
            sender
                .send((before, formic::is_cancelled(), cancelled.asked + cancelled.futures))
                .unwrap();
        };
        block_on(pool.submit(Box::pin(task))).unwrap();
        assert_eq!(receiver.recv_timeout(PATIENCE), Ok((false, true, 1)));
        assert!(block_on(pool.drain()));
    }
}
on_every_pool!(a_task_cancels_all);

/// Tasks that heed a cancellation are stopped when the grace is over; a drained pool can be opened again.
fn shutdown_stops_what_runs<K: Kind>() {
    let pool = K::build(&Plan::new(2, 16));
    for grace in [Duration::ZERO, Duration::from_millis(2)] {
        keep_busy(&pool, 2);
        let handle = block_on(pool.spawn(Box::pin(async { panic!("it was queued") }))).unwrap();
        assert!(block_on(pool.shutdown(grace)));
        assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
        let stats = pool.stats();
        assert_eq!((stats.workers, stats.busy, stats.queued), (0, 0, 0), "{stats:?}");
        assert!(block_on(pool.submit(endless::<K>())).is_err(), "it is closed");
        pool.reopen();
        let asked = block_on(pool.spawn(Box::pin(async { assert!(!formic::is_cancelled()) })));
        asked.unwrap().join().unwrap();
    }
}
on_every_pool!(shutdown_stops_what_runs);

/// `shutdown` as a call that blocks and as a future, whatever the tasks are. The future closes the pool when it is first
/// polled, and does not keep it.
fn shutdown_blocks_or_is_awaited<K: Kind>() {
    for awaited in [false, true] {
        let pool = K::build(&Plan::new(2, 16));
        keep_busy(&pool, 2);
        let handle = block_on(pool.spawn(Box::pin(async { panic!("it was queued") }))).unwrap();
        if awaited {
            let ended = pool.shutdown_async(Duration::from_millis(1));
            block_on(pool.submit(endless::<K>())).expect("it has not been polled");
            assert!(block_on(ended));
        } else {
            assert!(pool.blocking_shutdown(Duration::from_millis(1)));
        }
        assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
        let stats = pool.stats();
        assert_eq!((stats.workers, stats.busy, stats.queued), (0, 0, 0), "{stats:?}");
    }
}
on_every_pool!(shutdown_blocks_or_is_awaited);

/// What ends within the grace is not asked to stop.
fn shutdown_lets_what_was_accepted_run<K: Kind>() {
    let (pool, ran) = (K::build(&Plan::new(2, 64)), Arc::new(AtomicUsize::new(0)));
    (0..50).for_each(|_| block_on(pool.submit(counting(&ran))).unwrap());
    assert!(block_on(pool.shutdown(PATIENCE)));
    assert_eq!((ran.load(Ordering::SeqCst), pool.stats().cancelled), (50, 0));
}
on_every_pool!(shutdown_lets_what_was_accepted_run);

/// A closure that does not ask whether it is cancelled does not hang a shutdown. A future is dropped.
fn shutdown_says_what_is_left<K: Kind>() {
    let (pool, hold) = (K::build(&Plan::new(1, 4)), Hold::default());
    let _open = OpenAtLast(&hold);
    pool.hold_each(&hold, 1);
    hold.await_waiting(K::SHARDS);
    assert_eq!(block_on(pool.shutdown(Duration::ZERO)), !K::THREADS);
    assert_eq!(pool.stats().busy, if K::THREADS { K::SHARDS } else { 0 });
    hold.open();
    assert!(block_on(pool.drain()));
}
on_every_pool!(shutdown_says_what_is_left);

/// A task cannot wait for its own end: it is told so at once, and the pool stays open.
fn a_task_is_told_that_it_cannot_shut_down<K: Kind>() {
    let (pool, (sender, receiver)) = (K::build(&Plan::new(2, 4)), mpsc::channel());
    let inner = pool.clone();
    let task = async move { sender.send(inner.shutdown(Duration::ZERO).await).unwrap() };
    block_on(pool.submit(Box::pin(task))).unwrap();
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(false));
    block_on(pool.submit(Box::pin(async {}))).expect("it is still open");
    assert!(block_on(pool.drain()));
    assert_eq!(pool.stats().completed, 2);
}
on_every_pool!(a_task_is_told_that_it_cannot_shut_down);
