//! Futures that await tasks of another pool, of futures or of threads: neither waits for the other.

#![allow(clippy::async_yields_async, reason = "a task may give a handle away")]

use crate::common::on_tokio::{Stop, drained, on, on_both, small};
use crate::common::poll_once;
use formic::{AsyncPool, Pool};
use futures_util::future::BoxFuture;
use tokio::task::yield_now;

#[test]
fn two_pools_of_one_call_each_other() {
    fn ping(own: AsyncPool, other: AsyncPool, depth: u32) -> BoxFuture<'static, u32> {
        Box::pin(async move {
            if depth == 0 {
                return 0;
            }
            let next = ping(other.clone(), own, depth - 1);
            1 + other.spawn(next).await.unwrap().await.unwrap()
        })
    }
    on_both(|| async {
        let (one, two) = (small(1, 100), small(1, 100));
        let mut roots = Vec::new();
        for _ in 0..4 {
            roots.push(one.spawn(ping(one.clone(), two.clone(), 9)).await.unwrap());
            roots.push(two.spawn(ping(two.clone(), one.clone(), 9)).await.unwrap());
        }
        for root in roots {
            assert_eq!(root.await.unwrap(), 9);
        }
        assert_eq!(drained(&one).await.completed, 40);
        assert_eq!(drained(&two).await.completed, 40);
    });
}

#[test]
fn a_pool_drains_although_a_task_of_another_pool_awaits_its_last_task() {
    on_both(|| async {
        let (one, two, stop) = (small(1, 0), small(1, 0), Stop::new());
        let (other, child) = (two.clone(), stop.task());
        let parent = one.spawn(async move { other.spawn(child).await.unwrap().await.unwrap() });
        let parent = parent.await.unwrap();
        stop.have_come(1).await;
        {
            let mut drain = Box::pin(two.drain());
            for _ in 0..50 {
                assert!(poll_once(drain.as_mut()).is_pending());
                yield_now().await;
            }
            stop.open();
            parent.await.unwrap();
            drain.await.unwrap();
        }
        assert_eq!(drained(&one).await.completed, 1);
        assert_eq!(drained(&two).await.completed, 1);
    });
}

#[test]
fn a_closure_that_a_future_awaits_does_not_run_on_the_runtime() {
    on_both(|| async {
        let (pool, threads) = (small(2, 10), Pool::builder().workers(1).name("own").build());
        let threads = threads.unwrap();
        let mut futures = Vec::new();
        for _ in 0..20 {
            let threads = threads.clone();
            let task = async move {
                let name = || std::thread::current().name().unwrap_or_default().to_owned();
                threads.spawn(name).unwrap().await.unwrap()
            };
            futures.push(pool.spawn(task).await.unwrap());
        }
        for future in futures {
            let name = future.await.unwrap();
            assert!(name.starts_with("own"), "it ran on {name}");
        }
        assert_eq!(drained(&pool).await.completed, 20);
    });
}

#[test]
fn a_thread_pools_task_joins_a_future() {
    on(2, || async {
        let (pool, threads) = (small(1, 100), Pool::new(2));
        let mut closures = Vec::new();
        for number in 0..20 {
            let future = pool.spawn(async move {
                yield_now().await;
                number
            });
            let future = future.await.unwrap();
            closures.push(threads.spawn(move || future.join().unwrap()).unwrap());
        }
        for (number, closure) in closures.into_iter().enumerate() {
            assert_eq!(closure.await.unwrap(), number);
        }
        assert_eq!(drained(&pool).await.completed, 20);
    });
}

/// A closure that joins a future whose future awaits a closure of the same pool of threads.
#[test]
fn a_future_awaits_a_closure_that_joins_a_future() {
    on(2, || async {
        let (pool, threads) = (small(1, 0), Pool::new(1));
        let (inner, one) = (pool.clone(), threads.clone());
        let outer = pool.spawn(async move {
            let closure = one.spawn(move || {
                let future = inner.try_spawn(async { 4 });
                // The pool is full, so it comes back.
                future.map(|handle| handle.join().unwrap()).map_err(|error| error.reason())
            });
            closure.unwrap().await.unwrap()
        });
        assert_eq!(outer.await.unwrap().await.unwrap(), Err(formic::Refused::Full));
        assert_eq!(drained(&pool).await.completed, 1);
        threads.drain_async().await.unwrap();
    });
}
