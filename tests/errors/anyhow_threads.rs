//! Every fallible verb of a pool of threads can be used with `?` in a function that returns `anyhow::Result`.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use formic::{Balance, FnPool, Multi, Pool, Refused, Semaphore, SubmitError};

use crate::common::PATIENCE;

/// A task that is `Send` and not `Sync`.
fn not_sync() -> impl FnOnce() + Send + 'static {
    let cell = Cell::new(0);
    move || cell.set(1)
}

fn pool() -> Result<()> {
    let pool = Pool::builder().workers(2).queue(8).build()?;
    pool.submit(|| ())?;
    pool.submit(not_sync())?;
    pool.try_submit(not_sync())?;
    pool.spawn(not_sync())?.join()?;
    pool.try_spawn(not_sync())?.join()?;
    pool.admit()?.submit(not_sync());
    pool.try_admit()?.submit(|| ());
    pool.admit_timeout(PATIENCE)?.spawn(not_sync()).join()?;
    let boxed: Box<dyn FnOnce() + Send> = Box::new(not_sync());
    pool.submit(boxed)?;
    Ok(())
}

fn control() -> Result<()> {
    let pool = Pool::new(2);
    pool.resize(3)?;
    pool.prestart(1)?;
    pool.wait_idle()?;
    pool.drain_timeout(PATIENCE)?;
    pool.reopen()?;
    pool.drain()?;
    Ok(())
}

fn results() -> Result<()> {
    let pool = Pool::new(2);
    let mut batch = pool.batch();
    batch.spawn(|| 1)?;
    batch.spawn(not_sync_result())?;
    for outcome in batch {
        assert_eq!(outcome?, 1);
    }
    let text = String::from("borrowed");
    pool.scope(|scope| -> Result<()> {
        assert_eq!(scope.spawn(|| text.len()).join()?, 8);
        // A task that borrows is not `'static`, so its error is passed on as the reason.
        assert_eq!(scope.try_spawn(|| text.len()).map_err(Refused::from)?.join()?, 8);
        Ok(())
    })
}

fn not_sync_result() -> impl FnOnce() -> u32 + Send + 'static {
    let cell = Cell::new(1);
    move || cell.get()
}

fn fn_pool() -> Result<()> {
    let pool = FnPool::builder().workers(1).build(|cell: Cell<u32>| cell.get())?;
    let argument = || Cell::new(7);
    pool.submit(argument())?;
    pool.try_submit(argument())?;
    assert_eq!(pool.spawn(argument())?.join()?, 7);
    assert_eq!(pool.try_spawn(argument())?.join()?, 7);
    assert_eq!(pool.call(argument())?, 7);
    assert_eq!(pool.call_timeout(argument(), PATIENCE)?, 7);
    pool.drain()?;
    Ok(())
}

fn multi() -> Result<()> {
    let multi = Multi::try_new(2, Balance::default(), || Pool::builder().workers(1).build())?;
    multi.submit(not_sync())?;
    multi.try_submit(not_sync())?;
    multi.spawn(not_sync())?.join()?;
    multi.try_spawn(not_sync())?.join()?;
    multi.shard(1)?.submit(not_sync())?;
    multi.resize(2)?;
    multi.prestart(1)?;
    multi.wait_idle()?;
    multi.drain_timeout(PATIENCE)?;
    multi.reopen()?;
    multi.drain()?;
    Ok(())
}

fn multi_of_functions() -> Result<()> {
    let multi = Multi::new(2, Balance::RoundRobin, || FnPool::new(1, |cell: Cell<u32>| cell.get()));
    multi.submit(Cell::new(1))?;
    multi.try_submit(Cell::new(1))?;
    multi.spawn(Cell::new(1))?.join()?;
    multi.try_spawn(Cell::new(1))?.join()?;
    Ok(())
}

fn semaphore() -> Result<()> {
    let semaphore = Semaphore::new(4);
    let permits = (semaphore.acquire(1)?, semaphore.try_acquire(1)?);
    let more = semaphore.acquire_timeout(1, PATIENCE)?.into_owned();
    drop((permits, more));
    Ok(())
}

fn global() -> Result<()> {
    formic::submit(not_sync())?;
    formic::spawn(not_sync())?.join()?;
    Ok(())
}

fn settings_of_the_global_pool() -> Result<()> {
    formic::global();
    Pool::builder().build_global()?;
    Ok(())
}

#[test]
fn every_verb_passes_its_error_on_to_anyhow() -> Result<()> {
    for verbs in [pool, control, results, fn_pool, multi, multi_of_functions, semaphore, global] {
        verbs()?;
    }
    let error = settings_of_the_global_pool().unwrap_err();
    assert!(error.is::<formic::BuildError>());
    Ok(())
}

#[test]
fn an_error_behind_anyhow_keeps_its_task() {
    let argument = || -> Result<()> {
        let pool = FnPool::new(1, |cell: Cell<u32>| cell.get());
        pool.close();
        pool.call_timeout(Cell::new(5), Duration::from_millis(1))?;
        Ok(())
    };
    let error = argument().unwrap_err().downcast::<formic::CallError<Cell<u32>>>().unwrap();
    assert_eq!(error.into_argument().map(|cell| cell.get()), Some(5));
}

#[test]
fn an_error_that_is_dropped_on_another_thread_drops_its_task_there() {
    let (pool, count) = (Pool::new(1), Arc::new(()));
    pool.close();
    let held = Arc::clone(&count);
    let error = pool.submit(move || drop(held)).unwrap_err();
    assert_eq!(Arc::strong_count(&count), 2);
    let boxed: Box<dyn std::error::Error + Send + Sync> = Box::new(error);
    std::thread::spawn(move || drop(boxed)).join().unwrap();
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
fn a_refusal_becomes_its_reason() {
    fn submit(pool: &Pool) -> Result<(), Refused> {
        pool.submit(not_sync())?;
        Ok(())
    }
    let pool = Pool::new(1);
    assert_eq!(submit(&pool), Ok(()));
    pool.close();
    assert_eq!(submit(&pool), Err(Refused::Closed));
}

#[test]
fn what_is_not_send_makes_an_error_that_is_not_sync() {
    // The inherent constant is chosen where its bound holds, and the one of the trait otherwise.
    trait Otherwise {
        const SYNC: bool = false;
    }
    impl<T: ?Sized> Otherwise for T {}
    struct Check<T: ?Sized>(std::marker::PhantomData<T>);
    #[allow(dead_code, reason = "chosen by the compiler where its bound holds")]
    impl<T: ?Sized + Sync> Check<T> {
        const SYNC: bool = true;
    }
    const {
        assert!(Check::<SubmitError<Cell<u32>>>::SYNC);
        assert!(!Check::<SubmitError<std::rc::Rc<u32>>>::SYNC);
    }
}
