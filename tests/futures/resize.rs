//! A pool of futures becomes smaller while tasks await others: nobody relies on a place that is gone.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::on_tokio::{Stop, drained, on, on_both, small};
use formic::{AsyncFnPool, JoinHandle};
use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::task::yield_now;

type Ends = Pin<Box<dyn Future<Output = u32> + Send>>;

/// One driver turns three tasks in this order: a parent that spawns children and awaits them while there
/// is a place for one, and a neighbour that makes the pool smaller before anybody has begun with them.
/// The neighbour stays until the parent has ended, so no place gets free.
fn shrinks_under_a_parent(awaits: fn(Vec<JoinHandle<u32>>) -> Ends) {
    for children in [1, 2, 100] {
        on(0, move || async move {
            let (pool, stop) = (small(3, 200), Stop::new());
            let (inner, open) = (pool.clone(), stop.clone());
            let parent = pool.spawn(async move {
                let mut handles = Vec::new();
                for _ in 0..children {
                    handles.push(inner.spawn(async { 1 }).await.unwrap());
                }
                let sum = awaits(handles).await;
                open.open();
                sum
            });
            let parent = parent.await.unwrap();
            let (inner, held) = (pool.clone(), stop.clone());
            let neighbour = async move {
                inner.resize(2).unwrap();
                held.pass().await;
            };
            pool.submit(neighbour).await.unwrap();
            assert_eq!(parent.await.unwrap(), children);
            assert_eq!(drained(&pool).await.completed, 2 + u64::from(children));
        });
    }
}

#[test]
fn a_task_that_awaits_its_child_goes_on_when_the_pool_shrinks_under_it() {
    shrinks_under_a_parent(|handles| {
        Box::pin(async move {
            let mut sum = 0;
            for handle in handles {
                sum += handle.await.unwrap();
            }
            sum
        })
    });
}

#[test]
fn a_task_that_joins_all_children_goes_on_when_the_pool_shrinks_under_it() {
    shrinks_under_a_parent(|handles| {
        Box::pin(async move { join_all(handles).await.into_iter().map(Result::unwrap).sum() })
    });
}

#[test]
fn a_task_that_takes_children_as_they_end_goes_on_when_the_pool_shrinks_under_it() {
    shrinks_under_a_parent(|handles| {
        Box::pin(async move {
            let handles: FuturesUnordered<_> = handles.into_iter().collect();
            handles.map(Result::unwrap).fold(0, |sum, one| async move { sum + one }).await
        })
    });
}

/// The same for calls: a function that calls its own pool.
#[test]
fn a_call_goes_on_when_the_pool_shrinks_under_it() {
    on(0, || async {
        let own = Arc::new(std::sync::OnceLock::<AsyncFnPool<u32, u32>>::new());
        let (pool, stop) = (Arc::clone(&own), Stop::new());
        let open = stop.clone();
        let function = move |depth: u32| {
            let (own, stop) = (Arc::clone(&own), open.clone());
            async move {
                let pool = own.get().unwrap();
                match depth {
                    0 => 1,
                    // The neighbour.
                    9 => {
                        pool.resize(2).unwrap();
                        stop.pass().await;
                        0
                    }
                    _ => {
                        let below = 1 + pool.call(depth - 1).await.unwrap();
                        stop.open();
                        below
                    }
                }
            }
        };
        let built = AsyncFnPool::builder().workers(3).queue(8).build(function).unwrap();
        pool.set(built).unwrap();
        let pool = pool.get().unwrap();
        let parent = pool.spawn(2).await.unwrap();
        let neighbour = pool.spawn(9).await.unwrap();
        assert_eq!((parent.await.unwrap(), neighbour.await.unwrap()), (3, 0));
        pool.drain().await.unwrap();
    });
}

/// A child in a lent place keeps it, whatever size the pool gets.
#[test]
fn a_child_in_a_lent_place_ends_while_the_size_changes() {
    on_both(|| async {
        let (pool, stop) = (small(1, 8), Stop::new());
        let (inner, at, ran) = (pool.clone(), stop.clone(), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&ran);
        let parent = pool.spawn(async move {
            let child = async move {
                at.pass().await;
                count.fetch_add(1, Ordering::SeqCst);
            };
            inner.spawn(child).await.unwrap().await.unwrap();
        });
        let parent = parent.await.unwrap();
        stop.have_come(1).await;
        for size in [3, 1, 2, 1] {
            pool.resize(size).unwrap();
            (0..5).for_each(|_| drop(pool.try_submit(yield_now())));
            for _ in 0..50 {
                yield_now().await;
            }
        }
        stop.open();
        parent.await.unwrap();
        pool.drain().await.unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), 1);
        assert!(pool.stats().adds_up());
    });
}
