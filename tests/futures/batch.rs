//! Batches of futures: filled by one task and read by another, on every kind of pool of futures.

use crate::common::on_tokio::{Stop, drained, on_both, small, watch};
use crate::common::poll_once;
use formic::{AsyncFnPool, AsyncPool, Balance, BatchError, JoinError, Multi, Refused};
use futures_util::StreamExt;
use futures_util::future::{BoxFuture, FutureExt};
use tokio::task::yield_now;

/// Returns the number, after a while if there is a stop.
async fn act((stop, number): (Option<Stop>, usize)) -> usize {
    match stop {
        Some(stop) => stop.pass().await,
        None => yield_now().await,
    }
    number
}

/// Makes a test of each kind of pool. `$pool` makes a pool of so many workers with a queue of so many, and `$task`
/// makes a task of it.
macro_rules! on_every_kind {
    ($(async fn $test:ident($pool:ident, $task:ident) $body:block)*) => {
        mod pool {
            use super::*;
            $(#[test] fn $test() {
                on_both(|| async {
                    let $pool = small;
                    let $task = act;
                    $body
                });
            })*
        }
        mod fn_pool {
            use super::*;
            $(#[test] fn $test() {
                on_both(|| async {
                    let $pool = |workers, queue| {
                        AsyncFnPool::builder().workers(workers).queue(queue).build(act).unwrap()
                    };
                    let $task = |it| it;
                    $body
                });
            })*
        }
        mod multi {
            use super::*;
            $(#[test] fn $test() {
                on_both(|| async {
                    let $pool = |workers, queue| Multi::new(2, Balance::RoundRobin, || small(workers, queue));
                    let $task = act;
                    $body
                });
            })*
        }
        mod multi_fn {
            use super::*;
            $(#[test] fn $test() {
                on_both(|| async {
                    let $pool = |workers, queue| {
                        let make = || AsyncFnPool::builder().workers(workers).queue(queue).build(act);
                        Multi::try_new(2, Balance::RoundRobin, make).unwrap()
                    };
                    let $task = |it| it;
                    $body
                });
            })*
        }
    };
}

on_every_kind! {
    async fn one_task_spawns_and_another_reads(pool, task) {
        for queue in [0, 3] {
            let pool = pool(2, queue);
            let mut batch = pool.batch();
            let spawner = batch.spawner();
            let producer = tokio::spawn(async move {
                let mut spawned = Vec::new();
                for value in 0..300 {
                    spawned.push((spawner.spawn(task((None, value))).await.unwrap(), value));
                }
                spawned
            });
            let mut outcomes = Vec::new();
            while let Some((index, outcome)) = batch.next_indexed_async().await {
                outcomes.push((index, outcome.unwrap()));
            }
            outcomes.sort_unstable();
            assert_eq!(outcomes, producer.await.unwrap());
            assert_eq!(outcomes.len(), 300);
        }
    }

    async fn a_batch_ends_with_its_last_spawner_and_a_spawn_that_waits_is_one(pool, task) {
        let (pool, stop) = (pool(1, 0), Stop::new());
        let mut batch = pool.batch();
        let spawner = batch.spawner();
        while spawner.try_spawn(task((Some(stop.clone()), 0))).is_ok() {}
        let held = batch.len();
        let mut waiting = std::pin::pin!(spawner.spawn(task((None, 7))));
        assert!(poll_once(waiting.as_mut()).is_pending());
        drop(spawner);
        stop.open();
        for _ in 0..held {
            assert_eq!(batch.next_async().await.unwrap().unwrap(), 0);
        }
        assert!(poll_once(std::pin::pin!(batch.next_async())).is_pending(), "a spawn waits");
        assert_eq!(waiting.await.unwrap(), held);
        assert_eq!(batch.next_async().await.unwrap().unwrap(), 7);
        assert!(batch.next_async().await.is_none());
    }

    async fn a_spawner_whose_batch_is_gone_gives_the_task_back(pool, task) {
        let (pool, stop) = (pool(1, 1), Stop::new());
        let mut batch = pool.batch().cancel_on_drop();
        let spawner = batch.spawner();
        spawner.spawn(task((Some(stop.clone()), 0))).await.unwrap();
        drop(batch);
        assert_eq!(spawner.spawn(task((None, 1))).await.unwrap_err().reason(), Refused::BatchGone);
        assert_eq!(spawner.try_spawn(task((None, 1))).unwrap_err().reason(), Refused::BatchGone);
        pool.drain().await.unwrap();
        assert_eq!((pool.stats().completed, pool.stats().cancelled), (0, 1));
    }

    async fn all_outcomes_come_in_order_of_spawning_or_as_a_stream(pool, task) {
        let pool = pool(3, 8);
        for streams in [false, true] {
            let mut batch = pool.batch();
            for number in 0..50 {
                assert_eq!(batch.spawn(task((None, number))).await.unwrap(), number);
            }
            let mut all: Vec<_> = if streams {
                batch.into_stream().collect().await
            } else {
                batch.join_all_async().await
            }.into_iter().map(Result::unwrap).collect();
            if streams {
                all.sort_unstable();
            }
            assert!(all.into_iter().eq(0..50));
        }
    }

    async fn a_thread_of_the_runtime_is_not_blocked(pool, task) {
        let (pool, stop) = (pool(1, 1), Stop::new());
        let mut batch = pool.batch();
        batch.spawn(task((Some(stop.clone()), 7))).await.unwrap();
        assert!(matches!(batch.next(), Some(Err(JoinError::Refused(Refused::InRuntime)))));
        assert!(batch.next().is_none(), "it is the last item");
        let all = batch.join_all_timeout(std::time::Duration::from_secs(60)).unwrap();
        assert!(matches!(all[..], [Err(JoinError::Refused(Refused::InRuntime))]));
        stop.open();
        assert_eq!(batch.next_async().await.unwrap().unwrap(), 7, "and it can be awaited");
        assert!(batch.next().is_none());
    }
}

