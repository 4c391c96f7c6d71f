//! Futures that await others of their own pool, or of another one: nobody waits for his own place.

#![allow(clippy::async_yields_async, reason = "a task may give a handle away")]

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::common::on_tokio::{Stop, drained, on, on_both, small, soon};
use crate::common::{self, poll_once};
use formic::{AsyncFnPool, AsyncPool};
use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::task::yield_now;

/// A tree of tasks: each has `width` children and awaits all of them.
fn tree(pool: AsyncPool, depth: u32, width: usize) -> BoxFuture<'static, u64> {
    Box::pin(async move {
        yield_now().await;
        if depth == 0 {
            return 1;
        }
        let mut children = Vec::new();
        for _ in 0..width {
            let child = tree(pool.clone(), depth - 1, width);
            children.push(pool.spawn(child).await.unwrap());
        }
        let leaves = join_all(children).await;
        leaves.into_iter().map(|leaf| leaf.unwrap()).sum()
    })
}

#[test]
fn a_tree_of_tasks_ends_on_any_pool() {
    for (workers, queue) in [(1, 0), (1, 100), (2, 0), (3, 5)] {
        on_both(move || async move {
            let pool = small(workers, queue);
            let root = pool.spawn(tree(pool.clone(), 4, 3)).await.unwrap();
            assert_eq!(root.await.unwrap(), 81);
            assert_eq!(drained(&pool).await.completed, 1 + 3 + 9 + 27 + 81);
        });
    }
}

#[test]
fn children_in_the_order_they_end_run_on_a_full_pool_within_the_capacity() {
    on_both(|| async {
        let (pool, running) = (small(1, 0), Arc::new(AtomicUsize::new(0)));
        let inner = pool.clone();
        let parent = pool.spawn(async move {
            let mut children = FuturesUnordered::new();
            for number in 0..100_u64 {
                let running = Arc::clone(&running);
                let child = async move {
                    assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
                    for _ in 0..number % 3 {
                        yield_now().await;
                    }
                    running.fetch_sub(1, Ordering::SeqCst);
                    number
                };
                children.push(inner.spawn(child).await.unwrap());
            }
            let mut sum = 0;
            while let Some(child) = children.next().await {
                sum += child.unwrap();
            }
            sum
        });
        assert_eq!(parent.await.unwrap().await.unwrap(), 4950);
        assert_eq!(drained(&pool).await.completed, 101);
    });
}

#[test]
fn a_child_that_is_awaited_no_longer_runs_on_exactly_once() {
    on_both(|| async {
        let (pool, stop) = (small(1, 0), Stop::new());
        let (inner, at, runs) = (pool.clone(), stop.clone(), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&runs);
        let parent = pool.spawn(async move {
            let child = inner.spawn(async move {
                count.fetch_add(1, Ordering::SeqCst);
                at.pass().await;
                count.fetch_add(10, Ordering::SeqCst);
            });
            let child = child.await.unwrap();
            tokio::time::timeout(Duration::from_millis(2), child).await.unwrap_err();
        });
        parent.await.unwrap().await.unwrap();
        stop.have_come(1).await;
        stop.open();
        assert_eq!(drained(&pool).await.completed, 2);
        assert_eq!(runs.load(Ordering::SeqCst), 11);
    });
}

/// To look at a handle and then do something else must not stop its task.
#[test]
fn a_child_runs_on_while_the_handle_is_kept_and_not_polled() {
    for (workers, queue) in [(2, 0), (4, 4)] {
        on_both(move || async move {
            let pool = small(workers, queue);
            let inner = pool.clone();
            let parent = pool.spawn(async move {
                let (sender, receiver) = tokio::sync::oneshot::channel();
                let child = inner.spawn(async move {
                    yield_now().await;
                    sender.send(7).unwrap();
                });
                let mut child = child.await.unwrap();
                let looked = poll_once(pin!(&mut child));
                let value = receiver.await.unwrap();
                // It may have been through when it was looked at.
                if looked.is_pending() {
                    child.await.unwrap();
                }
                value
            });
            let parent = parent.await.unwrap();
            let value = tokio::time::timeout(Duration::from_secs(5), parent).await;
            assert_eq!(value.expect("the child runs although its handle rests").unwrap(), 7);
            assert_eq!(drained(&pool).await.completed, 2);
        });
    }
}

#[test]
fn a_handle_that_was_polled_in_a_task_is_joined_outside() {
    on(2, || async {
        let (pool, stop) = (small(1, 1), Stop::new());
        let (inner, at) = (pool.clone(), stop.clone());
        let parent = pool.spawn(async move {
            let child = inner.spawn(async move {
                at.pass().await;
                5
            });
            let mut child = child.await.unwrap();
            assert!(poll_once(pin!(&mut child)).is_pending());
            child
        });
        let mut child = parent.await.unwrap().await.unwrap();
        stop.open();
        let joined = tokio::task::spawn_blocking(move || child.join_timeout(common::PATIENCE / 6));
        let joined = joined.await.unwrap();
        assert_eq!(joined.expect("it ends").unwrap(), 5);
        assert_eq!(drained(&pool).await.completed, 2);
    });
}

#[test]
fn the_first_of_two_children_wins_and_the_other_runs_on() {
    on_both(|| async {
        let (pool, stop) = (small(1, 0), Stop::new());
        let (inner, at) = (pool.clone(), stop.clone());
        let parent = pool.spawn(async move {
            let slow = inner.spawn(async move { at.pass().await }).await.unwrap();
            let quick = inner.spawn(async { 1 }).await.unwrap();
            tokio::select! {
                biased;
                _ = slow => 2,
                value = quick => value.unwrap(),
            }
        });
        let parent = parent.await.unwrap();
        stop.have_come(1).await;
        stop.open();
        let value = parent.await.unwrap();
        assert!(value == 1 || value == 2);
        assert_eq!(drained(&pool).await.completed, 3);
    });
}

