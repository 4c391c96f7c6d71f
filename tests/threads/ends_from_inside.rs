//! Ends from inside: what a task may do to its own pool, and what dropping does (promise 8).

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::{
    self, Door, block_on, eventually, hold_workers, inside, join, poll_once, threads_named,
};
use formic::{Pool, PrestartError, Refused, ReopenError, StillRunning, WhenFull};

fn pool_of(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().expect("good settings")
}

#[test]
fn the_last_handle_may_be_dropped_inside_a_task() {
    for workers in [1, 4] {
        let pool = Pool::builder().workers(workers).name("last-in").build().unwrap();
        let (door, ran) = (Door::new(), Arc::new(AtomicUsize::new(0)));
        let (at_door, last) = (door.clone(), pool.clone());
        let dropper = move || {
            at_door.wait();
            drop(last);
        };
        pool.submit(dropper).unwrap();
        for _ in 0..500 {
            let ran = Arc::clone(&ran);
            pool.submit(move || {
                ran.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
        }
        door.await_waiting(1);
        drop(pool);
        door.open();
        eventually("all that was accepted runs", || ran.load(Ordering::Relaxed) == 500);
        eventually("the workers go", || threads_named("last-in") == 0);
    }
}

#[test]
fn the_last_handle_may_be_dropped_with_the_captures_of_a_task() {
    let pool = Pool::builder().workers(1).name("captured").build().unwrap();
    let (door, last) = (Door::new(), pool.clone());
    let at_door = door.clone();
    pool.submit(move || {
        let _last = &last;
        at_door.wait();
    })
    .unwrap();
    drop(pool);
    door.open();
    eventually("the worker goes", || threads_named("captured") == 0);
}

#[test]
fn a_dropped_pool_runs_what_it_accepted() {
    let pool = Pool::builder().workers(2).name("dropped").build().unwrap();
    let (door, ran) = (Door::new(), Arc::new(AtomicUsize::new(0)));
    hold_workers(&pool, &door, 2);
    for _ in 0..1_000 {
        let ran = Arc::clone(&ran);
        pool.submit(move || {
            ran.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
    }
    drop(pool); // does not wait: the workers are still held
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    door.open();
    eventually("all run", || ran.load(Ordering::Relaxed) == 1_000);
    eventually("the workers go", || threads_named("dropped-") == 0);
}

#[test]
fn a_task_cannot_wait_for_the_end_of_its_own_pool() {
    let check = |left: Result<(), StillRunning>| {
        let left = left.unwrap_err();
        assert!(left.is_from_inside());
        assert!(left.running() >= 1, "the task itself runs");
    };
    for workers in [1, 3] {
        let pool = pool_of(workers);
        inside(&pool, move |pool| {
            check(pool.drain());
            check(pool.drain_timeout(Duration::ZERO));
            check(pool.drain_timeout(Duration::MAX));
            check(pool.wait_idle());
            check(block_on(pool.drain_async()));
            check(block_on(pool.wait_idle_async()));
        });
        assert!(!pool.is_closed(), "a refused drain closes nothing");
        pool.submit(|| ()).unwrap();
        pool.drain().unwrap();
        assert_eq!(pool.stats().completed, 2);
    }
}

#[test]
fn a_task_may_wait_for_the_end_of_another_pool() {
    let (pool, other) = (pool_of(1), pool_of(1));
    other.submit(|| ()).unwrap();
    let handle = other.clone();
    inside(&pool, move |_| {
        handle.wait_idle().unwrap();
        handle.drain().unwrap();
    });
    assert_eq!(other.stats().completed, 1);
}

#[test]
fn a_task_may_close_its_pool() {
    let pool = pool_of(1);
    inside(&pool, |pool| {
        pool.submit(|| ()).unwrap();
        pool.close();
        assert!(
            matches!(pool.reopen(), Err(ReopenError::StillRunning(left)) if left.running() == 1)
        );
        assert!(matches!(pool.prestart(1), Err(PrestartError::Closed)));
    });
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 2, "what was accepted before still ran");
}

#[test]
fn a_task_may_resize_its_pool() {
    let (pool, door) = (Pool::builder().workers(1).queue(0).build().unwrap(), Door::new());
    let at_door = door.clone();
    inside(&pool, move |pool| {
        pool.resize(3).unwrap();
        assert_eq!(pool.capacity(), 3);
        let task = move || at_door.wait();
        pool.try_submit(task.clone()).unwrap();
        pool.try_submit(task).unwrap();
        eventually("the new workers are at work", || pool.busy() == 3);
    });
    door.await_waiting(2);
    let shrunk = inside(&pool, |pool| pool.resize(1).map(|()| pool.capacity()));
    assert_eq!(shrunk, Ok(1));
    door.open();
    pool.wait_idle().unwrap();
    eventually("the surplus workers go", || pool.workers() <= 1);
    pool.submit(|| ()).unwrap();
    pool.drain().unwrap();
}

#[test]
fn a_task_may_start_workers() {
    let pool = pool_of(4);
    inside(&pool, |pool| pool.prestart(4)).unwrap();
    assert_eq!(pool.workers(), 4);
    assert!(inside(&pool, |pool| pool.prestart(5)).is_err());
    pool.drain().unwrap();
}

#[test]
fn a_task_may_discard_what_stands_behind_it() {
    let (pool, door) = (pool_of(1), Door::new());
    let (handle, at_door, (sender, receiver)) = (pool.clone(), door.clone(), mpsc::channel());
    pool.submit(move || {
        at_door.wait();
        sender.send(handle.discard()).unwrap();
    })
    .unwrap();
    (0..10).for_each(|_| pool.submit(|| panic!("it was discarded")).unwrap());
    door.open();
    assert_eq!(receiver.recv().unwrap(), 10);
    pool.drain().unwrap();
    assert_eq!((pool.stats().cancelled, pool.stats().completed), (10, 1));
}

/// Submits to its pool when it is dropped, and notes what came of it.
struct Parting(Pool, mpsc::Sender<Result<(), Refused>>);

impl Drop for Parting {
    fn drop(&mut self) {
        let submitted = self.0.try_submit(|| ()).map_err(|error| error.reason());
        self.1.send(submitted).expect("the test waits");
        assert!(self.0.stats().adds_up());
    }
}

#[test]
fn a_discarded_task_may_submit_when_it_is_dropped() {
    let (pool, door) = (pool_of(1), Door::new());
    hold_workers(&pool, &door, 1);
    let (sender, receiver) = mpsc::channel();
    for _ in 0..5 {
        let parting = Parting(pool.clone(), sender.clone());
        pool.submit(move || drop(parting)).unwrap();
    }
    let handle = pool.clone();
    assert_eq!(join(thread::spawn(move || handle.discard())), 5);
    (0..5).for_each(|_| assert_eq!(receiver.recv().unwrap(), Ok(())));
    door.open();
    pool.drain().unwrap();
    assert_eq!((pool.stats().completed, pool.stats().cancelled), (6, 5));
}

#[test]
fn a_task_discarded_after_close_may_submit_when_it_is_dropped() {
    let (pool, door) = (pool_of(1), Door::new());
    hold_workers(&pool, &door, 1);
    let (sender, receiver) = mpsc::channel();
    let parting = Parting(pool.clone(), sender.clone());
    pool.submit(move || drop(parting)).unwrap();
    let parting = Parting(pool.clone(), sender);
    pool.submit(move || drop(parting)).unwrap();
    pool.close();
    let handle = pool.clone();
    assert_eq!(join(thread::spawn(move || handle.discard())), 2);
    (0..2).for_each(|_| assert_eq!(receiver.recv().unwrap(), Err(Refused::Closed)));
    door.open();
    pool.drain().unwrap();
}

#[test]
fn a_refused_task_may_submit_when_it_is_dropped() {
    let (pool, (sender, receiver)) = (pool_of(1), mpsc::channel());
    pool.close();
    let parting = Parting(pool.clone(), sender);
    drop(pool.submit(move || drop(parting)));
    assert_eq!(receiver.recv().unwrap(), Err(Refused::Closed));
}

#[test]
fn a_drain_that_is_seen_late_does_not_wait_for_the_reopened_pool() {
    let pool = Pool::builder().workers(1..=1).build().unwrap();
    let door = Door::new();
    hold_workers(&pool, &door, 1);
    let mut drained = Box::pin({
        let pool = pool.clone();
        async move { pool.drain_async().await }
    });
    assert!(poll_once(drained.as_mut()).is_pending());
    door.open();
    // Somebody else is faster: drains the pool and opens it again.
    pool.drain().unwrap();
    pool.reopen().unwrap();
    assert_eq!(join(thread::spawn(move || block_on(drained))), Ok(()));
    pool.submit(|| ()).unwrap();
    pool.drain().unwrap();
}

#[test]
fn a_drain_that_is_given_up_leaves_the_pool_closed() {
    let (pool, door) = (pool_of(1), Door::new());
    hold_workers(&pool, &door, 1);
    assert!(poll_once(pin!(pool.drain_async())).is_pending());
    assert!(pool.is_closed());
    door.open();
    pool.drain().unwrap();
}

/// Calls a function when the thread that it is kept on ends.
struct AtThreadEnd(Option<Box<dyn FnOnce() + Send>>);

thread_local! {
    static AT_THREAD_END: std::cell::RefCell<AtThreadEnd> =
        const { std::cell::RefCell::new(AtThreadEnd(None)) };
}

impl Drop for AtThreadEnd {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(|call| call());
    }
}

/// Has `call` called by the destructor of a thread-local of the calling thread. It is made before those of
/// the pool, so it is dropped after them or before them, as the platform has it.
fn at_thread_end(call: impl FnOnce() + Send + 'static) {
    AT_THREAD_END.with(|end| end.borrow_mut().0 = Some(Box::new(call)));
}

/// What a pool answers in the destructor of a thread-local of its only worker's thread.
fn in_a_destructor<T: Send + 'static>(
    builder: formic::Builder,
    ask: impl FnOnce(&Pool) -> T + Send + 'static,
) -> T {
    let pool = builder.workers(1).keep_alive(Duration::from_millis(1)).build();
    let pool = pool.expect("the settings are sound");
    let (inside, (tell, told)) = (pool.clone(), mpsc::channel());
    let task = move || at_thread_end(move || drop(tell.send(ask(&inside))));
    pool.submit(task).expect("the pool is open");
    let answer = told.recv_timeout(common::PATIENCE).expect("it neither hangs nor panics");
    pool.drain().expect("the thread ends");
    answer
}

#[test]
fn a_destructor_of_a_workers_thread_cannot_drain_its_pool_but_wait_for_tasks() {
    let left = in_a_destructor(Pool::builder(), |pool| pool.drain().unwrap_err());
    assert!(left.is_from_inside());
    let left =
        in_a_destructor(Pool::builder(), |pool| pool.drain_timeout(common::PATIENCE).unwrap_err());
    assert!(left.is_from_inside());
    in_a_destructor(Pool::builder(), |pool| pool.wait_idle().unwrap());
}

#[test]
fn a_destructor_of_a_workers_thread_may_submit() {
    in_a_destructor(Pool::builder(), |pool| pool.submit(|| ()).unwrap());
    in_a_destructor(Pool::builder(), |pool| pool.spawn(|| 3).unwrap().join().unwrap());
    in_a_destructor(Pool::builder(), |pool| pool.scope(|scope| scope.submit(|| ())));
}

#[test]
fn a_destructor_of_a_thread_may_run_a_task_itself() {
    let ran_here =
        in_a_destructor(Pool::builder().queue(0).when_full(WhenFull::CallerRuns), |pool| {
            let (door, here) = (Door::new(), thread::current().id());
            hold_workers(pool, &door, 1);
            let (tell, told) = mpsc::channel();
            pool.submit(move || tell.send(thread::current().id()).unwrap()).unwrap();
            door.open();
            told.recv().unwrap() == here
        });
    assert!(ran_here);
}

#[test]
fn a_destructor_may_use_a_pool_while_another_thread_joins_its_thread() {
    for _ in 0..200 {
        let pool = Pool::builder().workers(2).build().unwrap();
        let (inside, (tell, told)) = (pool.clone(), mpsc::channel());
        let call = move || drop(tell.send((inside.drain().is_err(), inside.try_submit(|| ()))));
        pool.submit(move || at_thread_end(call)).unwrap();
        let drainer = pool.clone();
        let drainer = thread::spawn(move || drainer.drain());
        let (refused, submitted) = told.recv_timeout(common::PATIENCE).expect("it does not hang");
        assert!(refused && submitted.is_err(), "the pool is closed");
        join(drainer).unwrap();
    }
}
