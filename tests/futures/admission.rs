//! Who may enter a pool of futures, who waits, and who comes back.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::on_tokio::{Stop, on, on_both, runtime, soon, watch};
use crate::common::{self, eventually, join, poll_once};
use formic::{AsyncFnPool, AsyncPool, Builder, Refused, WhenFull};
use futures_util::future::join_all;
use tokio::task::yield_now;

/// A pool of one, with one future in it that waits at the stop.
async fn held(queue: usize) -> (AsyncPool, Stop) {
    let pool = AsyncPool::builder().workers(1).queue(queue).build().unwrap();
    let stop = Stop::new();
    pool.submit(stop.task()).await.unwrap();
    stop.have_come(1).await;
    (pool, stop)
}

#[test]
fn submitters_enter_in_the_order_they_came() {
    on_both(|| async {
        let (pool, stop) = held(0).await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut waiting = Vec::new();
        for number in 0..20 {
            let (order, inner) = (Arc::clone(&order), pool.clone());
            let task = async move {
                order.lock().unwrap().push(number);
                yield_now().await;
            };
            waiting.push(tokio::spawn(async move {
                match number % 3 {
                    0 => inner.submit(task).await.unwrap(),
                    1 => drop(inner.spawn(task).await.unwrap()),
                    _ => inner.admit().await.unwrap().submit(task),
                }
            }));
            soon("it waits", || pool.waiting() == number + 1).await;
        }
        stop.open();
        join_all(waiting).await;
        pool.drain().await.unwrap();
        assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
    });
}

#[test]
fn a_full_pool_gives_the_future_back_as_it_was() {
    on_both(|| async {
        let (pool, stop) = held(1).await;
        pool.try_submit(async {}).unwrap();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let error = pool.try_submit(async move { sender.send(5).unwrap() }).unwrap_err();
        assert_eq!(error.reason(), Refused::Full);
        error.into_task().await;
        assert_eq!(receiver.await.unwrap(), 5);
        let error = pool.try_spawn(async { 6 }).unwrap_err();
        assert_eq!(error.reason(), Refused::Full);
        assert_eq!(error.into_task().await, 6);
        assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
        stop.open();
        pool.drain().await.unwrap();
        let stats = pool.stats();
        assert_eq!((stats.accepted, stats.completed, stats.refused), (2, 2, 3), "{stats:?}");
    });
}

#[test]
fn a_closed_pool_gives_the_future_back_as_it_was() {
    on_both(|| async {
        let pool = AsyncPool::new(2);
        pool.close();
        let error = pool.submit(async {}).await.unwrap_err();
        assert_eq!(error.reason(), Refused::Closed);
        error.into_task().await;
        let error = pool.spawn(async { 6 }).await.unwrap_err();
        assert_eq!(error.reason(), Refused::Closed);
        assert_eq!(error.into_task().await, 6);
        let error = pool.try_spawn(async { 7 }).unwrap_err();
        assert_eq!((error.reason(), error.into_task().await), (Refused::Closed, 7));
        assert_eq!(pool.admit().await.unwrap_err(), Refused::Closed);
        let calls = AsyncFnPool::new(1, |number: u8| async move { number });
        calls.close();
        assert_eq!(calls.submit(1).await.unwrap_err().into_task(), 1);
        assert_eq!(calls.spawn(2).await.unwrap_err().into_task(), 2);
        assert_eq!(calls.call(3).await.unwrap_err().into_argument(), Some(3));
        assert_eq!(calls.try_submit(4).unwrap_err().into_task(), 4);
        assert_eq!(calls.try_spawn(5).unwrap_err().into_task(), 5);
        pool.drain().await.unwrap();
        calls.drain().await.unwrap();
    });
}

#[test]
fn only_so_many_may_wait() {
    on_both(|| async {
        let pool = AsyncPool::builder().workers(1).queue(0).waiters(2).build().unwrap();
        let stop = Stop::new();
        pool.submit(stop.task()).await.unwrap();
        let (mut one, mut two) = (Box::pin(pool.submit(async {})), Box::pin(pool.admit()));
        assert!(poll_once(one.as_mut()).is_pending());
        assert!(poll_once(two.as_mut()).is_pending());
        assert_eq!(pool.submit(async {}).await.unwrap_err().reason(), Refused::Full);
        drop(one);
        let mut three = Box::pin(pool.spawn(async { 3 }));
        assert!(poll_once(three.as_mut()).is_pending());
        stop.open();
        drop(two.await.unwrap());
        assert_eq!(three.await.unwrap().await.unwrap(), 3);
        pool.drain().await.unwrap();
    });
}

#[test]
fn a_pool_that_refuses_lets_no_submitter_wait() {
    on_both(|| async {
        let builder = AsyncPool::builder().workers(1).queue(0).when_full(WhenFull::Refuse);
        let (pool, stop) = (builder.build().unwrap(), Stop::new());
        pool.submit(stop.task()).await.unwrap();
        assert_eq!(pool.submit(async {}).await.unwrap_err().reason(), Refused::Full);
        let error = pool.spawn(async { 1 }).await.unwrap_err();
        assert_eq!((error.reason(), error.into_task().await), (Refused::Full, 1));
        stop.open();
        pool.drain().await.unwrap();
        assert_eq!(pool.stats().completed, 1);
    });
}

