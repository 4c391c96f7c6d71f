//! A semaphore under everything at once: never more than its size is held, and all comes back.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Random, block_on, eventually, join, poll_once, seed, stress_time};
use formic::{AcquireError, Semaphore};

const SIZE: usize = 7;

/// Notes what is held, and that it is never more than the size.
struct Scales<'a>(&'a AtomicUsize, usize);

impl<'a> Scales<'a> {
    fn put(held: &'a AtomicUsize, weight: usize) -> Self {
        let before = held.fetch_add(weight, Ordering::SeqCst);
        assert!(before + weight <= SIZE, "{before} and {weight} are above {SIZE}");
        Scales(held, weight)
    }
}

impl Drop for Scales<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::SeqCst);
    }
}

/// One random act of one thread.
fn act(semaphore: &Semaphore, held: &AtomicUsize, random: &mut Random) {
    let weight = random.below(SIZE as u64 + 1) as usize;
    let outcome = match random.below(6) {
        0 => semaphore.acquire(weight),
        1 => semaphore.try_acquire(weight),
        2 => semaphore.acquire_timeout(weight, Duration::from_micros(random.below(100))),
        3 => block_on(semaphore.acquire_async(weight)),
        4 => {
            // A future that is dropped after one look, with or without a grant.
            let mut future = pin!(semaphore.acquire_async(weight));
            match poll_once(future.as_mut()) {
                Poll::Ready(outcome) => outcome,
                Poll::Pending => return (0..random.below(3)).for_each(|_| thread::yield_now()),
            }
        }
        _ => {
            // Smaller, with those sent away who wait for more, and back again.
            semaphore.resize(random.below(SIZE as u64) as usize);
            return semaphore.resize(SIZE);
        }
    };
    match outcome {
        Ok(permit) => {
            let _scales = Scales::put(held, permit.weight());
            (0..random.below(3)).for_each(|_| thread::yield_now());
        }
        Err(AcquireError::NoPermits | AcquireError::TimedOut) => {}
        Err(AcquireError::TooMany { weight, size }) => assert!(weight > size && size < SIZE),
        Err(error) => panic!("nobody closes it: {error}"),
    }
}

#[test]
fn never_more_than_the_size_is_held_and_all_comes_back() {
    let seed = seed("never_more_than_the_size_is_held_and_all_comes_back");
    let deadline = Instant::now() + stress_time(Duration::from_millis(300));
    let (semaphore, held) = (Semaphore::new(SIZE), Arc::new(AtomicUsize::new(0)));
    let threads: Vec<_> = (0..6)
        .map(|number| {
            let (semaphore, held) = (semaphore.clone(), Arc::clone(&held));
            thread::spawn(move || {
                let mut random = Random(seed.wrapping_add(number));
                while Instant::now() < deadline {
                    act(&semaphore, &held, &mut random);
                }
            })
        })
        .collect();
    eventually("the time is over", || Instant::now() > deadline);
    threads.into_iter().for_each(join);
    assert_eq!(held.load(Ordering::SeqCst), 0);
    assert_eq!((semaphore.available(), semaphore.waiting()), (SIZE, 0));
}
