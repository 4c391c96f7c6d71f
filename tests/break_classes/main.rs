//! Where other pools break, class by class, on every kind of pool. `docs/break-classes.md` says which
//! class concerns which pool, and how long each test runs.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../common/mod.rs"]
mod common;

#[cfg(feature = "tokio")]
mod async_kinds;
mod hold;
mod kinds;

/// The type of pool behind a name.
macro_rules! kind {
    (pool) => { formic::Pool };
    (fn_pool) => { formic::FnPool<$crate::kinds::Job, ()> };
    (fn_pool_with_state) => { $crate::kinds::WithState };
    (multi) => { formic::Multi<formic::Pool> };
    (multi_fn) => { formic::Multi<formic::FnPool<$crate::kinds::Job, ()>> };
    (async_pool) => { formic::AsyncPool };
    (async_pool_on_one_thread) => { $crate::async_kinds::OnOneThread };
    (async_pool_on_own_threads) => { $crate::async_kinds::OnOwnThreads };
    (async_fn_pool) => { formic::AsyncFnPool<$crate::kinds::Job, ()> };
    (multi_async) => { formic::Multi<formic::AsyncPool> };
    (multi_async_fn) => { formic::Multi<formic::AsyncFnPool<$crate::kinds::Job, ()>> };
}

/// Makes a test of a generic function for each of the pools named: first those of threads, then those
/// of futures.
macro_rules! on_pools {
    ($test:ident: $($threads:ident),*; $($futures:ident),*) => {
        mod $test {
            use $crate::watched;
            $(
                #[test]
                fn $threads() {
                    let name = concat!(module_path!(), "::", stringify!($threads));
                    watched(name, || super::$test::<kind!($threads)>());
                }
            )*
            $(
                #[cfg(feature = "tokio")]
                #[test]
                fn $futures() {
                    let name = concat!(module_path!(), "::", stringify!($futures));
                    watched(name, || super::$test::<kind!($futures)>());
                }
            )*
        }
    };
}

/// On every kind of pool.
macro_rules! on_every_pool {
    ($test:ident) => {
        on_pools!($test: pool, fn_pool, fn_pool_with_state, multi, multi_fn;
            async_pool, async_pool_on_one_thread, async_pool_on_own_threads, async_fn_pool, multi_async,
            multi_async_fn);
    };
}

/// On every kind but `Multi`.
macro_rules! on_every_single_pool {
    ($test:ident) => {
        on_pools!($test: pool, fn_pool, fn_pool_with_state;
            async_pool, async_pool_on_one_thread, async_pool_on_own_threads, async_fn_pool);
    };
}

/// On every kind that has threads of its own.
macro_rules! on_every_pool_with_threads {
    ($test:ident) => {
        on_pools!($test: pool, fn_pool, fn_pool_with_state, multi, multi_fn; async_pool_on_own_threads);
    };
}

/// On every kind whose workers are threads.
macro_rules! on_every_thread_pool {
    ($test:ident) => {
        on_pools!($test: pool, fn_pool, fn_pool_with_state, multi, multi_fn;);
    };
}

mod class_01_lost_wake_up;
mod class_02_expiry_against_submit;
mod class_03_lost_on_panic;
mod class_04_capacity_overshoot;
mod class_05_nested_deadlock;
mod class_06_close_against_submit;
mod class_07_leftovers_of_reopen;
mod class_08_join_too_early;
mod class_09_cancel_against_complete;
mod class_10_ends_from_inside;
mod class_11_no_thread;
mod class_12_scope_soundness;
mod limits;
mod on_cancel;
mod stop;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use common::PATIENCE;
use kinds::Job;

/// The length of the tests in per cent of what the page of break classes says: given by
/// `FORMIC_LENGTH`, or one.
fn per_cent() -> u64 {
    std::env::var("FORMIC_LENGTH").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// How many rounds to go if `full` are the whole length; not fewer than ten.
fn rounds(full: u64) -> u64 {
    (full * per_cent() / 100).max(10)
}

/// How long to go on if `full` is the whole length.
fn time(full: Duration) -> Duration {
    full * per_cent() as u32 / 100
}

/// Runs a test on a thread of its own, which has the test's name, and fails if it hangs.
#[track_caller]
fn watched(name: &str, test: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = channel();
    let name = name.split_once("::").map_or(name, |(_, name)| name);
    let thread = std::thread::Builder::new().name(name.to_owned());
    let thread = thread.spawn(move || (test(), sender.send(())).1).unwrap();
    let limit = 6 * PATIENCE + Duration::from_secs(10 * per_cent());
    match receiver.recv_timeout(limit) {
        Err(RecvTimeoutError::Timeout) => panic!("{name} hangs for {limit:?}"),
        _ => match thread.join() {
            Ok(_) => {}
            Err(payload) => std::panic::resume_unwind(payload),
        },
    }
}

/// A task that counts that it ran.
fn counting(ran: &Arc<AtomicUsize>) -> Job {
    let ran = Arc::clone(ran);
    Box::pin(async move { _ = ran.fetch_add(1, Ordering::SeqCst) })
}

/// Lets the others have a turn, without a thread that waits for it.
async fn yield_once() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}
