//! Limits that are changed while a pool works, on every kind of pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::common::{block_on, eventually, join};
use crate::counting;
use crate::hold::{Hold, OpenAtLast};
use crate::kinds::{Kind, Plan};

/// A larger queue lets waiting submitters in, a smaller one keeps what is queued and lets no more in.
fn the_bound_of_the_queue_changes_while_the_pool_works<K: Kind>() {
    let (pool, hold, ran) = (K::build(&Plan::new(1, 0)), Hold::default(), Arc::default());
    let _open = OpenAtLast(&hold);
    pool.hold_each(&hold, 1);
    hold.await_waiting(K::SHARDS);
    let submit = |_| {
        let (pool, task) = (pool.clone(), counting(&ran));
        thread::spawn(move || block_on(pool.submit(task)).is_ok())
    };
    let submitters: Vec<_> = (0..4).map(submit).collect();
    eventually("four wait", || pool.stats().waiting == 4);
    pool.set_queue(4);
    submitters.into_iter().for_each(|submitter| assert!(join(submitter)));
    assert_eq!((pool.stats().queued, pool.stats().waiting), (4, 0));
    pool.set_queue(0);
    assert!(pool.try_submit(counting(&ran)).is_err(), "no more come in");
    assert_eq!(pool.stats().queued, 4, "what is queued stays");
    hold.open();
    assert!(block_on(pool.drain()));
    assert_eq!(ran.load(Ordering::SeqCst), 4);
}
on_every_pool!(the_bound_of_the_queue_changes_while_the_pool_works);

/// A pool with no room for waiters refuses, and accepts them after the limit was raised.
fn the_number_of_waiters_changes_while_the_pool_works<K: Kind>() {
    let (pool, hold, ran) = (K::build(&Plan::new(1, 0)), Hold::default(), Arc::default());
    let _open = OpenAtLast(&hold);
    pool.hold_each(&hold, 1);
    hold.await_waiting(K::SHARDS);
    pool.set_waiters(0);
    assert!(block_on(pool.submit(counting(&ran))).is_err(), "none may wait");
    pool.set_waiters(1);
    let (other, task) = (pool.clone(), counting(&ran));
    let submitter = thread::spawn(move || block_on(other.submit(task)).is_ok());
    eventually("one waits", || pool.stats().waiting == 1);
    hold.open();
    assert!(join(submitter));
    assert!(block_on(pool.drain()));
    assert_eq!(AtomicUsize::load(&ran, Ordering::SeqCst), 1);
}
on_every_pool!(the_number_of_waiters_changes_while_the_pool_works);
