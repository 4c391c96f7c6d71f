//! A task that was taken in by the one that awaits it goes back to the line when its handle leaves.

#![cfg(feature = "tokio")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod common;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use common::on_tokio::{Stop, on_both};
use common::poll_once;
use formic::AsyncPool;
use tokio::task::yield_now;

#[test]
fn what_was_taken_in_waits_for_a_place_when_its_handle_has_left_the_task() {
    on_both(|| async {
        let (pool, stop) = (AsyncPool::builder().workers(1).queue(2).build().unwrap(), Stop::new());
        let inner = pool.clone();
        let parent = pool.spawn(async move {
            let child = async {
                yield_now().await;
                7
            };
            let mut child = inner.try_spawn(child).unwrap();
            poll_fn(|context| {
                assert!(Pin::new(&mut child).poll(context).is_pending(), "it has begun, no more");
                Poll::Ready(())
            })
            .await;
            // Not awaited here: whoever joins this task gets the handle.
            (child,)
        });
        let (mut child,) = parent.await.unwrap().await.unwrap();
        pool.submit(stop.task()).await.unwrap();
        stop.have_come(1).await;
        for _ in 0..3 {
            assert!(poll_once(Pin::new(&mut child)).is_pending(), "another one has the place");
        }
        let stats = pool.stats();
        assert_eq!((stats.busy, stats.queued), (1, 1));
        stop.open();
        assert_eq!(child.await.unwrap(), 7);
        pool.drain().await.unwrap();
        assert!(pool.stats().adds_up());
    });
}
