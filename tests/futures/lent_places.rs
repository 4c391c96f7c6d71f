//! A task that awaits another task lends its place: on pools of futures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::common::on_tokio::{Stop, drained, on, on_both, small};
use crate::common::poll_once;
use formic::{AsyncFnPool, AsyncPool, Pool};
use futures_util::future::{BoxFuture, join_all};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

/// Counts how many run at once, and the most there were.
#[derive(Clone, Default)]
struct Gauge(Arc<(AtomicUsize, AtomicUsize)>);

impl Gauge {
    async fn run(self) {
        let now = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(now, Ordering::SeqCst);
        for _ in 0..4 {
            yield_now().await;
        }
        sleep(Duration::from_millis(1)).await;
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }

    fn most(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

#[test]
fn eight_that_await_do_not_break_the_capacity_of_one() {
    on_both(|| async {
        let (eight, one, gauge) = (small(8, 8), small(1, 8), Gauge::default());
        let mut waiting = Vec::new();
        for _ in 0..8 {
            let (one, gauge) = (one.clone(), gauge.clone());
            let task = async move { one.spawn(gauge.run()).await.unwrap().await.unwrap() };
            waiting.push(eight.spawn(task).await.unwrap());
        }
        for task in waiting {
            task.await.unwrap();
        }
        assert_eq!(gauge.most(), 1);
        assert_eq!(drained(&one).await.completed, 8);
    });
}

#[test]
fn eight_that_call_do_not_break_the_capacity_of_one() {
    on_both(|| async {
        let (eight, gauge) = (small(8, 8), Gauge::default());
        let its = gauge.clone();
        let one = AsyncFnPool::builder().workers(1).build(move |()| its.clone().run()).unwrap();
        let mut waiting = Vec::new();
        for _ in 0..8 {
            let one = one.clone();
            let task = async move { one.call(()).await.unwrap() };
            waiting.push(eight.spawn(task).await.unwrap());
        }
        for task in waiting {
            task.await.unwrap();
        }
        assert_eq!(gauge.most(), 1);
    });
}

#[test]
fn eight_threads_that_join_do_not_break_the_capacity_of_one() {
    on(2, || async {
        let (eight, one, gauge) = (Pool::new(8), small(1, 8), Gauge::default());
        let mut waiting = Vec::new();
        for _ in 0..8 {
            let child = one.spawn(gauge.clone().run()).await.unwrap();
            waiting.push(eight.spawn(move || child.join().unwrap()).unwrap());
        }
        for task in waiting {
            task.await.unwrap();
        }
        assert_eq!(gauge.most(), 1);
    });
}

/// A chain of futures, each of which awaits the next.
fn chain(pool: AsyncPool, depth: usize) -> BoxFuture<'static, usize> {
    Box::pin(async move {
        if depth == 0 {
            return 0;
        }
        let next = chain(pool.clone(), depth - 1);
        1 + pool.spawn(next).await.unwrap().await.unwrap()
    })
}

#[test]
fn a_chain_of_a_hundred_thousand_that_await_each_other_ends() {
    on(2, || async {
        let pool = small(1, 1);
        let root = pool.spawn(chain(pool.clone(), 100_000)).await.unwrap();
        assert_eq!(root.await.unwrap(), 100_000);
        assert_eq!(drained(&pool).await.completed, 100_001);
    });
}

#[test]
fn a_chain_of_calls_ends() {
    on(2, || async {
        static POOL: std::sync::OnceLock<AsyncFnPool<usize, usize>> = std::sync::OnceLock::new();
        async fn count(depth: usize) -> usize {
            if depth == 0 {
                return 0;
            }
            1 + POOL.get().unwrap().call(depth - 1).await.unwrap()
        }
        POOL.set(AsyncFnPool::builder().workers(1).build(count).unwrap()).ok();
        assert_eq!(POOL.get().unwrap().call(10_000).await.unwrap(), 10_000);
    });
}

/// How long a task takes that awaits so many children of its pool together.
async fn await_together(workers: usize, children: usize) -> Duration {
    let pool = small(workers, 4);
    let inner = pool.clone();
    let parent = async move {
        let begin = Instant::now();
        let mut handles = Vec::new();
        for number in 0..children {
            handles.push(inner.spawn(async move { number }).await.unwrap());
        }
        let sum: usize = join_all(handles).await.into_iter().map(Result::unwrap).sum();
        assert_eq!(sum, children * (children - 1) / 2);
        begin.elapsed()
    };
    let took = pool.spawn(parent).await.unwrap().await.unwrap();
    assert_eq!(drained(&pool).await.completed, 1 + children as u64);
    took
}

#[test]
fn a_task_awaits_eight_thousand_children_of_its_full_pool_together() {
    on_both(|| async {
        // Were the work quadratic, this would take minutes.
        let full = await_together(1, 8_000).await;
        let free = await_together(10_000, 8_000).await;
        println!("full {full:?}, with free places {free:?}");
    });
}

#[test]
fn an_awaited_task_starts_in_the_place_of_the_one_that_awaits_it_and_no_other_does() {
    on_both(|| async {
        let (pool, stop) = (small(1, 10), Stop::new());
        let (inner, child) = (pool.clone(), stop.task());
        let unrelated = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&unrelated);
        let parent = pool.spawn(async move {
            let count = async move { _ = seen.fetch_add(1, Ordering::SeqCst) };
            inner.submit(count).await.unwrap();
            inner.spawn(child).await.unwrap().await.unwrap();
        });
        let parent = parent.await.unwrap();
        stop.have_come(1).await;
        let stats = pool.stats();
        assert_eq!((stats.busy, stats.queued), (2, 1), "the parent, its child, and the other one");
        assert_eq!(unrelated.load(Ordering::SeqCst), 0);
        stop.open();
        parent.await.unwrap();
        assert_eq!(drained(&pool).await.completed, 3);
    });
}

