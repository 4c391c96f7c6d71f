//! A panic of a future costs that future, wherever it comes from.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::on_tokio::{Stop, drained, figures, hushed, on, on_both, soon, watch_for};
use crate::common::{self, hush_quiet_threads};
use formic::{AsyncFnPool, AsyncPool, CallError, JoinError};
use tokio::task::yield_now;

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("dropped");
        }
    }
}

/// The pool still works, and its figures are these: accepted (with the one that shows that it works),
/// completed, panicked, cancelled.
async fn lives(pool: &AsyncPool, expected: (u64, u64, u64, u64)) {
    assert_eq!(pool.spawn(async { yield_now().await }).await.unwrap().await.ok(), Some(()));
    assert_eq!(figures(&drained(pool).await), expected);
}

#[test]
fn a_panic_in_poll_is_in_the_handle_with_its_payload() {
    on_both(|| async {
        let pool = hushed(1, 10);
        let first = pool.spawn(async { std::panic::panic_any(17_u8) }).await.unwrap();
        let later = pool.spawn(async {
            yield_now().await;
            panic!("after {}", "a while");
        });
        let later = later.await.unwrap();
        let Err(JoinError::Panicked(panic)) = first.await else { panic!("it panicked") };
        assert_eq!(panic.into_payload().downcast_ref::<u8>(), Some(&17));
        let outcome: Result<(), JoinError> = later.await;
        let panic = outcome.unwrap_err().into_panic().unwrap();
        assert_eq!(panic.message(), "after a while");
        assert!(panic.submitted_at().is_some_and(|place| place.file() == file!()));
        lives(&pool, (3, 1, 2, 0)).await;
    });
}

#[test]
fn a_panic_without_a_handle_is_told_to_the_hook() {
    on_both(|| async {
        hush_quiet_threads();
        let told = Arc::new(AtomicUsize::new(0));
        let hook = Arc::clone(&told);
        let pool = AsyncPool::builder().workers(1).queue(10).on_panic(move |panic| {
            assert_eq!(panic.message(), "told");
            hook.fetch_add(1, Ordering::SeqCst);
            panic!("in the hook");
        });
        let pool = pool.build().unwrap();
        for _ in 0..3 {
            pool.submit(async { panic!("told") }).await.unwrap();
        }
        lives(&pool, (4, 1, 3, 0)).await;
        assert_eq!(told.load(Ordering::SeqCst), 3);
    });
}

#[test]
fn a_panic_in_the_drop_of_a_finished_future_is_contained() {
    on_both(|| async {
        let pool = hushed(1, 10);
        for _ in 0..3 {
            let bomb = Bomb;
            pool.submit(async move {
                yield_now().await;
                drop(bomb);
            })
            .await
            .unwrap();
            let bomb = Bomb;
            let handle = pool.spawn(DropsLate(bomb)).await.unwrap();
            assert!(handle.await.unwrap_err().is_panic());
            pool.submit(DropsLate(Bomb)).await.unwrap();
        }
        lives(&pool, (10, 1, 9, 0)).await;
    });
}

