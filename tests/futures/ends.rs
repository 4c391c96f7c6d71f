//! How a pool of futures ends, and begins again.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::on_tokio::{Stop, on_both, small, soon};
use crate::common::{self, poll_once};
use formic::{AsyncFnPool, Refused, ReopenError};
use tokio::task::yield_now;

#[test]
fn to_close_gives_waiting_submitters_their_future_back() {
    on_both(|| async {
        let (pool, stop, token) = (small(1, 0), Stop::new(), Arc::new(()));
        pool.submit(stop.task()).await.unwrap();
        let kept = [Arc::clone(&token), Arc::clone(&token)];
        let [one, two] = kept;
        let mut submit = Box::pin(pool.submit(async move { drop(one) }));
        let mut spawn = Box::pin(pool.spawn(async move { drop(two) }));
        let mut admit = Box::pin(pool.admit());
        assert!(poll_once(submit.as_mut()).is_pending());
        assert!(poll_once(spawn.as_mut()).is_pending());
        assert!(poll_once(admit.as_mut()).is_pending());
        pool.close();
        let error = submit.await.unwrap_err();
        assert_eq!((error.reason(), Arc::strong_count(&token)), (Refused::Closed, 3));
        error.into_task().await;
        let error = spawn.await.unwrap_err();
        assert_eq!((error.reason(), Arc::strong_count(&token)), (Refused::Closed, 2));
        drop(error);
        assert_eq!(Arc::strong_count(&token), 1);
        assert_eq!(admit.await.unwrap_err(), Refused::Closed);
        stop.open();
        pool.drain().await.unwrap();
        assert_eq!((pool.stats().accepted, pool.stats().refused), (1, 3));
    });
}

#[test]
fn a_drain_waits_for_everything_that_was_accepted() {
    on_both(|| async {
        let (pool, ran) = (small(3, 1000), Arc::new(AtomicUsize::new(0)));
        for number in 0..500 {
            let ran = Arc::clone(&ran);
            let task = async move {
                for _ in 0..number % 4 {
                    yield_now().await;
                }
                ran.fetch_add(1, Ordering::SeqCst);
            };
            pool.submit(task).await.unwrap();
        }
        let (one, two) = tokio::join!(pool.drain(), pool.drain());
        one.unwrap();
        two.unwrap();
        assert_eq!((ran.load(Ordering::SeqCst), Arc::strong_count(&ran)), (500, 1));
    });
}

/// Drivers tell what they did every so many polls: the last end may fall on any of them.
#[test]
fn a_drain_ends_however_many_end_at_once() {
    on_both(|| async {
        for futures in 1..=140 {
            let (pool, stop) = (small(200, 0), Stop::new());
            for _ in 0..futures {
                pool.submit(stop.task()).await.unwrap();
            }
            stop.have_come(futures).await;
            pool.close();
            yield_now().await;
            stop.open();
            pool.drain().await.unwrap();
        }
    });
}

#[test]
fn a_drain_with_a_limit_says_what_is_left_and_may_be_repeated() {
    on_both(|| async {
        let (pool, stop) = (small(2, 10), Stop::new());
        for _ in 0..5 {
            pool.submit(stop.task()).await.unwrap();
        }
        stop.have_come(2).await;
        let left = pool.drain_timeout(Duration::from_millis(1)).await.unwrap_err();
        assert_eq!((left.running(), left.queued(), left.is_from_inside()), (2, 3, false));
        assert!(matches!(pool.reopen(), Err(ReopenError::StillRunning(_))));
        stop.open();
        pool.drain_timeout(common::PATIENCE).await.unwrap();
        assert_eq!(pool.stats().completed, 5);
    });
}

#[test]
fn what_is_discarded_is_cancelled_and_gone() {
    on_both(|| async {
        let (pool, stop, token) = (small(1, 10), Stop::new(), Arc::new(()));
        pool.submit(stop.task()).await.unwrap();
        stop.have_come(1).await;
        let mut handles = Vec::new();
        for _ in 0..4 {
            let (one, two) = (Arc::clone(&token), Arc::clone(&token));
            handles.push(pool.spawn(async move { drop(one) }).await.unwrap());
            pool.submit(async move { drop(two) }).await.unwrap();
        }
        assert!(handles[1].cancel());
        assert_eq!(pool.discard(), 7);
        assert_eq!(Arc::strong_count(&token), 1);
        for handle in handles {
            assert!(handle.await.unwrap_err().is_cancelled());
        }
        stop.open();
        pool.drain().await.unwrap();
        let stats = pool.stats();
        assert_eq!((stats.completed, stats.cancelled), (1, 8), "{stats:?}");
        assert!(stats.adds_up());
    });
}

#[test]
fn a_pool_opens_again_two_hundred_times() {
    on_both(|| async {
        let (pool, token) = (small(3, 3), Arc::new(()));
        for round in 1..=200 {
            for number in 0..10 {
                let kept = Arc::clone(&token);
                let task = async move {
                    if number % 2 == 0 {
                        yield_now().await;
                    }
                    drop(kept);
                };
                pool.submit(task).await.unwrap();
            }
            pool.drain().await.unwrap();
            assert!(pool.is_closed());
            assert_eq!((Arc::strong_count(&token), pool.stats().completed), (1, 10 * round));
            pool.reopen().unwrap();
            assert!(matches!(pool.reopen(), Err(ReopenError::Open)));
        }
        assert_eq!(pool.spawn(async { 1 }).await.unwrap().await.unwrap(), 1);
    });
}

