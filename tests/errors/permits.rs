//! Permits of a semaphore can be split, merged and forgotten, and their weights add up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use formic::{AcquireError, Semaphore};

use crate::common::{eventually, join};

#[test]
fn a_permit_is_split_and_merged_without_giving_anything_back() {
    let semaphore = Semaphore::new(10);
    let mut all = semaphore.acquire(10).unwrap();
    let mut part = all.split(4).unwrap();
    assert_eq!((all.weight(), part.weight(), semaphore.available()), (6, 4, 0));
    assert!(part.split(5).is_none());
    assert_eq!(part.weight(), 4, "nothing was taken out of it");
    let none = part.split(0).unwrap();
    assert_eq!((none.weight(), part.weight()), (0, 4));
    let rest = part.split(4).unwrap();
    assert_eq!(part.weight(), 0);
    all.merge(rest);
    drop((none, part));
    assert_eq!((all.weight(), semaphore.available()), (10, 0));
    drop(all);
    assert_eq!(semaphore.available(), 10);
}

#[test]
fn an_owned_permit_can_do_the_same() {
    let semaphore = Semaphore::new(10);
    let mut all = semaphore.acquire(10).unwrap().into_owned();
    let part = all.split(4).unwrap();
    assert!(all.split(7).is_none());
    thread::spawn(move || drop(part)).join().unwrap();
    assert_eq!((all.weight(), semaphore.available()), (6, 4));
    all.merge(semaphore.acquire(4).unwrap().into_owned());
    assert_eq!((all.weight(), semaphore.available()), (10, 0));
    all.split(3).unwrap().forget();
    drop(all);
    assert_eq!((semaphore.size(), semaphore.available()), (7, 7));
}

#[test]
fn a_part_that_is_dropped_lets_a_waiter_in() {
    let semaphore = Semaphore::new(3);
    let mut all = semaphore.acquire(3).unwrap();
    let inner = semaphore.clone();
    let waiting = thread::spawn(move || inner.acquire(2).map(|permit| permit.weight()));
    eventually("it waits", || semaphore.waiting() == 1);
    drop(all.split(1));
    assert_eq!(semaphore.waiting(), 1, "one is not enough");
    drop(all.split(1));
    assert_eq!(join(waiting), Ok(2));
}

#[test]
fn permits_of_two_semaphores_are_not_merged() {
    let (one, other) = (Semaphore::new(2), Semaphore::new(2));
    let mut permit = one.acquire(1).unwrap();
    let merged = catch_unwind(AssertUnwindSafe(|| permit.merge(other.acquire(1).unwrap())));
    let message = *merged.unwrap_err().downcast::<&str>().unwrap();
    assert_eq!(message, "the permits are of two semaphores");
    assert_eq!((permit.weight(), one.available(), other.available()), (1, 1, 2));
    let mut permit = permit.into_owned();
    let owned = other.acquire(1).unwrap().into_owned();
    assert!(catch_unwind(AssertUnwindSafe(|| permit.merge(owned))).is_err());
    drop(permit);
    assert_eq!((one.available(), other.available()), (2, 2));
}

#[test]
fn a_clone_of_a_semaphore_is_the_same_semaphore() {
    let semaphore = Semaphore::new(2);
    let clone = semaphore.clone();
    let mut permit = semaphore.acquire(1).unwrap();
    permit.merge(clone.acquire(1).unwrap());
    assert_eq!(permit.weight(), 2);
}

#[test]
fn a_forgotten_permit_makes_the_semaphore_smaller() {
    let semaphore = Semaphore::new(5);
    semaphore.acquire(2).unwrap().forget();
    assert_eq!((semaphore.size(), semaphore.available()), (3, 3));
    semaphore.acquire(0).unwrap().forget();
    assert_eq!(semaphore.size(), 3);
    let error = semaphore.try_acquire(4).unwrap_err();
    assert_eq!(error, AcquireError::TooMany { weight: 4, size: 3 });
    semaphore.resize(5);
    assert_eq!(semaphore.available(), 5, "it was not held");
}

#[test]
fn a_waiter_for_more_than_is_left_is_told_when_a_permit_is_forgotten() {
    let semaphore = Semaphore::new(3);
    let held = semaphore.acquire(2).unwrap();
    let inner = semaphore.clone();
    let waiting = thread::spawn(move || inner.acquire(2).map(drop));
    eventually("it waits", || semaphore.waiting() == 1);
    held.forget();
    assert_eq!(join(waiting), Err(AcquireError::TooMany { weight: 2, size: 1 }));
    assert_eq!(semaphore.available(), 1);
}

#[test]
fn a_permit_that_is_forgotten_after_the_size_fell_leaves_no_debt() {
    let semaphore = Semaphore::new(4);
    let (three, one) = (semaphore.acquire(3).unwrap(), semaphore.acquire(1).unwrap());
    semaphore.resize(2);
    three.forget();
    assert_eq!((semaphore.size(), semaphore.available()), (0, 0));
    drop(one);
    semaphore.resize(2);
    assert_eq!(semaphore.available(), 2);
}
