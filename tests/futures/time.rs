//! Pools of futures and the kinds of runtimes: paused time, no timers, `LocalSet`.

use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::common;
use crate::common::on_tokio::watch;
use formic::{AsyncFnPool, AsyncPool};
use futures_util::StreamExt;
use tokio::task::{LocalSet, yield_now};
use tokio::time::sleep;

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn in_paused_time_sleeping_futures_end_at_once() {
    watch(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        let begin = Instant::now();
        runtime.block_on(async {
            let (pool, begin) = (AsyncPool::new(10), tokio::time::Instant::now());
            for _ in 0..100 {
                pool.submit(async { sleep(HOUR).await }).await.unwrap();
            }
            pool.drain().await.unwrap();
            let passed = begin.elapsed();
            assert!(passed >= 10 * HOUR && passed < 11 * HOUR, "{passed:?}");
            pool.reopen().unwrap();
            let never = pool.spawn(std::future::pending::<()>()).await.unwrap();
            assert!(pool.drain_timeout(HOUR).await.is_err());
            never.cancel();
            pool.drain().await.unwrap();
            pool.reopen().unwrap();
            pool.for_each(0..50, |_| sleep(HOUR)).await.unwrap();
            let results = pool.map(0..50_u32, |number| async move {
                sleep(HOUR).await;
                number
            });
            assert_eq!(results.count().await, 50);
            let calls = AsyncFnPool::new(2, sleep);
            assert!(calls.call_timeout(2 * HOUR, HOUR).await.is_err());
            calls.call_timeout(HOUR, 2 * HOUR).await.unwrap();
        });
        assert!(begin.elapsed() < common::PATIENCE);
    });
}

#[test]
fn a_runtime_without_timers_will_do() {
    for threads in [0, 2] {
        watch(move || {
            let mut builder = match threads {
                0 => tokio::runtime::Builder::new_current_thread(),
                _ => tokio::runtime::Builder::new_multi_thread(),
            };
            builder.build().unwrap().block_on(async {
                let pool = AsyncPool::builder().workers(2).queue(1).build().unwrap();
                for _ in 0..100 {
                    pool.submit(yield_now()).await.unwrap();
                }
                let inner = pool.clone();
                let nested = pool
                    .spawn(async move { inner.spawn(async { 1 }).await.unwrap().await.unwrap() });
                assert_eq!(nested.await.unwrap().await.unwrap(), 1);
                pool.for_each(0..100, |_| yield_now()).await.unwrap();
                assert_eq!(pool.map(0..100, |n| async move { n }).count().await, 100);
                pool.wait_idle().await.unwrap();
                pool.drain().await.unwrap();
            });
        });
    }
}

#[test]
fn a_local_set_uses_a_pool() {
    watch(|| {
        let runtime = common::on_tokio::runtime(0);
        let local = LocalSet::new();
        runtime.block_on(local.run_until(async {
            let (pool, own) =
                (AsyncPool::builder().workers(1).queue(0).build().unwrap(), Rc::new(7));
            let mut tasks = Vec::new();
            for _ in 0..20 {
                let (pool, own) = (pool.clone(), Rc::clone(&own));
                tasks.push(tokio::task::spawn_local(async move {
                    let number = *own;
                    pool.spawn(async move {
                        yield_now().await;
                        number
                    })
                    .await
                    .unwrap()
                    .await
                    .unwrap()
                }));
            }
            for task in tasks {
                assert_eq!(task.await.unwrap(), 7);
            }
            pool.drain().await.unwrap();
        }));
    });
}

#[test]
fn a_pool_is_awaited_in_another_runtime_than_its_own() {
    watch(|| {
        let (one, two) = (common::on_tokio::runtime(1), common::on_tokio::runtime(0));
        let pool = AsyncPool::builder().workers(1).queue(0).runtime(one.handle().clone());
        let pool = pool.build().unwrap();
        two.block_on(async {
            for number in 0..200 {
                let task = async move {
                    yield_now().await;
                    number
                };
                assert_eq!(pool.spawn(task).await.unwrap().await.unwrap(), number);
            }
            pool.drain().await.unwrap();
        });
    });
}

#[test]
fn a_call_with_a_time_limit_can_be_made_outside_of_the_runtime() {
    watch(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let builder = AsyncFnPool::builder().workers(2).runtime(runtime.handle().clone());
        let pool = builder.build(|time: Duration| async move { sleep(time).await }).unwrap();
        common::block_on(pool.call_timeout(Duration::ZERO, HOUR)).unwrap();
        let late = || common::block_on(pool.call_timeout(HOUR, Duration::from_millis(5)));
        // The time may be over before a driver has the call, which is then taken back.
        while late().unwrap_err().into_argument().is_some() {}
    });
}
