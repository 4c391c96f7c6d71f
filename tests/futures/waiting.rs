//! Whoever waits may give up at any moment: nothing is lost, and the next one has the place.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::common::on_tokio::{Stop, on_both, runtime, small, soon, watch_for};
use crate::common::{self, Random, poll_once, stress_time};
use formic::{AsyncPermit, AsyncPool, Refused};
use tokio::task::yield_now;

#[test]
fn a_future_that_gives_up_leaves_its_turn_to_the_next() {
    on_both(|| async {
        let (pool, stop, token) = (small(1, 0), Stop::new(), Arc::new(()));
        pool.submit(stop.task()).await.unwrap();
        stop.have_come(1).await;
        let (one, two) = (Arc::clone(&token), Arc::clone(&token));
        let mut submit = Box::pin(pool.submit(async move { drop(one) }));
        let mut spawn = Box::pin(pool.spawn(async move { drop(two) }));
        let mut admit = Box::pin(pool.admit());
        let mut last = Box::pin(pool.spawn(async { 1 }));
        assert!(poll_once(submit.as_mut()).is_pending());
        assert!(poll_once(spawn.as_mut()).is_pending());
        assert!(poll_once(admit.as_mut()).is_pending());
        assert!(poll_once(last.as_mut()).is_pending());
        assert_eq!(pool.waiting(), 4);
        drop((submit, spawn, admit));
        assert_eq!((pool.waiting(), Arc::strong_count(&token)), (1, 1));
        stop.open();
        assert_eq!(last.await.unwrap().await.unwrap(), 1);
        pool.drain().await.unwrap();
        let stats = pool.stats();
        assert_eq!((stats.accepted, stats.completed, stats.cancelled), (2, 2, 0), "{stats:?}");
    });
}

#[test]
fn a_place_that_was_granted_to_one_who_gives_up_goes_to_the_next() {
    on_both(|| async {
        let (pool, stop, token) = (small(1, 0), Stop::new(), Arc::new(()));
        for kind in 0..3 {
            pool.submit(stop.task()).await.unwrap();
            stop.have_come(1).await;
            let kept = Arc::clone(&token);
            let task = async move { drop(kept) };
            let first: std::pin::Pin<Box<dyn Future<Output = ()> + '_>> = match kind {
                0 => Box::pin(async { pool.submit(task).await.unwrap() }),
                1 => Box::pin(async { drop(pool.spawn(task).await.unwrap()) }),
                _ => Box::pin(async { drop(pool.admit().await.unwrap()) }),
            };
            let mut first = first;
            let mut second = Box::pin(pool.spawn(async { 2 }));
            assert!(poll_once(first.as_mut()).is_pending());
            assert!(poll_once(second.as_mut()).is_pending());
            stop.let_pass(1);
            soon("the first has its verdict", || pool.waiting() == 1).await;
            drop(first);
            assert_eq!(second.await.unwrap().await.unwrap(), 2);
            pool.wait_idle().await.unwrap();
        }
        assert_eq!(Arc::strong_count(&token), 1);
        pool.drain().await.unwrap();
        let stats = pool.stats();
        assert!(stats.adds_up());
        assert_eq!((stats.accepted, stats.completed, stats.cancelled), (6, 6, 0), "{stats:?}");
    });
}

#[test]
fn a_permit_that_is_dropped_after_the_pool_was_closed_ends_it() {
    on_both(|| async {
        let pool = small(1, 0);
        let permit = pool.admit().await.unwrap();
        let mut waiting = Box::pin(pool.admit());
        assert!(poll_once(waiting.as_mut()).is_pending());
        pool.close();
        drop(permit);
        assert_eq!(waiting.await.unwrap_err(), Refused::Closed);
        pool.drain().await.unwrap();
    });
}

/// Each of these is dropped at a random moment, also the very one in which it is granted.
async fn give_up(pool: &AsyncPool, ran: &Arc<AtomicUsize>, random: &mut Random) -> usize {
    let ran = Arc::clone(ran);
    let task = async move {
        yield_now().await;
        ran.fetch_add(1, Ordering::SeqCst);
    };
    let patience = Duration::from_micros(random.below(40));
    match random.below(4) {
        0 => match tokio::time::timeout(patience, pool.submit(task)).await {
            Ok(outcome) => {
                outcome.unwrap();
                1
            }
            Err(_) => 0,
        },
        1 => tokio::select! {
            biased;
            () = yields(random.below(5)) => 0,
            outcome = pool.spawn(task) => {
                drop(outcome.unwrap());
                1
            }
        },
        2 => tokio::select! {
            () = yields(random.below(5)) => 0,
            permit = pool.admit() => {
                permit.unwrap().submit(task);
                1
            }
        },
        _ => {
            drop(tokio::time::timeout(patience, pool.wait_idle()).await);
            0
        }
    }
}

async fn yields(count: u64) {
    for _ in 0..count {
        yield_now().await;
    }
}

#[test]
fn a_submitter_that_gives_up_takes_no_place_along() {
    let seed = common::seed("a_submitter_that_gives_up_takes_no_place_along");
    let time = stress_time(Duration::from_secs(2));
    watch_for(time + 2 * common::PATIENCE, move || {
        let (mut random, end, mut rounds) = (Random(seed), Instant::now() + time, 0);
        while Instant::now() < end {
            let runtime = runtime(rounds % 3);
            rounds += 1;
            let random = &mut random;
            runtime.block_on(async move {
                let (pool, ran) = (small(2, 1), Arc::new(AtomicUsize::new(0)));
                let mut actors = Vec::new();
                for _ in 0..8 {
                    let (pool, ran) = (pool.clone(), Arc::clone(&ran));
                    let mut random = Random(random.next());
                    actors.push(tokio::spawn(async move {
                        let mut accepted = 0;
                        for _ in 0..200 {
                            accepted += give_up(&pool, &ran, &mut random).await;
                        }
                        accepted
                    }));
                }
                let mut accepted = 0;
                for actor in actors {
                    accepted += actor.await.unwrap();
                }
                pool.wait_idle().await.unwrap();
                let stats = pool.stats();
                assert_eq!((stats.waiting, stats.busy, stats.queued), (0, 0, 0), "{stats:?}");
                assert_eq!((stats.accepted, stats.completed), (accepted as u64, accepted as u64));
                assert_eq!(ran.load(Ordering::SeqCst), accepted);
                let permits: Vec<AsyncPermit<'_>> =
                    (0..3).map(|_| pool.try_admit().unwrap()).collect();
                assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
                drop(permits);
                pool.drain().await.unwrap();
            });
        }
    });
}
