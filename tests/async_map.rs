//! `map`: results in the order of the items or as they come, no more than somebody takes.

#![cfg(feature = "tokio")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::on_tokio::{Stop, drained, hushed, on, on_both, soon};
use formic::JoinError;
use futures_util::stream::StreamExt;
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
            seen.push(results.next().await.unwrap().unwrap());
        }
        assert!(!seen.contains(&0));
        stop.open();
        assert_eq!(results.next().await.unwrap().unwrap(), 0);
        assert!(results.next().await.is_none());
        assert_eq!(drained(&pool).await.panicked, 0);
    });
}

#[test]
fn no_more_is_pulled_than_a_slow_consumer_has_room_for() {
    for ordered in [true, false] {
        on_both(move || async move {
            let (pool, pulled) = (hushed(4, 0), Arc::new(AtomicUsize::new(0)));
            let count = Arc::clone(&pulled);
            let items = (0..).inspect(move |_| _ = count.fetch_add(1, Ordering::SeqCst));
            let results = pool.map(items, |number: usize| async move { number });
            let mut results = if ordered { results } else { results.unordered() };
            for taken in 1..=50 {
                results.next().await.unwrap().unwrap();
                for _ in 0..20 {
                    yield_now().await;
                }
                let pulled = pulled.load(Ordering::SeqCst);
                assert!(pulled <= taken + 4, "{pulled} pulled, {taken} taken");
            }
            drop(results);
            pool.wait_idle().await.unwrap();
            assert_eq!(drained(&pool).await.panicked, 0);
        });
    }
}

#[test]
fn results_that_nobody_wants_any_more_are_dropped_with_what_runs() {
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
            let results = if ordered { results } else { results.unordered() };
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
