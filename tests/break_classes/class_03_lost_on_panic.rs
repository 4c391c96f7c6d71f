//! Class 3: a panic takes a worker or a place with it.

use std::panic::panic_any;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread;

use formic::TaskPanic;

use crate::common::{block_on, eventually, join};
use crate::hold::Hold;
use crate::kinds::{Job, Kind, Plan};
use crate::{counting, rounds};

/// Panics when it is dropped, once.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("in drop");
        }
    }
}

/// Ready at once; what it owns panics when it is dropped after that.
struct DropsLate(#[allow(dead_code, reason = "it is there to be dropped")] Bomb);

impl Future for DropsLate {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

/// One of the ways in which a task can panic.
fn panics(way: u64) -> Job {
    match way % 4 {
        0 => Box::pin(async { panic!("in the task") }),
        1 => {
            let bomb = Bomb;
            Box::pin(async move { drop(bomb) })
        }
        2 => Box::pin(DropsLate(Bomb)),
        _ => Box::pin(async { panic_any(Bomb) }),
    }
}

/// All places of the pool are there: so many tasks run at once.
#[track_caller]
fn assert_all_work<K: Kind>(pool: &K, workers: usize) {
    let hold = Hold::default();
    pool.hold_each(&hold, workers);
    hold.await_waiting(workers * K::SHARDS);
    hold.open();
    assert!(block_on(pool.wait_idle()));
}

/// Ten thousand panics on two workers, with submitters that wait for a place; and the hook panics, too.
fn ten_thousand_panics<K: Kind>() {
    let (told, ran) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&told);
    let on_panic = Arc::new(move |_: &TaskPanic| {
        assert!(count.fetch_add(1, Ordering::SeqCst) % 2 == 0, "in the hook");
    });
    let pool = K::build(&Plan { on_panic, ..Plan::new(2, 2) });
    let each = rounds(10_000) / 4;
    let submit = || {
        for number in 0..each {
            block_on(pool.submit(panics(number))).unwrap();
            if number % 20 == 0 {
                block_on(pool.submit(counting(&ran))).unwrap();
            }
        }
    };
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(submit))));
    assert_all_work(&pool, 2);
    assert!(block_on(pool.drain()));
    let (stats, good) = (pool.stats(), ran.load(Ordering::SeqCst) as u64);
    assert_eq!((stats.panicked, stats.completed), (4 * each, good + 2 * K::SHARDS as u64));
    assert_eq!(good, 4 * each.div_ceil(20));
    assert_eq!(told.load(Ordering::SeqCst), 4 * each);
    assert!(stats.adds_up(), "{stats:?}");
}
on_every_pool!(ten_thousand_panics);

/// The panic is in the handle, and the hook hears nothing of it.
fn the_handle_has_the_panic<K: Kind>() {
    let on_panic = Arc::new(|_: &TaskPanic| unreachable!("there is a handle"));
    let pool = K::build(&Plan { on_panic, ..Plan::new(2, 2) });
    for number in 0..rounds(10_000) {
        let handle = block_on(pool.spawn(panics(number))).unwrap();
        let error = handle.join().unwrap_err();
        assert!(error.is_panic());
        // The payload may be one of the bombs, which own no memory.
        let payload = error.into_panic().unwrap().into_payload();
        payload.downcast::<Bomb>().map_or_else(drop, std::mem::forget);
    }
    assert_all_work(&pool, 2);
    assert!(block_on(pool.drain()));
    assert_eq!(pool.stats().panicked, rounds(10_000));
}
on_every_pool!(the_handle_has_the_panic);

/// What is discarded is dropped, and panics in that.
fn what_is_discarded_may_panic<K: Kind>() {
    for _ in 0..rounds(500) {
        let (pool, hold) = (K::build(&Plan::new(1, 8)), Hold::default());
        pool.hold_each(&hold, 1);
        hold.await_waiting(K::SHARDS);
        (0..8).for_each(|_| block_on(pool.submit(Box::pin(DropsLate(Bomb)))).unwrap());
        let other = pool.clone();
        let discarder = thread::Builder::new().name("quiet discarder".to_owned());
        assert_eq!(join(discarder.spawn(move || other.discard()).unwrap()), 8);
        hold.open();
        assert_all_work(&pool, 1);
        assert!(block_on(pool.drain()));
        assert_eq!(pool.stats().cancelled, 8);
    }
}
on_every_pool!(what_is_discarded_may_panic);

/// A handle is dropped before, after or while its task panics: the hook is called once in each case, and
/// before a wait for the end returns.
fn a_dropped_handle_leaves_the_panic_to_the_hook<K: Kind>() {
    let told = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&told);
    let on_panic = Arc::new(move |panic: &TaskPanic| {
        assert_eq!(panic.message(), "unheard");
        count.fetch_add(1, Ordering::SeqCst);
    });
    let pool = K::build(&Plan { on_panic, ..Plan::new(2, 2) });
    let calls = || told.load(Ordering::SeqCst);
    for round in 0..rounds(2_000) {
        let hold = Hold::default();
        let task = |held: Option<Hold>| -> Job {
            Box::pin(async move {
                if let Some(hold) = held {
                    hold.wait().await;
                }
                panic!("unheard");
            })
        };
        drop(block_on(pool.spawn(task(Some(hold.clone())))).unwrap());
        hold.open();
        assert!(block_on(pool.wait_idle()));
        assert_eq!(calls(), 3 * round + 1, "the handle was dropped before the end");

        let handle = block_on(pool.spawn(task(None))).unwrap();
        eventually("the outcome is there", || handle.is_finished());
        assert_eq!(calls(), 3 * round + 1, "there is a handle");
        drop(handle);
        assert_eq!(calls(), 3 * round + 2, "the handle was dropped after the end");

        drop(block_on(pool.spawn(task(None))).unwrap());
        assert!(block_on(pool.wait_idle()));
        assert_eq!(calls(), 3 * round + 3, "the handle was dropped at any time");
    }
    assert!(block_on(pool.drain()));
    assert_eq!(pool.stats().panicked, calls());
}
on_every_pool!(a_dropped_handle_leaves_the_panic_to_the_hook);
