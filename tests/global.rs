//! The global pool: made by its first use, whoever comes first. There is one per process, so what
//! needs a fresh one is in a file of its own.

mod common;

use std::process::Command;
use std::time::Instant;

use formic::{BuildError, Pool, Refused};

/// Set in a process that a test has started.
const CHILD: &str = "FORMIC_GLOBAL_CHILD";

#[test]
fn first_users_that_race_get_the_same_pool_with_a_documented_size() {
    let users: Vec<_> = (0..8).map(|_| std::thread::spawn(formic::global)).collect();
    let pools: Vec<&'static Pool> = users.into_iter().map(common::join).collect();
    assert!(pools.iter().all(|pool| std::ptr::eq(*pool, pools[0])));
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_eq!(formic::global().capacity(), (8 * cores).max(64));
}

#[test]
fn the_global_pool_is_there_without_being_built() {
    formic::submit(|| ()).unwrap();
    assert_eq!(formic::spawn(|| 6 * 7).unwrap().join().unwrap(), 42);
    let name = formic::spawn(|| std::thread::current().name().map(str::to_owned)).unwrap();
    assert!(name.join().unwrap().unwrap().starts_with("global-"));
}

#[test]
fn a_global_pool_that_exists_is_not_replaced_and_no_worker_is_started_for_it() {
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
    let line = line!() + 1;
    let error = formic::spawn(|| panic!("on purpose")).unwrap().join().unwrap_err();
    let location = error.into_panic().unwrap().submitted_at().unwrap();
    assert_eq!((location.file(), location.line()), (file!(), line));
}

/// Runs one of these tests in a process of its own. False in that process.
fn in_its_own_process(test: &str) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return false;
    }
    let program = std::env::current_exe().expect("this program has a path");
    let mut child = Command::new(program)
        .args(["--exact", test])
        .env(CHILD, "1")
        .spawn()
        .expect("it can be started again");
    let deadline = Instant::now() + common::PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().expect("it is our child");
            panic!("{test} hangs");
        }
        std::thread::yield_now();
    };
    assert!(status.success(), "{test}: {status}");
    true
}

#[test]
fn it_can_be_drained_and_opened_again_for_everybody() {
    if in_its_own_process("it_can_be_drained_and_opened_again_for_everybody") {
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
    if in_its_own_process("a_process_ends_although_a_task_of_the_global_pool_does_not") {
        return;
    }
    let door = common::Door::new();
    common::hold_workers(formic::global(), &door, 2);
}

#[test]
fn a_task_of_the_global_pool_uses_the_global_pool() {
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
