//! A pool that has its runtime for itself does not yield to anybody, and yet nobody waits for ever: neither its
//! own futures, whoever wakes them, nor timers, nor whatever else comes to the runtime. The same holds where each
//! driver has a thread of the pool's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::on_tokio::{Stop, drained, on, runtime, small, soon, watch};
use formic::AsyncPool;
use futures_util::future::join_all;
use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;
use tokio::time::sleep;

const FUTURES: usize = 3000;

/// Does a test with a pool that has two threads for itself: those of a runtime, and its own.
#[track_caller]
fn on_either<Fut: Future<Output = ()> + 'static>(workers: usize, test: fn(AsyncPool) -> Fut) {
    on(2, move || async move { test(small(workers, 0)).await });
    let own = AsyncPool::builder().workers(workers).queue(0).own_threads(2).build().unwrap();
    on(0, move || async move { test(own).await });
}

/// Spins until it is told to end.
async fn spin(end: Arc<AtomicBool>) {
    while !end.load(Ordering::Relaxed) {
        yield_now().await;
    }
}

#[test]
fn futures_that_wake_themselves_come_to_their_end() {
    on_either(FUTURES, |pool| async move {
        for _ in 0..FUTURES {
            let steps = async {
                for _ in 0..20 {
                    yield_now().await;
                }
            };
            pool.submit(steps).await.unwrap();
        }
        assert_eq!(drained(&pool).await.completed, FUTURES as u64);
    });
}

#[test]
fn futures_that_are_woken_from_outside_come_to_their_end() {
    on_either(FUTURES, |pool| async move {
        for round in 0..5 {
            let (senders, receivers): (Vec<_>, Vec<_>) =
                (0..FUTURES).map(|_| oneshot::channel::<()>()).unzip();
            for receiver in receivers {
                pool.submit(async { receiver.await.unwrap() }).await.unwrap();
            }
            // In bunches, after the last of which nobody wakes anything any more.
            let outside = std::thread::spawn(move || {
                for (number, sender) in senders.into_iter().enumerate() {
                    sender.send(()).unwrap();
                    if number % (100 << round) == 0 {
                        std::thread::yield_now();
                    }
                }
            });
            pool.wait_idle().await.unwrap();
            outside.join().unwrap();
        }
        assert_eq!(drained(&pool).await.completed, 5 * FUTURES as u64);
    });
}

#[test]
fn timers_fire_beside_futures_that_are_always_ready() {
    on_either(FUTURES, |pool| async move {
        let end = Arc::new(AtomicBool::new(false));
        for _ in 0..FUTURES / 2 {
            pool.submit(spin(Arc::clone(&end))).await.unwrap();
        }
        let sleepers = (0..100).map(|time| pool.spawn(sleep(Duration::from_millis(time))));
        for handle in join_all(sleepers).await {
            handle.unwrap().await.unwrap();
        }
        // What `block_on` runs has timers, too.
        sleep(Duration::from_millis(1)).await;
        end.store(true, Ordering::Relaxed);
        drained(&pool).await;
    });
}

#[test]
fn others_that_come_to_the_runtime_have_their_turns() {
    on_either(FUTURES, |pool| async move {
        let end = Arc::new(AtomicBool::new(false));
        for _ in 0..FUTURES / 2 {
            pool.submit(spin(Arc::clone(&end))).await.unwrap();
        }
        // One that a future of the pool starts stays with the thread of its driver at first.
        let (sender, mut turns) = mpsc::unbounded_channel();
        let start = async move {
            tokio::spawn(async move {
                while sender.send(()).is_ok() {
                    yield_now().await;
                }
            });
        };
        pool.submit(start).await.unwrap();
        for _ in 0..500 {
            turns.recv().await.unwrap();
        }
        end.store(true, Ordering::Relaxed);
        drained(&pool).await;
    });
}

#[test]
fn tasks_from_outside_are_begun_with_beside_those_that_wait_for_timers() {
    on_either(2 * FUTURES, |pool| async move {
        let begun = Arc::new(AtomicUsize::new(0));
        let (outside, own) = (pool.clone(), Arc::clone(&begun));
        let producer = std::thread::spawn(move || {
            for number in 0..6 * FUTURES {
                let own = Arc::clone(&own);
                let nap = async move {
                    own.fetch_add(1, Ordering::Relaxed);
                    sleep(Duration::from_millis(number as u64 % 7)).await;
                };
                outside.blocking_submit(nap).unwrap();
            }
        });
        soon("all have begun", || begun.load(Ordering::Relaxed) == 6 * FUTURES).await;
        producer.join().unwrap();
        assert_eq!(drained(&pool).await.completed, 6 * FUTURES as u64);
    });
}

#[test]
fn a_pull_of_sleeping_futures_can_be_stopped_at_any_moment() {
    on_either(FUTURES, |pool| async move {
        for time in 0..30 {
            let each = pool.for_each(0.., |_| sleep(Duration::from_millis(1)));
            assert!(tokio::time::timeout(Duration::from_millis(time), each).await.is_err());
            soon("its pullers are gone", || pool.busy() == 0).await;
        }
        drained(&pool).await;
    });
}

#[test]
fn a_runtime_can_be_shut_down_while_a_driver_has_it_for_itself() {
    for time in [0, 1, 5, 20] {
        watch(move || {
            let runtime = runtime(2);
            let pool = runtime.block_on(async { small(FUTURES, 0) });
            let stop = Stop::new();
            pool.blocking_submit(stop.task()).unwrap();
            let naps = || async {
                loop {
                    sleep(Duration::from_millis(1)).await;
                }
            };
            (1..FUTURES).for_each(|_| pool.blocking_submit(naps()).unwrap());
            runtime.block_on(stop.have_come(1));
            runtime.block_on(async { sleep(Duration::from_millis(time)).await });
            runtime.shutdown_timeout(Duration::from_secs(20));
            assert!(pool.is_closed() && pool.stats().adds_up(), "{:?}", pool.stats());
            assert_eq!((pool.busy(), pool.queued()), (0, 0));
        });
    }
}
