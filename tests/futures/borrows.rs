//! The futures that wait for an end, or for a permit that is kept, borrow nothing, and do not keep their pool open.

use std::time::Duration;

use formic::{AsyncFnPool, AsyncPool, Balance, Control, Multi, Pool, Semaphore};

use crate::common::on_tokio::{Stop, on_both, small};

/// Compiles only for what can be spawned on a runtime.
fn spawnable<F: Future + Send + 'static>(future: F) -> F {
    future
}

const LONG: Duration = Duration::from_secs(60);

macro_rules! waits_of {
    ($pool:expr) => {{
        let pool = $pool;
        drop(spawnable(pool.wait_idle()));
        drop(spawnable(pool.wait_idle_async()));
        drop(spawnable(pool.drain()));
        drop(spawnable(pool.drain_async()));
        drop(spawnable(pool.drain_timeout(LONG)));
        drop(spawnable(pool.shutdown(LONG)));
        drop(spawnable(pool.shutdown_async(LONG)));
        assert!(!pool.is_closed(), "no future was polled");
        tokio::spawn(pool.shutdown(LONG)).await.unwrap().unwrap();
        assert!(pool.is_closed());
    }};
}

#[test]
fn a_wait_for_an_end_can_be_spawned() {
    on_both(|| async {
        waits_of!(small(1, 1));
        waits_of!(AsyncFnPool::new(1, |(): ()| async {}));
        waits_of!(Multi::new(2, Balance::RoundRobin, || small(1, 1)));
        waits_of!(Multi::new(2, Balance::RoundRobin, || AsyncFnPool::new(1, |(): ()| async {})));
        let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
        tokio::spawn(multi.wait_idle_async()).await.unwrap().unwrap();
        tokio::spawn(multi.shutdown_async(LONG)).await.unwrap().unwrap();
        let semaphore = Semaphore::new(1);
        let permit = tokio::spawn(semaphore.acquire_owned_async(1)).await.unwrap().unwrap();
        assert_eq!((permit.weight(), semaphore.available()), (1, 0));
    });
}

#[test]
fn a_wait_for_an_end_does_not_keep_the_pool_open() {
    on_both(|| async {
        let stop = Stop::new();
        let pool: AsyncPool = small(1, 1);
        pool.submit(stop.task()).await.unwrap();
        let (control, idle) = (Control::clone(&pool), tokio::spawn(pool.wait_idle()));
        drop(pool);
        assert!(control.is_closed(), "the last handle was dropped");
        let multi = Multi::new(2, Balance::RoundRobin, || small(1, 1));
        multi.submit(stop.task()).await.unwrap();
        let controls: Vec<_> = multi.shards().iter().map(|shard| Control::clone(shard)).collect();
        let all_idle = tokio::spawn(multi.wait_idle());
        drop(multi);
        assert!(controls.iter().all(Control::is_closed));
        stop.open();
        idle.await.unwrap().unwrap();
        all_idle.await.unwrap().unwrap();
    });
}
