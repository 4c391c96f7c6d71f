//! Panics beside a task: in what drops its result, its payload or its state, and in whoever is woken.

use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};

use crate::common::{Door, PATIENCE, block_on};
use formic::{CallError, FnPool, Pool, Stats, WhenFull};

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "a bomb goes off");
    }
}

/// Checks that the pool's only worker serves on, and returns the figures before that.
fn figures(pool: &Pool) -> Stats {
    pool.wait_idle().expect("this is no task");
    let stats = pool.stats();
    let (done, all_done) = mpsc::channel();
    pool.submit(move || done.send(()).expect("somebody waits")).expect("the pool is open");
    all_done.recv_timeout(PATIENCE).expect("the worker is still there");
    pool.drain_timeout(PATIENCE).expect("it comes to its end");
    assert!(stats.adds_up());
    stats
}

#[test]
fn an_unwanted_result_may_panic_when_it_is_dropped() {
    let (pool, door) = (Pool::new(1), Door::new());
    let held = door.clone();
    drop(pool.spawn(move || (held.wait(), Bomb)).unwrap());
    door.open();
    let stats = figures(&pool);
    assert_eq!((stats.accepted, stats.completed, stats.panicked), (1, 1, 0));
}

#[test]
fn an_unwanted_payload_may_panic_when_it_is_dropped() {
    let (pool, door) = (Pool::new(1), Door::new());
    let held = door.clone();
    let task = move || {
        held.wait();
        std::panic::panic_any(Bomb);
    };
    drop(pool.spawn(task).unwrap());
    door.open();
    let stats = figures(&pool);
    assert_eq!((stats.accepted, stats.completed, stats.panicked), (1, 0, 1));
}

#[test]
fn a_waker_of_a_handle_may_panic() {
    struct Wakes;
    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            panic!("a waker goes off");
        }
    }
    let (pool, door) = (Pool::new(1), Door::new());
    let held = door.clone();
    let mut handle = pool.spawn(move || held.wait()).unwrap();
    let waker = Waker::from(Arc::new(Wakes));
    let poll = Pin::new(&mut handle).poll(&mut Context::from_waker(&waker));
    assert!(matches!(poll, Poll::Pending));
    door.open();
    let stats = figures(&pool);
    assert_eq!((stats.accepted, stats.completed, stats.panicked), (1, 1, 0));
    handle.join().unwrap();
}

#[test]
fn a_call_whose_state_cannot_be_made_says_that_it_panicked() {
    let pool = FnPool::with_state(1, || panic!("no state"), |_: &mut (), ()| ());
    let error = pool.call(()).unwrap_err();
    assert!(matches!(error, CallError::Panicked(_)), "{error:?}");
    assert_eq!(pool.stats().panicked, 1);
}

#[test]
fn a_state_that_a_caller_needed_may_panic_when_it_is_dropped() {
    let pool = FnPool::builder().workers(1).queue(0).when_full(WhenFull::CallerRuns);
    let pool = pool
        .build_with(
            || Bomb,
            |_: &mut Bomb, door: Option<Door>| {
                if let Some(door) = door {
                    door.wait();
                }
                3
            },
        )
        .unwrap();
    let door = Door::new();
    pool.submit(Some(door.clone())).unwrap();
    assert_eq!(pool.call(None).unwrap(), 3);
    let stats = pool.stats();
    assert_eq!((stats.accepted, stats.completed, stats.panicked), (2, 1, 0));
    door.open();
}

#[test]
fn a_state_that_a_joiner_needed_may_panic_when_it_is_dropped() {
    type Calls = FnPool<Option<Argument>, u32>;
    struct Argument(Calls);
    let pool: Calls = FnPool::with_state(
        1,
        || Bomb,
        |_: &mut Bomb, argument: Option<Argument>| match argument {
            Some(Argument(pool)) => pool.call(None).expect("the call inside returns") + 1,
            None => 1,
        },
    );
    assert_eq!(pool.call(Some(Argument(pool.clone()))).unwrap(), 2);
}

#[test]
fn a_call_that_is_awaited_knows_where_it_was_made() {
    let pool = FnPool::new(1, |()| panic!("on purpose"));
    let line = line!() + 1;
    let error = block_on(pool.call_async(())).unwrap_err();
    let CallError::Panicked(panic) = error else { panic!("it panicked") };
    let location = panic.submitted_at().unwrap();
    assert_eq!((location.file(), location.line()), (file!(), line));
}
