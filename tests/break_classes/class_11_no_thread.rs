//! Class 11: the operating system has no more threads. An error if there is no worker, and otherwise
//! only a slower pool. Each test plays its part in a child process, whose memory is limited, so that
//! only a few stacks fit into it. `src/engine/tests/faults.rs` has the same at every worker, by injection.

#![cfg(target_os = "linux")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use formic::Refused;

use crate::common::block_on;
use crate::common::child::{LIMIT_KIB, STACK, exhaust_threads, plays, succeeds};
use crate::counting;
use crate::hold::Hold;
use crate::kinds::{Kind, Plan};

/// Runs a test in a child that has the name of this thread.
fn in_a_child(part: impl FnOnce()) {
    let thread = std::thread::current();
    let name = thread.name().expect("it has the name of the test");
    if plays(name) { part() } else { succeeds(name, Some(LIMIT_KIB)) }
}

/// Worker 0 cannot be started: the task comes back. Later it can, and the pool works.
fn no_first_worker<K: Kind>() {
    in_a_child(|| {
        let others = exhaust_threads();
        let pool = K::build(&Plan { stack_size: Some(STACK), ..Plan::new(2, 4) });
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..10 {
            let back = block_on(pool.submit(counting(&ran))).unwrap_err();
            assert_eq!(back.reason, Refused::NoWorker);
            block_on(back.job);
            let back = block_on(pool.spawn(counting(&ran))).unwrap_err();
            assert_eq!(back.reason, Refused::NoWorker);
            assert_eq!(pool.try_submit(counting(&ran)).unwrap_err().reason, Refused::NoWorker);
        }
        assert_eq!((ran.load(Ordering::SeqCst), Arc::strong_count(&ran)), (10, 1));
        let stats = pool.stats();
        assert_eq!((stats.accepted, stats.refused, stats.workers), (0, 30, 0), "{stats:?}");
        others.iter().for_each(|other| assert!(other.drain().is_ok()));
        block_on(pool.spawn(counting(&ran))).unwrap().join().unwrap();
        assert!(block_on(pool.drain()));
        assert_eq!(pool.stats().completed, 1);
    });
}
on_every_pool_with_threads!(no_first_worker);

/// Worker n cannot be started: those that there are do the work.
fn no_further_worker<K: Kind>() {
    in_a_child(|| {
        let plan = Plan { stack_size: Some(STACK), ..Plan::new(64, 16) };
        let (pool, ran) = (K::build(&plan), Arc::new(AtomicUsize::new(0)));
        let hold = Hold::default();
        // All of them have a place, and only those that have a worker begin.
        (0..40).for_each(|_| block_on(pool.submit(hold.job())).unwrap());
        let stats = pool.stats();
        assert!(stats.workers > 0 && stats.queued > 0, "{stats:?}");
        hold.open();
        (0..1000).for_each(|_| block_on(pool.submit(counting(&ran))).unwrap());
        assert!(block_on(pool.drain()));
        assert_eq!(ran.load(Ordering::SeqCst), 1000);
        assert_eq!(plan.census.count(), 0);
    });
}
on_every_thread_pool!(no_further_worker);

/// The workers went, and cannot be started again: an error until they can.
fn no_regrowth<K: Kind>() {
    in_a_child(|| {
        let plan = Plan { stack_size: Some(STACK), ..Plan::new(2, 4) };
        let (pool, ran) = (K::build(&plan), Arc::new(AtomicUsize::new(0)));
        block_on(pool.submit(counting(&ran))).unwrap();
        assert!(block_on(pool.drain()));
        let others = exhaust_threads();
        pool.reopen();
        let back = block_on(pool.submit(counting(&ran))).unwrap_err();
        assert_eq!(back.reason, Refused::NoWorker);
        drop(back);
        others.iter().for_each(|other| assert!(other.drain().is_ok()));
        block_on(pool.spawn(counting(&ran))).unwrap().join().unwrap();
        assert!(block_on(pool.drain()));
        assert_eq!((ran.load(Ordering::SeqCst), Arc::strong_count(&ran)), (2, 1));
    });
}
on_every_pool_with_threads!(no_regrowth);

/// Threads of a pool of futures cannot be started: those that there are do the work.
#[cfg(feature = "tokio")]
#[test]
fn futures_on_those_threads_that_there_are() {
    crate::watched(concat!(module_path!(), "::futures_on_those_threads_that_there_are"), || {
        in_a_child(|| {
            let plan = Plan { stack_size: Some(STACK), ..Plan::new(64, 16) };
            let pool = plan.own_threads_settings(formic::AsyncPool::builder());
            let pool = pool.own_threads(64).build().unwrap();
            let ran = Arc::new(AtomicUsize::new(0));
            for _ in 0..20 {
                (0..1000).for_each(|_| pool.blocking_submit(counting(&ran)).unwrap());
                let threads = plan.census.count();
                assert!((1..64).contains(&threads), "{threads}");
            }
            pool.blocking_drain().unwrap();
            assert_eq!(ran.load(Ordering::SeqCst), 20_000);
            assert_eq!(plan.census.count(), 0);
        });
    });
}
