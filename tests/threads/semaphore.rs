//! The semaphore: in order of arrival, for threads and futures alike, and what is held comes back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::common::{PATIENCE, block_on, eventually, join, poll_once};
use formic::{AcquireError, OwnedSemaphorePermit, Pool, Semaphore};

/// What a thread that waits gets.
type Waiting = JoinHandle<Result<OwnedSemaphorePermit, AcquireError>>;

/// Starts a thread that asks for a permit, and returns when it waits.
fn wait_for(semaphore: &Semaphore, weight: usize) -> Waiting {
    let (waiting, handle) = (semaphore.waiting(), semaphore.clone());
    let thread = thread::spawn(move || Ok(handle.acquire(weight)?.into_owned()));
    eventually("the thread waits", || semaphore.waiting() == waiting + 1);
    thread
}

/// A waker that knows whether it was woken.
#[derive(Default)]
struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Bell {
    fn poll<F: Future>(self: &Arc<Self>, future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(&Arc::clone(self).into()))
    }

    fn has_rung(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

#[test]
fn permits_weigh_at_most_the_size() {
    let semaphore = Semaphore::new(5);
    let (two, three) = (semaphore.acquire(2).unwrap(), semaphore.acquire(3).unwrap());
    assert_eq!((two.weight(), three.weight(), semaphore.available()), (2, 3, 0));
    assert_eq!(semaphore.try_acquire(1).unwrap_err(), AcquireError::NoPermits);
    drop(two);
    assert_eq!((semaphore.available(), semaphore.size()), (2, 5));
    drop(semaphore.acquire(2).unwrap());
    drop(three);
    assert_eq!(semaphore.available(), 5);
}

#[test]
fn more_than_the_size_is_an_error_and_never_a_wait() {
    let semaphore = Semaphore::new(3);
    let too_many = AcquireError::TooMany { weight: 4, size: 3 };
    assert_eq!(semaphore.acquire(4).unwrap_err(), too_many);
    assert_eq!(semaphore.try_acquire(4).unwrap_err(), too_many);
    assert_eq!(semaphore.acquire_timeout(4, Duration::MAX).unwrap_err(), too_many);
    assert_eq!(block_on(semaphore.acquire_async(4)).unwrap_err(), too_many);
    assert_eq!(
        Semaphore::new(0).acquire(1).unwrap_err(),
        AcquireError::TooMany { weight: 1, size: 0 }
    );
    assert!(semaphore.acquire(usize::MAX).is_err());
}

#[test]
fn a_weight_of_zero_is_granted_at_once() {
    let semaphore = Semaphore::new(1);
    let all = semaphore.acquire(1).unwrap();
    let waiting = wait_for(&semaphore, 1);
    let nothing = semaphore.acquire(0).unwrap();
    assert_eq!((nothing.weight(), semaphore.waiting()), (0, 1));
    semaphore.resize(0);
    drop(semaphore.try_acquire(0).unwrap());
    assert!(join(waiting).is_err());
    drop((nothing, all));
    semaphore.close();
    assert_eq!(semaphore.acquire(0).unwrap_err(), AcquireError::Closed);
}

#[test]
fn a_small_request_waits_behind_a_large_one() {
    let semaphore = Semaphore::new(4);
    let (one, two) = (semaphore.acquire(1).unwrap(), semaphore.acquire(2).unwrap());
    let large = wait_for(&semaphore, 3);
    assert_eq!(semaphore.available(), 1, "one is free");
    assert_eq!(semaphore.try_acquire(1).unwrap_err(), AcquireError::NoPermits);
    let timeout = semaphore.acquire_timeout(1, Duration::from_millis(1));
    assert_eq!(timeout.unwrap_err(), AcquireError::TimedOut);
    let mut small = pin!(semaphore.acquire_async(1));
    assert!(poll_once(small.as_mut()).is_pending());
    drop(one);
    assert!(poll_once(small.as_mut()).is_pending(), "two are free, and three are waited for");
    drop(two);
    let large = join(large).unwrap();
    assert_eq!(large.weight(), 3);
    let small = block_on(small).unwrap();
    assert_eq!((small.weight(), semaphore.available()), (1, 0), "both fit now");
}

#[test]
fn permits_are_given_in_order_of_arrival_to_threads_and_futures_alike() {
    let semaphore = Semaphore::new(1);
    let order = Arc::new(Mutex::new(Vec::new()));
    let all = semaphore.acquire(1).unwrap();
    let threads: Vec<_> = (0..8)
        .map(|number| {
            let (handle, order) = (semaphore.clone(), Arc::clone(&order));
            let thread = thread::spawn(move || {
                let permit = match number % 2 {
                    0 => handle.acquire(1),
                    _ => block_on(handle.acquire_async(1)),
                };
                order.lock().unwrap().push(number);
                drop(permit.unwrap());
            });
            eventually("it waits", || semaphore.waiting() == number + 1);
            thread
        })
        .collect();
    drop(all);
    threads.into_iter().for_each(join);
    assert_eq!(*order.lock().unwrap(), (0..8).collect::<Vec<_>>());
}

#[test]
fn a_release_wakes_exactly_those_who_fit() {
    let semaphore = Semaphore::new(3);
    let all = semaphore.acquire(3).unwrap();
    let bells: [Arc<Bell>; 4] = Default::default();
    let mut futures: Vec<_> =
        [1, 2, 1, 1].map(|weight| Box::pin(semaphore.acquire_async(weight))).into();
    for (future, bell) in futures.iter_mut().zip(&bells) {
        assert!(bell.poll(future.as_mut()).is_pending());
    }
    drop(all);
    assert_eq!(bells.each_ref().map(|bell| bell.has_rung()), [true, true, false, false]);
    assert_eq!((semaphore.available(), semaphore.waiting()), (0, 2), "they have it already");
    let Poll::Ready(second) = bells[1].poll(futures[1].as_mut()) else { panic!("it was granted") };
    drop(second.unwrap());
    assert_eq!(bells.each_ref().map(|bell| bell.has_rung()), [false, false, true, true]);
}

#[test]
fn a_dropped_waiting_future_gives_its_place_back() {
    let semaphore = Semaphore::new(3);
    let one = semaphore.acquire(1).unwrap();
    let mut large = Box::pin(semaphore.acquire_async(3));
    assert!(poll_once(large.as_mut()).is_pending());
    let small = [wait_for(&semaphore, 1), wait_for(&semaphore, 1), wait_for(&semaphore, 1)];
    drop(large);
    eventually("two small ones enter", || semaphore.waiting() == 1);
    assert_eq!(semaphore.available(), 0);
    drop(one);
    let small = small.map(|thread| join(thread).unwrap());
    assert_eq!((semaphore.waiting(), semaphore.available()), (0, 0));
    drop(small);
    assert_eq!(semaphore.available(), 3);
}

#[test]
fn a_dropped_future_gives_back_what_it_was_granted() {
    let semaphore = Semaphore::new(2);
    let all = semaphore.acquire(2).unwrap();
    let mut granted = Box::pin(semaphore.acquire_async(2));
    assert!(poll_once(granted.as_mut()).is_pending());
    let next = wait_for(&semaphore, 1);
    drop(all);
    assert_eq!((semaphore.available(), semaphore.waiting()), (0, 1), "it was granted");
    drop(granted);
    assert_eq!(join(next).unwrap().weight(), 1);
    assert_eq!(semaphore.available(), 2);
}

#[test]
fn a_waiter_that_gives_up_lets_those_behind_it_in() {
    let semaphore = Semaphore::new(2);
    let one = semaphore.acquire(1).unwrap();
    let handle = semaphore.clone();
    let large = thread::spawn(move || {
        handle.acquire_timeout(2, Duration::from_millis(200)).map(drop).unwrap_err()
    });
    // Or has given up already, if this thread is very slow.
    eventually("the large one waits", || semaphore.waiting() == 1 || large.is_finished());
    let small = thread::spawn({
        let handle = semaphore.clone();
        move || Ok::<_, AcquireError>(handle.acquire(1)?.into_owned())
    });
    assert_eq!(join(large), AcquireError::TimedOut);
    assert_eq!(join(small).unwrap().weight(), 1);
    drop(one);
    assert_eq!((semaphore.available(), semaphore.waiting()), (2, 0));
}

#[test]
fn a_wait_without_time_is_over_at_once() {
    let semaphore = Semaphore::new(1);
    drop(semaphore.acquire_timeout(1, Duration::ZERO).unwrap());
    let all = semaphore.acquire(1).unwrap();
    assert_eq!(semaphore.acquire_timeout(1, Duration::ZERO).unwrap_err(), AcquireError::TimedOut);
    assert_eq!(semaphore.waiting(), 0);
    drop(all);
}

#[test]
fn a_panic_gives_the_permit_back() {
    let semaphore = Semaphore::new(2);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _permit = semaphore.acquire(2).unwrap();
        std::panic::resume_unwind(Box::new("a panic that prints nothing"));
    }));
    assert!(panicked.is_err());
    assert_eq!(semaphore.available(), 2);
}

