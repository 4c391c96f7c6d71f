//! Futures that await tasks of another pool, of futures or of threads: neither waits for the other.

#![cfg(feature = "tokio")]
#![allow(clippy::async_yields_async, reason = "a task may give a handle away")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use std::time::Duration;

use common::on_tokio::{Stop, drained, on, on_both, runtime, small, watch};
use common::{PATIENCE, block_on, poll_once};
use formic::{AsyncFnPool, AsyncPool, Builder, Control, JoinHandle, OnTokio, Pool};
use futures_util::future::BoxFuture;
use tokio::runtime::Runtime;
use tokio::task::yield_now;
use tokio::time::sleep;

#[test]
fn two_pools_of_one_call_each_other() {
    fn ping(own: AsyncPool, other: AsyncPool, depth: u32) -> BoxFuture<'static, u32> {
        Box::pin(async move {
            if depth == 0 {
                return 0;
            }
            let next = ping(other.clone(), own, depth - 1);
            1 + other.spawn(next).await.unwrap().await.unwrap()
        })
    }
    on_both(|| async {
        let (one, two) = (small(1, 100), small(1, 100));
        let mut roots = Vec::new();
        for _ in 0..4 {
            roots.push(one.spawn(ping(one.clone(), two.clone(), 9)).await.unwrap());
            roots.push(two.spawn(ping(two.clone(), one.clone(), 9)).await.unwrap());
        }
        for root in roots {
            assert_eq!(root.await.unwrap(), 9);
        }
        assert_eq!(drained(&one).await.completed, 40);
        assert_eq!(drained(&two).await.completed, 40);
    });
}

#[test]
fn a_pool_drains_although_its_last_task_was_taken_in_by_another_pool() {
    on_both(|| async {
        let (one, two, stop) = (small(1, 0), small(1, 0), Stop::new());
        let (other, child) = (two.clone(), stop.task());
        let parent = one.spawn(async move { other.spawn(child).await.unwrap().await.unwrap() });
        let parent = parent.await.unwrap();
        stop.have_come(1).await;
        {
            let mut drain = Box::pin(two.drain());
            for _ in 0..50 {
                assert!(poll_once(drain.as_mut()).is_pending());
                yield_now().await;
            }
            stop.open();
            parent.await.unwrap();
            drain.await.unwrap();
        }
        assert_eq!(drained(&one).await.completed, 1);
        assert_eq!(drained(&two).await.completed, 1);
    });
}

#[test]
fn a_closure_that_a_future_awaits_does_not_run_on_the_runtime() {
    on_both(|| async {
        let (pool, threads) = (small(2, 10), Pool::builder().workers(1).name("own").build());
        let threads = threads.unwrap();
        let mut futures = Vec::new();
        for _ in 0..20 {
            let threads = threads.clone();
            let task = async move {
                let name = || std::thread::current().name().unwrap_or_default().to_owned();
                threads.spawn(name).unwrap().await.unwrap()
            };
            futures.push(pool.spawn(task).await.unwrap());
        }
        for future in futures {
            let name = future.await.unwrap();
            assert!(name.starts_with("own"), "it ran on {name}");
        }
        assert_eq!(drained(&pool).await.completed, 20);
    });
}

#[test]
fn a_thread_pools_task_joins_a_future() {
    on(2, || async {
        let (pool, threads) = (small(1, 100), Pool::new(2));
        let mut closures = Vec::new();
        for number in 0..20 {
            let future = pool.spawn(async move {
                yield_now().await;
                number
            });
            let future = future.await.unwrap();
            closures.push(threads.spawn(move || future.join().unwrap()).unwrap());
        }
        for (number, closure) in closures.into_iter().enumerate() {
            assert_eq!(closure.await.unwrap(), number);
        }
        assert_eq!(drained(&pool).await.completed, 20);
    });
}