/// A task reads a batch of its own pool, which a future outside of the pool fills.
#[test]
fn a_task_reads_what_another_spawns_on_its_own_pool() {
    on_both(|| async {
        for queue in [1, 8] {
            let pool = small(1, queue);
            let (inside, (give, spawner)) = (pool.clone(), tokio::sync::oneshot::channel());
            let reader = pool.spawn(async move {
                let mut batch = inside.batch();
                assert!(give.send(batch.spawner()).is_ok());
                batch.join_all_async().await.into_iter().map(Result::unwrap).sum::<usize>()
            });
            let reader = reader.await.unwrap();
            let spawner = spawner.await.unwrap();
            for number in 0..50 {
                spawner.spawn(act((None, number))).await.unwrap();
            }
            drop(spawner);
            assert_eq!(reader.await.unwrap(), 1225);
        }
    });
}

fn tree(pool: AsyncPool, depth: u32) -> BoxFuture<'static, usize> {
    async move {
        let mut batch = pool.batch();
        for _ in 0..if depth == 0 { 0 } else { 3 } {
            batch.spawn(tree(pool.clone(), depth - 1)).await.unwrap();
        }
        1 + batch.join_all_async().await.into_iter().map(Result::unwrap).sum::<usize>()
    }
    .boxed()
}

#[test]
fn batches_in_batches_work_with_one_worker() {
    on_both(|| async {
        for queue in [0, 1, 64] {
            let pool = small(1, queue);
            let root = pool.spawn(tree(pool.clone(), 4)).await.unwrap();
            assert_eq!(root.await.unwrap(), 1 + 3 + 9 + 27 + 81);
        }
    });
}

#[test]
fn a_failure_drops_the_other_futures() {
    on_both(|| async {
        let pool = small(3, 8);
        let mut batch = pool.batch();
        batch.spawn(std::future::pending().boxed()).await.unwrap();
        batch.spawn(async { Err::<u32, _>("no") }.boxed()).await.unwrap();
        batch.spawn(std::future::pending().boxed()).await.unwrap();
        let error = batch.try_join_all_async().await.unwrap_err();
        assert!(matches!(error, BatchError::Failed { index: 1, error: "no" }));
        pool.drain().await.unwrap();
        assert_eq!((pool.stats().completed, pool.stats().cancelled), (1, 2));
    });
}

#[test]
fn a_success_drops_the_other_futures() {
    on_both(|| async {
        let pool = small(3, 8);
        let mut batch = pool.batch();
        batch.spawn(async { Err("no") }.boxed()).await.unwrap();
        batch.spawn(std::future::pending().boxed()).await.unwrap();
        batch.spawn(async { Ok(7) }.boxed()).await.unwrap();
        assert_eq!(batch.first_success_async().await.unwrap(), 7);
        pool.drain().await.unwrap();
        assert_eq!((pool.stats().completed, pool.stats().cancelled), (2, 1));
    });
}

#[test]
fn a_thread_outside_of_a_runtime_may_block() {
    watch(|| {
        let pool = AsyncPool::builder().workers(2).own_threads(1).build().unwrap();
        let mut batch = pool.batch();
        for number in 0..100 {
            batch.try_spawn(act((None, number))).unwrap();
        }
        assert_eq!(batch.map(Result::unwrap).sum::<usize>(), 4950);
    });
}

/// On a thread of a runtime, what would block for a batch is refused before it cancels anything, and the batch has all it
/// had.
#[test]
fn what_decides_a_batch_is_refused_in_a_runtime_and_loses_nothing() {
    on_both(|| async {
        let (pool, stop) = (small(2, 4), Stop::new());
        let mut batch = pool.batch();
        let fails = batch.spawn(async { Err("no such mirror") }).await.unwrap();
        let waits = stop.task();
        let waits = batch.spawn(async move {
            waits.await;
            Ok(7)
        });
        assert_eq!((fails, waits.await.unwrap()), (0, 1));
        let error = batch.try_join_all().unwrap_err();
        assert!(
            matches!(error, BatchError::Refused { reason: Refused::InRuntime, .. }),
            "{error:?}"
        );
        assert!(error.to_string().ends_with("unlike the verbs that end in `_async`"), "{error}");
        let errors = batch.first_success().unwrap_err();
        assert!(matches!(errors[..], [BatchError::Refused { reason: Refused::InRuntime, .. }]));
        let errors = batch.first_returned().unwrap_err();
        assert!(matches!(errors[..], [JoinError::Refused(Refused::InRuntime)]));
        let all = batch.join_all();
        assert!(matches!(all[..], [Err(JoinError::Refused(Refused::InRuntime))]));
        stop.open();
        let all: Vec<_> = batch.join_all_async().await.into_iter().map(Result::unwrap).collect();
        assert_eq!(all, [Err("no such mirror"), Ok(7)]);
        assert_eq!(drained(&pool).await.cancelled, 0);
    });
}
