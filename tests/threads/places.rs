//! Places of pools of threads and of their shards: taken at once, kept, and waits for them that another thread calls
//! off. Each test runs on every kind of pool of threads.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::{eventually, poll_once};
use formic::{Balance, CancelToken, FnPool, Multi, Pool, Refused, Semaphore};

/// What a task adds its number to.
type Sum = Arc<AtomicU64>;

fn closure(sum: &Sum, number: u64) -> impl FnOnce() + Send + use<> {
    let sum = Arc::clone(sum);
    move || {
        sum.fetch_add(number, Ordering::SeqCst);
    }
}

fn argument(_: &Sum, number: u64) -> u64 {
    number
}

fn pool(_: &Sum) -> Pool {
    Pool::builder().workers(1).queue(2).build().unwrap()
}

fn fn_pool(sum: &Sum) -> FnPool<u64, ()> {
    let sum = Arc::clone(sum);
    let add = move |number| {
        sum.fetch_add(number, Ordering::SeqCst);
    };
    FnPool::builder().workers(1).queue(2).build(add).unwrap()
}

fn multi(sum: &Sum) -> Multi<Pool> {
    Multi::new(2, Balance::RoundRobin, || pool(sum))
}

fn fn_multi(sum: &Sum) -> Multi<FnPool<u64, ()>> {
    Multi::new(2, Balance::RoundRobin, || fn_pool(sum))
}

fn is_static<F: Future + Send + 'static>(future: F) -> F {
    future
}

