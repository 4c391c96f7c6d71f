//! A pool of futures that has ended and has no handle any more leaves no memory behind.
//!
//! Allocations of all threads are counted, so there is one test. What is not per pool is allowed for by
//! less than one allocation for each of them.

#![cfg(feature = "tokio")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod common;
#[path = "common/counting.rs"]
mod counting;

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};

use common::on_tokio::{drained, on, small, soon};
use common::poll_once;
use counting::live;
use formic::AsyncFnPool;
use tokio::task::yield_now;

const POOLS: u64 = 200;

/// Runs a future that uses a pool up, many times.
async fn assert_nothing_is_left<Fut: Future<Output = ()>>(use_up: impl Fn() -> Fut) {
    for _ in 0..POOLS / 10 {
        use_up().await;
    }
    let before = live();
    for _ in 0..POOLS {
        use_up().await;
    }
    soon("their memory is freed", || live() < before + POOLS / 2).await;
}

/// Futures with and without a handle.
async fn futures() {
    let pool = small(2, 8);
    for _ in 0..10 {
        pool.submit(yield_now()).await.unwrap();
        pool.spawn(yield_now()).await.unwrap().await.unwrap();
    }
    assert_eq!(drained(&pool).await.completed, 20);
}

/// Calls with and without a handle.
async fn calls() {
    let pool = AsyncFnPool::builder().workers(2).queue(8).build(|()| yield_now()).unwrap();
    for _ in 0..10 {
        pool.submit(()).await.unwrap();
        pool.spawn(()).await.unwrap().await.unwrap();
    }
    assert_eq!(drained(&pool).await.completed, 20);
}

/// A call that awaits another, which it takes in because the pool is full, and gives it back.
async fn calls_that_are_given_back() {
    let own: Arc<Mutex<Option<AsyncFnPool<bool, ()>>>> = Arc::default();
    let inside = Arc::clone(&own);
    let pool = AsyncFnPool::builder().workers(1).queue(1).build(move |is_parent| {
        let pool = if is_parent { inside.lock().unwrap().take() } else { None };
        async move {
            match pool {
                Some(pool) => {
                    let mut child = pool.try_spawn(false).unwrap();
                    assert!(poll_once(pin!(&mut child)).is_pending(), "it has begun, no more");
                }
                None => yield_now().await,
            }
        }
    });
    let pool = pool.unwrap();
    *own.lock().unwrap() = Some(pool.clone());
    pool.call(true).await.unwrap();
    assert_eq!(drained(&pool).await.completed, 2);
}

#[test]
fn a_pool_that_has_ended_leaves_no_memory_behind() {
    for threads in [0, 2] {
        on(threads, || assert_nothing_is_left(futures));
        on(threads, || assert_nothing_is_left(calls));
        on(threads, || assert_nothing_is_left(calls_that_are_given_back));
    }
}
