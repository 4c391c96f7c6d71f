//! The global pool is built and used for the first time at once: one of them comes first, and all
//! get what it made. One test, because there is one global pool per process.

use std::sync::{Arc, Barrier};

use crate::common;
use crate::common::own_process::in_its_own_process;
use formic::{BuildError, Pool};

const BUILDERS: usize = 3;
const USERS: usize = 3;

#[test]
fn of_those_who_build_and_those_who_use_one_is_first_and_the_others_hear_of_it() {
    if in_its_own_process(
        "global_race::of_those_who_build_and_those_who_use_one_is_first_and_the_others_hear_of_it",
    ) {
        return;
    }
    let start = Arc::new(Barrier::new(BUILDERS + USERS));
    let builders: Vec<_> = (1..=BUILDERS)
        .map(|workers| {
            let start = Arc::clone(&start);
            std::thread::spawn(move || {
                start.wait();
                (workers, Pool::builder().workers(workers).prestart(workers).build_global())
            })
        })
        .collect();
    let users: Vec<_> = (0..USERS)
        .map(|_| {
            let start = Arc::clone(&start);
            std::thread::spawn(move || {
                start.wait();
                formic::global()
            })
        })
        .collect();
    let outcomes: Vec<_> = builders.into_iter().map(common::join).collect();
    let pool = formic::global();
    assert!(users.into_iter().map(common::join).all(|used| std::ptr::eq(used, pool)));
    let (won, lost): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(|(_, it)| it.is_ok());
    assert!(lost.iter().all(|(_, it)| matches!(it, Err(BuildError::GlobalExists))));
    match won.as_slice() {
        [] => assert!(pool.capacity() >= 64, "a user was first"),
        [(workers, _)] => assert_eq!(pool.capacity(), *workers, "a builder was first"),
        _ => panic!("{} have built the global pool", won.len()),
    }
}
