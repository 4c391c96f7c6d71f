//! Items of an iterator through a pool: order, bounded memory, borrowing, panics, early ends.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{self, Door, join};
use formic::{ForEachError, JoinError, Pool, Refused, TaskError, WhenFull};

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
fn dropped_early_it_cancels_what_has_not_started() {
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

/// The outcomes, and the reason of the last one if it is a refusal, after which nothing comes.
fn values<R>(
    mut outcomes: impl Iterator<Item = Result<R, JoinError>>,
) -> (Vec<R>, Option<Refused>) {
    let mut values = Vec::new();
    let refused = loop {
        match outcomes.next() {
            Some(Ok(value)) => values.push(value),
            Some(Err(JoinError::Refused(refused))) => break Some(refused),
            Some(Err(error)) => panic!("{error}"),
            None => break None,
        }
    };
    assert!(outcomes.next().is_none() && outcomes.next().is_none(), "it is over");
    (values, refused)
}

#[test]
fn a_pool_that_is_closed_meanwhile_says_so_after_what_was_pulled() {
    let pool = Pool::builder().workers(1).queue(4).build().unwrap();
    let pulled = Cell::new(0);
    let input = (0..100).inspect(|_| pulled.set(pulled.get() + 1));
    let mut outcomes = pool.map(input, |number| number);
    assert_eq!(outcomes.next().unwrap().unwrap(), 0);
    pool.close();
    let (rest, refused) = values(outcomes);
    assert_eq!(rest, (1..pulled.get()).collect::<Vec<_>>(), "each one that was pulled");
    assert_eq!(refused, Some(Refused::Closed));
    assert_eq!(pool.stats().completed, pulled.get() as u64, "no other thread has run any");

    let (none, refused) = values(pool.map(0..5, |number| number));
    assert_eq!((none, refused), (vec![], Some(Refused::Closed)));
    let (none, refused) = values(pool.map(0..0, |number: u8| number));
    assert_eq!((none, refused), (vec![], None), "nothing is left");
}

#[test]
fn a_map_on_a_scope_says_that_the_pool_was_closed() {
    let pool = Pool::new(1);
    pool.close();
    let words = ["one".to_owned()];
    let outcome = pool.scope(|scope| values(scope.map(&words, String::len)));
    assert_eq!(outcome, (vec![], Some(Refused::Closed)));
}

#[test]
fn a_map_waits_for_places_whatever_a_full_pool_does() {
    for when_full in [WhenFull::Refuse, WhenFull::CallerRuns, WhenFull::Wait] {
        let pool = Pool::builder().workers(1).queue(0).when_full(when_full).build().unwrap();
        let (door, here) = (Door::new(), std::thread::current().id());
        common::hold_workers(&pool, &door, 1);
        let outcomes = pool.map(0..5, move |number| {
            assert_ne!(std::thread::current().id(), here, "the calling thread only waits");
            number
        });
        let opener = std::thread::spawn({
            let pool = pool.clone();
            move || {
                common::eventually("the map waits", || pool.waiting() == 1);
                door.open();
            }
        });
        assert_eq!(values(outcomes), (vec![0, 1, 2, 3, 4], None));
        join(opener);
    }
}

#[test]
fn no_more_is_pulled_than_the_window_holds() {
    let pool = Pool::new(4);
    for (window, most) in [(None, 8), (Some(3), 3), (Some(0), 1), (Some(100), 100)] {
        let pulled = Cell::new(0);
        let input = (0..).inspect(|_| pulled.set(pulled.get() + 1));
        let outcomes = pool.map(input, |number: u64| number);
        let mut outcomes = match window {
            Some(window) => outcomes.window(window),
            None => outcomes,
        };
        for taken in 1..=50 {
            outcomes.next().unwrap().unwrap();
            assert!(pulled.get() < taken + most, "{} after {taken}", pulled.get());
        }
        if window.is_none() {
            let three = Cell::new(0);
            let input = (1..).inspect(|_| three.set(three.get() + 1));
            assert_eq!(pool.map(input, |number: u64| number).take(3).count(), 3);
            assert!(three.get() <= 3 + 8, "{} items for three", three.get());
        }
    }
}

#[test]
fn an_outcome_that_is_there_comes_before_another_item_is_pulled() {
    let pool = Pool::new(2);
    let pulled = Cell::new(0);
    let input = (0..100).inspect(|_| pulled.set(pulled.get() + 1));
    let mut outcomes = pool.map(input, |number| number);
    outcomes.next().unwrap().unwrap();
    let before = pulled.get();
    pool.wait_idle().unwrap();
    (1..before).for_each(|number| assert_eq!(outcomes.next().unwrap().unwrap(), number));
    assert_eq!(pulled.get(), before);
    assert_eq!(outcomes.next().unwrap().unwrap(), before);
    assert!(pulled.get() > before);
}

#[test]
fn unordered_outcomes_come_as_they_come_with_their_index() {
    let (pool, door) = (Pool::new(2), Door::new());
    let held = door.clone();
    let function = move |number: usize| {
        if number == 0 {
            held.wait();
        }
        number * 10
    };
    // One worker waits at the door, and the other one has the rest.
    let mut outcomes = pool.map(0..10, function).window(4).unordered();
    for _ in 0..9 {
        let (index, outcome) = outcomes.next().unwrap();
        assert!(index > 0 && outcome.unwrap() == index * 10);
    }
    door.open();
    let (index, last) = outcomes.next().unwrap();
    assert_eq!((index, last.unwrap()), (0, 0));
    assert!(outcomes.next().is_none());
}

#[test]
fn unordered_may_be_chosen_after_the_first_outcome() {
    let pool = Pool::new(2);
    let mut outcomes = pool.map(0..100, |number: usize| number);
    assert_eq!(outcomes.next().unwrap().unwrap(), 0);
    let mut rest: Vec<_> =
        outcomes.unordered().map(|(index, outcome)| (index, outcome.unwrap())).collect();
    rest.sort_unstable();
    assert_eq!(rest, (1..100).map(|number| (number, number)).collect::<Vec<_>>());
}

#[test]
fn an_unordered_map_works_on_a_single_worker() {
    let pool = Pool::builder().workers(1).queue(0).build().unwrap();
    let inside = pool.clone();
    let sum = pool.spawn(move || {
        inside
            .map(0..100_u64, |number| number)
            .unordered()
            .map(|(_, number)| number.unwrap())
            .sum::<u64>()
    });
    assert_eq!(sum.unwrap().join().unwrap(), 4950);
}

#[test]
fn a_map_of_a_map_of_the_same_pool_needs_one_place() {
    let pool = Pool::builder().workers(1).queue(0).build().unwrap();
    let inner = pool.map(0..50_u64, |number| number + 1).map(Result::unwrap);
    let sum: u64 = pool.map(inner, |number| number * 2).map(Result::unwrap).sum();
    assert_eq!(sum, 2550);
}

#[test]
fn a_map_is_sent_to_another_thread_and_knows_its_length() {
    let pool = Pool::new(2);
    let mut outcomes = pool.map(vec![1, 2, 3], |number: u32| number);
    assert_eq!(outcomes.size_hint(), (0, Some(3)));
    outcomes.next().unwrap().unwrap();
    assert_eq!(outcomes.size_hint(), (2, Some(2)), "those in flight are certain");
    let rest = std::thread::spawn(move || outcomes.map(Result::unwrap).collect::<Vec<_>>());
    assert_eq!(rest.join().unwrap(), [2, 3]);
}

#[test]
fn try_map_collects_in_order_or_says_which_item_failed_first() {
    for pool in pools() {
        let numbers =
            pool.try_map(0..500, |number| if number < 500 { Ok(number) } else { Err(()) });
        assert_eq!(numbers.unwrap(), (0..500).collect::<Vec<_>>());
        let (pulled, ran) = (Cell::new(0), Arc::new(AtomicUsize::new(0)));
        let (input, count) = ((0..).inspect(|_| pulled.set(pulled.get() + 1)), Arc::clone(&ran));
        let error = pool.try_map(input, move |number: usize| {
            count.fetch_add(1, Ordering::SeqCst);
            if number >= 20 { Err(number) } else { Ok(()) }
        });
        match error.unwrap_err() {
            TaskError::Failed { index, error } => assert_eq!((index, error), (20, 20)),
            other => panic!("{other:?}"),
        }
        assert!(pulled.get() < 100, "{} were pulled", pulled.get());
        pool.wait_idle().unwrap();
        let stats = pool.stats();
        assert!(stats.adds_up() && stats.completed >= ran.load(Ordering::SeqCst) as u64);
    }
}

#[test]
fn try_map_waits_for_what_runs_and_returns_the_lowest_index() {
    let pool = Pool::new(2);
    let (door, ended) = (Door::new(), Arc::new(AtomicUsize::new(0)));
    let (held, count) = (door.clone(), Arc::clone(&ended));
    let opener = std::thread::spawn({
        let (door, pool) = (door.clone(), pool.clone());
        move || {
            door.await_waiting(1);
            common::eventually("the rest has failed or was cancelled", || {
                let stats = pool.stats();
                (stats.busy, stats.queued) == (1, 0)
            });
            door.open();
        }
    });
    let outcome = pool.try_for_each(0..100, move |number: usize| {
        if number == 0 {
            held.wait();
        }
        count.fetch_add(1, Ordering::SeqCst);
        Err::<(), _>(number)
    });
    assert_eq!(outcome.unwrap_err().into_error(), Some(0), "it ran, and comes first");
    join(opener);
    assert!(ended.load(Ordering::SeqCst) < 100);
}

#[test]
fn a_panic_or_a_closed_pool_ends_a_try_map() {
    let pool = Pool::new(2);
    let panicked = pool.try_map(0..10, |number| {
        assert!(number != 3, "three");
        Ok::<_, ()>(number)
    });
    assert!(matches!(panicked, Err(TaskError::Panicked { index: 3, .. })));
    pool.close();
    let refused = pool.try_for_each(0..10, |_| Ok::<_, ()>(()));
    assert!(matches!(refused, Err(TaskError::Refused { index: 0, reason: Refused::Closed })));
}

#[test]
fn try_map_on_a_scope_borrows() {
    let pool = Pool::new(2);
    let words = ["1".to_owned(), "2".to_owned(), "three".to_owned()];
    let parse = |word: &'_ String| word.parse::<u32>().map_err(|_| word.len());
    let two = pool.scope(|scope| scope.try_map(&words[..2], parse));
    assert_eq!(two.unwrap(), [1, 2]);
    let error = pool.scope(|scope| scope.try_for_each(&words, |word| parse(word).map(drop)));
    assert_eq!(error.unwrap_err().into_error(), Some(5));
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
        })
        .unwrap();
        assert_eq!(count.into_inner(), 3000);
        assert_eq!(numbers.iter().sum::<usize>(), 3000 * 3001 / 2);
    }
}

