//! A pool of futures leaves no memory behind: of items and calls that have ended, and when it has ended.
//!
//! Allocations of all threads are counted, so the tests take turns. What is not per pool is allowed for by
//! less than one allocation for each of them.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};

use crate::common::on_tokio::{drained, on, runtime, small, soon, watch_for};
use crate::common::poll_once;
use crate::counting::live;
use formic::{AsyncFnPool, from_stream};
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

/// One stream that makes the pool wait for each of its items: what is kept does not grow with their number.
async fn slow_stream(items: u32) {
    let pool = small(2, 8);
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    let stream = futures_util::stream::unfold(
        receiver,
        |mut receiver: tokio::sync::mpsc::Receiver<u32>| async {
            receiver.recv().await.map(|item| (item, receiver))
        },
    );
    let reader = tokio::spawn(pool.for_each(from_stream(Box::pin(stream)), |_| async {}));
    let mut before = 0;
    for item in 0..items {
        sender.send(item).await.unwrap();
        // The stream has nothing more for a moment, so it is waited for.
        yield_now().await;
        if item == items / 10 {
            before = live();
        }
    }
    let after = live();
    // A pool keeps the memory of up to 4096 ended futures for those to come.
    assert!(after < before + u64::from(items / 10), "{before} allocations became {after}");
    drop(sender);
    reader.await.unwrap().unwrap();
    drained(&pool).await;
}

/// Many short calls on one pool: nothing is kept of those that have ended.
async fn short_calls(calls: u32) {
    let pool = small(2, 8);
    let mut before = 0;
    for call in 0..calls {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let stream = futures_util::stream::once(async { receiver.await.unwrap_or(0) });
        let (reading, sending) =
            (pool.for_each(from_stream(Box::pin(stream)), |_: u32| async {}), async {
                yield_now().await;
                sender.send(call).unwrap();
            });
        let (read, ()) = tokio::join!(reading, sending);
        read.unwrap();
        if call == calls / 10 {
            before = live();
        }
    }
    pool.wait_idle().await.unwrap();
    let after = live();
    assert!(after < before + u64::from(calls / 10), "{before} allocations became {after}");
}

#[test]
fn a_pool_leaves_no_memory_behind() {
    let _turn = crate::take_turns();
    watch_for(std::time::Duration::from_secs(120), || {
        let runtime = runtime(0);
        runtime.block_on(slow_stream(100_000));
        runtime.block_on(short_calls(100_000));
    });
    for threads in [0, 2] {
        on(threads, || assert_nothing_is_left(futures));
        on(threads, || assert_nothing_is_left(calls));
        on(threads, || assert_nothing_is_left(calls_that_are_given_back));
    }
}