#[test]
fn a_task_that_awaits_leaves_the_other_places_free() {
    on_both(|| async {
        let (pool, stop) = (small(2, 10), Stop::new());
        let (inner, child) = (pool.clone(), stop.task());
        // The second place is taken when the child comes, so that it starts in a lent one.
        let (held, door) = (Stop::new(), Stop::new());
        pool.submit(held.task()).await.unwrap();
        held.have_come(1).await;
        let parent = pool
            .spawn(async move { inner.spawn(child).await.unwrap().await.unwrap() })
            .await
            .unwrap();
        stop.have_come(1).await;
        held.open();
        pool.submit(door.task()).await.unwrap();
        door.have_come(1).await;
        stop.open();
        door.open();
        parent.await.unwrap();
        assert_eq!(drained(&pool).await.completed, 4);
    });
}

#[test]
fn a_task_that_stops_awaiting_runs_beside_its_child_and_nothing_else_starts() {
    on_both(|| async {
        let (pool, stop, parent_stop) = (small(1, 10), Stop::new(), Stop::new());
        let (inner, child, goes_on) = (pool.clone(), stop.task(), parent_stop.task());
        let parent = pool.spawn(async move {
            let child = inner.spawn(child).await.unwrap();
            assert!(timeout(Duration::from_millis(5), child).await.is_err(), "the child is held");
            goes_on.await;
        });
        let parent = parent.await.unwrap();
        parent_stop.have_come(1).await;
        stop.have_come(1).await;
        let mut other = pool.spawn(async {}).await.unwrap();
        for _ in 0..20 {
            assert!(poll_once(std::pin::pin!(&mut other)).is_pending());
            yield_now().await;
        }
        assert_eq!((pool.stats().busy, pool.stats().queued), (2, 1));
        parent_stop.open();
        parent.await.unwrap();
        for _ in 0..20 {
            yield_now().await;
        }
        assert!(!other.is_finished(), "the child has the place");
        stop.open();
        other.await.unwrap();
        assert_eq!(drained(&pool).await.completed, 3);
    });
}

#[test]
fn the_child_of_a_cancelled_task_that_awaited_it_runs_on() {
    on_both(|| async {
        let (pool, stop) = (small(1, 10), Stop::new());
        let (inner, child) = (pool.clone(), stop.task());
        let parent = pool
            .spawn(async move { inner.spawn(child).await.unwrap().await.unwrap() })
            .await
            .unwrap();
        stop.have_come(1).await;
        assert!(parent.cancel());
        parent.await.unwrap_err();
        stop.open();
        let stats = drained(&pool).await;
        assert_eq!((stats.completed, stats.cancelled), (1, 1));
    });
}

#[test]
fn a_queued_child_in_a_lent_place_can_be_cancelled_and_discarded() {
    on_both(|| async {
        for discard in [false, true] {
            let (pool, held) = (small(1, 10), Stop::new());
            pool.submit(held.task()).await.unwrap();
            held.have_come(1).await;
            let other = small(1, 10);
            let child = pool.spawn(async {}).await.unwrap();
            // A task of another pool awaits it. There is no lent place for it.
            let waiting = other.spawn(child).await.unwrap();
            yield_now().await;
            if discard {
                assert_eq!(pool.discard(), 1);
            } else {
                assert!(waiting.cancel());
            }
            held.open();
            drop(waiting.await);
            let stats = drained(&pool).await;
            assert_eq!(stats.completed + stats.cancelled, 2);
        }
    });
}