#[test]
fn a_panic_in_for_each_costs_one_item_and_is_told() {
    let pool = Pool::builder().workers(2).queue(2).build().unwrap();
    let count = AtomicUsize::new(0);
    let outcome = pool.for_each(0..1000, |number| {
        assert!(number % 100 != 10, "ten");
        count.fetch_add(1, Ordering::Relaxed);
    });
    match outcome {
        Err(ForEachError::Panicked { items, first, .. }) => {
            assert_eq!((items, first.message()), (10, "ten"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(count.into_inner(), 990);
}

#[test]
fn for_each_waits_for_places_and_says_that_the_pool_was_closed() {
    let pool = Pool::builder().workers(1).queue(0).when_full(WhenFull::Refuse).build().unwrap();
    let count = AtomicUsize::new(0);
    pool.for_each(0..500, |_| _ = count.fetch_add(1, Ordering::Relaxed)).unwrap();
    pool.close();
    let refused = pool.for_each(0..500, |_| _ = count.fetch_add(1, Ordering::Relaxed));
    assert!(matches!(refused, Err(ForEachError::Refused(Refused::Closed))));
    assert_eq!(count.into_inner(), 500);
}

#[test]
fn for_each_says_how_many_items_were_discarded() {
    let pool = Pool::builder().workers(1).queue(10).build().unwrap();
    let (door, discard) = (Door::new(), pool.clone());
    let (at_door, ran) = (door.clone(), AtomicUsize::new(0));
    let discarder = std::thread::spawn(move || {
        door.await_waiting(1);
        common::eventually("the window is full", || discard.queued() == 1);
        assert_eq!(discard.discard(), 1);
        door.open();
    });
    let outcome = pool.for_each(0..2, |_| {
        at_door.wait();
        ran.fetch_add(1, Ordering::Relaxed);
    });
    assert!(matches!(outcome, Err(ForEachError::Cancelled { items: 1, .. })), "{outcome:?}");
    assert_eq!(ran.into_inner(), 1);
    join(discarder);
}

#[test]
fn for_each_works_inside_a_task_of_its_own_pool() {
    for pool in pools() {
        let inside = pool.clone();
        let handle = pool
            .spawn(move || {
                let count = AtomicUsize::new(0);
                let each = || inside.for_each(0..30, |_| _ = count.fetch_add(1, Ordering::Relaxed));
                inside.for_each(0..30, |_| each().unwrap()).unwrap();
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
fn a_map_on_a_scope_that_is_dropped_early_cancels_what_has_not_started() {
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
