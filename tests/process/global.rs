//! The global pool: made by its first use, whoever comes first. There is one per process, so
//! each test has a process of its own.

use crate::common;
use crate::common::own_process::in_its_own_process;
use formic::{BuildError, Pool, Refused};

#[test]
fn first_users_that_race_get_the_same_pool_with_a_documented_size() {
    if in_its_own_process("global::first_users_that_race_get_the_same_pool_with_a_documented_size")
    {
        return;
    }
    let users: Vec<_> = (0..8).map(|_| std::thread::spawn(formic::global)).collect();
    let pools: Vec<&'static Pool> = users.into_iter().map(common::join).collect();
    assert!(pools.iter().all(|pool| std::ptr::eq(*pool, pools[0])));
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_eq!(formic::global().capacity(), (8 * cores).max(64));
}

#[test]
fn the_global_pool_is_there_without_being_built() {
    if in_its_own_process("global::the_global_pool_is_there_without_being_built") {
        return;
    }
    formic::submit(|| ()).unwrap();
    assert_eq!(formic::spawn(|| 6 * 7).unwrap().join().unwrap(), 42);
    let name = formic::spawn(|| std::thread::current().name().map(str::to_owned)).unwrap();
    assert!(name.join().unwrap().unwrap().starts_with("global-"));
}

#[test]
fn a_global_pool_that_exists_is_not_replaced_and_no_worker_is_started_for_it() {
    if in_its_own_process(
        "global::a_global_pool_that_exists_is_not_replaced_and_no_worker_is_started_for_it",
    ) {
        return;
    }
    let before = formic::global().capacity();
    let started = |_| panic!("there is no use for a worker of this pool");
    let builder = Pool::builder().workers(3).prestart(3).on_worker_start(started);
    let error = builder.build_global().unwrap_err();
    assert!(matches!(error, BuildError::GlobalExists));
    assert_eq!(error.to_string(), "build_global: the global pool exists");
    assert_eq!(formic::global().capacity(), before);
}

#[test]
fn a_panic_names_the_line_that_submitted_to_the_global_pool() {
    if in_its_own_process("global::a_panic_names_the_line_that_submitted_to_the_global_pool") {
        return;
    }
    let line = line!() + 1;
    let error = formic::spawn(|| panic!("on purpose")).unwrap().join().unwrap_err();
    let location = error.into_panic().unwrap().submitted_at().unwrap();
    assert_eq!((location.file(), location.line()), (file!(), line));
}

#[test]
fn it_can_be_drained_and_opened_again_for_all() {
    if in_its_own_process("global::it_can_be_drained_and_opened_again_for_all") {
        return;
    }
    (0..100).for_each(|_| formic::submit(|| ()).unwrap());
    formic::global().drain().unwrap();
    assert_eq!((formic::global().stats().completed, formic::global().workers()), (100, 0));
    let error = formic::submit(|| ()).unwrap_err();
    assert_eq!(error.reason(), Refused::Closed);
    assert_eq!(formic::spawn(|| 5).unwrap_err().into_task()(), 5);
    assert!(matches!(Pool::builder().build_global(), Err(BuildError::GlobalExists)));
    formic::global().reopen().unwrap();
    assert_eq!(formic::spawn(|| 6).unwrap().join().unwrap(), 6);
}

#[test]
fn a_process_ends_although_a_task_of_the_global_pool_does_not() {
    if in_its_own_process("global::a_process_ends_although_a_task_of_the_global_pool_does_not") {
        return;
    }
    let door = common::Door::new();
    common::hold_workers(formic::global(), &door, 2);
}

#[test]
fn a_task_of_the_global_pool_uses_the_global_pool() {
    if in_its_own_process("global::a_task_of_the_global_pool_uses_the_global_pool") {
        return;
    }
    fn sum(from: u64, to: u64) -> u64 {
        if to - from < 8 {
            return (from..to).sum();
        }
        let middle = u64::midpoint(from, to);
        let left = formic::spawn(move || sum(from, middle)).unwrap();
        let right = sum(middle, to);
        left.join().unwrap() + right
    }
    assert_eq!(formic::spawn(|| sum(0, 1000)).unwrap().join().unwrap(), 499_500);
}
