//! One driver is enough for short polls, and nobody is left waiting when it is not.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

use crate::common::on_tokio::{runtime, watch_for};
use crate::common::{self, Door};
use formic::AsyncPool;
use tokio::runtime::Runtime;

/// How many futures keep a pool busy.
const SPINNERS: usize = 100;

/// Whose threads they are.
#[derive(Clone, Copy, Debug)]
enum Ground {
    Runtime,
    OwnThreads,
}

/// Does a test on either.
#[track_caller]
fn on_either(test: fn(Ground)) {
    for ground in [Ground::Runtime, Ground::OwnThreads] {
        watch_for(4 * common::PATIENCE, move || test(ground));
    }
}

/// A pool on two threads with futures that do nothing but yield, until they are told to end.
struct Busy {
    runtime: Runtime,
    pool: AsyncPool,
    to_end: Arc<AtomicUsize>,
}

impl Busy {
    fn new(ground: Ground, workers: usize, queue: usize) -> Self {
        let (runtime, to_end) = (runtime(2), Arc::new(AtomicUsize::new(0)));
        let pool = AsyncPool::builder().workers(workers).queue(queue);
        let pool = match ground {
            Ground::Runtime => pool.runtime(runtime.handle().clone()),
            Ground::OwnThreads => pool.own_threads(2),
        };
        let busy = Busy { runtime, pool: pool.build().unwrap(), to_end };
        (0..SPINNERS).for_each(|_| busy.pool.blocking_submit(busy.spinner()).unwrap());
        // A debug build's polls may be too long for one driver. Then all of them help, which is as good.
        #[cfg(all(target_os = "linux", not(debug_assertions)))]
        common::eventually("one driver is enough", || lookouts() > 0);
        busy
    }

    fn spinner(&self) -> impl Future<Output = ()> + Send + 'static {
        let to_end = Arc::clone(&self.to_end);
        let less = |left: usize| left.checked_sub(1);
        async move {
            while to_end.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err() {
                step().await;
            }
        }
    }

    fn end(&self, spinners: usize) {
        self.to_end.fetch_add(spinners, Ordering::Relaxed);
    }

    fn finish(self) {
        self.end(SPINNERS);
        self.runtime.block_on(self.pool.drain()).unwrap();
        assert!(self.pool.stats().adds_up());
    }
}

/// Ready again at once. Unlike `yield_now`, which leaves that to the thread it was polled on: if another
/// future blocks that one, nobody hears of it.
async fn step() {
    let mut again = true;
    poll_fn(|context| match std::mem::take(&mut again) {
        true => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
        false => Poll::Ready(()),
    })
    .await;
}

#[cfg(all(target_os = "linux", not(debug_assertions)))]
fn lookouts() -> usize {
    common::threads_named("formic-lookout")
}

#[test]
fn a_ready_future_does_not_wait_for_one_that_blocks() {
    on_either(|ground| {
        let busy = Busy::new(ground, 2 * SPINNERS, SPINNERS);
        for _ in 0..20 {
            let (door, blocks) = (Door::new(), Arc::new(AtomicBool::new(false)));
            let (opens, blocked) = (door.clone(), Arc::clone(&blocks));
            let is_ready = busy.pool.try_spawn(async move {
                while !blocked.load(Ordering::Relaxed) {
                    step().await;
                }
                opens.open();
            });
            let blocks = busy.pool.try_spawn(async move {
                blocks.store(true, Ordering::Relaxed);
                door.wait();
            });
            is_ready.unwrap().join().unwrap();
            blocks.unwrap().join().unwrap();
        }
        busy.finish();
    });
}

#[test]
fn a_new_future_does_not_wait_for_one_that_blocks() {
    on_either(|ground| {
        let busy = Busy::new(ground, 2 * SPINNERS, SPINNERS);
        for _ in 0..20 {
            let waits = Door::new();
            let its = waits.clone();
            let blocks = busy.pool.try_spawn(async move { its.wait() }).unwrap();
            waits.await_waiting(1);
            let opens = busy.pool.try_spawn(async move { waits.open() }).unwrap();
            opens.join().unwrap();
            blocks.join().unwrap();
        }
        busy.finish();
    });
}

#[test]
fn a_submitter_gets_its_place_although_a_future_blocks() {
    on_either(|ground| {
        let busy = Busy::new(ground, SPINNERS + 1, 0);
        for _ in 0..20 {
            let waits = Door::new();
            let its = waits.clone();
            let blocks = busy.pool.spawn(async move { its.wait() });
            let blocks = busy.runtime.block_on(blocks).unwrap();
            waits.await_waiting(1);
            // The pool is full until one of the others has been polled.
            busy.end(1);
            busy.pool.blocking_submit(async move { waits.open() }).unwrap();
            blocks.join().unwrap();
            busy.pool.blocking_submit(busy.spinner()).unwrap();
        }
        busy.finish();
    });
}
