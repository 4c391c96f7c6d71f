//! Permits: a place held for a task to come, for threads and for futures (promises 8 and 9).

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{self, Door, block_on, eventually, hold_workers, join, poll_once, warm_up};
use formic::{Pool, Refused};

fn pool_of(workers: usize, queue: usize) -> Pool {
    Pool::builder().workers(workers).queue(queue).build().expect("good settings")
}

/// A waker that counts.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Bell {
    fn rung(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }
}

#[test]
fn a_permit_holds_a_place() {
    let pool = pool_of(2, 1);
    let permits = [pool.admit().unwrap(), pool.try_admit().unwrap(), pool.admit().unwrap()];
    assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
    assert_eq!(pool.try_submit(|| ()).unwrap_err().reason(), Refused::Full);
    let stats = pool.stats();
    assert_eq!((stats.accepted, stats.busy, stats.queued), (0, 0, 0), "a permit is no task");
    assert!(stats.adds_up());
    let (sender, receiver) = mpsc::channel();
    for permit in permits {
        let sender = sender.clone();
        permit.submit(move || sender.send(()).unwrap());
    }
    (0..3).for_each(|_| receiver.recv().unwrap());
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 3);
}

#[test]
fn a_dropped_permit_gives_its_place_back() {
    let pool = pool_of(1, 0);
    for _ in 0..100 {
        let permit = pool.try_admit().unwrap();
        assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
        drop(permit);
    }
    pool.try_submit(|| ()).unwrap();
    pool.drain().unwrap();
    assert_eq!(pool.stats().accepted, 1);
}

#[test]
fn a_dropped_permit_lets_a_waiting_submitter_in() {
    let pool = pool_of(1, 0);
    let permit = pool.admit().unwrap();
    let handle = pool.clone();
    let submitter = thread::spawn(move || handle.submit(|| ()).is_ok());
    eventually("the submitter waits", || pool.waiting() == 1);
    drop(permit);
    assert!(join(submitter));
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 1);
}

#[test]
fn a_permit_outlives_close() {
    let pool = pool_of(1, 0);
    let permit = pool.admit().unwrap();
    pool.close();
    assert_eq!(pool.try_submit(|| ()).unwrap_err().reason(), Refused::Closed);
    let (sender, receiver) = mpsc::channel();
    permit.submit(move || sender.send(()).unwrap());
    receiver.recv().unwrap();
    pool.drain().unwrap();
    assert_eq!((pool.stats().completed, pool.workers()), (1, 0));
}

#[test]
fn drain_waits_for_a_permit_that_is_out() {
    for use_it in [true, false] {
        let pool = pool_of(2, 4);
        let door = Door::new();
        hold_workers(&pool, &door, 2);
        door.open();
        pool.wait_idle().unwrap();
        let permit = pool.admit().unwrap();
        let (handle, (said, says)) = (pool.clone(), mpsc::channel());
        let drainer = thread::spawn(move || {
            said.send(handle.drain_timeout(Duration::from_millis(5))).unwrap();
            handle.drain()
        });
        let left = says.recv().unwrap().unwrap_err();
        assert_eq!((left.permits(), left.running(), left.queued()), (1, 0, 0));
        assert!(!left.is_from_inside() && pool.is_closed());
        let left = pool.drain_timeout(Duration::from_millis(5)).unwrap_err();
        assert_eq!(left.permits(), 1);
        assert!(!drainer.is_finished(), "the permit is still out");
        if use_it {
            permit.submit(|| ());
        } else {
            drop(permit);
        }
        join(drainer).unwrap();
        let stats = pool.stats();
        assert_eq!((stats.workers, stats.completed), (0, 2 + u64::from(use_it)));
    }
}

#[test]
fn a_permit_keeps_a_worker_from_retiring() {
    let pool = Pool::builder().workers(1).keep_alive(Duration::from_millis(1)).build().unwrap();
    let permit = pool.admit().unwrap();
    let (sender, receiver) = mpsc::channel();
    let begin = Instant::now();
    eventually("many keep-alives pass", || begin.elapsed() > Duration::from_millis(20));
    assert_eq!(pool.workers(), 1);
    permit.submit(move || sender.send(()).unwrap());
    receiver.recv_timeout(common::PATIENCE).unwrap();
    eventually("the worker retires", || pool.workers() == 0);
}

#[test]
fn a_future_is_ready_at_once_while_there_is_a_place() {
    let pool = pool_of(1, 1);
    let mut first = pin!(pool.admit_async());
    let Poll::Ready(Ok(permit)) = poll_once(first.as_mut()) else { panic!("there is a place") };
    let Poll::Ready(Ok(other)) = poll_once(pin!(pool.admit_async())) else {
        panic!("there is a place")
    };
    assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
    permit.submit(|| ());
    other.submit(|| ());
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 2);
}

#[test]
fn a_future_is_given_a_place_also_among_short_tasks() {
    for free in [1, 2, 7, 20] {
        let pool = pool_of(1, 512);
        warm_up(&pool);
        let mut permits: Vec<_> = (0..513).map(|_| pool.try_admit().unwrap()).collect();
        assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
        permits.truncate(513 - free);
        let handle = pool.clone();
        let asker = thread::spawn(move || block_on(handle.admit_async()).map(drop));
        assert_eq!(join(asker), Ok(()), "{free} places are free");
        drop(permits);
        pool.drain().unwrap();
    }
}