#[test]
fn a_permit_is_a_place() {
    on_both(|| async {
        let pool = AsyncPool::builder().workers(1).queue(1).build().unwrap();
        let (one, two) = (pool.admit().await.unwrap(), pool.try_admit().unwrap());
        assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
        assert_eq!(pool.try_submit(async {}).unwrap_err().reason(), Refused::Full);
        let mut waiting = Box::pin(pool.admit());
        assert!(poll_once(waiting.as_mut()).is_pending());
        drop(one);
        let three = waiting.await.unwrap();
        pool.close();
        assert_eq!(three.spawn(async { 3 }).await.unwrap(), 3);
        two.submit(async {});
        pool.drain().await.unwrap();
        assert_eq!(pool.stats().completed, 2);
    });
}

#[test]
fn an_unused_permit_delays_the_end_until_it_is_dropped() {
    on_both(|| async {
        let pool = AsyncPool::new(1);
        let permit = pool.admit().await.unwrap();
        let mut drain = Box::pin(pool.drain());
        for _ in 0..20 {
            assert!(poll_once(drain.as_mut()).is_pending());
            yield_now().await;
        }
        drop(permit);
        drain.await.unwrap();
    });
}

#[test]
fn a_thread_waits_for_a_place() {
    for threads in [1, 2] {
        on(threads, || async {
            let (pool, stop) = held(0).await;
            let blocked = {
                let pool = pool.clone();
                thread::spawn(move || {
                    for _ in 0..100 {
                        pool.blocking_submit(yield_now()).unwrap();
                    }
                })
            };
            soon("the thread waits", || pool.waiting() == 1).await;
            stop.open();
            join(blocked);
            pool.drain().await.unwrap();
            assert_eq!(pool.stats().completed, 101);
        });
    }
}

#[test]
fn a_thread_that_waits_gets_its_future_back_when_the_pool_closes() {
    on(1, || async {
        let (pool, stop) = held(0).await;
        let inner = pool.clone();
        let blocked = thread::spawn(move || inner.blocking_submit(async {}).unwrap_err().reason());
        soon("the thread waits", || pool.waiting() == 1).await;
        pool.close();
        assert_eq!(join(blocked), Refused::Closed);
        stop.open();
        pool.drain().await.unwrap();
    });
}

#[test]
fn without_a_runtime_a_pool_cannot_be_built_and_the_setting_is_named() {
    let error = AsyncPool::builder().build().unwrap_err();
    assert_eq!(error.setting(), Some("runtime"));
    let builder = AsyncFnPool::<u8, u8>::builder();
    assert_eq!(builder.build(|n| async move { n }).unwrap_err().setting(), Some("runtime"));
    let panic = thread::spawn(|| drop(AsyncPool::new(1))).join().unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.contains("`runtime`") && message.contains("`own_threads`"), "{message}");
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let runtime = runtime(0);
    let builder = || AsyncPool::builder().runtime(runtime.handle().clone());
    let setting = |builder: Builder<AsyncPool>| builder.build().unwrap_err().setting();
    assert_eq!(setting(builder().workers(0)), Some("workers"));
    assert_eq!(setting(builder().when_full(WhenFull::CallerRuns)), Some("when_full"));
    assert_eq!(setting(builder().workers(1 << 40)), Some("workers"));
    assert!(builder().workers(1).queue(0).build().is_ok());
    let _inside = runtime.enter();
    assert_eq!(AsyncPool::new(3).capacity(), 3);
}

#[test]
fn a_pool_is_used_from_outside_of_its_runtime() {
    watch(|| {
        let runtime = runtime(2);
        let pool = AsyncPool::builder().workers(2).queue(2).runtime(runtime.handle().clone());
        let pool = pool.build().unwrap();
        let handles: Vec<_> = (0..50)
            .map(|number| {
                let mut spawned = None;
                eventually("there is a place", || {
                    spawned = pool.try_spawn(async move { number }).ok();
                    spawned.is_some()
                });
                spawned.unwrap()
            })
            .collect();
        for (number, handle) in handles.into_iter().enumerate() {
            assert_eq!(handle.join().unwrap(), number);
        }
        // Any executor will do to wait.
        common::block_on(async {
            pool.submit(async {}).await.unwrap();
            assert_eq!(pool.spawn(async { 1 }).await.unwrap().await.unwrap(), 1);
            pool.drain().await.unwrap();
        });
        assert_eq!(pool.stats().completed, 52);
    });
}

#[test]
fn a_queue_of_none_takes_what_can_run() {
    on_both(|| async {
        let pool = AsyncPool::builder().workers(3).queue(0).build().unwrap();
        let stop = Stop::new();
        for _ in 0..3 {
            pool.try_submit(stop.task()).unwrap();
        }
        assert_eq!(pool.try_submit(async {}).unwrap_err().reason(), Refused::Full);
        assert!(poll_once(pin!(pool.submit(async {}))).is_pending());
        stop.have_come(3).await;
        stop.open();
        pool.submit(async {}).await.unwrap();
        pool.drain().await.unwrap();
        assert_eq!(pool.stats().completed, 4);
    });
}

#[test]
fn an_unlimited_pool_takes_everything() {
    on_both(|| async {
        let (pool, stop) = (AsyncPool::builder().unlimited().build().unwrap(), Stop::new());
        for _ in 0..20_000 {
            pool.try_submit(stop.task()).unwrap();
        }
        stop.have_come(20_000).await;
        assert_eq!(pool.busy(), 20_000);
        stop.open();
        pool.drain().await.unwrap();
        assert_eq!(pool.stats().completed, 20_000);
    });
}
