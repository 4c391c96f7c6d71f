//! Places of pools of futures and of their shards: taken at once and kept; and calls with a time limit. Each test runs on
//! every kind of pool of futures.

use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use crate::common::on_tokio::{runtime, watch};
use crate::common::{Door, eventually, poll_once};
use formic::{AsyncFnPool, AsyncPool, Balance, CallError, FnPool, Multi, Refused};
use tokio::task::yield_now;

const HOUR: Duration = Duration::from_secs(3600);

/// What a task adds its number to.
type Sum = Arc<AtomicU64>;

async fn add(sum: Sum, number: u64) {
    yield_now().await;
    sum.fetch_add(number, Ordering::SeqCst);
}

fn future(sum: &Sum, number: u64) -> impl Future<Output = ()> + Send + use<> {
    add(Arc::clone(sum), number)
}

fn argument(_: &Sum, number: u64) -> u64 {
    number
}

fn pool(_: &Sum) -> AsyncPool {
    AsyncPool::builder().workers(1).queue(2).build().unwrap()
}

fn fn_pool(sum: &Sum) -> AsyncFnPool<u64, ()> {
    let sum = Arc::clone(sum);
    let add = move |number| add(Arc::clone(&sum), number);
    AsyncFnPool::builder().workers(1).queue(2).build(add).unwrap()
}

fn multi(sum: &Sum) -> Multi<AsyncPool> {
    Multi::new(2, Balance::RoundRobin, || pool(sum))
}

fn fn_multi(sum: &Sum) -> Multi<AsyncFnPool<u64, ()>> {
    Multi::new(2, Balance::RoundRobin, || fn_pool(sum))
}

fn is_static<F: Future + Send + 'static>(future: F) -> F {
    future
}

/// A runtime on one thread, whose clock moves on when there is nothing else to do.
fn paused() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

/// The tests of one kind. Shards have three places each.
macro_rules! on {
    ($kind:ident, $make:expr, $task:expr, $places:literal) => {
        mod $kind {
            use super::*;

            #[test]
            fn an_owned_permit_outlives_the_handles_of_its_pool() {
                watch(|| {
                    runtime(2).block_on(async {
                        let sum = Sum::default();
                        let pool = $make(&sum);
                        let permit = pool.try_admit().unwrap().into_owned();
                        drop(pool);
                        let task = $task(&sum, 5);
                        tokio::spawn(async move { permit.submit(task) }).await.unwrap();
                        while sum.load(Ordering::SeqCst) < 5 {
                            yield_now().await;
                        }
                    });
                });
            }

            #[test]
            fn unused_permits_of_many_go_back() {
                watch(|| {
                    runtime(2).block_on(async {
                        let sum = Sum::default();
                        let pool = $make(&sum);
                        assert_eq!(pool.admit_many(0).await.unwrap().len(), 0);
                        let mut many = pool.admit_many(usize::MAX).await.unwrap();
                        assert_eq!(many.len(), 3, "the places of one pool");
                        many.next().unwrap().submit($task(&sum, 1));
                        let kept = many.next().unwrap();
                        drop(many);
                        pool.wait_idle().await.unwrap();
                        let free: Vec<_> = std::iter::from_fn(|| pool.try_admit().ok()).collect();
                        assert_eq!(free.len(), $places - 1, "one is kept");
                        drop((kept, free));
                        pool.drain().await.unwrap();
                        assert_eq!((sum.load(Ordering::SeqCst), pool.stats().completed), (1, 1));
                    });
                });
            }

            #[test]
            fn a_future_borrows_nothing_and_gives_up_its_turn_when_it_is_dropped() {
                watch(|| {
                    runtime(2).block_on(async {
                        let sum = Sum::default();
                        let pool = $make(&sum);
                        let all: Vec<_> = std::iter::from_fn(|| pool.try_admit().ok()).collect();
                        assert_eq!(all.len(), $places);
                        let mut dropped = Box::pin(is_static(pool.submit_async($task(&sum, 100))));
                        let mut submit = Box::pin(is_static(pool.submit($task(&sum, 10))));
                        let mut many = Box::pin(is_static(pool.admit_many_async(2)));
                        assert!(poll_once(dropped.as_mut()).is_pending());
                        assert!(poll_once(submit.as_mut()).is_pending());
                        assert!(poll_once(many.as_mut()).is_pending());
                        assert_eq!(pool.waiting(), 3);
                        drop(dropped);
                        assert_eq!(pool.waiting(), 2);
                        drop(all);
                        assert!(matches!(poll_once(submit.as_mut()), Poll::Ready(Ok(()))));
                        let Poll::Ready(Ok(many)) = poll_once(many.as_mut()) else {
                            panic!("there are places");
                        };
                        let taken = many.map(|permit| permit.submit($task(&sum, 1))).count();
                        pool.drain().await.unwrap();
                        assert_eq!(sum.load(Ordering::SeqCst), 10 + taken as u64);
                    });
                });
            }

            #[test]
            fn a_submit_whose_time_is_over_gives_its_task_back() {
                watch(|| {
                    paused().block_on(async {
                        let sum = Sum::default();
                        let pool = $make(&sum);
                        let all: Vec<_> = std::iter::from_fn(|| pool.try_admit().ok()).collect();
                        assert_eq!(pool.admit_timeout(HOUR).await.unwrap_err(), Refused::TimedOut);
                        let error = pool.submit_timeout($task(&sum, 3), HOUR).await.unwrap_err();
                        assert_eq!(error.reason(), Refused::TimedOut);
                        drop(all);
                        pool.submit_timeout(error.into_task(), HOUR).await.unwrap();
                        pool.drain().await.unwrap();
                        assert_eq!(sum.load(Ordering::SeqCst), 3);
                    });
                });
            }

            #[test]
            fn a_blocking_admit_waits_on_a_thread_and_is_refused_in_a_runtime() {
                watch(|| {
                    let runtime = runtime(2);
                    let (sum, _inside) = (Sum::default(), runtime.enter());
                    let pool = $make(&sum);
                    let all: Vec<_> = std::iter::from_fn(|| pool.try_admit().ok()).collect();
                    let refused =
                        runtime.block_on(async { pool.blocking_admit().map(drop).unwrap_err() });
                    assert_eq!(refused, Refused::InRuntime);
                    std::thread::scope(|threads| {
                        let admitted =
                            threads.spawn(|| pool.blocking_admit().unwrap().submit($task(&sum, 2)));
                        eventually("it waits", || pool.waiting() == 1);
                        drop(all);
                        admitted.join().unwrap();
                    });
                    pool.blocking_drain().unwrap();
                    assert_eq!(sum.load(Ordering::SeqCst), 2);
                });
            }
        }
    };
}

