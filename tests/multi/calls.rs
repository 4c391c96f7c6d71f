//! Calls of the function of a `Multi`, of threads and of futures: blocking, awaited, for a time, and without a wait.

use std::time::Duration;

use formic::{AsyncFnPool, Balance, CallError, FnPool, JoinHandle, Multi, Refused};

use crate::common::{Door, block_on, eventually};

/// Shards of one worker and without a queue, whose function waits at the door unless its argument is 0.
fn of_threads(door: &Door) -> Multi<FnPool<u32, u32>> {
    let make = || {
        let door = door.clone();
        let call = move |number: u32| {
            if number > 0 {
                door.wait();
            }
            number * 2
        };
        FnPool::builder().workers(1).queue(0).build(call)
    };
    Multi::try_new(2, Balance::RoundRobin, make).unwrap()
}

async fn double(number: u32) -> u32 {
    if number > 0 { std::future::pending().await } else { 0 }
}

fn of_futures() -> Multi<AsyncFnPool<u32, u32>> {
    let make = || AsyncFnPool::builder().workers(1).queue(0).build(double);
    Multi::try_new(2, Balance::RoundRobin, make).unwrap()
}

const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_call_of_threads_blocks_until_its_result_is_there() {
    let door = Door::new();
    let multi = of_threads(&door);
    door.open();
    assert_eq!((multi.call(0).unwrap(), multi.call(4).unwrap()), (0, 8));
    assert_eq!(multi.call_timeout(5, LONG).unwrap(), 10);
    multi.close();
    assert_eq!(multi.call(3).unwrap_err().into_argument(), Some(3));
}

#[test]
fn a_call_of_threads_whose_time_is_over_comes_back_or_is_asked_to_stop() {
    let door = Door::new();
    let multi = of_threads(&door);
    let mut running = 0;
    while running < 2 {
        match multi.call_timeout(1, SHORT).unwrap_err() {
            CallError::TimedOut => running += 1,
            // The time was over before a worker took the call.
            error => assert_eq!(error.into_argument(), Some(1)),
        }
    }
    door.await_waiting(2);
    let late = multi.call_timeout(3, SHORT).unwrap_err();
    assert!(matches!(&late, CallError::Refused(error) if error.reason() == Refused::TimedOut));
    assert_eq!(late.into_argument(), Some(3), "there was no place");
    door.open();
    multi.drain().unwrap();
    assert_eq!(multi.stats().completed, 2);
}

#[tokio::test]
async fn calls_of_threads_are_awaited_for_a_time_or_without_a_wait() {
    let door = Door::new();
    let multi = of_threads(&door);
    assert_eq!(multi.try_call_async(0).await.unwrap(), 0);
    assert_eq!(multi.call_within(0, LONG).await.unwrap(), 0);
    let held = [multi.spawn(1).unwrap(), multi.spawn(1).unwrap()];
    assert_eq!(multi.try_call_async(7).await.unwrap_err().into_argument(), Some(7));
    assert_eq!(multi.call_within(8, SHORT).await.unwrap_err().into_argument(), Some(8));
    door.open();
    for handle in held {
        assert_eq!(handle.await.unwrap(), 2);
    }
}

#[tokio::test]
async fn calls_of_futures_are_awaited_for_a_time_or_without_a_wait() {
    let multi = of_futures();
    assert_eq!(multi.call(0).await.unwrap(), 0);
    assert_eq!(multi.call_timeout(0, LONG).await.unwrap(), 0);
    assert_eq!(multi.try_call_async(0).await.unwrap(), 0);
    assert_eq!(multi.call_within(0, LONG).await.unwrap(), 0);
    assert!(matches!(multi.call_timeout(1, SHORT).await, Err(CallError::TimedOut)));
    let held = [multi.spawn(1).await.unwrap(), multi.spawn(1).await.unwrap()];
    assert_eq!(multi.try_call_async(7).await.unwrap_err().into_argument(), Some(7));
    assert_eq!(multi.call_within(8, SHORT).await.unwrap_err().into_argument(), Some(8));
    assert!(held.iter().all(JoinHandle::cancel));
    // Dropped, a call is cancelled.
    assert!(tokio::time::timeout(SHORT, multi.call(1)).await.is_err());
    multi.drain().await.unwrap();
    assert_eq!(multi.stats().busy, 0);
}

#[test]
fn a_task_is_spawned_when_there_is_a_place() {
    let door = Door::new();
    let multi = of_threads(&door);
    let held = [multi.spawn(1).unwrap(), multi.spawn(1).unwrap()];
    let waiting = multi.spawn_async(4);
    let thread = std::thread::spawn(move || block_on(waiting).unwrap().join().unwrap());
    eventually("it waits for a place", || multi.waiting() == 1);
    door.open();
    assert_eq!(crate::common::join(thread), 8);
    held.into_iter().for_each(|handle| assert_eq!(handle.join().unwrap(), 2));
    multi.close();
    assert_eq!(block_on(multi.spawn_async(5)).unwrap_err().into_task(), 5);
}
