//! Calls that block until futures end: refused where they would block a thread of a runtime, and at work
//! everywhere else.

use std::pin::Pin;
use std::time::Duration;

use crate::common::on_tokio::{Stop, on, on_both, runtime, small, soon, watch};
use crate::common::{PATIENCE, poll_once};
use formic::{AsyncFnPool, AsyncPool, Balance, Control, JoinError, Multi, Refused, StillRunning};
use tokio::runtime::Runtime;
use tokio::task::{block_in_place, spawn_blocking, yield_now};

/// A pool of futures on this runtime, with one place to run and no queue.
fn pool_on(runtime: &Runtime) -> AsyncPool {
    let builder = AsyncPool::builder().workers(1).queue(0);
    builder.runtime(runtime.handle().clone()).build().unwrap()
}

#[test]
fn join_is_refused_where_it_would_block_a_runtime() {
    on_both(|| async {
        let (pool, stop) = (small(2, 10), Stop::new());
        let handle = pool.spawn(stop.task()).await.unwrap();
        let error = handle.join().unwrap_err();
        assert!(matches!(error, JoinError::Refused(Refused::InRuntime)), "{error:?}");
        assert!(error.to_string().contains("`.await`"), "{error}");
        let handle = pool.spawn(stop.task()).await.unwrap();
        let error = tokio::spawn(async { handle.join().unwrap_err() }).await.unwrap();
        assert!(matches!(error, JoinError::Refused(Refused::InRuntime)), "{error:?}");
        stop.open();
        pool.drain().await.unwrap();
        assert_eq!(pool.stats().completed, 2, "a task runs on after a refused join");
    });
}

#[test]
fn a_handle_can_be_awaited_after_a_refused_join() {
    on_both(|| async {
        let (pool, stop) = (small(1, 1), Stop::new());
        let mut handle = pool.spawn(stop.task()).await.unwrap();
        assert!(handle.join_timeout(Duration::ZERO).is_none(), "this blocks nothing");
        let outcome = handle.join_timeout(PATIENCE);
        assert!(matches!(outcome, Some(Err(JoinError::Refused(Refused::InRuntime)))));
        stop.open();
        handle.await.unwrap();
    });
}

#[test]
fn a_future_that_joins_its_own_child_is_refused_and_can_await_it() {
    on_both(|| async {
        let pool = small(1, 0);
        let inner = pool.clone();
        let parent = pool.spawn(async move {
            let mut child = inner.spawn(yield_now()).await.unwrap();
            assert!(poll_once(Pin::new(&mut child)).is_pending());
            let outcome = child.join_timeout(PATIENCE);
            assert!(matches!(outcome, Some(Err(JoinError::Refused(Refused::InRuntime)))));
            child.await.unwrap();
        });
        parent.await.unwrap().await.unwrap();
    });
}

#[test]
fn join_takes_an_outcome_that_is_there_anywhere() {
    on_both(|| async {
        let pool = small(1, 1);
        let handle = pool.spawn(async { 7 }).await.unwrap();
        soon("it has ended", || handle.is_finished()).await;
        assert_eq!(handle.join().unwrap(), 7);
    });
}

#[test]
fn join_blocks_in_spawn_blocking_and_in_block_in_place() {
    on_both(|| async {
        let pool = small(1, 1);
        let handle = pool.spawn(yield_now()).await.unwrap();
        spawn_blocking(|| handle.join()).await.unwrap().unwrap();
    });
    on(2, || async {
        let pool = small(1, 1);
        let handle = pool.spawn(yield_now()).await.unwrap();
        block_in_place(|| handle.join()).unwrap();
    });
}

#[test]
fn join_blocks_on_a_thread_that_has_entered_a_runtime() {
    watch(|| {
        let runtime = runtime(1);
        let pool = pool_on(&runtime);
        let _inside = runtime.enter();
        pool.try_spawn(yield_now()).unwrap().join().unwrap();
    });
}

/// The blocking waits for an end of a pool of futures.
type Wait = fn(&Control) -> Result<(), StillRunning>;
const WAITS: [(Wait, &str); 3] = [
    (Control::blocking_wait_idle, "`wait_idle_async`"),
    (Control::blocking_drain, "`drain_async`"),
    (|pool| pool.blocking_drain_timeout(PATIENCE), "`drain_async`"),
];

