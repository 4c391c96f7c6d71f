//! `AsyncPool` in general: tasks run once, within the capacity, and their results arrive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use formic::{AsyncFnPool, AsyncPool, JoinError, Refused};
use tokio::sync::Semaphore;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_future_runs_once_and_never_more_than_the_capacity_are_in_flight() {
    let pool = AsyncPool::builder().workers(7).queue(10).build().unwrap();
    let (running, most, ran) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let counts = Arc::new((running, most, ran));
    for _ in 0..1000 {
        let counts = Arc::clone(&counts);
        let task = async move {
            let running = counts.0.fetch_add(1, Ordering::SeqCst) + 1;
            counts.1.fetch_max(running, Ordering::SeqCst);
            tokio::task::yield_now().await;
            counts.2.fetch_add(1, Ordering::SeqCst);
            counts.0.fetch_sub(1, Ordering::SeqCst);
        };
        pool.submit(task).await.unwrap();
    }
    pool.drain().await.unwrap();
    assert_eq!(counts.2.load(Ordering::SeqCst), 1000);
    assert!(counts.1.load(Ordering::SeqCst) <= 7);
    let stats = pool.stats();
    assert_eq!((stats.accepted, stats.completed, stats.busy, stats.queued), (1000, 1000, 0, 0));
}

#[tokio::test]
async fn a_task_awaits_its_children_on_a_full_pool_of_one_at_any_depth() {
    fn descend(pool: AsyncPool, depth: u32) -> futures_util::future::BoxFuture<'static, u32> {
        Box::pin(async move {
            if depth == 0 {
                return 0;
            }
            let child = pool.spawn(descend(pool.clone(), depth - 1)).await.unwrap();
            1 + child.await.unwrap()
        })
    }
    let pool = AsyncPool::builder().workers(1).queue(0).build().unwrap();
    let depth = pool.spawn(descend(pool.clone(), 50)).await.unwrap().await.unwrap();
    assert_eq!(depth, 50);
    pool.drain().await.unwrap();
    let stats = pool.stats();
    assert_eq!((stats.accepted, stats.completed), (51, 51));
}

#[tokio::test]
async fn children_awaited_together_run_within_the_capacity() {
    let pool = AsyncPool::builder().workers(1).queue(100).build().unwrap();
    let inner = pool.clone();
    let parent = async move {
        let running = Arc::new(AtomicUsize::new(0));
        let mut children = Vec::new();
        for _ in 0..50 {
            let running = Arc::clone(&running);
            let child = async move {
                assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0);
                tokio::task::yield_now().await;
                running.fetch_sub(1, Ordering::SeqCst);
            };
            children.push(inner.spawn(child).await.unwrap());
        }
        for outcome in futures_util::future::join_all(children).await {
            outcome.unwrap();
        }
    };
    pool.spawn(parent).await.unwrap().await.unwrap();
    pool.drain().await.unwrap();
    assert_eq!(pool.stats().completed, 51);
}

#[tokio::test]
async fn to_cancel_a_running_future_drops_it_and_frees_its_place() {
    let pool = AsyncPool::builder().workers(1).queue(0).build().unwrap();
    let token = Arc::new(());
    let kept = Arc::clone(&token);
    let started = Arc::new(Semaphore::new(0));
    let begun = Arc::clone(&started);
    let task = async move {
        let _kept = kept;
        begun.add_permits(1);
        std::future::pending::<()>().await;
    };
    let handle = pool.spawn(task).await.unwrap();
    drop(started.acquire().await.unwrap());
    assert_eq!(pool.try_submit(async {}).unwrap_err().reason(), Refused::Full);
    assert!(handle.cancel());
    assert!(matches!(handle.await, Err(JoinError::Cancelled)));
    assert_eq!(Arc::strong_count(&token), 1);
    pool.try_submit(async {}).unwrap();
    pool.drain().await.unwrap();
    let stats = pool.stats();
    assert_eq!((stats.cancelled, stats.completed), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_function_pool_calls_its_function() {
    let pool = AsyncFnPool::new(3, |number: u64| async move {
        tokio::task::yield_now().await;
        number + 1
    });
    for number in 0..100 {
        assert_eq!(pool.call(number).await.unwrap(), number + 1);
    }
    pool.drain().await.unwrap();
}
