//! What a future costs in memory: an argument of an `AsyncFnPool` costs nothing once the pool has been
//! as full as it gets.
//!
//! Allocations of all threads are counted, so the tests take turns. What is not per call (a wake-up, the
//! test harness) is allowed for by a constant that is small beside the number of calls.

use crate::common::on_tokio::{on, soon};
use crate::counting::{self, allocations};
use formic::{AsyncFnPool, AsyncPool};
use tokio::task::yield_now;

const CALLS: u64 = 50_000;
/// Calls that are under way at once: fewer than there are places, so that nobody waits for one.
const BURST: u64 = 500;

/// How many allocations are made while `submit` is called for each of so many numbers, in bursts.
async fn count(pool: &formic::Control, mut submit: impl FnMut(u64)) -> u64 {
    let mut before = 0;
    for round in [10 * BURST, CALLS] {
        before = allocations();
        let completed = pool.stats().completed;
        for number in 1..=round {
            submit(number);
            if number % BURST == 0 {
                soon("all have run", || pool.stats().completed == completed + number).await;
            }
        }
    }
    allocations() - before
}

#[track_caller]
fn assert_costs(each: u64, count: u64) {
    counting::assert_costs(each, CALLS, count);
}

#[test]
fn an_argument_costs_no_allocation_and_a_future_costs_one() {
    let _turn = crate::take_turns();
    for threads in [0, 2] {
        on(threads, || async {
            let calls = AsyncFnPool::builder().workers(1024).queue(4096);
            let calls = calls.build(|numbers: [u64; 16]| async move {
                yield_now().await;
                assert!(numbers[7] > 0);
            });
            let calls = calls.expect("good settings");
            let costs = count(&calls, |n| calls.try_submit([n; 16]).expect("a place")).await;
            assert_costs(0, costs);
            let pool = AsyncPool::new(1024);
            let costs = count(&pool, |_| pool.try_submit(yield_now()).expect("a place")).await;
            assert_costs(1, costs);
        });
    }
}
