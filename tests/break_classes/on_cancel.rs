//! Functions that are called when a running task is cancelled, on every kind of pool.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use formic::{OnCancel, on_cancel};

use crate::common::{PATIENCE, block_on, eventually};
use crate::hold::Hold;
use crate::kinds::{Job, Kind, Plan};
use crate::rounds;

/// A task that waits at `hold`, and is let go when its function is called. Says when it is registered.
fn until_cancelled(hold: &Hold, called: &Arc<AtomicUsize>) -> Job {
    let (hold, called) = (hold.clone(), Arc::clone(called));
    Box::pin(async move {
        let opens = hold.clone();
        let _guard = on_cancel(move || {
            called.fetch_add(1, Ordering::SeqCst);
            opens.open();
        });
        hold.wait().await;
    })
}

/// The thread that cancels calls the function of a running task, once: of one with a handle and of one without.
fn a_function_is_called_by_the_thread_that_cancels<K: Kind>() {
    for round in 0..rounds(500) {
        let pool = K::build(&Plan::new(1, 4));
        let (hold, called) = (Hold::default(), Arc::new(AtomicUsize::new(0)));
        let handle = block_on(pool.spawn(until_cancelled(&hold, &called))).unwrap();
        hold.await_waiting(1);
        match round % 4 {
            0 => _ = handle.cancel(),
            1 => drop(handle.cancel_on_drop()),
            2 => assert_eq!(pool.cancel_all().tasks(), 1),
            _ => assert!(block_on(pool.shutdown(Duration::ZERO))),
        }
        assert_eq!(called.load(Ordering::SeqCst), 1);
        assert!(block_on(pool.drain()));
        assert_eq!(called.load(Ordering::SeqCst), 1, "not again");
    }
    let (pool, hold, called) = (K::build(&Plan::new(1, 4)), Hold::default(), Arc::default());
    block_on(pool.submit(until_cancelled(&hold, &called))).unwrap();
    hold.await_waiting(1);
    pool.cancel_all();
    assert_eq!(called.load(Ordering::SeqCst), 1);
    assert!(block_on(pool.drain()));
}
on_every_pool!(a_function_is_called_by_the_thread_that_cancels);

/// A task that was cancelled before has its function called at once.
fn a_cancelled_task_calls_its_function_itself<K: Kind>() {
    let (pool, (sender, receiver)) = (K::build(&Plan::new(1, 4)), mpsc::channel());
    let inner = pool.clone();
    let task = async move {
        inner.cancel_all();
        let thread = std::thread::current().id();
        let guard = on_cancel(move || sender.send(thread == std::thread::current().id()).unwrap());
        drop(guard);
    };
    block_on(pool.submit(Box::pin(task))).unwrap();
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(true));
    assert!(block_on(pool.drain()));
}
on_every_pool!(a_cancelled_task_calls_its_function_itself);

/// The function of a dropped guard is dropped, and that of another task is not called.
fn a_dropped_guard_and_another_task_are_not_concerned<K: Kind>() {
    let (pool, hold) = (K::build(&Plan::new(2, 4)), Hold::default());
    let (called, other) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (waits, counts) = (hold.clone(), Arc::clone(&called));
    let task = async move {
        drop(on_cancel(move || _ = counts.fetch_add(1, Ordering::SeqCst)));
        waits.wait().await;
    };
    let handle = block_on(pool.spawn(Box::pin(task))).unwrap();
    block_on(pool.submit(until_cancelled(&hold, &other))).unwrap();
    hold.await_waiting(2);
    handle.cancel();
    assert_eq!((called.load(Ordering::SeqCst), other.load(Ordering::SeqCst)), (0, 0));
    assert_eq!(Arc::strong_count(&called), 1, "the function is gone");
    pool.cancel_all();
    assert_eq!((called.load(Ordering::SeqCst), other.load(Ordering::SeqCst)), (0, 1));
    hold.open();
    assert!(block_on(pool.drain()));
}
on_every_pool!(a_dropped_guard_and_another_task_are_not_concerned);

