//! Cancelled futures: one outcome, nothing of them is left, and their place is free.

use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use crate::common::on_tokio::{Stop, drained, figures, on, on_both, small, soon};
use crate::common::{self, Random};
use formic::{AsyncFnPool, CallError, JoinError, Refused};
use tokio::task::yield_now;

/// Drains, and checks that (accepted, completed, panicked, cancelled) are so.
#[test]
fn a_queued_future_is_dropped_at_once_and_frees_its_place() {
    on_both(|| async {
        let (pool, stop, token) = (small(1, 1), Stop::new(), Arc::new(()));
        pool.submit(stop.task()).await.unwrap();
        stop.have_come(1).await;
        let kept = Arc::clone(&token);
        let queued = pool.spawn(async move { drop(kept) }).await.unwrap();
        assert_eq!(pool.try_submit(async {}).unwrap_err().reason(), Refused::Full);
        assert!(queued.cancel());
        assert_eq!(Arc::strong_count(&token), 1, "what it owned is gone");
        assert!(queued.is_finished());
        assert!(!queued.cancel(), "it is cancelled already");
        assert!(matches!(queued.await, Err(JoinError::Cancelled)));
        assert!(pool.stats().adds_up(), "{:?}", pool.stats());
        assert_eq!(pool.busy(), 1);
        pool.try_submit(async {}).unwrap();
        stop.open();
        assert_eq!(figures(&drained(&pool).await), (3, 2, 0, 1));
    });
}

#[test]
fn many_queued_futures_are_cancelled_one_by_one() {
    on_both(|| async {
        let (pool, stop) = (small(1, 2000), Stop::new());
        pool.submit(stop.task()).await.unwrap();
        stop.have_come(1).await;
        let mut handles = Vec::new();
        for _ in 0..2000 {
            handles.push(pool.spawn(pending::<()>()).await.unwrap());
        }
        for handle in &handles {
            assert!(handle.cancel());
        }
        for handle in handles {
            assert!(handle.await.unwrap_err().is_cancelled());
        }
        stop.open();
        assert_eq!(figures(&drained(&pool).await), (2001, 1, 0, 2000));
    });
}

#[test]
fn a_running_future_is_dropped_where_it_stands() {
    on_both(|| async {
        let (pool, stop, token) = (small(1, 0), Stop::new(), Arc::new(()));
        let (kept, at) = (Arc::clone(&token), stop.clone());
        let running = pool.spawn(async move {
            let _kept = kept;
            at.pass().await;
        });
        let running = running.await.unwrap();
        stop.have_come(1).await;
        assert!(running.cancel());
        assert!(!running.cancel(), "twice is once");
        assert!(matches!(running.await, Err(JoinError::Cancelled)));
        assert_eq!(Arc::strong_count(&token), 1);
        pool.try_submit(async {}).unwrap();
        assert_eq!(figures(&drained(&pool).await), (2, 1, 0, 1));
    });
}

#[test]
fn a_finished_future_cannot_be_cancelled() {
    on_both(|| async {
        let pool = small(1, 0);
        let handle = pool.spawn(async { 7 }).await.unwrap();
        soon("it has ended", || handle.is_finished()).await;
        assert!(!handle.cancel());
        assert_eq!(handle.await.unwrap(), 7);
        assert_eq!(figures(&drained(&pool).await), (1, 1, 0, 0));
    });
}

/// Never wakes anybody, and is never ready.
struct Deaf(Arc<AtomicUsize>);

impl Future for Deaf {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Poll::Pending
    }
}

#[test]
fn a_future_that_never_asks_to_be_woken_is_dropped_all_the_same() {
    on_both(|| async {
        let (pool, polls) = (small(1, 0), Arc::new(AtomicUsize::new(0)));
        let deaf = pool.spawn(Deaf(Arc::clone(&polls))).await.unwrap();
        soon("it is polled", || polls.load(Ordering::SeqCst) == 1).await;
        assert!(deaf.cancel());
        assert!(deaf.await.unwrap_err().is_cancelled());
        assert_eq!((Arc::strong_count(&polls), polls.load(Ordering::SeqCst)), (1, 1));
        assert_eq!(figures(&drained(&pool).await), (1, 0, 0, 1));
    });
}

#[test]
fn a_future_that_always_wakes_itself_is_dropped_all_the_same() {
    on_both(|| async {
        let pool = small(1, 0);
        let busy = pool.spawn(async {
            loop {
                yield_now().await;
            }
        });
        let busy = busy.await.unwrap();
        soon("it runs", || pool.busy() == 1).await;
        assert!(busy.cancel());
        let outcome: Result<(), JoinError> = busy.await;
        assert!(outcome.unwrap_err().is_cancelled());
        assert_eq!(figures(&drained(&pool).await), (1, 0, 0, 1));
    });
}

#[test]
fn a_handle_that_cancels_on_drop_has_its_future_dropped() {
    on_both(|| async {
        let (pool, stop, token) = (small(1, 1), Stop::new(), Arc::new(()));
        let (kept, at) = (Arc::clone(&token), stop.clone());
        let running = pool.spawn(async move {
            let _kept = kept;
            at.pass().await;
        });
        let running = running.await.unwrap().cancel_on_drop();
        stop.have_come(1).await;
        let kept = Arc::clone(&token);
        let queued = pool.spawn(async move { drop(kept) }).await.unwrap().cancel_on_drop();
        drop(queued);
        assert_eq!(Arc::strong_count(&token), 2);
        drop(running);
        soon("both are gone", || Arc::strong_count(&token) == 1).await;
        let kept = pool.spawn(async { 3 }).await.unwrap().cancel_on_drop();
        assert_eq!(kept.await.unwrap(), 3, "a result that was taken is no reason to cancel");
        assert_eq!(figures(&drained(&pool).await), (3, 1, 0, 2));
    });
}

