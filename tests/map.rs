//! Items of an iterator through a pool: order, bounded memory, borrowing, panics, early ends.

mod common;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Door, join};
use formic::{Pool, WhenFull};

fn pools() -> impl Iterator<Item = Pool> {
    [(1, 0), (1, 1), (3, 0), (3, 64)].into_iter().map(|(workers, queue)| {
        Pool::builder().workers(workers).queue(queue).build().expect("good settings")
    })
}

#[test]
fn outcomes_come_in_the_order_of_the_input() {
    for pool in pools() {
        let doubled: Vec<_> = pool.map(0..5000, |number| number * 2).map(Result::unwrap).collect();
        assert_eq!(doubled, (0..5000).map(|number| number * 2).collect::<Vec<_>>());
    }
}

#[test]
fn nothing_is_pulled_before_it_is_asked_for_and_never_more_than_has_a_place() {
    let pool = Pool::builder().workers(2).queue(3).build().unwrap();
    let pulled = Cell::new(0);
    let input = (0..).inspect(|_| pulled.set(pulled.get() + 1));
    let mut outcomes = pool.map(input, |number: u64| number);
    assert_eq!(pulled.get(), 0, "it is lazy");
    for expected in 0..1000 {
        assert_eq!(outcomes.next().unwrap().unwrap(), expected);
        assert!(pulled.get() <= expected + 1 + 5, "queue and capacity hold five");
    }
}

#[test]
fn the_input_may_borrow() {
    let pool = Pool::new(2);
    let words = ["one".to_owned(), "three".to_owned()];
    let input = words.iter().map(String::len);
    let lengths: Vec<_> = pool.map(input, |length| length + 1).map(Result::unwrap).collect();
    assert_eq!(lengths, [4, 6]);
}

#[test]
fn a_panic_is_the_outcome_of_its_item_only() {
    let pool = Pool::new(2);
    let outcomes = pool.map(0..100, |number| assert!(number % 10 != 3, "three"));
    let failed: Vec<_> =
        outcomes.enumerate().filter(|(_, outcome)| outcome.is_err()).map(|(at, _)| at).collect();
    assert_eq!(failed, [3, 13, 23, 33, 43, 53, 63, 73, 83, 93]);
}

#[test]
fn dropped_early_it_cancels_what_nobody_has_begun_with() {
    let pool = Pool::builder().workers(1).queue(50).build().unwrap();
    let (door, ran) = (Door::new(), Arc::new(AtomicUsize::new(0)));
    let (held, count) = (door.clone(), Arc::clone(&ran));
    let mut outcomes = pool.map(0.., move |number: usize| {
        if number == 1 {
            held.wait();
        }
        count.fetch_add(1, Ordering::Relaxed);
    });
    outcomes.next().unwrap().unwrap();
    door.await_waiting(1);
    drop(outcomes);
    door.open();
    pool.wait_idle().unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 2, "the first, and the one that was running");
}

#[test]
fn a_forgotten_iterator_does_no_harm() {
    let pool = Pool::new(2);
    let mut outcomes = pool.map(0..1000, |number| number);
    outcomes.next().unwrap().unwrap();
    std::mem::forget(outcomes);
    pool.wait_idle().unwrap();
}

#[test]
fn a_pool_that_is_closed_meanwhile_loses_no_item() {
    let pool = Pool::builder().workers(1).queue(4).build().unwrap();
    let mut outcomes = pool.map(0..100, |number| number);
    assert_eq!(outcomes.next().unwrap().unwrap(), 0);
    pool.close();
    let rest: Vec<_> = outcomes.map(Result::unwrap).collect();
    assert_eq!(rest, (1..100).collect::<Vec<_>>());
}

#[test]
fn it_works_inside_a_task_of_its_own_pool() {
    for pool in pools() {
        let inside = pool.clone();
        let handle = pool
            .spawn(move || {
                let outer = inside.clone();
                inside
                    .map(0..20_u64, move |number| {
                        outer.map(0..number, |number| number).map(Result::unwrap).sum::<u64>()
                    })
                    .map(Result::unwrap)
                    .sum::<u64>()
            })
            .unwrap();
        assert_eq!(join(std::thread::spawn(move || handle.join().unwrap())), 1140);
    }
}

#[test]
fn for_each_may_borrow_and_returns_when_all_is_done() {
    for pool in pools() {
        let mut numbers: Vec<usize> = (0..3000).collect();
        let count = AtomicUsize::new(0);
        pool.for_each(&mut numbers, |number| {
            *number += 1;
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(count.into_inner(), 3000);
        assert_eq!(numbers.iter().sum::<usize>(), 3000 * 3001 / 2);
    }
}

#[test]
fn a_panic_in_for_each_goes_on_and_no_more_is_pulled() {
    let pool = Pool::builder().workers(2).queue(2).build().unwrap();
    let pulled = Cell::new(0);
    let input = (0..1_000_000).inspect(|_| pulled.set(pulled.get() + 1));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        pool.for_each(input, |number| assert!(number != 10, "ten"));
    }));
    assert_eq!(outcome.unwrap_err().downcast_ref::<&str>(), Some(&"ten"));
    assert!(pulled.get() < 1000, "{} were pulled", pulled.get());
    pool.for_each(0..10, |_| ());
}

#[test]
fn for_each_runs_what_the_pool_refuses() {
    let pool = Pool::builder().workers(1).queue(0).when_full(WhenFull::Refuse).build().unwrap();
    let count = AtomicUsize::new(0);
    pool.for_each(0..500, |_| _ = count.fetch_add(1, Ordering::Relaxed));
    pool.close();
    pool.for_each(0..500, |_| _ = count.fetch_add(1, Ordering::Relaxed));
    assert_eq!(count.into_inner(), 1000);
}

#[test]
fn for_each_works_inside_a_task_of_its_own_pool() {
    for pool in pools() {
        let inside = pool.clone();
        let handle = pool
            .spawn(move || {
                let count = AtomicUsize::new(0);
                inside.for_each(0..30, |_| {
                    inside.for_each(0..30, |_| _ = count.fetch_add(1, Ordering::Relaxed));
                });
                count.into_inner()
            })
            .unwrap();
        assert_eq!(join(std::thread::spawn(move || handle.join().unwrap())), 900);
    }
}

#[test]
fn on_a_scope_items_function_and_results_may_borrow() {
    for pool in pools() {
        let words: Vec<String> = (0..500).map(|number| format!("word {number}")).collect();
        let suffix = " and more".to_owned();
        let lengths: Vec<(&str, usize)> = pool.scope(|scope| {
            let outcomes = scope.map(&words, |word| (word.as_str(), word.len() + suffix.len()));
            outcomes.map(Result::unwrap).collect()
        });
        let expected: Vec<_> =
            words.iter().map(|word| (word.as_str(), word.len() + suffix.len())).collect();
        assert_eq!(lengths, expected);
    }
}

#[test]
fn a_map_on_a_scope_that_is_dropped_early_cancels_what_nobody_has_begun_with() {
    let pool = Pool::builder().workers(1).queue(50).build().unwrap();
    let (door, ran) = (Door::new(), AtomicUsize::new(0));
    pool.scope(|scope| {
        let mut outcomes = scope.map(0.., |number: usize| {
            if number == 1 {
                door.wait();
            }
            ran.fetch_add(1, Ordering::Relaxed);
        });
        outcomes.next().unwrap().unwrap();
        door.await_waiting(1);
        drop(outcomes);
        door.open();
    });
    assert_eq!(ran.into_inner(), 2, "the first, and the one that was running");
}
