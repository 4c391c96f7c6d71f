//! Models of tasks with a handle: exactly one outcome, and whoever waits for it is woken.

use std::panic::Location;
use std::sync::Arc;

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::{WAIT, explore, settings};
use crate::engine::task::Task;
use crate::engine::{Ended, Engine, Joinable, Parcel, Slip};
use crate::handle::JoinHandle;
use crate::pool::{Closures, Spawned};

type Pool = Arc<Engine<Closures>>;

/// Spawns a task that counts itself; returns what a handle is made of.
fn spawn(pool: &Pool, ran: &Arc<AtomicUsize>) -> Arc<dyn Joinable<usize>> {
    let ran = Arc::clone(ran);
    let task = move || ran.fetch_add(1, Ordering::SeqCst);
    let parcel = Parcel::new(pool, task, Location::caller());
    let errand = Task::errand(Spawned(Slip::new(&parcel)));
    assert!(pool.submit(errand, WAIT).is_ok());
    parcel
}

fn pool() -> (Pool, Arc<AtomicUsize>) {
    (Engine::new(settings(1, 8), Closures), Arc::new(AtomicUsize::new(0)))
}

/// Drains the pool and checks that its only task is counted once, as completed or cancelled.
fn drain(pool: &Pool, completed: u64) {
    pool.close();
    pool.wait_until(Ended::Workers, None).unwrap();
    let stats = pool.stats();
    assert!(stats.adds_up());
    assert_eq!((stats.completed, stats.completed + stats.cancelled), (completed, 1));
}

#[test]
fn a_task_is_run_or_cancelled() {
    explore(|| {
        let (pool, ran) = pool();
        let parcel = spawn(&pool, &ran);
        let other = Arc::clone(&parcel);
        let canceller = thread::spawn(move || other.cancel());
        let outcome = loom::future::block_on(JoinHandle::new(parcel));
        let cancelled = canceller.join().unwrap();
        let ran = ran.load(Ordering::SeqCst);
        assert_eq!((outcome.is_err(), ran), (cancelled, usize::from(!cancelled)));
        drain(&pool, ran as u64);
    });
}

#[test]
fn a_task_is_run_by_its_worker_or_by_whoever_joins_it() {
    explore(|| {
        let (pool, ran) = pool();
        let parcel = spawn(&pool, &ran);
        let other = Arc::clone(&parcel);
        let joiner = thread::spawn(move || other.run_here());
        let outcome = loom::future::block_on(JoinHandle::new(parcel));
        assert_eq!((outcome.unwrap(), ran.load(Ordering::SeqCst)), (0, 1));
        joiner.join().unwrap();
        drain(&pool, 1);
    });
}

#[test]
fn a_task_is_discarded_or_cancelled_once() {
    explore(|| {
        let (pool, ran) = pool();
        let parcel = spawn(&pool, &ran);
        let other = Arc::clone(&parcel);
        let canceller = thread::spawn(move || other.cancel());
        let discarded = pool.discard();
        let cancelled = canceller.join().unwrap();
        let outcome = loom::future::block_on(JoinHandle::new(parcel));
        let ran = ran.load(Ordering::SeqCst);
        assert_eq!(discarded + usize::from(cancelled) + ran, 1);
        assert_eq!(outcome.is_ok(), ran == 1);
        drain(&pool, ran as u64);
    });
}

#[test]
fn when_the_outcome_shows_the_task_is_counted() {
    explore(|| {
        let (pool, ran) = pool();
        let parcel = spawn(&pool, &ran);
        loom::future::block_on(JoinHandle::new(parcel)).unwrap();
        assert_eq!(pool.stats().completed, 1);
        drain(&pool, 1);
    });
}
