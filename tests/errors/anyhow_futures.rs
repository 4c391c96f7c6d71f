//! Every fallible verb of a pool of futures can be used with `?` in a function that returns `anyhow::Result`.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;

use anyhow::Result;
use formic::{AsyncFnPool, AsyncPool, Balance, FnPool, Multi, Pool, Semaphore};

use crate::common::PATIENCE;
use crate::common::on_tokio::{on, runtime, watch};

type Boxed = Pin<Box<dyn Future<Output = u32> + Send>>;

/// A future that is `Send` and not `Sync`.
fn boxed() -> Boxed {
    let cell = Cell::new(7);
    Box::pin(async move { cell.get() })
}

/// The same for verbs that take a future without a result.
fn quiet() -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async { assert_eq!(boxed().await, 7) })
}

async fn pool() -> Result<()> {
    let pool = AsyncPool::builder().workers(2).build()?;
    pool.submit(quiet()).await?;
    pool.try_submit(quiet())?;
    assert_eq!(pool.spawn(boxed()).await?.await?, 7);
    assert_eq!(pool.try_spawn(boxed())?.await?, 7);
    pool.admit().await?.submit(quiet());
    pool.try_admit()?.submit(quiet());
    pool.for_each(0..3_u32, |_| quiet()).await?;
    pool.resize(3)?;
    pool.wait_idle().await?;
    pool.drain_timeout(PATIENCE).await?;
    pool.reopen()?;
    pool.drain().await?;
    Ok(())
}

async fn fn_pool() -> Result<()> {
    let pool =
        AsyncFnPool::builder().workers(2).build(|cell: Cell<u32>| async move { cell.get() })?;
    pool.submit(Cell::new(7)).await?;
    pool.try_submit(Cell::new(7))?;
    assert_eq!(pool.spawn(Cell::new(7)).await?.await?, 7);
    assert_eq!(pool.try_spawn(Cell::new(7))?.await?, 7);
    assert_eq!(pool.call(Cell::new(7)).await?, 7);
    assert_eq!(pool.call_timeout(Cell::new(7), PATIENCE).await?, 7);
    pool.wait_idle().await?;
    pool.drain().await?;
    Ok(())
}

async fn multi() -> Result<()> {
    let multi = Multi::try_new(2, Balance::default(), || AsyncPool::builder().workers(1).build())?;
    multi.submit(quiet()).await?;
    multi.try_submit(quiet())?;
    assert_eq!(multi.spawn(boxed()).await?.await?, 7);
    assert_eq!(multi.try_spawn(boxed())?.await?, 7);
    multi.wait_idle_async().await?;
    multi.drain_async().await?;
    multi.reopen()?;
    Ok(())
}

async fn multi_of_functions() -> Result<()> {
    let function = |cell: Cell<u32>| async move { cell.get() };
    let multi = Multi::new(2, Balance::RoundRobin, || AsyncFnPool::new(1, function));
    multi.submit(Cell::new(1)).await?;
    multi.try_submit(Cell::new(1))?;
    multi.spawn(Cell::new(1)).await?.await?;
    multi.try_spawn(Cell::new(1))?.await?;
    Ok(())
}

async fn threads_from_async_code() -> Result<()> {
    let pool = Pool::new(2);
    pool.admit_async().await?.submit(|| ());
    let mut batch = pool.batch();
    batch.spawn(|| 1)?;
    while let Some(outcome) = batch.next_async().await {
        assert_eq!(outcome?, 1);
    }
    pool.wait_idle_async().await?;
    pool.drain_async().await?;
    let functions = FnPool::new(1, |cell: Cell<u32>| cell.get());
    assert_eq!(functions.call_async(Cell::new(7)).await?, 7);
    let permit = Semaphore::new(1).acquire_async(1).await?.weight();
    assert_eq!(permit, 1);
    Ok(())
}

#[test]
fn every_verb_passes_its_error_on_to_anyhow() -> Result<()> {
    on(0, || async {
        pool().await?;
        fn_pool().await?;
        multi().await?;
        multi_of_functions().await?;
        threads_from_async_code().await
    })
}

fn blocking() -> Result<()> {
    let runtime = runtime(1);
    let handle = || runtime.handle().clone();
    let pool = AsyncPool::builder().runtime(handle()).build()?;
    pool.blocking_submit(quiet())?;
    let function = |cell: Cell<u32>| async move { cell.get() };
    AsyncFnPool::builder().runtime(handle()).build(function)?.blocking_submit(Cell::new(7))?;
    let make = || AsyncPool::builder().runtime(handle()).build();
    Multi::try_new(1, Balance::default(), make)?.blocking_submit(quiet())?;
    runtime.block_on(pool.drain())?;
    Ok(())
}

#[test]
fn every_blocking_verb_passes_its_error_on_to_anyhow() -> Result<()> {
    watch(blocking)
}

#[test]
fn a_future_behind_anyhow_comes_back() {
    let answer = on(0, || async {
        let pool = AsyncPool::new(1);
        pool.close();
        let refused = async || -> Result<()> {
            drop(pool.spawn(boxed()).await?);
            Ok(())
        };
        let error = refused().await.unwrap_err().downcast::<formic::SubmitError<Boxed>>().unwrap();
        error.into_task().await
    });
    assert_eq!(answer, 7);
}