/// A closure that joins a future whose future awaits a closure of the same pool of threads.
#[test]
fn a_future_awaits_a_closure_that_joins_a_future() {
    on(2, || async {
        let (pool, threads) = (small(1, 0), Pool::new(1));
        let (inner, one) = (pool.clone(), threads.clone());
        let outer = pool.spawn(async move {
            let closure = one.spawn(move || {
                let future = inner.try_spawn(async { 4 });
                // The pool is full, so it comes back.
                future.map(|handle| handle.join().unwrap()).map_err(|error| error.reason())
            });
            closure.unwrap().await.unwrap()
        });
        assert_eq!(outer.await.unwrap().await.unwrap(), Err(formic::Refused::Full));
        assert_eq!(drained(&pool).await.completed, 1);
        threads.drain_async().await.unwrap();
    });
}

/// A pool of one whose tasks are of two kinds.
trait Home: Clone + Send + 'static {
    fn control(&self) -> &Control;
    fn hold(&self, stop: &Stop);
    fn nap(&self) -> JoinHandle<()>;
}

const NAP: Duration = Duration::from_millis(20);

impl Home for AsyncPool {
    fn control(&self) -> &Control {
        self
    }
    fn hold(&self, stop: &Stop) {
        self.blocking_submit(stop.task()).unwrap();
    }
    fn nap(&self) -> JoinHandle<()> {
        self.try_spawn(async { sleep(NAP).await }).unwrap()
    }
}

/// Its function makes the timer, and its future only awaits that.
impl Home for AsyncFnPool<Option<Stop>, ()> {
    fn control(&self) -> &Control {
        self
    }
    fn hold(&self, stop: &Stop) {
        self.blocking_submit(Some(stop.clone())).unwrap();
    }
    fn nap(&self) -> JoinHandle<()> {
        self.try_spawn(None).unwrap()
    }
}

fn hold_or_nap(stop: Option<Stop>) -> BoxFuture<'static, ()> {
    match stop {
        Some(stop) => Box::pin(stop.task()),
        None => Box::pin(sleep(NAP)),
    }
}

/// A task of the full pool `home` is begun by a task of `away`, which gives its handle away and ends, and with it
/// all that `away` has, by `end`. It goes on at home by the timer that it has begun with.
fn goes_on_at_home(home: &impl Home, away: AsyncPool, end: impl FnOnce(AsyncPool)) {
    let stop = Stop::new();
    home.hold(&stop);
    block_on(stop.have_come(1));
    let its = home.clone();
    let parent = away.try_spawn(async move {
        let mut handle = Box::pin(its.nap());
        assert!(poll_once(handle.as_mut()).is_pending(), "it is begun here");
        handle
    });
    let handle = parent.unwrap().join().unwrap();
    end(away);
    assert_eq!(home.control().busy(), 2, "it is taken in by its handle");
    stop.open();
    block_on(handle).unwrap();
    home.control().drain().unwrap();
}

#[test]
fn a_task_has_the_timers_of_its_own_pool_although_another_began_with_it() {
    fn own_thread<P: OnTokio>(builder: Builder<P>) -> Builder<P> {
        builder.workers(1).own_threads(1)
    }
    watch(|| {
        let pool = || own_thread(AsyncPool::builder()).build().unwrap();
        let drain = |away: AsyncPool| Control::drain(&away).unwrap();
        goes_on_at_home(&pool(), pool(), drain);
        let calls = own_thread(AsyncFnPool::builder()).build(hold_or_nap).unwrap();
        goes_on_at_home(&calls, pool(), drain);

        let on =
            |runtime: &Runtime| AsyncPool::builder().workers(1).runtime(runtime.handle().clone());
        let (stays, ends) = (runtime(2), runtime(2));
        let home = on(&stays).build().unwrap();
        goes_on_at_home(&home, pool(), drain);
        home.reopen().unwrap();
        let away = on(&ends).build().unwrap();
        goes_on_at_home(&home, away, move |_| ends.shutdown_timeout(PATIENCE));
    });
}
