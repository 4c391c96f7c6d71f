//! Messages of what only pools of futures refuse.

use formic::{AsyncPool, Builder, ForEachError, WhenFull};

use crate::common::on_tokio::on;
use crate::messages::{AnyError, assert_well_formed, panic, reasons};

#[test]
fn every_error_states_its_fact_once() {
    let refused = reasons().map(ForEachError::Refused).into_iter();
    let panicked = [1, 2].map(|items| ForEachError::Panicked { items, first: panic() }).into_iter();
    let mut errors: Vec<AnyError> = refused.chain(panicked).map(AnyError::from).collect();
    let mut refuse = |builder: Builder<AsyncPool>| {
        errors.push(Box::new(builder.build().unwrap_err()));
    };
    refuse(AsyncPool::builder());
    refuse(AsyncPool::builder().own_threads(0));
    refuse(AsyncPool::builder().own_threads(1 << 20));
    refuse(AsyncPool::builder().workers(2..=8));
    refuse(AsyncPool::builder().when_full(WhenFull::CallerRuns));
    errors.iter().for_each(|error| assert_well_formed(&**error));
    on(0, || async {
        let error = AsyncPool::builder().stack_size(1 << 20).build().unwrap_err();
        assert_well_formed(&error);
    });
}
