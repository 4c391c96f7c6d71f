//! What a task costs in memory: nothing if it is small, one allocation if somebody wants its result.
//!
//! Allocations of all threads are counted, so the tests take turns. What is not per task (a worker
//! that is woken, a block of the line that is used for the first time, the test harness) is allowed
//! for by a constant that is small beside the number of tasks.

use std::hint::black_box;

use crate::common::eventually;
use crate::counting::{self, allocations};
use crate::take_turns;
use formic::{Control, FnPool, Pool};

const TASKS: u64 = 100_000;
/// Tasks that are under way at once: far fewer than there are places, so that nobody waits for one.
const BURST: u64 = 500;

/// How many allocations the process makes while `task` is called for each of [`TASKS`] numbers, and
/// the pool does what it is given.
fn count(pool: &Control, mut task: impl FnMut(u64)) -> u64 {
    let mut run = |tasks| {
        let before = pool.stats().completed;
        for number in 1..=tasks {
            task(number);
            if number % BURST == 0 {
                eventually("all have run", || pool.stats().completed == before + number);
            }
        }
    };
    run(10 * BURST);
    let before = allocations();
    run(TASKS);
    allocations() - before
}

#[track_caller]
fn assert_costs(each: u64, count: u64) {
    counting::assert_costs(each, TASKS, count);
}

fn closures() -> Pool {
    Pool::builder().workers(2).queue(4096).keep_alive(None).build().expect("good settings")
}

/// What a closure of `8 * WORDS` bytes costs.
fn submit<const WORDS: usize>(pool: &Pool) -> u64 {
    count(pool, |number| {
        let captured = [number; WORDS];
        let task = move || {
            black_box(captured);
        };
        assert_eq!(size_of_val(&task), 8 * WORDS);
        pool.submit(task).expect("the pool is open");
    })
}

#[test]
fn an_argument_costs_no_allocation() {
    let _turn = take_turns();
    let builder = FnPool::builder().workers(2).queue(4096).keep_alive(None);
    let pool = builder.build(|numbers: [u64; 16]| black_box(numbers)[0]).unwrap();
    assert_costs(0, count(&pool, |number| pool.submit([number; 16]).unwrap()));
    assert_costs(0, count(&pool, |number| pool.try_submit([number; 16]).unwrap()));
}

#[test]
fn a_small_closure_costs_no_allocation_and_a_larger_one_costs_one() {
    let _turn = take_turns();
    let pool = closures();
    assert_costs(0, submit::<0>(&pool));
    assert_costs(0, submit::<1>(&pool));
    assert_costs(0, submit::<6>(&pool));
    assert_costs(1, submit::<7>(&pool));
    assert_costs(1, submit::<64>(&pool));
}

#[test]
fn a_permit_costs_no_allocation() {
    let _turn = take_turns();
    let pool = closures();
    let task = |number: u64| move || assert!(black_box(number) > 0);
    assert_costs(0, count(&pool, |number| pool.admit().unwrap().submit(task(number))));
}

#[test]
fn a_result_costs_one_allocation() {
    let _turn = take_turns();
    let pool = closures();
    let spawn = |number: u64| pool.spawn(move || [number; 16]).unwrap();
    assert_costs(1, count(&pool, |number| assert_eq!(spawn(number).join().unwrap()[9], number)));
    assert_costs(1, count(&pool, |number| drop(spawn(number))));

    let builder = FnPool::builder().workers(2).queue(4096).keep_alive(None);
    let pool = builder.build(|numbers: [u64; 16]| numbers).unwrap();
    assert_costs(1, count(&pool, |number| assert_eq!(pool.call([number; 16]).unwrap()[9], number)));
}

#[cfg(feature = "tower")]
#[test]
fn a_call_of_a_service_costs_one_allocation_if_a_place_is_free() {
    use crate::common::poll_once;
    use std::pin::pin;
    use tower::{Service, ServiceExt};

    let _turn = take_turns();
    let builder = FnPool::builder().workers(2).queue(4096).keep_alive(None);
    let pool = builder.build(|numbers: [u64; 16]| numbers).unwrap();
    let mut service = pool.service();
    let mut call = |number: u64| {
        assert!(poll_once(pin!(service.ready())).is_ready());
        let mut response = pin!(service.call([number; 16]));
        while poll_once(response.as_mut()).is_pending() {
            std::thread::yield_now();
        }
    };
    assert_costs(1, count(&pool, &mut call));
}

/// A batch that is read while it is filled keeps nothing of the tasks whose outcomes were given out.
#[test]
fn a_batch_keeps_nothing_of_what_was_given_out() {
    let _turn = take_turns();
    let pool = closures();
    let mut batch = pool.batch();
    let spawner = batch.spawner();
    let mut run = |tasks: u64| {
        for number in 0..tasks {
            // Half of them by each way, and a hundred in flight.
            let task = move || number;
            let spawned = if number % 2 == 0 { batch.spawn(task) } else { spawner.spawn(task) };
            spawned.expect("the pool is open");
            if number >= 100 {
                batch.next().expect("a hundred are in flight").expect("it returns");
            }
        }
        while !batch.is_empty() {
            batch.next().expect("some are in flight").expect("it returns");
        }
        (counting::live(), counting::live_bytes())
    };
    let (before, bytes_before) = run(1_000);
    let (after, bytes_after) = run(TASKS);
    assert!(after < before + 100, "{before} allocations became {after}");
    assert!(bytes_after < bytes_before + TASKS, "{bytes_before} bytes became {bytes_after}");
}
