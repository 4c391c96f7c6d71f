//! What is told after all tasks were cancelled: a function of futures, a `map` and a `for_each`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use formic::{AsyncFnPool, ForEachError, JoinError};
use futures_util::StreamExt;

use crate::common::on_tokio::{Stop, drained, on_both, small};

#[tokio::test]
async fn a_call_that_comes_after_cancel_all_is_not_cancelled_before_its_first_poll() {
    let wrong = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&wrong);
    let function = move |number: u32| {
        seen.fetch_or(formic::is_cancelled(), Ordering::SeqCst);
        async move { number }
    };
    let pool = AsyncFnPool::builder().workers(2).build(function).unwrap();
    for number in 0..3 {
        assert_eq!(pool.call(number).await.unwrap(), number);
        pool.cancel_all();
    }
    assert!(!wrong.load(Ordering::SeqCst));
}

/// An item cancels all tasks and ends in that poll. The item after it is a later task, also if its puller goes on with
/// it in the same poll.
#[test]
fn an_item_that_is_pulled_after_cancel_all_is_not_concerned() {
    on_both(|| async {
        let pool = small(1, 4);
        let inner = pool.clone();
        let outcomes: Vec<_> = pool
            .map(0..3, move |number| {
                let pool = inner.clone();
                async move {
                    let before = formic::is_cancelled();
                    if number == 0 {
                        pool.cancel_all();
                    } else {
                        tokio::task::yield_now().await;
                    }
                    before || (number > 0 && formic::is_cancelled())
                }
            })
            .collect()
            .await;
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(false))), "{outcomes:?}");
        assert_eq!(drained(&pool).await.cancelled, 0);
    });
}

/// All pullers wait in an item when all tasks are cancelled: these items are, and the pull goes on with the others.
#[test]
fn a_pull_goes_on_with_later_items() {
    on_both(|| async {
        let (pool, stop) = (small(2, 4), Stop::new());
        let its = stop.clone();
        let map = pool.map(0..6, move |number| {
            let stop = its.clone();
            async move {
                if number < 2 {
                    stop.task().await;
                }
                number
            }
        });
        let map = tokio::spawn(map.collect::<Vec<_>>());
        stop.have_come(2).await;
        assert_eq!(pool.cancel_all().futures, 2);
        let outcomes = map.await.unwrap();
        assert!(matches!(outcomes[..2], [Err(JoinError::Cancelled), Err(JoinError::Cancelled)]));
        assert!((2..6).all(|number| outcomes[number].as_ref().ok() == Some(&number)));
        assert_eq!(drained(&pool).await.cancelled, 2);
    });
}

#[test]
fn a_for_each_says_how_many_items_were_cancelled() {
    on_both(|| async {
        let (pool, stop, ran) = (small(2, 4), Stop::new(), Arc::new(AtomicUsize::new(0)));
        let (its, counts) = (stop.clone(), Arc::clone(&ran));
        let pull = tokio::spawn(pool.for_each(0..5, move |number| {
            let (stop, ran) = (its.clone(), Arc::clone(&counts));
            async move {
                if number < 2 {
                    stop.task().await;
                }
                ran.fetch_add(1, Ordering::SeqCst);
            }
        }));
        stop.have_come(2).await;
        pool.cancel_all();
        let outcome = pull.await.unwrap();
        assert!(matches!(outcome, Err(ForEachError::Cancelled { items: 2 })), "{outcome:?}");
        assert_eq!(ran.load(Ordering::SeqCst), 3);
        drained(&pool).await;
    });
}
