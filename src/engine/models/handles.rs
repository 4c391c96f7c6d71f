//! Models of tasks with a handle: exactly one outcome, and the thread or future that waits for it is woken.

use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::closures::{self, Pool};
use super::{drain, explore, settings};
use crate::engine::context::enter;
use crate::engine::{Ended, Engine, Hooks, Joinable, Settings};
use crate::error::TaskPanic;
use crate::handle::JoinHandle;
use crate::pool::Closures;

/// Spawns a task that counts itself; returns what a handle is made of.
fn spawn(pool: &Pool, ran: &Arc<AtomicUsize>) -> Arc<dyn Joinable<usize>> {
    let ran = Arc::clone(ran);
    closures::spawn(pool, move || ran.fetch_add(1, Ordering::SeqCst))
}

fn pool() -> (Pool, Arc<AtomicUsize>) {
    (closures::pool(1), Arc::new(AtomicUsize::new(0)))
}

/// Drains the pool and checks that its only task is counted once, as completed or cancelled.
fn drain_one(pool: &Pool, completed: u64) {
    let stats = drain(pool);
    assert_eq!((stats.completed, stats.completed + stats.cancelled), (completed, 1));
}

#[test]
fn a_task_is_run_or_cancelled() {
    explore(|| {
        let (pool, ran) = pool();
        let task_state = spawn(&pool, &ran);
        let other = Arc::clone(&task_state);
        let canceller = thread::spawn(move || other.cancel());
        let outcome = loom::future::block_on(JoinHandle::new(task_state));
        let cancelled = canceller.join().unwrap();
        let ran = ran.load(Ordering::SeqCst);
        assert_eq!((outcome.is_err(), ran), (cancelled, usize::from(!cancelled)));
        drain_one(&pool, ran as u64);
    });
}

#[test]
fn a_task_is_run_by_its_worker_or_by_its_joiner() {
    explore(|| {
        let (pool, ran) = pool();
        let task_state = spawn(&pool, &ran);
        let other = Arc::clone(&task_state);
        let host = closures::pool(1);
        let joiner = thread::spawn(move || {
            let _inside = enter(Arc::clone(&host) as _, true);
            other.run_here()
        });
        let outcome = loom::future::block_on(JoinHandle::new(task_state));
        assert_eq!((outcome.unwrap(), ran.load(Ordering::SeqCst)), (0, 1));
        joiner.join().unwrap();
        drain_one(&pool, 1);
    });
}

#[test]
fn a_task_is_discarded_or_cancelled_once() {
    explore(|| {
        let (pool, ran) = pool();
        let task_state = spawn(&pool, &ran);
        let other = Arc::clone(&task_state);
        let canceller = thread::spawn(move || other.cancel());
        let discarded = pool.discard();
        let cancelled = canceller.join().unwrap();
        let outcome = loom::future::block_on(JoinHandle::new(task_state));
        let ran = ran.load(Ordering::SeqCst);
        assert_eq!(discarded + usize::from(cancelled) + ran, 1);
        assert_eq!(outcome.is_ok(), ran == 1);
        drain_one(&pool, ran as u64);
    });
}

#[test]
fn when_the_outcome_shows_the_task_is_counted() {
    explore(|| {
        let (pool, ran) = pool();
        let task_state = spawn(&pool, &ran);
        loom::future::block_on(JoinHandle::new(task_state)).unwrap();
        assert_eq!(pool.stats().completed, 1);
        drain_one(&pool, 1);
    });
}

/// A pool whose hook counts the panics it is told.
fn pool_with_hook() -> (Pool, Arc<AtomicUsize>) {
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let on_panic = move |_: &TaskPanic| {
        count.fetch_add(1, Ordering::SeqCst);
    };
    let hooks = Hooks { on_panic: Some(Arc::new(on_panic)), ..Hooks::default() };
    (Engine::new(Settings { hooks, ..settings(1, 8) }, Closures), told)
}

#[test]
fn a_panic_is_told_once_to_the_handle_or_to_the_hook() {
    explore(|| {
        let (pool, told) = pool_with_hook();
        // Rust does not print what is resumed.
        let mut handle =
            JoinHandle::new(closures::spawn(&pool, || resume_unwind(Box::new("told"))));
        let mut context = Context::from_waker(Waker::noop());
        let heard = match Pin::new(&mut handle).poll(&mut context) {
            Poll::Ready(outcome) => usize::from(outcome.unwrap_err().is_panic()),
            Poll::Pending => 0,
        };
        drop(handle);
        pool.wait_until(Ended::Tasks, None).unwrap();
        assert_eq!(told.load(Ordering::SeqCst) + heard, 1);
        drain(&pool);
        assert_eq!(told.load(Ordering::SeqCst) + heard, 1);
    });
}
