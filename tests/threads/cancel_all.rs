//! What `map`, `for_each` and a scope yield when all tasks of their pool are cancelled.

use formic::{ForEachError, JoinError, Pool, TaskError};

use crate::common::{Door, eventually, hold_workers};

/// A pool of one worker, and a door that it waits at.
fn held() -> (Pool, Door) {
    let (pool, door) = (Pool::new(1), Door::new());
    hold_workers(&pool, &door, 1);
    (pool, door)
}

/// Cancels all tasks while one item runs and others are queued: those that are queued are cancelled, the one that runs
/// is asked to stop and ends, and items that are pulled later run.
#[test]
fn a_map_goes_on_with_later_items() {
    let pool = Pool::new(1);
    let (inner, door) = (pool.clone(), Door::new());
    let waits = door.clone();
    let canceller = std::thread::spawn(move || {
        waits.await_waiting(1);
        eventually("two are queued", || inner.stats().queued == 2);
        let cancelled = inner.cancel_all();
        waits.open();
        (cancelled.queued, cancelled.asked)
    });
    let work = move |number: usize| {
        if number == 0 {
            door.wait();
        }
        (number, formic::is_cancelled())
    };
    let outcomes: Vec<_> = pool.map(0..6, work).window(3).collect();
    assert_eq!(canceller.join().unwrap(), (2, 1));
    let value = |number: usize| outcomes[number].as_ref().ok().copied();
    assert_eq!(value(0), Some((0, true)), "it was asked");
    assert!((1..3).all(|number| matches!(outcomes[number], Err(JoinError::Cancelled))));
    assert!((3..6).all(|number| value(number) == Some((number, false))), "{outcomes:?}");
}

#[test]
fn a_for_each_says_how_many_items_were_cancelled() {
    let (pool, door) = held();
    let inner = pool.clone();
    let canceller = std::thread::spawn(move || {
        eventually("items are queued", || inner.stats().queued > 0);
        let cancelled = inner.cancel_all().queued;
        door.open();
        cancelled
    });
    let outcome = pool.for_each(0..3, |_| assert!(!formic::is_cancelled()));
    let cancelled = canceller.join().unwrap() as u64;
    assert!(matches!(outcome, Err(ForEachError::Cancelled { items }) if items == cancelled));
    pool.drain().unwrap();
    assert_eq!(pool.stats().cancelled, cancelled);
}

#[test]
fn a_try_map_fails_with_the_first_item_that_was_cancelled() {
    let (pool, door) = held();
    let inner = pool.clone();
    let canceller = std::thread::spawn(move || {
        eventually("an item is queued", || inner.stats().queued > 0);
        inner.cancel_all();
        door.open();
    });
    let outcome = pool.try_map(0..3, Ok::<_, ()>);
    canceller.join().unwrap();
    assert!(matches!(outcome, Err(TaskError::Cancelled { index: 0 })), "{outcome:?}");
}

#[test]
fn queued_tasks_of_a_scope_are_dropped_and_the_scope_ends() {
    let (pool, door) = held();
    let text = String::from("borrowed");
    pool.scope(|scope| {
        scope.submit(|| unreachable!("it is queued: {text}"));
        let handle = scope.spawn(|| text.len());
        assert_eq!(pool.cancel_all().queued, 2);
        assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
        door.open();
        assert_eq!(scope.spawn(|| text.len()).join().unwrap(), 8, "it came later");
    });
    pool.drain().unwrap();
    assert_eq!(pool.stats().cancelled, 2);
}

#[test]
fn a_map_of_a_scope_goes_on_with_later_items() {
    let (pool, door) = held();
    let words = ["one", "three", "seven"];
    pool.scope(|scope| {
        let (inner, opens) = (pool.clone(), door.clone());
        let canceller = std::thread::spawn(move || {
            eventually("an item is queued", || inner.stats().queued == 1);
            inner.cancel_all();
            opens.open();
        });
        let lengths: Vec<_> = scope.map(words, str::len).window(1).collect();
        canceller.join().unwrap();
        assert!(matches!(lengths[0], Err(JoinError::Cancelled)), "{lengths:?}");
        assert!(matches!((&lengths[1], &lengths[2]), (Ok(5), Ok(5))), "{lengths:?}");
    });
    pool.drain().unwrap();
}