/// A function that panics harms neither the thread that cancels nor the other functions.
fn a_panic_in_a_function_is_contained<K: Kind>() {
    crate::common::hush_quiet_threads();
    let (pool, hold) = (K::build(&Plan::new(2, 4)), Hold::default());
    let waits = hold.clone();
    let panics = async move {
        let _guard = on_cancel(|| panic!("out of ink"));
        waits.wait().await;
    };
    let called = Arc::new(AtomicUsize::new(0));
    block_on(pool.submit(Box::pin(panics))).unwrap();
    hold.await_waiting(1);
    block_on(pool.submit(until_cancelled(&hold, &called))).unwrap();
    hold.await_waiting(2);
    let canceller = pool.clone();
    let thread = std::thread::Builder::new().name("quiet-canceller".to_owned());
    thread.spawn(move || canceller.cancel_all()).unwrap().join().expect("it goes on");
    assert_eq!(called.load(Ordering::SeqCst), 1);
    assert!(block_on(pool.drain()));
    assert_eq!(pool.stats().panicked, 0);
}
on_every_pool!(a_panic_in_a_function_is_contained);

/// A guard that is dropped while its function runs waits for that, unless the function drops it.
fn a_function_may_drop_its_own_guard<K: Kind>() {
    let (pool, hold) = (K::build(&Plan::new(1, 4)), Hold::default());
    let kept: Arc<std::sync::Mutex<Option<OnCancel>>> = Arc::default();
    let (waits, place) = (hold.clone(), Arc::clone(&kept));
    let task = async move {
        let (own, opens) = (Arc::clone(&place), waits.clone());
        let guard = on_cancel(move || {
            let guard = own.lock().unwrap().take();
            drop(guard);
            opens.open();
        });
        *place.lock().unwrap() = Some(guard);
        waits.wait().await;
    };
    block_on(pool.submit(Box::pin(task))).unwrap();
    hold.await_waiting(1);
    pool.cancel_all();
    assert!(kept.lock().unwrap().is_none());
    assert!(block_on(pool.drain()));
}
on_every_pool!(a_function_may_drop_its_own_guard);

/// Tasks register and drop functions while they are cancelled: each function is called or dropped, and none runs later.
fn functions_come_and_go_while_all_are_cancelled<K: Kind>() {
    let (pool, late) = (K::build(&Plan::new(2, 64)), Arc::new(AtomicUsize::new(0)));
    let dropped = Arc::new(AtomicUsize::new(0));
    let tasks = rounds(20_000) as usize;
    for number in 0..tasks {
        let (late, dropped) = (Arc::clone(&late), Arc::clone(&dropped));
        let task = async move {
            let alive = Arc::new(AtomicUsize::new(1));
            let seen = Arc::clone(&alive);
            let guard = on_cancel(move || {
                std::thread::yield_now();
                late.fetch_add(1 - seen.load(Ordering::SeqCst), Ordering::SeqCst);
            });
            drop(guard);
            alive.store(0, Ordering::SeqCst);
            dropped.fetch_add(Arc::strong_count(&alive), Ordering::SeqCst);
        };
        block_on(pool.submit(Box::pin(task))).unwrap();
        if number % 3 == 0 {
            pool.cancel_all();
        }
    }
    assert!(block_on(pool.drain()));
    assert_eq!(late.load(Ordering::SeqCst), 0);
    let stats = pool.stats();
    assert_eq!(dropped.load(Ordering::SeqCst) as u64, stats.completed);
    assert!(stats.adds_up() && stats.accepted == tasks as u64, "{stats:?}");
}
on_every_pool!(functions_come_and_go_while_all_are_cancelled);

#[test]
fn outside_of_a_task_a_function_is_dropped_with_its_guard() {
    let token = Arc::new(());
    let its = Arc::clone(&token);
    let guard = on_cancel(move || unreachable!("{its:?}"));
    drop(guard);
    eventually("it is gone", || Arc::strong_count(&token) == 1);
}