#[test]
fn a_future_may_cancel_itself() {
    on_both(|| async {
        let (pool, stop) = (small(1, 0), Stop::new());
        let (sender, receiver) = tokio::sync::oneshot::channel::<formic::JoinHandle<()>>();
        let at = stop.clone();
        let own = pool.spawn(async move {
            let own = receiver.await.unwrap();
            assert!(own.cancel());
            // It is polled to the end of this turn, and no further.
            at.pass().await;
            unreachable!("it was cancelled");
        });
        sender.send(own.await.unwrap()).unwrap();
        assert_eq!(figures(&drained(&pool).await), (1, 0, 0, 1));
    });
}

/// Whoever cancels and whoever completes race: there is one outcome, and it is the one that `cancel`
/// told.
#[test]
fn cancel_and_completion_agree_on_one_outcome() {
    let seed = common::seed("cancel_and_completion_agree_on_one_outcome");
    on(2, move || async move {
        let (pool, mut random) = (small(4, 100), Random(seed));
        let (mut cancelled, mut completed) = (0, 0);
        for round in 0..5000_u64 {
            let token = Arc::new(());
            let (kept, yields) = (Arc::clone(&token), random.below(4));
            let handle = pool.spawn(async move {
                let _kept = kept;
                for _ in 0..yields {
                    yield_now().await;
                }
                round
            });
            let handle = handle.await.unwrap();
            for _ in 0..random.below(300) {
                std::hint::spin_loop();
            }
            let told = handle.cancel();
            match handle.await {
                Ok(value) => {
                    assert!(!told, "cancel said true, and it completed");
                    assert_eq!(value, round);
                    completed += 1;
                }
                Err(error) => {
                    assert!(error.is_cancelled());
                    cancelled += 1;
                }
            }
            assert_eq!(Arc::strong_count(&token), 1, "captures are gone before the outcome shows");
        }
        println!("{completed} completed, {cancelled} cancelled");
        assert_eq!(figures(&drained(&pool).await), (5000, completed, 0, cancelled));
    });
}

/// What `cancel` tells is exact: false means that it had no part in the outcome.
#[test]
fn cancel_says_true_exactly_if_the_outcome_is_its_doing() {
    on(2, || async {
        let pool = small(2, 10);
        for _ in 0..5000 {
            let handle = pool.spawn(yield_now()).await.unwrap();
            let told = handle.cancel();
            let outcome = handle.await;
            assert_eq!(told, outcome.is_err(), "{outcome:?}");
        }
        pool.drain().await.unwrap();
    });
}

#[test]
fn a_call_that_is_dropped_is_cancelled() {
    on_both(|| async {
        let (stop, token) = (Stop::new(), Arc::new(()));
        let at = stop.clone();
        let pool = AsyncFnPool::builder().workers(1).queue(1).build(move |kept: Arc<()>| {
            let at = at.clone();
            async move {
                at.pass().await;
                drop(kept);
            }
        });
        let pool = pool.unwrap();
        {
            let mut running = Box::pin(pool.call(Arc::clone(&token)));
            let mut queued = Box::pin(pool.call(Arc::clone(&token)));
            let polls = async {
                tokio::select! {
                    // In this order, so that both are submitted before somebody has come.
                    biased;
                    _ = &mut running => unreachable!("it waits"),
                    _ = &mut queued => unreachable!("it is queued"),
                    () = stop.have_come(1) => {}
                }
            };
            polls.await;
            soon("the other is queued", || pool.queued() == 1).await;
        }
        soon("both are gone", || Arc::strong_count(&token) == 1).await;
        pool.drain().await.unwrap();
        let stats = pool.stats();
        assert_eq!((stats.accepted, stats.cancelled, stats.completed), (2, 2, 0));
        assert!(stats.adds_up());
    });
}

#[test]
fn a_call_that_takes_too_long_is_cancelled_also_while_it_waits_for_a_place() {
    on_both(|| async {
        let stop = Stop::new();
        let at = stop.clone();
        let pool = AsyncFnPool::builder().workers(1).queue(0).build(move |_: ()| {
            let at = at.clone();
            async move { at.pass().await }
        });
        let pool = pool.unwrap();
        let mut time = std::time::Duration::from_millis(2);
        loop {
            let (one, two) = tokio::join!(pool.call_timeout((), time), pool.call_timeout((), time));
            assert!(matches!(two, Err(CallError::TimedOut | CallError::Refused(_))), "{two:?}");
            match one.unwrap_err() {
                CallError::TimedOut => break,
                // Only the operating system knows how long it takes until a call has begun.
                error => assert_eq!(error.into_argument(), Some(())),
            }
            time *= 2;
        }
        pool.wait_idle().await.unwrap();
        assert_eq!((pool.waiting(), pool.busy()), (0, 0));
        stop.open();
        pool.call(()).await.unwrap();
        pool.drain().await.unwrap();
        assert!(pool.stats().adds_up());
    });
}
