//! What decides a batch, on every kind of pool of threads: the first that returns, the first success, all or the first
//! failure, a time, and the end of the batch.

use std::time::Duration;

use formic::{Balance, BatchError, FnPool, JoinError, Multi, Pool};

use crate::common::{Door, block_on, hush_quiet_threads};

/// What a task does.
enum Act {
    Return(Result<usize, &'static str>),
    Panic,
    /// Runs until it is asked to stop.
    Run,
    Wait(Door),
}

fn act(act: Act) -> Result<usize, &'static str> {
    match act {
        Act::Return(result) => return result,
        Act::Panic => panic!("no"),
        Act::Run => {
            while !formic::is_cancelled() {
                std::thread::yield_now();
            }
        }
        Act::Wait(door) => door.wait(),
    }
    Err("asked to stop")
}

/// Makes a test of each kind of pool. `$pool` makes a pool with a worker for each of so many tasks, and `$task` makes a
/// task of it.
macro_rules! on_every_kind {
    ($(fn $test:ident($pool:ident, $task:ident) $body:block)*) => {
        mod pool {
            use super::*;
            $(#[test] fn $test() {
                hush_quiet_threads();
                let $pool = |workers| Pool::builder().workers(workers).name("quiet").build().unwrap();
                let $task = |it: Act| move || act(it);
                $body
            })*
        }
        mod fn_pool {
            use super::*;
            $(#[test] fn $test() {
                hush_quiet_threads();
                let $pool = |workers| FnPool::builder().workers(workers).name("quiet").build(act).unwrap();
                let $task = |it: Act| it;
                $body
            })*
        }
        mod multi {
            use super::*;
            $(#[test] fn $test() {
                hush_quiet_threads();
                let $pool = |workers| {
                    let make = || Pool::builder().workers(workers).name("quiet").build();
                    Multi::try_new(2, Balance::RoundRobin, make).unwrap()
                };
                let $task = |it: Act| move || act(it);
                $body
            })*
        }
        mod multi_fn {
            use super::*;
            $(#[test] fn $test() {
                hush_quiet_threads();
                let $pool = |workers| {
                    let make = || FnPool::builder().workers(workers).name("quiet").build(act);
                    Multi::try_new(2, Balance::RoundRobin, make).unwrap()
                };
                let $task = |it: Act| it;
                $body
            })*
        }
    };
}

on_every_kind! {
    fn the_first_that_returns_decides_and_the_rest_is_cancelled(pool, task) {
        let pool = pool(3);
        for awaited in [false, true] {
            let mut batch = pool.batch();
            batch.spawn(task(Act::Panic)).unwrap();
            batch.spawn(task(Act::Return(Err("no")))).unwrap();
            batch.spawn(task(Act::Run)).unwrap();
            let first =
                if awaited { block_on(batch.first_returned_async()) } else { batch.first_returned() };
            assert_eq!(first.unwrap(), Err("no"));
            pool.wait_idle().unwrap();
        }
    }

    fn the_first_success_decides_and_the_rest_is_cancelled(pool, task) {
        let pool = pool(4);
        for awaited in [false, true] {
            let mut batch = pool.batch();
            batch.spawn(task(Act::Panic)).unwrap();
            batch.spawn(task(Act::Return(Err("no")))).unwrap();
            batch.spawn(task(Act::Run)).unwrap();
            batch.spawn(task(Act::Return(Ok(7)))).unwrap();
            let first =
                if awaited { block_on(batch.first_success_async()) } else { batch.first_success() };
            assert_eq!(first.unwrap(), 7);
            pool.wait_idle().unwrap();
        }
    }

    fn all_values_or_the_first_failure(pool, task) {
        let pool = pool(3);
        for awaited in [false, true] {
            let mut batch = pool.batch();
            (0..5).for_each(|number| assert_eq!(batch.spawn(task(Act::Return(Ok(number)))).unwrap(), number));
            let all = if awaited { block_on(batch.try_join_all_async()) } else { batch.try_join_all() };
            assert_eq!(all.unwrap(), [0, 1, 2, 3, 4]);
            let mut batch = pool.batch();
            batch.spawn(task(Act::Run)).unwrap();
            batch.spawn(task(Act::Return(Ok(1)))).unwrap();
            batch.spawn(task(Act::Panic)).unwrap();
            let error = if awaited { block_on(batch.try_join_all_async()) } else { batch.try_join_all() };
            // The task that runs on is asked to stop, and fails then with a lower index.
            assert!(matches!(
                error.unwrap_err(),
                BatchError::Failed { index: 0, error: "asked to stop" } | BatchError::Panicked { index: 2, .. }
            ));
            pool.wait_idle().unwrap();
        }
    }

    fn a_time_that_is_over_loses_nothing(pool, task) {
        let (pool, door) = (pool(2), Door::new());
        let mut batch = pool.batch();
        batch.spawn(task(Act::Wait(door.clone()))).unwrap();
        batch.spawn(task(Act::Return(Ok(1)))).unwrap();
        assert!(batch.join_all_timeout(Duration::from_millis(1)).is_none());
        assert_eq!(batch.len(), 2);
        door.open();
        let all = batch.join_all_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(all.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [Err("asked to stop"), Ok(1)]);
        assert!(batch.is_empty());
    }

    fn a_dropped_batch_cancels_its_tasks_if_it_is_to(pool, task) {
        let pool = pool(1);
        let mut batch = pool.batch().cancel_on_drop();
        (0..4).for_each(|_| _ = batch.spawn(task(Act::Run)).unwrap());
        drop(batch);
        pool.drain().unwrap();
        let stats = pool.stats();
        assert_eq!(stats.completed + stats.cancelled, 4);
        assert!(stats.completed <= 2, "only those that had started were asked");
    }

    fn without_a_result_there_are_all_errors(pool, task) {
        let pool = pool(2);
        let mut batch = pool.batch();
        batch.spawn(task(Act::Panic)).unwrap();
        batch.spawn(task(Act::Panic)).unwrap();
        let errors = batch.first_returned().unwrap_err();
        assert!(matches!(errors[..], [JoinError::Panicked(_), JoinError::Panicked(_)]));
        pool.drain().unwrap();
    }
}
