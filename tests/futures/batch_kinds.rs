//! What decides a batch, on every kind of pool of futures: the first that returns, the first success, all or the first
//! failure, and the end of the batch.

use formic::{AsyncFnPool, AsyncPool, Balance, BatchError, Multi};

use crate::common::on_tokio::{hushed, on_both};

/// What a task does.
enum Act {
    Return(Result<usize, &'static str>),
    Panic,
    /// Is never ready.
    Run,
}

async fn act(act: Act) -> Result<usize, &'static str> {
    match act {
        Act::Return(result) => result,
        Act::Panic => panic!("no"),
        Act::Run => std::future::pending().await,
    }
}

/// Makes a test of each kind of pool. `$pool` makes a pool with a place for each of so many tasks, and `$task` makes a
/// task of it.
macro_rules! on_every_kind {
    ($(async fn $test:ident($pool:ident, $task:ident) $body:block)*) => {
        mod pool {
            use super::*;
            $(#[test] fn $test() {
                on_both(|| async {
                    let ($pool, $task) = (|workers| hushed(workers, 4), act);
                    $body
                });
            })*
        }
        mod fn_pool {
            use super::*;
            $(#[test] fn $test() {
                on_both(|| async {
                    let $pool = |workers| {
                        AsyncFnPool::builder().workers(workers).on_panic(|_| ()).build(act).unwrap()
                    };
                    let $task = |it: Act| it;
                    $body
                });
            })*
        }
        mod multi {
            use super::*;
            $(#[test] fn $test() {
                on_both(|| async {
                    let $pool = |workers| {
                        let make = || AsyncPool::builder().workers(workers).on_panic(|_| ()).build();
                        Multi::try_new(2, Balance::RoundRobin, make).unwrap()
                    };
                    let $task = act;
                    $body
                });
            })*
        }
        mod multi_fn {
            use super::*;
            $(#[test] fn $test() {
                on_both(|| async {
                    let $pool = |workers| {
                        let make = || AsyncFnPool::builder().workers(workers).on_panic(|_| ()).build(act);
                        Multi::try_new(2, Balance::RoundRobin, make).unwrap()
                    };
                    let $task = |it: Act| it;
                    $body
                });
            })*
        }
    };
}

on_every_kind! {
    async fn the_first_that_returns_decides_and_the_rest_is_dropped(pool, task) {
        let pool = pool(3);
        let mut batch = pool.batch();
        batch.spawn(task(Act::Panic)).await.unwrap();
        batch.spawn(task(Act::Return(Err("no")))).await.unwrap();
        batch.spawn(task(Act::Run)).await.unwrap();
        assert_eq!(batch.first_returned_async().await.unwrap(), Err("no"));
        pool.drain().await.unwrap();
        let stats = pool.stats();
        assert!(stats.completed == 1 && stats.cancelled >= 1, "{stats:?}");
    }

    async fn the_first_success_decides_and_the_rest_is_dropped(pool, task) {
        let pool = pool(4);
        let mut batch = pool.batch();
        batch.spawn(task(Act::Panic)).await.unwrap();
        batch.spawn(task(Act::Return(Err("no")))).await.unwrap();
        batch.spawn(task(Act::Run)).await.unwrap();
        batch.spawn(task(Act::Return(Ok(7)))).await.unwrap();
        assert_eq!(batch.first_success_async().await.unwrap(), 7);
        pool.drain().await.unwrap();
        assert!(pool.stats().cancelled >= 1, "the one that is never ready");
    }

    async fn all_values_or_the_first_failure(pool, task) {
        let pool = pool(3);
        let mut batch = pool.batch();
        for number in 0..5 {
            batch.spawn(task(Act::Return(Ok(number)))).await.unwrap();
        }
        assert_eq!(batch.try_join_all_async().await.unwrap(), [0, 1, 2, 3, 4]);
        let mut batch = pool.batch();
        batch.spawn(task(Act::Run)).await.unwrap();
        batch.spawn(task(Act::Return(Ok(1)))).await.unwrap();
        batch.spawn(task(Act::Return(Err("two")))).await.unwrap();
        let error = batch.try_join_all_async().await.unwrap_err();
        assert!(matches!(error, BatchError::Failed { index: 2, error: "two" }));
        pool.drain().await.unwrap();
        assert!(pool.stats().cancelled >= 1, "the one that is never ready");
    }

    async fn a_dropped_batch_cancels_its_tasks_if_it_is_to(pool, task) {
        let pool = pool(1);
        let mut batch = pool.batch().cancel_on_drop();
        for _ in 0..4 {
            batch.spawn(task(Act::Run)).await.unwrap();
        }
        drop(batch);
        pool.drain().await.unwrap();
        assert_eq!(pool.stats().cancelled, 4);
    }
}
