//! Where other pools break, for futures: a wake-up is lost, a waiter is forgotten, an end comes too
//! early.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::on_tokio::{Stop, on, on_both, runtime, small, soon, watch_for};
use crate::common::{self, Random, join, stress_time};
use formic::{AsyncPool, Refused};
use tokio::task::yield_now;

/// A submit and its effect, again and again, from outside of the runtime.
#[test]
fn no_wake_up_is_lost_between_a_thread_and_a_driver() {
    let rounds = if cfg!(debug_assertions) { 10_000 } else { 100_000 };
    for threads in [1, 2] {
        watch_for(2 * common::PATIENCE, move || {
            let runtime = runtime(threads);
            let pool = AsyncPool::builder().workers(2).queue(0).runtime(runtime.handle().clone());
            let pool = pool.build().unwrap();
            let mut random =
                Random(common::seed("no_wake_up_is_lost_between_a_thread_and_a_driver"));
            for round in 0..rounds {
                let mut handle = loop {
                    if let Ok(handle) = pool.try_spawn(async move { round }) {
                        break handle;
                    }
                };
                let outcome = handle.join_timeout(common::PATIENCE / 2);
                assert_eq!(outcome.expect("it runs").unwrap(), round);
                for _ in 0..random.below(2000) {
                    std::hint::spin_loop();
                }
            }
        });
    }
}

/// Woken by a thread that waits for its waker, at any moment of its poll.
struct Ping {
    waker: std::sync::Mutex<Option<Waker>>,
    rings: AtomicUsize,
}

struct Listen(Arc<Ping>, usize);