#[test]
fn an_async_function_calls_itself_through_its_pool() {
    on_both(|| async {
        let own: Arc<OnceLock<AsyncFnPool<u64, u64>>> = Arc::default();
        let inner = Arc::clone(&own);
        let pool = AsyncFnPool::builder().workers(1).queue(0).build(move |number: u64| {
            let pool = inner.get().unwrap().clone();
            let below: BoxFuture<'static, u64> = Box::pin(async move {
                yield_now().await;
                if number < 2 {
                    return number;
                }
                let (one, two) = tokio::join!(pool.call(number - 1), pool.call(number - 2));
                one.unwrap() + two.unwrap()
            });
            below
        });
        let pool = pool.unwrap();
        own.set(pool.clone()).unwrap();
        assert_eq!(pool.call(10).await.unwrap(), 55);
        pool.drain().await.unwrap();
        let stats = pool.stats();
        assert!(stats.adds_up(), "{stats:?}");
        assert_eq!((stats.completed, stats.busy, stats.queued), (177, 0, 0), "{stats:?}");
    });
}

#[test]
fn a_queued_child_that_was_awaited_is_discarded_once() {
    on_both(|| async {
        let (pool, stop) = (small(1, 4), Stop::new());
        let token = Arc::new(());
        let (inner, at, kept) = (pool.clone(), stop.clone(), Arc::clone(&token));
        let parent = pool.spawn(async move {
            let child = inner.spawn(async move {
                let _kept = kept;
                std::future::pending::<()>().await;
            });
            let mut child = child.await.unwrap();
            assert!(poll_once(pin!(&mut child)).is_pending());
            drop(child);
            at.pass().await;
        });
        let parent = parent.await.unwrap();
        stop.have_come(1).await;
        assert_eq!(pool.discard(), 1);
        assert_eq!(Arc::strong_count(&token), 1);
        let stats = pool.stats();
        assert!(stats.adds_up(), "{stats:?}");
        assert_eq!((stats.busy, stats.queued, stats.cancelled), (1, 0, 1), "{stats:?}");
        stop.open();
        parent.await.unwrap();
        assert_eq!(drained(&pool).await.completed, 1);
    });
}

#[test]
fn an_awaited_child_is_cancelled_from_elsewhere() {
    on_both(|| async {
        let (pool, stop, token) = (small(1, 0), Stop::new(), Arc::new(()));
        let (inner, at, kept) = (pool.clone(), stop.clone(), Arc::clone(&token));
        let parent = pool.spawn(async move {
            let child = inner.spawn(async move {
                let _kept = kept;
                at.pass().await;
            });
            let child = child.await.unwrap().cancel_on_drop();
            tokio::time::timeout(Duration::from_millis(2), child).await.is_err()
        });
        assert!(parent.await.unwrap().await.unwrap());
        soon("it is gone", || Arc::strong_count(&token) == 1).await;
        pool.drain().await.unwrap();
        let stats = pool.stats();
        assert!(stats.adds_up(), "{stats:?}");
        assert_eq!((stats.completed, stats.cancelled), (1, 1), "{stats:?}");
    });
}

#[test]
fn a_parent_that_is_cancelled_leaves_its_children_to_the_pool() {
    on_both(|| async {
        let (pool, stop, ran) = (small(1, 0), Stop::new(), Arc::new(AtomicUsize::new(0)));
        let (inner, at, count) = (pool.clone(), stop.clone(), Arc::clone(&ran));
        let parent = pool.spawn(async move {
            let mut children = Vec::new();
            for _ in 0..10 {
                let (at, count) = (at.clone(), Arc::clone(&count));
                let child = async move {
                    at.pass().await;
                    count.fetch_add(1, Ordering::SeqCst);
                };
                children.push(inner.spawn(child).await.unwrap());
            }
            join_all(children).await;
        });
        let parent = parent.await.unwrap();
        stop.have_come(1).await;
        assert!(parent.cancel());
        assert!(parent.await.unwrap_err().is_cancelled());
        stop.open();
        assert_eq!(drained(&pool).await.completed, 10);
        assert_eq!(ran.load(Ordering::SeqCst), 10);
    });
}

/// A handle is polled by one task, and awaited by another, whose place its task must not need.
#[test]
fn a_handle_that_was_polled_in_a_task_is_awaited_by_another() {
    on_both(|| async {
        let pool = small(1, 8);
        let inner = pool.clone();
        let first = pool.spawn(async move {
            let child = inner.spawn(yield_now()).await.unwrap();
            let mut child = Box::pin(child);
            drop(poll_once(child.as_mut()));
            child
        });
        let child = first.await.unwrap().await.unwrap();
        let second = pool.spawn(async move { child.await.unwrap() }).await.unwrap();
        second.await.unwrap();
        assert_eq!(drained(&pool).await.completed, 3);
    });
}

/// There are free places when the parent asks, but others stand before its child and will have them.
#[test]
fn a_child_starts_in_a_lent_place_if_others_before_it_have_the_places() {
    on_both(|| async {
        let (pool, done) = (small(3, 50), Stop::new());
        let (inner, open) = (pool.clone(), done.clone());
        let parent = pool.spawn(async move {
            for _ in 0..2 {
                let held = open.clone();
                inner.submit(async move { held.pass().await }).await.unwrap();
            }
            let one = inner.spawn(async { 1 }).await.unwrap().await.unwrap();
            open.open();
            one
        });
        assert_eq!(parent.await.unwrap().await.unwrap(), 1);
        assert_eq!(drained(&pool).await.completed, 4);
    });
}
