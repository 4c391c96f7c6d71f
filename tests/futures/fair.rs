//! One future that takes its time in `poll` holds up nobody, as long as the runtime has a thread left.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::common::Door;
use crate::common::on_tokio::{Stop, on, small, soon};
use tokio::sync::Notify;
use tokio::task::yield_now;

/// Lets others run once. Tokio's `yield_now` is no good where its thread blocks next: it wakes the task
/// only when that thread comes back.
async fn turn() {
    let mut woken = false;
    poll_fn(move |context| {
        if std::mem::replace(&mut woken, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Blocks so many threads of the runtime, and returns when they are.
fn plug(door: &Door, threads: usize) {
    for _ in 0..threads {
        let door = door.clone();
        drop(tokio::spawn(async move { door.wait() }));
    }
    door.await_waiting(threads);
}

#[test]
fn futures_behind_one_that_blocks_are_polled_by_others() {
    on(2, || async {
        let (pool, door) = (small(1000, 1000), Door::new());
        let blocks = door.clone();
        pool.submit(async move { blocks.wait() }).await.unwrap();
        for _ in 0..500 {
            pool.submit(yield_now()).await.unwrap();
        }
        soon("the others end", || pool.stats().completed == 500).await;
        assert_eq!(pool.busy(), 1);
        door.open();
        pool.drain().await.unwrap();
    });
}

/// The first driver takes all of them at once, and nobody else has been started.
#[test]
fn futures_taken_together_with_one_that_blocks_are_polled_by_others() {
    on(2, || async {
        let (pool, door, plugs) = (small(1000, 1000), Door::new(), Door::new());
        plug(&plugs, 2);
        let blocks = door.clone();
        pool.submit(async move { blocks.wait() }).await.unwrap();
        for _ in 0..20 {
            pool.submit(yield_now()).await.unwrap();
        }
        plugs.open();
        door.await_waiting(1);
        soon("the others end", || pool.stats().completed == 20).await;
        door.open();
        pool.drain().await.unwrap();
    });
}

#[test]
fn futures_woken_together_with_one_that_blocks_are_polled_by_others() {
    on(2, || async {
        let (pool, door, wake) = (small(1000, 1000), Door::new(), Arc::new(Notify::new()));
        let came = Arc::new(AtomicUsize::new(0));
        for number in 0..100 {
            let (door, wake, came) = (door.clone(), Arc::clone(&wake), Arc::clone(&came));
            let task = async move {
                let notified = wake.notified();
                came.fetch_add(1, Ordering::SeqCst);
                notified.await;
                if number == 50 {
                    door.wait();
                }
                turn().await;
            };
            pool.submit(task).await.unwrap();
        }
        soon("all wait", || came.load(Ordering::SeqCst) == 100).await;
        for _ in 0..100 {
            yield_now().await;
        }
        wake.notify_waiters();
        soon("the others end", || pool.stats().completed == 99).await;
        door.open();
        pool.drain().await.unwrap();
    });
}

/// A future that has ended frees its place, also if the next one on the same thread blocks.
#[test]
fn the_place_of_a_future_that_ended_is_free_while_another_blocks() {
    on(2, || async {
        let (pool, stop) = (small(2, 10), Stop::new());
        let (door, plugs) = (Door::new(), Door::new());
        let (ends, blocks, at, held) = (stop.task(), door.clone(), stop.clone(), door.clone());
        pool.submit(ends).await.unwrap();
        pool.submit(async move {
            at.pass().await;
            blocks.wait();
        })
        .await
        .unwrap();
        stop.have_come(2).await;
        let ran = pool.spawn(async { 1 }).await.unwrap();
        assert_eq!(pool.queued(), 1);
        // One driver polls both.
        plug(&plugs, 1);
        stop.open();
        held.await_waiting(1);
        plugs.open();
        assert_eq!(ran.await.unwrap(), 1);
        door.open();
        pool.drain().await.unwrap();
    });
}

/// A future that always wakes itself gets its turns, and so do the others, in and out of the pool.
#[test]
fn futures_that_never_rest_leave_turns_for_others() {
    for threads in [0, 2] {
        on(threads, || async {
            let (pool, over) = (small(8, 1000), Arc::new(AtomicUsize::new(0)));
            for _ in 0..4 {
                let over = Arc::clone(&over);
                let restless = async move {
                    while over.load(Ordering::SeqCst) == 0 {
                        yield_now().await;
                    }
                };
                pool.submit(restless).await.unwrap();
            }
            for number in 0..100 {
                let sum = pool.spawn(async move {
                    yield_now().await;
                    number
                });
                assert_eq!(sum.await.unwrap().await.unwrap(), number);
                tokio::spawn(yield_now()).await.unwrap();
            }
            over.store(1, Ordering::SeqCst);
            pool.drain().await.unwrap();
            assert_eq!(pool.stats().completed, 104);
        });
    }
}

#[test]
fn futures_begin_in_the_order_they_were_submitted() {
    on(0, || async {
        let (pool, order) = (small(3, 1000), Arc::new(std::sync::Mutex::new(Vec::new())));
        for number in 0..200 {
            let order = Arc::clone(&order);
            let task = async move {
                order.lock().unwrap().push(number);
                yield_now().await;
            };
            pool.submit(task).await.unwrap();
        }
        pool.drain().await.unwrap();
        assert_eq!(*order.lock().unwrap(), (0..200).collect::<Vec<_>>());
    });
}

/// Each is longer than a driver's turn, so it lets go of the thread after each one, once it knows.
#[test]
fn futures_that_take_long_leave_turns_for_others_one_by_one() {
    const FUTURES: usize = 200;
    on(0, || async {
        let (pool, ran) = (small(4, FUTURES), Arc::new(AtomicUsize::new(0)));
        for _ in 0..FUTURES {
            let ran = Arc::clone(&ran);
            let long = async move {
                let began = Instant::now();
                while began.elapsed() < Duration::from_millis(1) {}
                ran.fetch_add(1, Ordering::SeqCst);
            };
            pool.try_submit(long).unwrap();
        }
        let mut turns = 0;
        while ran.load(Ordering::SeqCst) < FUTURES {
            yield_now().await;
            turns += 1;
        }
        assert!(turns > FUTURES / 2, "{turns} turns beside {FUTURES} futures");
    });
}