#[test]
fn a_function_pool_opens_again() {
    on_both(|| async {
        let pool = AsyncFnPool::new(3, |number: u64| async move {
            yield_now().await;
            number
        });
        for round in 0..100 {
            let (one, two) = tokio::join!(pool.call(round), pool.call(round + 1));
            assert_eq!((one.unwrap(), two.unwrap()), (round, round + 1));
            pool.drain().await.unwrap();
            pool.reopen().unwrap();
        }
    });
}

#[test]
fn when_the_last_handle_is_dropped_what_was_accepted_runs() {
    on_both(|| async {
        let (pool, stop, ran) = (small(2, 100), Stop::new(), Arc::new(AtomicUsize::new(0)));
        let mut handles = Vec::new();
        for _ in 0..50 {
            let (stop, ran) = (stop.clone(), Arc::clone(&ran));
            let task = async move {
                stop.pass().await;
                ran.fetch_add(1, Ordering::SeqCst);
            };
            handles.push(pool.spawn(task).await.unwrap());
        }
        drop(pool.clone());
        drop(pool);
        stop.open();
        for handle in handles {
            handle.await.unwrap();
        }
        assert_eq!(ran.load(Ordering::SeqCst), 50);
        soon("the drivers are gone", || Arc::strong_count(&ran) == 1).await;
    });
}

#[test]
fn a_task_may_drop_the_last_handle() {
    on_both(|| async {
        let (pool, stop) = (small(1, 10), Stop::new());
        let (inner, at) = (pool.clone(), stop.clone());
        let last = pool.spawn(async move {
            at.pass().await;
            drop(inner);
            yield_now().await;
            5
        });
        let last = last.await.unwrap();
        let queued = pool.spawn(async { 6 }).await.unwrap();
        drop(pool);
        stop.open();
        assert_eq!((last.await.unwrap(), queued.await.unwrap()), (5, 6));
    });
}

#[test]
fn a_task_cannot_wait_for_its_own_pool() {
    on_both(|| async {
        let pool = small(1, 0);
        let inner = pool.clone();
        let task = pool.spawn(async move {
            let left = inner.drain().await.unwrap_err();
            assert!(left.is_from_inside() && !inner.is_closed());
            assert!(inner.wait_idle().await.unwrap_err().is_from_inside());
            assert!(inner.drain_timeout(common::PATIENCE).await.unwrap_err().is_from_inside());
            inner.close();
        });
        task.await.unwrap().await.unwrap();
        assert!(pool.is_closed());
        pool.drain().await.unwrap();
    });
}

#[test]
fn a_pool_is_idle_when_nothing_is_left() {
    on_both(|| async {
        let (pool, ran) = (small(2, 100), Arc::new(AtomicUsize::new(0)));
        for round in 1..=300 {
            let count = Arc::clone(&ran);
            let task = async move {
                yield_now().await;
                count.fetch_add(1, Ordering::SeqCst);
            };
            pool.submit(task).await.unwrap();
            pool.wait_idle().await.unwrap();
            assert_eq!(ran.load(Ordering::SeqCst), round);
        }
        pool.drain().await.unwrap();
    });
}

#[test]
fn a_dropped_drain_leaves_the_pool_closed_and_others_waiting() {
    on_both(|| async {
        let (pool, stop) = (small(1, 1), Stop::new());
        pool.submit(stop.task()).await.unwrap();
        let (mut one, mut two) = (Box::pin(pool.drain()), Box::pin(pool.drain()));
        let mut idle = Box::pin(pool.wait_idle());
        assert!(poll_once(one.as_mut()).is_pending());
        assert!(poll_once(two.as_mut()).is_pending());
        assert!(poll_once(idle.as_mut()).is_pending());
        drop(one);
        drop(idle);
        assert!(pool.is_closed());
        stop.open();
        two.await.unwrap();
    });
}

#[test]
fn a_larger_capacity_acts_at_once_and_a_smaller_one_with_the_next_end() {
    on_both(|| async {
        let (pool, stop) = (small(1, 100), Stop::new());
        for _ in 0..10 {
            pool.submit(stop.task()).await.unwrap();
        }
        stop.have_come(1).await;
        pool.resize(5).unwrap();
        stop.have_come(4).await;
        assert_eq!((pool.busy(), pool.queued(), pool.capacity()), (5, 5, 5));
        pool.resize(2).unwrap();
        stop.let_pass(3);
        soon("three have ended", || pool.stats().completed == 3).await;
        for _ in 0..50 {
            yield_now().await;
        }
        assert_eq!((pool.busy(), pool.queued()), (2, 5));
        stop.open();
        pool.drain().await.unwrap();
        assert_eq!(pool.stats().completed, 10);
    });
}

#[test]
fn a_task_does_not_wait_for_a_place_that_a_smaller_capacity_took_away() {
    on_both(|| async {
        let pool = small(2, 1);
        let inner = pool.clone();
        let outer = pool.spawn(async move {
            let mut child = inner.try_spawn(async { 7 }).unwrap();
            let mut capacity = 2;
            poll_fn(|context| {
                // At first there is a place for the child, and when it was asked for there is none.
                let polled = Pin::new(&mut child).poll(context);
                if capacity > 1 {
                    capacity = 1;
                    inner.resize(capacity).unwrap();
                }
                polled
            })
            .await
        });
        assert_eq!(outer.await.unwrap().await.unwrap().unwrap(), 7);
        pool.drain().await.unwrap();
    });
}