#[test]
fn a_wait_for_an_end_is_refused_where_it_would_block_a_runtime() {
    on_both(|| async {
        let (pool, stop) = (small(1, 1), Stop::new());
        pool.submit(stop.task()).await.unwrap();
        pool.submit(stop.task()).await.unwrap();
        stop.have_come(1).await;
        for (wait, verb) in WAITS {
            let left = wait(&pool).unwrap_err();
            assert!(left.is_in_runtime() && !left.is_from_inside(), "{verb}");
            assert_eq!((left.running(), left.queued()), (1, 1), "{verb}");
            assert!(left.to_string().contains(verb), "{left}");
            assert!(!pool.is_closed(), "{verb}");
        }
        stop.open();
        pool.drain().await.unwrap();
    });
}

#[test]
fn a_wait_for_an_end_that_has_come_returns_anywhere() {
    on_both(|| async {
        let pool = small(1, 1);
        pool.blocking_wait_idle().unwrap();
        pool.blocking_drain().unwrap();
        assert!(pool.is_closed(), "a pool without a driver ends when it is closed");
        pool.reopen().unwrap();
        pool.submit(yield_now()).await.unwrap();
        pool.drain().await.unwrap();
        for (wait, _) in WAITS {
            wait(&pool).unwrap();
        }
    });
}

#[test]
fn a_wait_without_time_does_not_block() {
    on_both(|| async {
        let (pool, stop) = (small(1, 1), Stop::new());
        pool.submit(stop.task()).await.unwrap();
        let left = pool.blocking_drain_timeout(Duration::ZERO).unwrap_err();
        assert_eq!((left.is_in_runtime(), left.running() + left.queued()), (false, 1));
        assert!(pool.is_closed());
        stop.open();
        pool.drain().await.unwrap();
    });
}

#[test]
fn a_wait_for_an_end_blocks_in_spawn_blocking_and_in_block_in_place() {
    for (wait, _) in WAITS {
        on_both(move || async move {
            let pool = small(1, 1);
            pool.submit(yield_now()).await.unwrap();
            spawn_blocking(move || wait(&pool)).await.unwrap().unwrap();
        });
        on(2, move || async move {
            let pool = small(1, 1);
            pool.submit(yield_now()).await.unwrap();
            block_in_place(|| wait(&pool)).unwrap();
        });
    }
}

#[test]
fn a_wait_for_an_end_blocks_on_a_thread_that_has_entered_a_runtime() {
    for (wait, _) in WAITS {
        watch(move || {
            let runtime = runtime(1);
            let pool = pool_on(&runtime);
            let _inside = runtime.enter();
            pool.try_submit(yield_now()).unwrap();
            wait(&pool).unwrap();
        });
    }
}

/// Builds a pool with two places, and submits this many futures that wait at `stop`.
type Submit = fn(&Stop, futures: usize) -> Result<(), Refused>;
const SUBMITS: [Submit; 4] = [
    |stop, futures| {
        let pool = small(1, 1);
        let submit = |_| pool.blocking_submit(stop.task()).map_err(|error| error.reason());
        (0..futures).try_for_each(submit)
    },
    |stop, futures| {
        let pool = AsyncFnPool::builder().workers(1).queue(1).build(pass).unwrap();
        let submit = |_| pool.blocking_submit(stop.clone()).map_err(|error| error.reason());
        (0..futures).try_for_each(submit)
    },
    |stop, futures| {
        let multi = Multi::new(2, Balance::RoundRobin, || small(1, 0));
        let submit = |_| multi.blocking_submit(stop.task()).map_err(|error| error.reason());
        (0..futures).try_for_each(submit)
    },
    |stop, futures| {
        let make = || AsyncFnPool::builder().workers(1).queue(0).build(pass);
        let multi = Multi::try_new(2, Balance::RoundRobin, make).unwrap();
        let submit = |_| multi.blocking_submit(stop.clone()).map_err(|error| error.reason());
        (0..futures).try_for_each(submit)
    },
];

async fn pass(stop: Stop) {
    stop.pass().await;
}

#[test]
fn a_submit_is_refused_where_it_would_block_a_runtime() {
    for submit in SUBMITS {
        on_both(move || async move {
            submit(&Stop::new(), 2).expect("there are two places");
            assert_eq!(submit(&Stop::new(), 3), Err(Refused::InRuntime));
        });
    }
}

#[test]
fn a_submit_waits_in_spawn_blocking_in_block_in_place_and_where_a_runtime_was_entered() {
    for submit in SUBMITS {
        on_both(move || async move {
            let stop = Stop::new();
            stop.open();
            spawn_blocking(move || submit(&stop, 100)).await.unwrap().unwrap();
        });
        on(2, move || async move {
            let stop = Stop::new();
            stop.open();
            block_in_place(|| submit(&stop, 100)).unwrap();
        });
        watch(move || {
            let (runtime, stop) = (runtime(1), Stop::new());
            stop.open();
            let _inside = runtime.enter();
            submit(&stop, 100).unwrap();
        });
    }
}
