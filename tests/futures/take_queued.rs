//! Arguments whose call has not started come back.

use std::sync::Arc;

use formic::{AsyncFnPool, Balance, JoinError, Multi};
use tokio::sync::Semaphore;

use crate::common::eventually;

/// A pool of one place, whose function waits for the door.
fn pool(door: &Arc<Semaphore>) -> AsyncFnPool<u32, u32> {
    let door = Arc::clone(door);
    let function = move |number| {
        let door = Arc::clone(&door);
        async move {
            drop(door.acquire().await);
            number
        }
    };
    AsyncFnPool::builder().workers(1).queue(4).build(function).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_that_have_not_started_come_back_in_their_order() {
    let door = Arc::new(Semaphore::new(0));
    let pool = pool(&door);
    let first = pool.spawn(0).await.unwrap();
    eventually("it runs", || pool.stats().busy == 1);
    pool.submit(1).await.unwrap();
    let handle = pool.spawn(2).await.unwrap();
    assert_eq!(pool.take_queued(), [1, 2]);
    assert!(matches!(handle.await, Err(JoinError::Cancelled)));
    let last = pool.spawn(3).await.unwrap();
    door.add_permits(1);
    assert_eq!((first.await.unwrap(), last.await.unwrap()), (0, 3));
    pool.drain().await.unwrap();
    assert_eq!((pool.stats().completed, pool.stats().cancelled), (2, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_multi_gives_back_what_all_shards_have_queued() {
    let door = Arc::new(Semaphore::new(0));
    let multi = Multi::new(2, Balance::RoundRobin, || pool(&door));
    for number in 0..2 {
        multi.submit(number).await.unwrap();
    }
    eventually("both run", || multi.stats().busy == 2);
    for number in 2..6 {
        multi.submit(number).await.unwrap();
    }
    let mut taken = multi.take_queued();
    taken.sort_unstable();
    assert_eq!(taken, [2, 3, 4, 5]);
    door.add_permits(1);
    multi.drain().await.unwrap();
    assert_eq!(multi.stats().completed, 2);
}
