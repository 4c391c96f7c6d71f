//! Class 8: whoever waits for the tasks is told too early that they have ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use formic::Pool;

use crate::common::block_on;
use crate::kinds::{Kind, Plan};
use crate::{counting, rounds};

/// Submit, wait, and it has run: three hundred thousand times.
fn one_at_a_time<K: Kind>() {
    for workers in [1, 4] {
        let (pool, ran) = (K::build(&Plan::new(workers, 4)), Arc::new(AtomicUsize::new(0)));
        for round in 1..=rounds(150_000) as usize {
            block_on(pool.submit(counting(&ran))).unwrap();
            assert!(block_on(pool.wait_idle()));
            assert_eq!(ran.load(Ordering::SeqCst), round);
            assert_eq!(Arc::strong_count(&ran), 1, "what a task owned is gone with it");
        }
        assert!(block_on(pool.drain()));
    }
}
on_every_pool!(one_at_a_time);

/// Eight submit and wait at once, and what each of them submitted has run.
fn eight_joiners<K: Kind>() {
    let (pool, ran) = (K::build(&Plan::new(2, 16)), Arc::new(AtomicUsize::new(0)));
    let each = rounds(30_000) as usize;
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mine = Arc::new(AtomicUsize::new(0));
                for round in 1..=each {
                    (0..3).for_each(|_| block_on(pool.submit(counting(&mine))).unwrap());
                    block_on(pool.submit(counting(&ran))).unwrap();
                    assert!(block_on(pool.wait_idle()));
                    assert_eq!(mine.load(Ordering::SeqCst), 3 * round);
                }
            });
        }
    });
    assert!(block_on(pool.drain()));
    assert_eq!(ran.load(Ordering::SeqCst), 8 * each);
}
on_every_pool!(eight_joiners);

/// A handle that says that its task has ended tells the truth, joined or awaited.
fn handles<K: Kind>() {
    let (pool, ran) = (K::build(&Plan::new(2, 8)), Arc::new(AtomicUsize::new(0)));
    for round in 1..=rounds(150_000) as usize {
        let handle = block_on(pool.spawn(counting(&ran))).unwrap();
        let outcome = match round % 3 {
            0 => handle.join(),
            1 => block_on(handle),
            _ => {
                while !handle.is_finished() {
                    thread::yield_now();
                }
                assert_eq!(ran.load(Ordering::SeqCst), round);
                handle.join()
            }
        };
        outcome.unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), round);
        assert_eq!(Arc::strong_count(&ran), 1, "what a task owned is gone with it");
    }
    assert!(block_on(pool.drain()));
}
on_every_pool!(handles);

/// A drain returns when the last task has run, and not before.
fn drains<K: Kind>() {
    let (pool, ran) = (K::build(&Plan::new(2, 8)), Arc::new(AtomicUsize::new(0)));
    for round in 1..=rounds(3000) as usize {
        (0..3).for_each(|_| block_on(pool.submit(counting(&ran))).unwrap());
        assert!(block_on(pool.drain()));
        assert_eq!((ran.load(Ordering::SeqCst), Arc::strong_count(&ran)), (3 * round, 1));
        pool.reopen();
    }
}
on_every_pool!(drains);

/// A batch, a scope, a map and a `for_each` have waited for all of their tasks.
#[test]
fn batch_scope_and_map() {
    crate::watched("batch_scope_and_map", || {
        let (pool, ran) = (Pool::build(&Plan::new(3, 4)), Arc::new(AtomicUsize::new(0)));
        for round in 1..=rounds(30_000) as usize {
            let mut batch = pool.batch();
            for _ in 0..5 {
                let ran = Arc::clone(&ran);
                batch.spawn(move || ran.fetch_add(1, Ordering::SeqCst)).unwrap();
            }
            assert_eq!(batch.join_all().len(), 5);
            assert_eq!(ran.load(Ordering::SeqCst), 20 * round - 15);
            pool.scope(|scope| {
                for _ in 0..5 {
                    scope.submit(|| _ = ran.fetch_add(1, Ordering::SeqCst));
                }
            });
            assert_eq!(ran.load(Ordering::SeqCst), 20 * round - 10);
            let count = Arc::clone(&ran);
            assert_eq!(pool.map(0..5, move |_| count.fetch_add(1, Ordering::SeqCst)).count(), 5);
            assert_eq!(ran.load(Ordering::SeqCst), 20 * round - 5);
            pool.for_each(0..5, |_| _ = ran.fetch_add(1, Ordering::SeqCst)).unwrap();
            assert_eq!(ran.load(Ordering::SeqCst), 20 * round);
        }
    });
}
