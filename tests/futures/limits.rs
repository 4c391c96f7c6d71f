//! The limits of a working pool of futures.

use std::time::Duration;

use crate::common::on_tokio::{Stop, drained, on_both, small, soon};

#[test]
fn a_larger_queue_lets_waiting_submissions_in() {
    on_both(|| async {
        let (pool, stop) = (small(1, 0), Stop::new());
        pool.submit(stop.task()).await.unwrap();
        stop.have_come(1).await;
        let waits = tokio::spawn(pool.submit(async {}));
        let watched = pool.clone();
        soon("it waits", move || watched.stats().waiting == 1).await;
        pool.set_queue(1).unwrap();
        waits.await.unwrap().unwrap();
        assert_eq!(pool.stats().queued, 1);
        pool.set_waiters(0);
        assert!(pool.submit(async {}).await.is_err(), "no submission may wait");
        stop.open();
        assert_eq!(drained(&pool).await.completed, 2);
    });
}

#[test]
fn what_a_builder_of_futures_refuses_is_refused() {
    on_both(|| async {
        let pool = small(2, 0);
        assert_eq!(pool.set_minimum(1).unwrap_err().setting(), Some("workers"));
        pool.set_minimum(0).unwrap();
        let error = pool.set_keep_alive(Duration::from_secs(1)).unwrap_err();
        assert_eq!(error.setting(), Some("keep_alive"));
    });
}

#[test]
fn a_pull_uses_the_capacity_of_a_pool_whose_queue_has_no_bound() {
    on_both(|| async {
        let pool = formic::AsyncPool::builder().workers(3).queue_unbounded().build().unwrap();
        let stop = Stop::new();
        let (inner, its) = (pool.clone(), stop.clone());
        let pull = tokio::spawn(async move {
            inner.for_each(0..3, move |_| its.task()).await.unwrap();
        });
        stop.have_come(3).await;
        stop.open();
        pull.await.unwrap();
        drained(&pool).await;
    });
}
