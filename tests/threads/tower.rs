//! The function of an `FnPool` as a service of tower, without a runtime.

use std::pin::pin;
use std::sync::mpsc;
use std::task::Poll;

use crate::common::{Door, PATIENCE, block_on, eventually, poll_once};
use formic::{FnPool, Refused, tower::ServiceError};
use tower::{Service, ServiceExt};

#[test]
fn a_service_needs_no_runtime() {
    let door = Door::new();
    let inner = door.clone();
    let pool = FnPool::builder().workers(1).queue(0).build(move |number: u64| {
        inner.wait();
        number * number
    });
    let pool = pool.unwrap();
    let mut service = pool.service();
    let response = block_on(service.ready()).unwrap().call(9);
    assert!(poll_once(pin!(service.ready())).is_pending(), "the only worker is busy");
    door.open();
    assert_eq!(block_on(response).unwrap(), 81);
    assert_eq!(block_on(async { service.ready().await?.call(3).await }).unwrap(), 9);
    drop(service);
    pool.drain().unwrap();
}

#[test]
fn a_call_that_runs_is_asked_to_stop_when_its_response_is_dropped() {
    let (sender, receiver) = mpsc::channel();
    let pool = FnPool::new(1, move |()| {
        sender.send("started").unwrap();
        eventually("it is asked to stop", formic::is_cancelled);
        sender.send("stopped").unwrap();
    });
    let mut service = pool.service();
    let response = block_on(service.ready()).unwrap().call(());
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok("started"));
    drop(response);
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok("stopped"));
    drop(service);
    pool.drain().unwrap();
}

#[test]
fn more_services_than_may_wait_are_refused() {
    let pool = FnPool::builder().workers(1).queue(0).waiters(1).build(|(): ()| ()).unwrap();
    let (mut ready, mut waiting, mut refused) = (pool.service(), pool.service(), pool.service());
    assert!(poll_once(pin!(ready.ready())).is_ready());
    assert!(poll_once(pin!(waiting.ready())).is_pending());
    match poll_once(pin!(refused.ready())) {
        Poll::Ready(Err(ServiceError::Refused(Refused::Full))) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(pool.stats().refused, 1, "the two others were not refused");
}

#[test]
fn a_service_keeps_its_pool_open() {
    let pool = FnPool::new(1, |number: u64| number * number);
    let (mut service, control) = (pool.service(), pool.clone());
    drop(pool);
    drop(control);
    assert_eq!(block_on(async { service.ready().await?.call(9).await }).unwrap(), 81);
}