/// The tests of one kind. Shards have three places each.
macro_rules! on {
    ($kind:ident, $make:expr, $task:expr, $places:literal) => {
        mod $kind {
            use super::*;

            #[test]
            fn a_blocked_submit_is_called_off_and_its_task_comes_back() {
                let (sum, token) = (Sum::default(), CancelToken::new());
                let pool = $make(&sum);
                let all: Vec<_> = std::iter::from_fn(|| pool.try_admit().ok()).collect();
                assert_eq!(all.len(), $places);
                let error = thread::scope(|threads| {
                    let submitter =
                        threads.spawn(|| pool.submit_unless(&token, $task(&sum, 7)).unwrap_err());
                    let admitter = threads.spawn(|| pool.admit_unless(&token).map(drop));
                    eventually("both wait", || pool.waiting() == 2);
                    token.cancel();
                    assert_eq!(admitter.join().unwrap(), Err(Refused::Cancelled));
                    submitter.join().unwrap()
                });
                assert_eq!((error.reason(), pool.waiting()), (Refused::Cancelled, 0));
                drop(all);
                pool.submit(error.into_task()).unwrap();
                pool.drain().unwrap();
                assert_eq!(sum.load(Ordering::SeqCst), 7, "the task that came back");
            }

            #[test]
            fn an_owned_permit_outlives_the_handles_of_its_pool() {
                let sum = Sum::default();
                let pool = $make(&sum);
                let permit = pool.admit().unwrap().into_owned();
                drop(pool);
                let task = $task(&sum, 5);
                thread::spawn(move || permit.submit(task)).join().unwrap();
                eventually("its task has run", || sum.load(Ordering::SeqCst) == 5);
            }

            #[test]
            fn unused_permits_of_many_go_back() {
                let sum = Sum::default();
                let pool = $make(&sum);
                assert_eq!(pool.admit_many(0).unwrap().len(), 0);
                assert_eq!(pool.admit_many(2).unwrap().len(), 2);
                let mut many = pool.try_admit_many(usize::MAX).unwrap();
                assert_eq!(many.len(), 3, "the places of one pool");
                many.next().unwrap().submit($task(&sum, 1));
                let kept = many.next().unwrap().into_owned();
                drop(many);
                pool.wait_idle().unwrap();
                let free = std::iter::from_fn(|| pool.try_admit().ok()).collect::<Vec<_>>();
                assert_eq!(free.len(), $places - 1, "one is kept");
                drop((kept, free));
                pool.drain().unwrap();
                assert_eq!((sum.load(Ordering::SeqCst), pool.stats().completed), (1, 1));
            }

            #[test]
            fn many_wait_for_one_place_and_take_what_is_free() {
                let sum = Sum::default();
                let pool = $make(&sum);
                let all: Vec<_> = std::iter::from_fn(|| pool.try_admit().ok()).collect();
                assert_eq!(pool.try_admit_many(2).err(), Some(Refused::Full));
                thread::scope(|threads| {
                    let taker = threads.spawn(|| {
                        pool.admit_many(9)
                            .unwrap()
                            .map(|permit| permit.submit($task(&sum, 1)))
                            .count()
                    });
                    eventually("it waits", || pool.waiting() == 1);
                    drop(all);
                    let taken = taker.join().unwrap();
                    assert!((1..=3).contains(&taken), "{taken}");
                    pool.drain().unwrap();
                    assert_eq!(sum.load(Ordering::SeqCst), taken as u64);
                });
            }

            #[test]
            fn a_future_borrows_nothing_and_gives_up_its_turn_when_it_is_dropped() {
                let sum = Sum::default();
                let pool = $make(&sum);
                let all: Vec<_> = std::iter::from_fn(|| pool.try_admit().ok()).collect();
                let mut dropped = Box::pin(is_static(pool.submit_async($task(&sum, 100))));
                let mut many = pin!(is_static(pool.admit_many_async(2)));
                assert!(poll_once(dropped.as_mut()).is_pending());
                assert!(poll_once(many.as_mut()).is_pending());
                assert_eq!(pool.waiting(), 2);
                drop(dropped);
                assert_eq!(pool.waiting(), 1);
                drop(all);
                let std::task::Poll::Ready(Ok(many)) = poll_once(many.as_mut()) else {
                    panic!("there are places");
                };
                many.for_each(|permit| permit.submit($task(&sum, 1)));
                pool.drain().unwrap();
                assert_eq!(sum.load(Ordering::SeqCst), 2);
            }

            #[test]
            fn a_submit_whose_time_is_over_gives_its_task_back() {
                let sum = Sum::default();
                let pool = $make(&sum);
                let all: Vec<_> = std::iter::from_fn(|| pool.try_admit().ok()).collect();
                let time = Duration::from_millis(1);
                assert_eq!(pool.admit_timeout(time).unwrap_err(), Refused::TimedOut);
                let error = pool.submit_timeout($task(&sum, 3), time).unwrap_err();
                assert_eq!(error.reason(), Refused::TimedOut);
                drop(all);
                pool.submit_timeout(error.into_task(), Duration::MAX).unwrap();
                pool.drain().unwrap();
                assert_eq!(sum.load(Ordering::SeqCst), 3);
            }
        }
    };
}

on!(of_closures, pool, closure, 3);
on!(of_one_function, fn_pool, argument, 3);
on!(of_shards_of_closures, multi, closure, 6);
on!(of_shards_of_one_function, fn_multi, argument, 6);

#[test]
fn a_blocked_acquire_is_called_off() {
    let (semaphore, token) = (Semaphore::new(2), CancelToken::new());
    let permit = semaphore.acquire(1).unwrap();
    thread::scope(|threads| {
        let waiting = threads.spawn(|| semaphore.acquire_unless(&token, 2).map(drop));
        eventually("it waits", || semaphore.waiting() == 1);
        token.cancel();
        assert_eq!(waiting.join().unwrap(), Err(formic::AcquireError::Cancelled));
    });
    assert_eq!((semaphore.waiting(), semaphore.available()), (0, 1));
    assert_eq!(semaphore.acquire_unless(&CancelToken::new(), 1).unwrap().weight(), 1);
    drop(permit);
    assert_eq!(semaphore.available(), 2);
}
