//! Class 9: a task is cancelled while it is taken or ends, and has two outcomes, or none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use formic::{AcquireError, JoinError, Pool, Semaphore};

use crate::common::{Random, block_on, poll_once, seed};
use crate::hold::Hold;
use crate::kinds::{Job, Kind, Plan};
use crate::{counting, rounds, yield_once};

/// A task that notes that it came to its end, which it must do once at most.
fn noting(ran: &Arc<AtomicBool>, yields: u64) -> Job {
    let ran = Arc::clone(ran);
    Box::pin(async move {
        for _ in 0..yields {
            yield_once().await;
        }
        assert!(!ran.swap(true, Ordering::SeqCst), "it ran once");
    })
}

/// Cancelled while workers take them and run them: each has one outcome, and the figures know it.
fn exactly_one_outcome<K: Kind>() {
    let seed = seed("class_09_cancel_against_complete");
    let (pool, cancelled) = (K::build(&Plan::new(2, 64)), AtomicU64::new(0));
    let each = rounds(100_000) / 8;
    thread::scope(|scope| {
        for number in 0..2 {
            let (pool, cancelled) = (&pool, &cancelled);
            let mut random = Random(seed ^ number);
            scope.spawn(move || {
                for _ in 0..each {
                    let yields = random.below(3);
                    let spawn = |_| {
                        let ran = Arc::new(AtomicBool::new(false));
                        (block_on(pool.spawn(noting(&ran, yields))).unwrap(), ran)
                    };
                    let handles: Vec<_> = (0..4).map(spawn).collect();
                    (0..random.below(300)).for_each(|_| std::hint::spin_loop());
                    // From the end: the workers come from the other side, and one task is met by both.
                    for (handle, ran) in handles.into_iter().rev() {
                        let said = handle.cancel();
                        assert!(!(said && handle.cancel()), "what was cancelled is not so again");
                        let outcome = handle.join();
                        assert!(!said || outcome.as_ref().is_err_and(JoinError::is_cancelled));
                        // A future may come to its end in the very poll in which it is cancelled.
                        assert!(outcome.is_err() || ran.load(Ordering::SeqCst));
                        cancelled.fetch_add(u64::from(outcome.is_err()), Ordering::SeqCst);
                    }
                }
            });
        }
    });
    assert!(block_on(pool.drain()));
    let (stats, cancelled) = (pool.stats(), cancelled.into_inner());
    assert_eq!((stats.completed + cancelled, stats.cancelled), (8 * each, cancelled), "{stats:?}");
}
on_every_pool!(exactly_one_outcome);

/// Cancelled twice, and too late.
fn twice_and_late<K: Kind>() {
    for _ in 0..rounds(1000) {
        let (pool, hold) = (K::build(&Plan::new(1, 4)), Hold::default());
        pool.hold_each(&hold, 1);
        hold.await_waiting(K::SHARDS);
        let ran = Arc::new(AtomicUsize::new(0));
        let queued = block_on(pool.spawn(counting(&ran))).unwrap();
        assert!(queued.cancel());
        assert_eq!(Arc::strong_count(&ran), 1, "what it owned is gone at once");
        assert!(!queued.cancel());
        assert!(queued.join().unwrap_err().is_cancelled());
        hold.open();
        let late = block_on(pool.spawn(counting(&ran))).unwrap();
        assert!(block_on(pool.wait_idle()));
        assert!(!late.cancel());
        late.join().unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), 1);
        assert!(block_on(pool.drain()));
        assert_eq!(pool.stats().cancelled, 1);
    }
}
on_every_pool!(twice_and_late);

/// The rest of a batch, of a map and of a scope is cancelled in the loop over the results.
#[test]
fn inside_the_result_loop() {
    crate::watched("inside_the_result_loop", || {
        let mut random = Random(seed("class_09_cancel_against_complete::inside_the_result_loop"));
        for _ in 0..rounds(10_000) {
            let (pool, ran) = (Pool::build(&Plan::new(2, 4)), Arc::new(AtomicU64::new(0)));
            let (mut batch, stop) = (pool.batch(), random.below(20));
            for _ in 0..20 {
                let ran = Arc::clone(&ran);
                batch.spawn(move || ran.fetch_add(1, Ordering::SeqCst)).unwrap();
            }
            let (mut outcomes, mut cancelled) = (0, 0);
            while let Some(outcome) = batch.next() {
                cancelled += u64::from(outcome.is_err_and(|end| end.is_cancelled()));
                if outcomes == stop {
                    (0..2).for_each(|_| batch.cancel());
                }
                outcomes += 1;
            }
            assert_eq!(outcomes, 20);
            let count = Arc::clone(&ran);
            let taken = pool.map(0..20, move |_| count.fetch_add(1, Ordering::SeqCst));
            drop(taken.take(stop as usize).collect::<Vec<_>>());
            pool.scope(|scope| {
                let task = || ran.fetch_add(1, Ordering::SeqCst);
                let handles: Vec<_> = (0..8).map(|_| scope.spawn(task)).collect();
                for handle in handles {
                    let said = handle.cancel();
                    assert_eq!(handle.join().is_err(), said);
                }
            });
            assert!(pool.drain().is_ok());
            let stats = pool.stats();
            assert!(stats.adds_up() && stats.cancelled >= cancelled, "{stats:?}");
            assert_eq!(stats.completed, ran.load(Ordering::SeqCst), "{stats:?}");
        }
    });
}

/// A permit is granted while its waiter gives up: exactly one of the two.
#[test]
fn semaphore() {
    crate::watched("semaphore", || {
        let seed = seed("class_09_cancel_against_complete::semaphore");
        let (semaphore, held) = (Semaphore::new(2), AtomicUsize::new(0));
        thread::scope(|scope| {
            for number in 0..4 {
                let (semaphore, held) = (&semaphore, &held);
                let mut random = Random(seed ^ number);
                scope.spawn(move || {
                    for _ in 0..rounds(200_000) / 4 {
                        let weight = 1 + random.below(2) as usize;
                        let time = Duration::from_micros(random.below(20));
                        let permit = match random.below(3) {
                            0 => semaphore.acquire_timeout(weight, time),
                            1 => semaphore.try_acquire(weight),
                            _ => match poll_once(std::pin::pin!(semaphore.acquire_async(weight))) {
                                std::task::Poll::Ready(permit) => permit,
                                std::task::Poll::Pending => Err(AcquireError::TimedOut),
                            },
                        };
                        let Ok(permit) = permit else { continue };
                        let before = held.fetch_add(weight, Ordering::SeqCst);
                        assert!(before + weight <= 2, "{before} and {weight} are held");
                        held.fetch_sub(weight, Ordering::SeqCst);
                        drop(permit);
                    }
                });
            }
        });
        assert_eq!((semaphore.available(), semaphore.waiting()), (2, 0));
    });
}
