//! Loom models of the semaphore; the engine's README says by which removed rule each one fails.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use loom::thread;

use super::Semaphore;
use crate::engine::models::explore;
use crate::engine::sync::now;
use crate::error::AcquireError;

/// A semaphore of this size, and a thread that does something with it.
fn with_thread<T: 'static>(
    size: usize,
    act: impl FnOnce(&Semaphore) -> T + 'static,
) -> (Semaphore, impl FnOnce() -> T) {
    let semaphore = Semaphore::new(size);
    let other = semaphore.clone();
    let thread = thread::spawn(move || act(&other));
    (semaphore, move || thread.join().unwrap())
}

/// Everything has come back.
fn assert_whole(semaphore: &Semaphore) {
    assert_eq!((semaphore.available(), semaphore.waiting()), (semaphore.size(), 0));
}

#[test]
fn a_release_wakes_those_who_fit() {
    explore(|| {
        let semaphore = Semaphore::new(2);
        let both = semaphore.acquire(2).unwrap();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let other = semaphore.clone();
                thread::spawn(move || other.acquire(1).unwrap().into_owned())
            })
            .collect();
        drop(both);
        // Neither gives anything back before both have been let in.
        drop(threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>());
        assert_whole(&semaphore);
    });
}

#[test]
fn never_more_than_the_size_is_held() {
    explore(|| {
        let held = std::sync::Arc::new(loom::sync::atomic::AtomicUsize::new(0));
        let count = move |semaphore: &Semaphore| {
            let permit = semaphore.acquire(2).unwrap();
            let before = held.fetch_add(2, loom::sync::atomic::Ordering::SeqCst);
            assert_eq!(before, 0, "two and two are more than three");
            held.fetch_sub(2, loom::sync::atomic::Ordering::SeqCst);
            drop(permit);
        };
        let (semaphore, join) = with_thread(3, count.clone());
        count(&semaphore);
        join();
        assert_whole(&semaphore);
    });
}

#[test]
fn a_waiting_future_is_woken_by_a_release() {
    explore(|| {
        let (semaphore, join) = with_thread(1, |semaphore| {
            loom::future::block_on(async {
                // Another task polls it once, as when a future moves from task to task.
                let mut future = pin!(semaphore.acquire_async(1));
                let mut elsewhere = Context::from_waker(Waker::noop());
                let permit = match future.as_mut().poll(&mut elsewhere) {
                    Poll::Ready(permit) => permit,
                    Poll::Pending => future.await,
                };
                drop(permit.unwrap());
            });
        });
        drop(semaphore.acquire(1).unwrap());
        join();
        assert_whole(&semaphore);
    });
}

#[test]
fn a_dropped_waiting_future_gives_its_place_back() {
    explore(|| {
        let semaphore = Semaphore::new(1);
        let permit = semaphore.acquire(1).unwrap();
        let other = semaphore.clone();
        let thread = thread::spawn(move || {
            let mut future = pin!(other.acquire_async(1));
            let mut context = Context::from_waker(Waker::noop());
            // It may be dropped before it has a verdict, or after that and before it hears of it.
            if let Poll::Ready(permit) = future.as_mut().poll(&mut context) {
                drop(permit.unwrap());
            }
        });
        drop(permit);
        // This one waits behind the future, or finds that it is gone.
        drop(semaphore.acquire(1).unwrap());
        thread.join().unwrap();
        assert_whole(&semaphore);
    });
}

#[test]
fn a_large_waiter_that_gives_up_lets_small_ones_in() {
    explore(|| {
        let semaphore = Semaphore::new(2);
        let one = semaphore.acquire(1).unwrap();
        let mut large = Box::pin(semaphore.acquire_async(2));
        let mut context = Context::from_waker(Waker::noop());
        assert!(large.as_mut().poll(&mut context).is_pending());
        let other = semaphore.clone();
        let small = thread::spawn(move || other.acquire(1).map(drop));
        drop(large);
        assert_eq!(small.join().unwrap(), Ok(()));
        drop(one);
        assert_whole(&semaphore);
    });
}

#[test]
fn a_time_out_and_a_grant_of_a_permit_exclude_each_other() {
    explore(|| {
        let semaphore = Semaphore::new(1);
        let permit = semaphore.acquire(1).unwrap();
        let other = semaphore.clone();
        let thread = thread::spawn(move || match other.acquire_until(1, Some(now())) {
            Ok(permit) => drop(permit),
            Err(error) => assert_eq!(error, AcquireError::TimedOut),
        });
        drop(permit);
        thread.join().unwrap();
        assert_whole(&semaphore);
    });
}

#[test]
fn close_releases_those_who_wait() {
    explore(|| {
        let semaphore = Semaphore::new(1);
        let permit = semaphore.acquire(1).unwrap();
        let other = semaphore.clone();
        let thread = thread::spawn(move || other.acquire(1).map(drop));
        semaphore.close();
        assert_eq!(thread.join().unwrap(), Err(AcquireError::Closed));
        drop(permit);
        assert_whole(&semaphore);
    });
}

#[test]
fn a_size_too_small_releases_those_who_wait_for_more() {
    explore(|| {
        let semaphore = Semaphore::new(2);
        let permit = semaphore.acquire(1).unwrap();
        let other = semaphore.clone();
        let thread = thread::spawn(move || other.acquire(2).map(drop));
        semaphore.resize(1);
        let too_many = AcquireError::TooMany { weight: 2, size: 1 };
        assert_eq!(thread.join().unwrap(), Err(too_many));
        drop(permit);
        assert_whole(&semaphore);
    });
}

#[test]
fn a_larger_size_lets_those_in_who_fit() {
    explore(|| {
        let semaphore = Semaphore::new(1);
        let permit = semaphore.acquire(1).unwrap();
        let other = semaphore.clone();
        let thread = thread::spawn(move || other.acquire(1).map(drop));
        semaphore.resize(2);
        assert_eq!(thread.join().unwrap(), Ok(()));
        drop(permit);
        assert_whole(&semaphore);
    });
}
