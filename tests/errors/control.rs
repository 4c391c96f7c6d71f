//! A clone of a `Control` steers the pool, and does not keep it open.

use formic::{Balance, Builder, Control, FnPool, Growth, Pool, ReopenError, WhenFull, Workers};

use crate::common::{Door, eventually, hold_workers};

#[test]
fn a_clone_does_not_keep_the_pool_open() {
    let pool = Pool::new(2);
    let control = Control::clone(&pool);
    let handle = pool.clone();
    drop(pool);
    assert!(!control.is_closed(), "there is a handle");
    handle.submit(|| ()).unwrap();
    drop(handle);
    assert!(control.is_closed());
    control.blocking_drain().unwrap();
    assert_eq!((control.stats().completed, control.workers()), (1, 0));
}

#[test]
fn a_clone_steers_the_same_pool() {
    let (pool, door) = (Pool::new(1), Door::new());
    let control = Control::clone(&pool);
    hold_workers(&pool, &door, 1);
    pool.submit(|| ()).unwrap();
    assert_eq!((control.busy(), control.queued()), (1, 1));
    control.resize(2).unwrap();
    assert_eq!(pool.capacity(), 2);
    door.open();
    control.blocking_drain().unwrap();
    assert!(pool.is_closed());
    control.reopen().unwrap();
    assert!(!pool.is_closed());
}

#[test]
fn a_pool_without_handles_is_not_opened_again() {
    let pool = Pool::builder().workers(2..=2).build().unwrap();
    let control = Control::clone(&pool);
    drop(pool);
    eventually("the workers go", || control.workers() == 0);
    control.blocking_drain().unwrap();
    assert!(matches!(control.reopen(), Err(ReopenError::Dropped)));
    assert!(control.is_closed());
    assert_eq!(control.workers(), 0, "they would never end");
}

#[test]
fn a_pool_that_is_dropped_while_it_is_opened_stays_closed() {
    for _ in 0..if cfg!(miri) { 3 } else { 300 } {
        let pool = Pool::builder().workers(1..=1).build().unwrap();
        pool.drain().unwrap();
        let control = Control::clone(&pool);
        let dropping = std::thread::spawn(move || drop(pool));
        let opened = control.reopen();
        dropping.join().unwrap();
        assert!(matches!(opened, Ok(()) | Err(ReopenError::Dropped)), "{opened:?}");
        assert!(control.is_closed());
        control.blocking_drain().unwrap();
    }
}

#[test]
fn a_default_builder_is_that_of_its_pool() {
    let pool = <Builder<Pool>>::default().build().unwrap();
    assert_eq!(pool.capacity(), Pool::builder().build().unwrap().capacity());
    let squares = <Builder<FnPool<u32, u32>>>::default().build(|n| n * n).unwrap();
    assert_eq!(squares.call(3).unwrap(), 9);
    assert_eq!(format!("{:?}", <Builder<Pool>>::default()), format!("{:?}", Pool::builder()));
    assert_eq!(WhenFull::default(), WhenFull::Wait);
    assert_eq!(Balance::default(), Balance::RoundRobin);
    assert_eq!(Growth::default(), Growth::Eager);
}

#[cfg(feature = "tokio")]
#[test]
fn a_default_builder_of_futures_is_that_of_its_pool() {
    use formic::{AsyncFnPool, AsyncPool};

    let pool = <Builder<AsyncPool>>::default().own_threads(1).build().unwrap();
    assert_eq!(pool.capacity(), 1024);
    let calls = <Builder<AsyncFnPool<u32, u32>>>::default().own_threads(1);
    assert_eq!(calls.build(|n| async move { n }).unwrap().capacity(), 1024);
}

#[test]
fn a_number_that_is_not_zero_is_a_number_of_workers() {
    let cores = std::thread::available_parallelism().unwrap();
    assert_eq!(Workers::from(cores), Workers::from(cores.get()));
    assert_eq!(Workers::default(), Workers::from(cores));
    let pool = Pool::builder().workers(cores).build().unwrap();
    assert_eq!(pool.capacity(), cores.get());
}
