//! Class 1: a wake-up is lost, and whoever waits for it waits for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use formic::{Refused, Semaphore};

use crate::common::{PATIENCE, Random, block_on, eventually, seed};
use crate::hold::{Hold, OpenAtLast};
use crate::kinds::{Kind, Plan};
use crate::{counting, rounds};

/// Now and then a pause in which the other side stops looking around, or is just about to.
fn pause(random: &mut Random) {
    if random.below(16) == 0 {
        let end = Instant::now() + Duration::from_micros(random.below(80));
        while Instant::now() < end {
            std::hint::spin_loop();
        }
    }
}

/// A submit and its effect, a million times.
fn alternations<K: Kind>() {
    let mut random = Random(seed("class_01_lost_wake_up::alternations"));
    for workers in [1, 2] {
        let pool = K::build(&Plan::new(workers, 4));
        let (done, owner) = (Arc::new(AtomicU64::new(0)), thread::current());
        for round in 1..=rounds(500_000) {
            let (effect, owner) = (Arc::clone(&done), owner.clone());
            let task = Box::pin(async move {
                effect.store(round, Ordering::Release);
                owner.unpark();
            });
            block_on(pool.submit(task)).unwrap();
            let begin = Instant::now();
            while done.load(Ordering::Acquire) != round {
                assert!(begin.elapsed() < PATIENCE, "round {round}: {:?}", pool.stats());
                thread::park_timeout(PATIENCE);
            }
            pause(&mut random);
        }
        assert!(block_on(pool.drain()));
    }
}
on_every_pool!(alternations);

/// Eight submitters wait, and each place that gets free lets one in. (Those who wait for a `Multi`
/// wait at one of its shards, so this is a matter of the shard.)
fn each_freed_place_lets_one_in<K: Kind>() {
    for _ in 0..rounds(100) {
        let (pool, hold, entered) =
            (K::build(&Plan::new(1, 0)), Hold::default(), AtomicUsize::new(0));
        block_on(pool.submit(hold.job())).unwrap();
        thread::scope(|scope| {
            let _open = OpenAtLast(&hold);
            for _ in 0..8 {
                scope.spawn(|| {
                    block_on(pool.submit(hold.job())).unwrap();
                    entered.fetch_add(1, Ordering::SeqCst);
                });
            }
            eventually("eight wait", || pool.stats().waiting == 8);
            for round in 1..=8 {
                hold.await_waiting(1);
                hold.let_one_pass();
                eventually("one has entered", || entered.load(Ordering::SeqCst) == round);
                let stats = pool.stats();
                assert_eq!((stats.waiting, stats.busy + stats.queued), (8 - round, 1), "{stats:?}");
            }
        });
        assert!(block_on(pool.drain()));
        assert_eq!(pool.stats().completed, 9);
    }
}
on_every_single_pool!(each_freed_place_lets_one_in);

/// Eight submitters wait, and a larger pool lets in as many as there are new places.
fn a_larger_size_lets_them_in<K: Kind>() {
    for _ in 0..rounds(100) {
        let (pool, hold) = (K::build(&Plan::new(1, 0)), Hold::default());
        block_on(pool.submit(hold.job())).unwrap();
        thread::scope(|scope| {
            let _open = OpenAtLast(&hold);
            for _ in 0..8 {
                scope.spawn(|| block_on(pool.submit(hold.job())).unwrap());
            }
            eventually("eight wait", || pool.stats().waiting == 8);
            for size in [2, 5, 9] {
                pool.resize(size);
                hold.await_waiting(size);
                assert_eq!(pool.stats().waiting, 9 - size);
            }
        });
        assert!(block_on(pool.drain()));
    }
}
on_every_single_pool!(a_larger_size_lets_them_in);

/// All who wait are sent away when the pool is closed, and have their task back.
fn close_sends_them_away<K: Kind>() {
    for _ in 0..rounds(100) {
        let (pool, hold) = (K::build(&Plan::new(1, 1)), Hold::default());
        let ran = Arc::new(AtomicUsize::new(0));
        let held = 2 * K::SHARDS;
        (0..held).for_each(|_| block_on(pool.submit(hold.job())).unwrap());
        thread::scope(|scope| {
            let _open = OpenAtLast(&hold);
            let submit = || block_on(pool.submit(counting(&ran))).unwrap_err();
            let waiting: Vec<_> = (0..8).map(|_| scope.spawn(submit)).collect();
            eventually("eight wait", || pool.stats().waiting == 8);
            pool.close();
            for waiting in waiting {
                let back = waiting.join().unwrap();
                assert_eq!(back.reason, Refused::Closed);
                block_on(back.job);
            }
        });
        assert!(block_on(pool.drain()));
        assert_eq!((pool.stats().completed, ran.load(Ordering::SeqCst)), (held as u64, 8));
    }
}
on_every_pool!(close_sends_them_away);

/// Two hand one permit to and fro: as a thread, as a future, and with a time-out.
#[test]
fn semaphore() {
    let seed = seed("class_01_lost_wake_up::semaphore");
    let (semaphore, passes) = (Semaphore::new(1), AtomicU64::new(0));
    thread::scope(|scope| {
        for number in 0..3 {
            let (semaphore, passes) = (&semaphore, &passes);
            scope.spawn(move || {
                let mut random = Random(seed ^ number);
                for _ in 0..rounds(1_000_000) / 3 {
                    let permit = match random.below(3) {
                        0 => semaphore.acquire(1),
                        1 => block_on(semaphore.acquire_async(1)),
                        _ => semaphore.acquire_timeout(1, PATIENCE),
                    };
                    let permit = permit.expect("it is handed on in time");
                    passes.fetch_add(1, Ordering::Relaxed);
                    pause(&mut random);
                    drop(permit);
                }
            });
        }
    });
    assert_eq!(passes.load(Ordering::Relaxed), rounds(1_000_000) / 3 * 3);
    assert_eq!((semaphore.available(), semaphore.waiting()), (1, 0));
}