on!(of_futures, pool, future, 3);
on!(of_one_function, fn_pool, argument, 3);
on!(of_shards_of_futures, multi, future, 6);
on!(of_shards_of_one_function, fn_multi, argument, 6);

fn reason<T>(error: CallError<T>) -> (Refused, T) {
    let CallError::Refused(error) = error else { panic!("{error:?}") };
    (error.reason(), error.into_task())
}

#[test]
fn a_call_of_futures_whose_time_is_over_gives_its_argument_back_unless_it_has_started() {
    watch(|| {
        paused().block_on(async {
            let never = |_: u64| pending::<()>();
            let calls = AsyncFnPool::builder().workers(1).queue(1).build(never).unwrap();
            let runs = tokio::spawn(calls.call_within(1, 2 * HOUR));
            while calls.busy() < 1 {
                yield_now().await;
            }
            assert_eq!(
                reason(calls.call_within(2, HOUR).await.unwrap_err()),
                (Refused::Expired, 2)
            );
            let place = calls.admit().await.unwrap();
            assert_eq!(reason(calls.try_call_async(3).await.unwrap_err()), (Refused::Full, 3));
            let late = calls.call_within(4, HOUR / 2).await.unwrap_err();
            assert_eq!(reason(late), (Refused::TimedOut, 4));
            assert!(matches!(runs.await.unwrap(), Err(CallError::TimedOut)));
            drop(place);
            calls.drain().await.unwrap();
            assert_eq!(
                calls.stats().cancelled,
                2,
                "the one that ran, and the one that was taken back"
            );
        });
    });
}

#[test]
fn a_call_on_a_thread_whose_time_is_over_gives_its_argument_back_unless_it_has_started() {
    watch(|| {
        paused().block_on(async {
            let door = Arc::new(Door::new());
            let inside = Arc::clone(&door);
            let wait = move |number: u64| {
                inside.wait();
                (number, formic::is_cancelled())
            };
            let calls = FnPool::builder().workers(1).queue(1).build(wait).unwrap();
            let runs = tokio::spawn(calls.call_within(1, 2 * HOUR));
            while calls.busy() < 1 {
                yield_now().await;
            }
            door.await_waiting(1);
            assert_eq!(
                reason(calls.call_within(2, HOUR).await.unwrap_err()),
                (Refused::Expired, 2)
            );
            let place = calls.admit_async().await.unwrap();
            assert_eq!(reason(calls.try_call_async(3).await.unwrap_err()), (Refused::Full, 3));
            let late = calls.call_within(4, HOUR / 2).await.unwrap_err();
            assert_eq!(reason(late), (Refused::TimedOut, 4));
            assert!(matches!(runs.await.unwrap(), Err(CallError::TimedOut)));
            drop(place);
            door.open();
            assert_eq!(calls.call_async(5).await.unwrap(), (5, false));
            calls.drain_async().await.unwrap();
        });
    });
}