#[test]
fn a_future_waits_while_the_pool_is_full_and_is_woken_by_a_freed_place() {
    let (pool, door) = (pool_of(1, 0), Door::new());
    hold_workers(&pool, &door, 1);
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let mut admission = pin!(pool.admit_async());
    let mut context = Context::from_waker(&waker);
    assert!(admission.as_mut().poll(&mut context).is_pending());
    assert!(admission.as_mut().poll(&mut context).is_pending());
    assert_eq!(pool.waiting(), 1, "it stands in the queue once");
    assert!(!bell.rung());
    door.open();
    eventually("the waker is called", || bell.rung());
    let Poll::Ready(Ok(permit)) = admission.poll(&mut context) else { panic!("it was woken") };
    permit.submit(|| ());
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 2);
}

#[test]
fn a_future_wakes_the_task_that_polled_it_last() {
    let (pool, door) = (pool_of(1, 0), Door::new());
    hold_workers(&pool, &door, 1);
    let (first, last) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
    let mut admission = pin!(pool.admit_async());
    for bell in [&first, &last] {
        let waker = Waker::from(Arc::clone(bell));
        assert!(admission.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    door.open();
    eventually("the last waker is called", || last.rung());
    assert!(!first.rung());
    assert!(poll_once(admission).is_ready());
}

#[test]
fn close_wakes_a_waiting_future() {
    let (pool, door) = (pool_of(1, 0), Door::new());
    hold_workers(&pool, &door, 1);
    let handle = pool.clone();
    let asker = thread::spawn(move || block_on(handle.admit_async()).map(drop));
    eventually("it waits", || pool.waiting() == 1);
    pool.close();
    assert_eq!(join(asker), Err(Refused::Closed));
    door.open();
    pool.drain().unwrap();
}

#[test]
fn a_future_dropped_while_it_waits_gives_up_its_turn() {
    let (pool, door) = (pool_of(1, 0), Door::new());
    hold_workers(&pool, &door, 1);
    let mut first = Box::pin(pool.admit_async());
    assert!(poll_once(first.as_mut()).is_pending());
    let mut second = Box::pin(pool.admit_async());
    assert!(poll_once(second.as_mut()).is_pending());
    drop(first);
    assert_eq!(pool.waiting(), 1);
    door.open();
    let permit = block_on(second).unwrap();
    permit.submit(|| ());
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 2);
}

#[test]
fn a_future_dropped_after_it_was_given_a_place_gives_it_to_the_next() {
    let (pool, door) = (pool_of(1, 0), Door::new());
    hold_workers(&pool, &door, 1);
    let mut first = Box::pin(pool.admit_async());
    assert!(poll_once(first.as_mut()).is_pending());
    let handle = pool.clone();
    let next = thread::spawn(move || handle.submit(|| ()).is_ok());
    eventually("both wait", || pool.waiting() == 2);
    door.open();
    eventually("the first has been given the place", || pool.waiting() == 1);
    assert_eq!(pool.stats().accepted, 1, "the place is held for the first");
    drop(first);
    assert!(join(next), "the place went to the next");
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 2);
}

#[test]
fn a_future_dropped_after_it_was_given_a_place_leaves_the_place_free() {
    let (pool, door) = (pool_of(1, 0), Door::new());
    hold_workers(&pool, &door, 1);
    let mut admission = Box::pin(pool.admit_async());
    assert!(poll_once(admission.as_mut()).is_pending());
    door.open();
    eventually("it has been given the place", || pool.waiting() == 0);
    assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
    drop(admission);
    pool.try_submit(|| ()).unwrap();
    pool.drain().unwrap();
}

#[test]
fn futures_and_threads_stand_in_one_queue() {
    let (pool, door) = (pool_of(1, 0), Door::new());
    hold_workers(&pool, &door, 1);
    let mut first = Box::pin(pool.admit_async());
    assert!(poll_once(first.as_mut()).is_pending());
    let (handle, at_door) = (pool.clone(), door.clone());
    let second = thread::spawn(move || handle.submit(move || at_door.wait()).is_ok());
    eventually("both wait", || pool.waiting() == 2);
    let mut third = Box::pin(pool.admit_async());
    assert!(poll_once(third.as_mut()).is_pending());

    door.let_one_pass();
    let permit = block_on(first).unwrap();
    assert!(!second.is_finished() && poll_once(third.as_mut()).is_pending());
    drop(permit);
    assert!(join(second));
    door.await_waiting(1);
    assert!(poll_once(third.as_mut()).is_pending());
    door.open();
    drop(block_on(third).unwrap());
    pool.drain().unwrap();
}

#[test]
fn a_waker_may_call_the_pool() {
    struct Caller(Pool, Bell);
    impl Wake for Caller {
        fn wake(self: Arc<Self>) {
            let stats = self.0.stats();
            assert!(stats.adds_up());
            drop(self.0.try_submit(|| ()));
            self.1.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let (pool, door) = (pool_of(1, 0), Door::new());
    hold_workers(&pool, &door, 1);
    let caller = Arc::new(Caller(pool.clone(), Bell::default()));
    let waker = Waker::from(Arc::clone(&caller));
    let mut admission = pin!(pool.admit_async());
    assert!(admission.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    door.open();
    eventually("the waker is through", || caller.1.rung());
    assert!(poll_once(admission).is_ready());
}