impl Future for Listen {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        *self.0.waker.lock().unwrap() = Some(context.waker().clone());
        let heard = self.0.rings.load(Ordering::SeqCst);
        if heard >= self.1 {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

#[test]
fn no_wake_up_of_a_running_future_is_lost() {
    let rings = if cfg!(debug_assertions) { 20_000 } else { 200_000 };
    on(2, move || async move {
        let pool = small(4, 4);
        let pings: Vec<Arc<Ping>> = (0..3)
            .map(|_| Arc::new(Ping { waker: Default::default(), rings: AtomicUsize::new(0) }))
            .collect();
        let mut handles = Vec::new();
        for ping in &pings {
            handles.push(pool.spawn(Listen(Arc::clone(ping), rings)).await.unwrap());
        }
        let ringers: Vec<_> = pings
            .iter()
            .map(|ping| {
                let ping = Arc::clone(ping);
                thread::spawn(move || {
                    for _ in 0..rings {
                        ping.rings.fetch_add(1, Ordering::SeqCst);
                        let waker = ping.waker.lock().unwrap().take();
                        waker.into_iter().for_each(Waker::wake);
                    }
                })
            })
            .collect();
        for handle in handles {
            handle.await.unwrap();
        }
        ringers.into_iter().for_each(join);
        pool.drain().await.unwrap();
    });
}

#[test]
fn each_freed_place_lets_one_waiting_submitter_in() {
    on_both(|| async {
        let (pool, stop) = (small(1, 0), Stop::new());
        pool.submit(stop.task()).await.unwrap();
        stop.have_come(1).await;
        for number in 1..=8 {
            let (inner, task) = (pool.clone(), stop.task());
            drop(tokio::spawn(async move { inner.submit(task).await.unwrap() }));
            soon("it waits", || pool.waiting() == number).await;
        }
        for round in 1..=8 {
            stop.let_pass(1);
            stop.have_come(1).await;
            assert_eq!((pool.waiting(), pool.busy()), (8 - round, 1));
        }
        stop.open();
        pool.drain().await.unwrap();
        assert_eq!(pool.stats().completed, 9);
    });
}

#[test]
fn a_larger_capacity_lets_waiting_submitters_in() {
    on_both(|| async {
        let (pool, stop) = (small(1, 0), Stop::new());
        pool.submit(stop.task()).await.unwrap();
        stop.have_come(1).await;
        for _ in 0..5 {
            let (pool, task) = (pool.clone(), stop.task());
            drop(tokio::spawn(async move { pool.submit(task).await.unwrap() }));
        }
        soon("five wait", || pool.waiting() == 5).await;
        pool.resize(4).unwrap();
        stop.have_come(3).await;
        assert_eq!((pool.waiting(), pool.busy()), (2, 4));
        stop.open();
        soon("all have entered", || pool.stats().completed == 6).await;
        pool.drain().await.unwrap();
    });
}

/// Each task ran before the drain was over, or came back; none runs afterwards.
#[test]
fn close_and_submit_agree() {
    let seed = common::seed("close_and_submit_agree");
    let time = stress_time(Duration::from_secs(2));
    watch_for(time + 2 * common::PATIENCE, move || {
        let (mut random, end, mut rounds) = (Random(seed), Instant::now() + time, 0);
        let runtimes = [runtime(0), runtime(2)];
        while Instant::now() < end {
            rounds += 1;
            let pause = random.below(20);
            runtimes[rounds % 2].block_on(async move {
                let (pool, drained) = (small(2, 2), Arc::new(AtomicBool::new(false)));
                let ran = Arc::new(AtomicUsize::new(0));
                let mut submitters = Vec::new();
                for _ in 0..4 {
                    let (pool, drained, ran) =
                        (pool.clone(), Arc::clone(&drained), Arc::clone(&ran));
                    submitters.push(tokio::spawn(async move {
                        let mut accepted = 0;
                        loop {
                            let (drained, ran) = (Arc::clone(&drained), Arc::clone(&ran));
                            let task = async move {
                                yield_now().await;
                                assert!(!drained.load(Ordering::SeqCst), "it ran after the end");
                                ran.fetch_add(1, Ordering::SeqCst);
                            };
                            match pool.submit(task).await {
                                Ok(()) => accepted += 1,
                                Err(error) => {
                                    assert_eq!(error.reason(), Refused::Closed);
                                    return accepted;
                                }
                            }
                        }
                    }));
                }
                for _ in 0..pause {
                    yield_now().await;
                }
                pool.drain().await.unwrap();
                drained.store(true, Ordering::SeqCst);
                let ran_before = ran.load(Ordering::SeqCst);
                let mut accepted = 0;
                for submitter in submitters {
                    accepted += submitter.await.unwrap();
                }
                assert_eq!((ran_before, ran.load(Ordering::SeqCst)), (accepted, accepted));
                assert_eq!(pool.stats().completed, accepted as u64);
            });
        }
    });
}

/// What a future owns submits to the pool when it is dropped, wherever that is.
#[test]
fn a_captures_drop_may_submit() {
    struct Submits(AsyncPool, Arc<AtomicUsize>);
    impl Drop for Submits {
        fn drop(&mut self) {
            let ran = Arc::clone(&self.1);
            let task = async move { _ = ran.fetch_add(1, Ordering::SeqCst) };
            drop(self.0.try_submit(task));
        }
    }
    on_both(|| async {
        let (pool, stop, ran) = (small(1, 8), Stop::new(), Arc::new(AtomicUsize::new(0)));
        pool.submit(stop.task()).await.unwrap();
        stop.have_come(1).await;
        let own = || Submits(pool.clone(), Arc::clone(&ran));
        let (one, two, three) = (own(), own(), own());
        let cancelled = pool.spawn(async move { drop(one) }).await.unwrap();
        assert!(cancelled.cancel());
        pool.submit(async move { drop(two) }).await.unwrap();
        assert_eq!(pool.discard(), 2);
        let running = pool.spawn(async move {
            let _three = three;
            std::future::pending::<()>().await;
        });
        let running = running.await.unwrap();
        stop.open();
        soon("it runs", || pool.queued() == 0).await;
        assert!(running.cancel());
        assert!(running.await.unwrap_err().is_cancelled());
        pool.drain().await.unwrap();
        let stats = pool.stats();
        assert!(stats.adds_up(), "{stats:?}");
        assert!(ran.load(Ordering::SeqCst) >= 2);
    });
}

#[test]
fn rounds_of_work_drain_and_reopen_leave_nothing_behind() {
    for threads in [0, 2] {
        on(threads, || async {
            let (pool, token) = (small(4, 4), Arc::new(()));
            for _ in 0..300 {
                let mut tasks = Vec::new();
                for _ in 0..6 {
                    let (pool, kept) = (pool.clone(), Arc::clone(&token));
                    tasks.push(tokio::spawn(async move {
                        let task = async move {
                            yield_now().await;
                            drop(kept);
                        };
                        pool.spawn(task).await.unwrap().await.unwrap();
                    }));
                }
                for task in tasks {
                    task.await.unwrap();
                }
                pool.drain().await.unwrap();
                assert_eq!(Arc::strong_count(&token), 1);
                pool.reopen().unwrap();
            }
            let metrics = tokio::runtime::Handle::current().metrics();
            pool.drain().await.unwrap();
            soon("no driver is left", || metrics.num_alive_tasks() == 0).await;
        });
    }
}