#[test]
fn a_task_takes_its_permit_with_it_and_a_panic_gives_it_back() {
    let (pool, semaphore) = (Pool::new(2), Semaphore::new(1));
    for _ in 0..10 {
        let permit = semaphore.acquire(1).unwrap().into_owned();
        pool.submit(move || {
            let _permit = permit;
            std::panic::resume_unwind(Box::new("a panic that prints nothing"));
        })
        .unwrap();
    }
    pool.drain().unwrap();
    assert_eq!(semaphore.available(), 1);
}

#[test]
fn a_waker_that_panics_keeps_no_other_waiter_asleep() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            std::panic::resume_unwind(Box::new("a panic that prints nothing"));
        }
    }
    let semaphore = Semaphore::new(2);
    let all = semaphore.acquire(2).unwrap();
    let mut first = Box::pin(semaphore.acquire_async(1));
    let waker = Arc::new(Panics).into();
    assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let second = wait_for(&semaphore, 1);
    drop(all);
    drop(join(second).unwrap());
    drop(first);
    assert_eq!(semaphore.available(), 2);
}

#[test]
fn a_larger_size_lets_in_those_who_fit() {
    let semaphore = Semaphore::new(2);
    let all = semaphore.acquire(2).unwrap();
    let (first, second) = (wait_for(&semaphore, 2), wait_for(&semaphore, 2));
    semaphore.resize(5);
    let first = join(first).unwrap();
    assert_eq!((semaphore.size(), semaphore.available(), semaphore.waiting()), (5, 1, 1));
    drop((all, first));
    drop(join(second).unwrap());
    assert_eq!(semaphore.available(), 5);
}

