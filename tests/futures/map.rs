//! `map`: results in the order of the items or as they come, no more than somebody takes.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::on_tokio::{Stop, drained, hushed, on, on_both, small, soon};
use formic::{AsyncMap, AsyncPool, JoinError, Refused, TaskError, WhenFull, from_stream};
use futures_util::stream::{Stream, StreamExt};
use tokio::task::yield_now;

#[test]
fn results_come_in_the_order_of_the_items() {
    on_both(|| async {
        let pool = hushed(8, 0);
        let results = pool.map(0..1000_usize, |number| async move {
            for _ in 0..number % 5 {
                yield_now().await;
            }
            number
        });
        let results: Vec<usize> = results.map(|result| result.unwrap()).collect().await;
        assert_eq!(results, (0..1000).collect::<Vec<_>>());
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}

#[test]
fn results_come_as_they_come() {
    on_both(|| async {
        let (pool, stop) = (hushed(2, 0), Stop::new());
        let own = stop.clone();
        let results = pool.map(0..10, move |number| {
            let stop = own.clone();
            async move {
                if number == 0 {
                    stop.pass().await;
                }
                number
            }
        });
        let mut results = results.unordered();
        let mut seen = Vec::new();
        for _ in 0..9 {
            let (index, result) = results.next().await.unwrap();
            assert_eq!(index, result.unwrap());
            seen.push(index);
        }
        assert!(!seen.contains(&0));
        stop.open();
        assert_eq!(results.next().await.unwrap().0, 0);
        assert!(results.next().await.is_none());
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}

/// The results in the order of the items, or as they come.
fn in_any_order<R: Send + 'static>(
    results: AsyncMap<R>,
    ordered: bool,
) -> Pin<Box<dyn Stream<Item = Result<R, JoinError>> + Send>> {
    if ordered {
        Box::pin(results)
    } else {
        Box::pin(results.unordered().map(|(_, result)| result))
    }
}

#[test]
fn no_more_is_pulled_than_a_slow_consumer_has_room_for() {
    for ordered in [true, false] {
        on_both(move || async move {
            let (pool, pulled) = (hushed(4, 0), Arc::new(AtomicUsize::new(0)));
            let count = Arc::clone(&pulled);
            let items = (0..).inspect(move |_| _ = count.fetch_add(1, Ordering::SeqCst));
            let results = pool.map(items, |number: usize| async move { number });
            let mut results = in_any_order(results, ordered);
            for taken in 1..=50 {
                results.next().await.unwrap().unwrap();
                for _ in 0..20 {
                    yield_now().await;
                }
                let pulled = pulled.load(Ordering::SeqCst);
                assert!(pulled <= taken + 8, "{pulled} pulled, {taken} taken");
            }
            drop(results);
            pool.wait_idle().await.unwrap();
            assert_eq!(drained(&pool).await.panicked, 0);
        });
    }
}

#[test]
fn results_that_are_not_wanted_any_more_are_dropped_with_what_runs() {
    on_both(|| async {
        let (pool, token) = (hushed(4, 0), Arc::new(()));
        let kept = Arc::clone(&token);
        let mut results = pool.map(0.., move |number: u64| {
            let kept = Arc::clone(&kept);
            async move {
                if number % 4 == 3 {
                    std::future::pending::<()>().await;
                }
                kept
            }
        });
        drop(results.next().await.unwrap().unwrap());
        drop(results);
        soon("all is gone", || Arc::strong_count(&token) == 1).await;
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}

#[test]
fn a_panic_is_the_result_of_its_item() {
    for ordered in [true, false] {
        on_both(move || async move {
            let pool = hushed(3, 0);
            let results = pool.map(0..100, |number| {
                assert!(number % 10 != 1, "before there is a future");
                async move {
                    assert!(number % 10 != 2, "in the future");
                    number
                }
            });
            let results = in_any_order(results, ordered);
            let results: Vec<Result<i32, JoinError>> = results.collect().await;
            assert_eq!(results.len(), 100);
            assert_eq!(results.iter().filter(|result| result.is_err()).count(), 20);
            if ordered {
                assert!((0..100).all(|n| results[n].as_ref().ok() == Some(&(n as i32))
                    || (n % 10 == 1 || n % 10 == 2)));
            }
            assert_eq!(drained(&pool).await.panicked, 0);
        });
    }
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("dropped");
        }
    }
}

#[test]
fn a_source_that_panics_when_dropped_is_contained() {
    struct Source {
        items: std::ops::Range<u32>,
        _bomb: Bomb,
    }
    impl Iterator for Source {
        type Item = u32;

        fn next(&mut self) -> Option<u32> {
            self.items.next()
        }
    }
    for _ in 0..20 {
        on(2, || async {
            let pool = hushed(3, 0);
            let source = Source { items: 0..100, _bomb: Bomb };
            let pulling = pool.for_each(source, |_| async {});
            // Whoever pulls may be the last one that has it.
            drop(tokio::spawn(pulling).await);
            pool.submit(async {}).await.unwrap();
            pool.drain().await.unwrap();
            assert!(pool.stats().adds_up());
        });
    }
}

#[test]
fn a_result_that_panics_when_dropped_unheard_is_contained() {
    on(2, || async {
        let pool = hushed(3, 0);
        let mut results = pool.map(0..100, |_| async { Bomb });
        std::mem::forget(results.next().await.unwrap());
        let dropped = tokio::spawn(async move { drop(results) }).await;
        drop(dropped);
        pool.submit(async {}).await.unwrap();
        pool.drain().await.unwrap();
        assert!(pool.stats().adds_up());
    });
}

/// The results, and the reason of the last one if it is a refusal, after which nothing comes.
async fn values<R>(
    results: impl Stream<Item = Result<R, JoinError>> + Unpin,
) -> (Vec<R>, Option<Refused>) {
    let (mut results, mut values) = (results, Vec::new());
    let refused = loop {
        match results.next().await {
            Some(Ok(value)) => values.push(value),
            Some(Err(JoinError::Refused(refused))) => break Some(refused),
            Some(Err(error)) => panic!("{error}"),
            None => break None,
        }
    };
    assert!(results.next().await.is_none() && results.next().await.is_none(), "it is over");
    (values, refused)
}

#[test]
fn a_map_waits_for_places_whatever_a_full_pool_does() {
    on_both(|| async {
        let builder = AsyncPool::builder().workers(1).queue(0).when_full(WhenFull::Refuse);
        let (pool, stop) = (builder.build().unwrap(), Stop::new());
        pool.submit(stop.task()).await.unwrap();
        stop.have_come(1).await;
        let results = tokio::spawn(values(pool.map(0..5, |number: u8| async move { number })));
        soon("the map waits", || pool.waiting() == 1).await;
        stop.open();
        assert_eq!(results.await.unwrap(), (vec![0, 1, 2, 3, 4], None));
        pool.for_each(0..5, |_| async {}).await.unwrap();
    });
}

#[test]
fn a_pool_that_is_closed_meanwhile_says_so_after_what_was_taken() {
    on_both(|| async {
        let pool = small(2, 0);
        let closer = pool.clone();
        let results = pool.map(0..1000_u32, move |number| {
            let pool = closer.clone();
            async move {
                if number == 10 {
                    pool.close();
                }
                number
            }
        });
        let (values, refused) = values(results).await;
        assert_eq!(refused, Some(Refused::Closed));
        assert!((11..100).contains(&values.len()), "{} results", values.len());
        assert_eq!(values, (0..values.len() as u32).collect::<Vec<_>>());
    });
}

#[test]
fn a_map_on_a_closed_pool_says_so() {
    on_both(|| async {
        let pool = small(2, 0);
        pool.drain().await.unwrap();
        let outcome = values(pool.map(0..5, |number: u8| async move { number })).await;
        assert_eq!(outcome, (vec![], Some(Refused::Closed)));
    });
}

#[test]
fn unordered_may_be_chosen_after_the_first_poll() {
    on_both(|| async {
        let pool = small(3, 0);
        let mut results = pool.map(0..100_usize, |number| async move { number });
        assert_eq!(results.next().await.unwrap().unwrap(), 0);
        let rest = results.unordered().map(|(index, result)| (index, result.unwrap()));
        let mut rest: Vec<_> = rest.collect().await;
        rest.sort_unstable();
        assert_eq!(rest, (1..100).map(|number| (number, number)).collect::<Vec<_>>());
    });
}

#[test]
fn no_more_is_pulled_than_the_window_holds() {
    on_both(|| async {
        let pool = small(50, 0);
        for (window, most) in [(1, 1), (3, 3), (0, 1)] {
            let pulled = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&pulled);
            let input = (0_usize..).inspect(move |_| _ = count.fetch_add(1, Ordering::SeqCst));
            let mut results = pool.map(input, |number| async move { number }).window(window);
            for taken in 1..=30 {
                results.next().await.unwrap().unwrap();
                let pulled = pulled.load(Ordering::SeqCst);
                assert!(pulled < taken + most + 1, "{pulled} after {taken}");
            }
        }
    });
}

#[test]
fn try_map_collects_in_order_or_says_which_item_failed_first() {
    on_both(|| async {
        let pool = hushed(4, 0);
        let numbers = pool.try_map(0..500_usize, |number| async move { Ok::<_, ()>(number) }).await;
        assert_eq!(numbers.unwrap(), (0..500).collect::<Vec<_>>());
        let pulled = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&pulled);
        let input = (0_usize..).inspect(move |_| _ = count.fetch_add(1, Ordering::SeqCst));
        let failed = pool.try_for_each(input, |number| async move {
            yield_now().await;
            if number >= 20 { Err(number) } else { Ok(()) }
        });
        assert_eq!(failed.await.unwrap_err().into_error(), Some(20));
        assert!(pulled.load(Ordering::SeqCst) < 100);
        let panicked = pool.try_map(0..10, |number| async move {
            assert!(number != 3, "three");
            Ok::<_, ()>(number)
        });
        assert!(matches!(panicked.await, Err(TaskError::Panicked { index: 3, .. })));
        pool.close();
        let refused = pool.try_for_each(0..10, |_| async { Ok::<_, ()>(()) }).await;
        assert!(matches!(refused, Err(TaskError::Refused { index: 0, reason: Refused::Closed })));
    });
}

/// One fails while another waits for the next item of a stream that has none, and a third one runs.
#[test]
fn try_map_waits_for_what_runs_and_for_no_more_items() {
    on_both(|| async {
        let (pool, stop) = (small(4, 0), Stop::new());
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<usize>();
        (0..2).for_each(|number| sender.send(number).unwrap());
        let stream = futures_util::stream::unfold(receiver, |mut receiver| async {
            receiver.recv().await.map(|item| (item, receiver))
        });
        let own = stop.clone();
        let run = tokio::spawn(pool.try_for_each(from_stream(Box::pin(stream)), move |number| {
            let stop = own.clone();
            async move {
                if number == 0 {
                    stop.pass().await;
                }
                Err::<(), _>(number)
            }
        }));
        stop.have_come(1).await;
        soon("the second one has ended", || pool.busy() <= 2).await;
        assert!(!run.is_finished(), "the first one runs");
        stop.open();
        assert_eq!(run.await.unwrap().unwrap_err().into_error(), Some(0));
        drop(sender);
    });
}