/// Ready at once, and panics when it is dropped after that.
struct DropsLate(#[allow(dead_code, reason = "it is there to be dropped")] Bomb);

impl Future for DropsLate {
    type Output = ();

    fn poll(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        std::task::Poll::Ready(())
    }
}

#[test]
fn a_panic_in_the_drop_of_a_cancelled_future_is_contained() {
    on_both(|| async {
        let (pool, stop) = (hushed(1, 10), Stop::new());
        let (at, bomb) = (stop.clone(), Bomb);
        let running = pool.spawn(async move {
            let _bomb = bomb;
            at.pass().await;
        });
        let running = running.await.unwrap();
        stop.have_come(1).await;
        let bomb = Bomb;
        let queued = pool.spawn(async move {
            let _bomb = bomb;
            pending::<()>().await;
        });
        let queued = queued.await.unwrap();
        assert!(queued.cancel());
        assert!(queued.await.unwrap_err().is_cancelled());
        assert!(running.cancel());
        assert!(running.await.unwrap_err().is_cancelled());
        lives(&pool, (3, 1, 0, 2)).await;
    });
}

#[test]
fn a_panic_in_the_drop_of_an_unheard_result_is_contained() {
    on_both(|| async {
        let (pool, stop) = (hushed(1, 10), Stop::new());
        for _ in 0..5 {
            let at = stop.clone();
            let handle = pool.spawn(async move {
                at.pass().await;
                Bomb
            });
            drop(handle.await.unwrap());
        }
        stop.open();
        lives(&pool, (6, 6, 0, 0)).await;
    });
}

#[test]
fn a_panic_in_the_drop_of_a_cancelled_result_is_contained() {
    on_both(|| async {
        let pool = hushed(1, 10);
        let (sender, receiver) = tokio::sync::oneshot::channel::<formic::JoinHandle<Bomb>>();
        // It is cancelled while it is being polled, and then gives a result that nobody wants.
        let handle = pool.spawn(async move {
            let own = receiver.await.unwrap();
            assert!(own.cancel());
            Bomb
        });
        sender.send(handle.await.unwrap()).unwrap();
        pool.wait_idle().await.unwrap();
        lives(&pool, (2, 1, 0, 1)).await;
    });
}

#[test]
fn a_payload_that_panics_when_dropped_is_contained() {
    on_both(|| async {
        let pool = hushed(1, 10);
        for _ in 0..3 {
            pool.submit(async { std::panic::panic_any(Bomb) }).await.unwrap();
            drop(pool.spawn(async { std::panic::panic_any(Bomb) }).await.unwrap());
        }
        lives(&pool, (7, 1, 6, 0)).await;
    });
}

/// Ready at once with a bomb, and panics when it is dropped after that.
struct Loud;

impl Future for Loud {
    type Output = Bomb;

    fn poll(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Bomb> {
        std::task::Poll::Ready(Bomb)
    }
}

impl Drop for Loud {
    fn drop(&mut self) {
        panic!("loud");
    }
}

#[test]
fn a_result_whose_drop_panics_after_the_drop_of_its_future_panicked_is_contained() {
    on_both(|| async {
        let pool = hushed(1, 10);
        let error = pool.spawn(Loud).await.unwrap().await.map(std::mem::forget).unwrap_err();
        assert_eq!(error.into_panic().unwrap().message(), "loud");
        lives(&pool, (2, 1, 1, 0)).await;
    });
}

#[test]
fn an_async_function_may_panic_before_it_has_a_future() {
    on_both(|| async {
        hush_quiet_threads();
        let told = Arc::new(AtomicUsize::new(0));
        let hook = Arc::clone(&told);
        let pool = AsyncFnPool::<u32, u32>::builder().workers(1).queue(10).on_panic(move |_| {
            hook.fetch_add(1, Ordering::SeqCst);
        });
        let pool = pool.build(|number| {
            assert!(number != 13, "unlucky");
            async move {
                yield_now().await;
                assert!(number != 26, "later");
                number
            }
        });
        let pool = pool.unwrap();
        for number in [13, 26] {
            let error = pool.call(number).await.unwrap_err();
            let CallError::Panicked(panic) = error else { panic!("it panicked: {error}") };
            assert_eq!(panic.message(), if number == 13 { "unlucky" } else { "later" });
            pool.submit(number).await.unwrap();
        }
        assert_eq!(pool.call(1).await.unwrap(), 1);
        assert_eq!(figures(&drained(&pool).await), (5, 1, 4, 0));
        assert_eq!(told.load(Ordering::SeqCst), 2);
    });
}

#[test]
fn an_async_function_that_panics_for_a_task_that_awaits_it_costs_that_call_only() {
    on_both(|| async {
        hush_quiet_threads();
        let pool = AsyncFnPool::<u32, u32>::builder().workers(1).queue(0);
        let own: Arc<std::sync::OnceLock<AsyncFnPool<u32, u32>>> = Arc::default();
        let inner = Arc::clone(&own);
        let pool = pool.build(move |number| {
            assert!(number != 0, "at the bottom");
            let pool = inner.get().unwrap().clone();
            async move { if pool.call(number - 1).await.is_err() { number } else { 0 } }
        });
        let pool = pool.unwrap();
        own.set(pool.clone()).unwrap();
        assert_eq!(pool.call(1).await.unwrap(), 1);
        assert_eq!(figures(&drained(&pool).await), (2, 1, 1, 0));
    });
}

#[test]
fn ten_thousand_panics_cost_no_place_and_forget_no_submitter() {
    for threads in [0, 2] {
        watch_for(4 * common::PATIENCE, move || {
            let runtime = common::on_tokio::runtime(threads);
            runtime.block_on(async {
                let pool = hushed(2, 1);
                let submitters: Vec<_> = (0..8)
                    .map(|number| {
                        let pool = pool.clone();
                        tokio::spawn(async move {
                            for task in 0..1250 {
                                let task = async move {
                                    if (number + task) % 3 == 0 {
                                        yield_now().await;
                                    }
                                    panic!("one of many");
                                };
                                if number % 2 == 0 {
                                    pool.submit(task).await.unwrap();
                                } else {
                                    let handle = pool.spawn(task).await.unwrap();
                                    let outcome: Result<(), _> = handle.await;
                                    assert!(outcome.unwrap_err().is_panic());
                                }
                            }
                        })
                    })
                    .collect();
                for submitter in submitters {
                    submitter.await.unwrap();
                }
                lives(&pool, (10_001, 1, 10_000, 0)).await;
            });
        });
    }
}

#[test]
fn a_panic_costs_only_the_child_that_a_task_took_in() {
    on_both(|| async {
        let pool = hushed(1, 0);
        let inner = pool.clone();
        let parent = pool.spawn(async move {
            let child = inner.spawn(async {
                yield_now().await;
                panic!("the child");
            });
            let outcome: Result<(), _> = child.await.unwrap().await;
            outcome.unwrap_err().into_panic().unwrap().message().to_owned()
        });
        assert_eq!(parent.await.unwrap().await.unwrap(), "the child");
        lives(&pool, (3, 2, 1, 0)).await;
    });
}

/// The waker of whoever awaits is not the pool's to vouch for.
#[test]
fn a_waker_that_panics_is_contained() {
    struct Explodes;
    impl std::task::Wake for Explodes {
        fn wake(self: Arc<Self>) {
            panic!("a waker");
        }
    }
    on(2, || async {
        let (pool, stop) = (hushed(1, 0), Stop::new());
        let handle = pool.spawn(stop.task()).await.unwrap();
        stop.have_come(1).await;
        let mut handle = Box::pin(handle);
        let mut submit = Box::pin(pool.submit(async {}));
        let waker = Arc::new(Explodes).into();
        let mut context = std::task::Context::from_waker(&waker);
        assert!(handle.as_mut().poll(&mut context).is_pending());
        assert!(submit.as_mut().poll(&mut context).is_pending());
        stop.open();
        soon("it has ended", || handle.is_finished()).await;
        handle.await.unwrap();
        submit.await.unwrap();
        lives(&pool, (3, 3, 0, 0)).await;
    });
}