#[test]
fn a_smaller_size_honours_the_permits_that_are_out() {
    let semaphore = Semaphore::new(6);
    let permits: Vec<_> = (0..6).map(|_| semaphore.acquire(1).unwrap()).collect();
    semaphore.resize(2);
    let next = wait_for(&semaphore, 2);
    let mut permits = permits.into_iter();
    for returned in 1..=5 {
        drop(permits.next());
        assert_eq!(semaphore.waiting(), 1, "{returned} have come back of what is owed");
    }
    assert_eq!(semaphore.available(), 1);
    drop(permits.next());
    let next = join(next).unwrap();
    assert_eq!((next.weight(), semaphore.available()), (2, 0));
    drop(next);
    assert_eq!(semaphore.available(), 2);
}

#[test]
fn a_size_too_small_sends_those_away_who_wait_for_more() {
    let semaphore = Semaphore::new(4);
    let two = semaphore.acquire(2).unwrap();
    let large = wait_for(&semaphore, 4);
    let mut future = Box::pin(semaphore.acquire_async(3));
    assert!(poll_once(future.as_mut()).is_pending());
    let mut unheard = Box::pin(semaphore.acquire_async(3));
    assert!(poll_once(unheard.as_mut()).is_pending());
    let small = wait_for(&semaphore, 1);
    // The small one stood behind three that will never fit, and finds one free.
    semaphore.resize(3);
    assert_eq!(join(large).unwrap_err(), AcquireError::TooMany { weight: 4, size: 3 });
    assert_eq!((semaphore.waiting(), semaphore.available()), (3, 1), "three still fit in time");
    semaphore.resize(2);
    semaphore.resize(4);
    // What they are told is what it was when they were sent away.
    let error = block_on(future).unwrap_err();
    assert_eq!(error, AcquireError::TooMany { weight: 3, size: 2 });
    drop(unheard);
    assert_eq!(join(small).unwrap().weight(), 1);
    drop(two);
    assert_eq!((semaphore.waiting(), semaphore.available()), (0, 4));
}

#[test]
fn close_releases_all_who_wait() {
    let semaphore = Semaphore::new(1);
    let all = semaphore.acquire(1).unwrap();
    let threads = [wait_for(&semaphore, 1), wait_for(&semaphore, 1)];
    let mut future = pin!(semaphore.acquire_async(1));
    let bell = Arc::new(Bell::default());
    assert!(bell.poll(future.as_mut()).is_pending());
    assert!(!semaphore.is_closed());
    semaphore.close();
    semaphore.close();
    for thread in threads {
        assert_eq!(join(thread).unwrap_err(), AcquireError::Closed);
    }
    assert!(bell.has_rung());
    assert_eq!(block_on(future).unwrap_err(), AcquireError::Closed);
    assert!(semaphore.is_closed());
    drop(all);
    assert_eq!(semaphore.available(), 1, "a permit that was out comes back");
    assert_eq!(semaphore.try_acquire(1).unwrap_err(), AcquireError::Closed);
    assert_eq!(semaphore.acquire(2).unwrap_err(), AcquireError::Closed);
    let timed = semaphore.acquire_timeout(1, PATIENCE);
    assert_eq!(timed.unwrap_err(), AcquireError::Closed);
}

#[test]
fn permits_and_futures_may_cross_threads() {
    fn is_send_and_sync<T: Send + Sync>(_: &T) {}
    fn is_send<T: Send>(_: &T) {}
    let semaphore = Semaphore::new(2);
    let permit = semaphore.acquire(1).unwrap();
    is_send_and_sync(&semaphore);
    is_send_and_sync(&permit);
    is_send(&semaphore.acquire_async(1));
    let owned = permit.into_owned();
    is_send_and_sync(&owned);
    assert_eq!(owned.weight(), 1);
    let shown = format!("{semaphore:?}");
    assert_eq!(shown, "Semaphore { size: 2, available: 1, waiting: 0, closed: false }");
}
