//! Settings that only one kind of pool can have are refused by name on the other.

use std::ops::RangeInclusive;

use formic::{AsyncFnPool, AsyncPool, BuildError};

use crate::common::on_tokio::on;

#[track_caller]
fn assert_no_minimum(built: Result<(), BuildError>, minimum: usize) {
    let error = built.expect_err("futures have no minimum");
    assert_eq!(error.setting(), Some("workers"));
    let problem = format!("a pool of futures has no minimum, and {minimum} was asked for");
    assert_eq!(error.problem(), Some(&*problem));
    assert_eq!(error.to_string(), format!("workers: {problem}"));
}

fn futures(workers: RangeInclusive<usize>) -> Result<(), BuildError> {
    AsyncPool::builder().workers(workers).build().map(drop)
}

fn calls(workers: RangeInclusive<usize>) -> Result<(), BuildError> {
    AsyncFnPool::builder().workers(workers).build(|n: u32| async move { n }).map(drop)
}

#[test]
fn a_pool_of_futures_has_no_minimum() {
    on(0, || async {
        for build in [futures, calls] {
            assert_no_minimum(build(2..=8), 2);
            assert_no_minimum(build(8..=8), 8);
            assert!(build(0..=8).is_ok());
        }
        assert!(AsyncPool::builder().workers(2..=8).unlimited().build().is_ok());
    });
    let apart = AsyncPool::builder().own_threads(1);
    assert_no_minimum(apart.workers(1..=8).build().map(drop), 1);
    let apart = AsyncFnPool::builder().own_threads(1).workers(1..=8);
    assert_no_minimum(apart.build(|n: u32| async move { n }).map(drop), 1);
}
