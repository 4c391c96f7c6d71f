//! Calls that block until futures end: refused where they would block a thread of a runtime, and at work
//! everywhere else.

#![cfg(feature = "tokio")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use common::on_tokio::{Stop, on, on_both, runtime, small, soon, watch};
use formic::{AsyncPool, JoinError, Refused};
use tokio::runtime::Runtime;
use tokio::task::{block_in_place, spawn_blocking, yield_now};

/// A pool of futures on this runtime, with one place to run and no queue.
fn pool_on(runtime: &Runtime) -> AsyncPool {
    let builder = AsyncPool::builder().workers(1).queue(0);
    builder.runtime(runtime.handle().clone()).build().unwrap()
}

#[test]
fn join_is_refused_where_it_would_block_a_runtime() {
    on_both(|| async {
        let (pool, stop) = (small(2, 10), Stop::new());
        let handle = pool.spawn(stop.task()).await.unwrap();
        let error = handle.join().unwrap_err();
        assert!(matches!(error, JoinError::Refused(Refused::InRuntime)), "{error:?}");
        assert!(error.to_string().contains("`.await`"), "{error}");
        let handle = pool.spawn(stop.task()).await.unwrap();
        let error = tokio::spawn(async { handle.join().unwrap_err() }).await.unwrap();
        assert!(matches!(error, JoinError::Refused(Refused::InRuntime)), "{error:?}");
        stop.open();
        pool.drain().await.unwrap();
        assert_eq!(pool.stats().completed, 2, "a task runs on after a refused join");
    });
}

#[test]
fn join_takes_an_outcome_that_is_there_anywhere() {
    on_both(|| async {
        let pool = small(1, 1);
        let handle = pool.spawn(async { 7 }).await.unwrap();
        soon("it has ended", || handle.is_finished()).await;
        assert_eq!(handle.join().unwrap(), 7);
    });
}

#[test]
fn join_blocks_in_spawn_blocking_and_in_block_in_place() {
    on_both(|| async {
        let pool = small(1, 1);
        let handle = pool.spawn(yield_now()).await.unwrap();
        spawn_blocking(|| handle.join()).await.unwrap().unwrap();
    });
    on(2, || async {
        let pool = small(1, 1);
        let handle = pool.spawn(yield_now()).await.unwrap();
        block_in_place(|| handle.join()).unwrap();
    });
}

#[test]
fn join_blocks_on_a_thread_that_has_entered_a_runtime() {
    watch(|| {
        let runtime = runtime(1);
        let pool = pool_on(&runtime);
        let _inside = runtime.enter();
        pool.try_spawn(yield_now()).unwrap().join().unwrap();
    });
}
