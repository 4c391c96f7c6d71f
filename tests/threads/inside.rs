//! Submitting from inside a task: a worker never waits at its own gate (promise 4).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::{self, Door, block_on, eventually, hold_workers, inside, join};
use formic::{Pool, Refused, WhenFull};

const QUEUES: [usize; 3] = [0, 1, 64];

fn pool_of(workers: usize, queue: usize) -> Pool {
    Pool::builder().workers(workers).queue(queue).build().expect("good settings")
}

#[test]
fn a_task_may_submit_any_number_of_tasks() {
    for queue in QUEUES {
        for workers in [1, 3] {
            let pool = pool_of(workers, queue);
            let ran = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&ran);
            inside(&pool, move |pool| {
                for _ in 0..1_000 {
                    let count = Arc::clone(&count);
                    pool.submit(move || {
                        count.fetch_add(1, Ordering::Relaxed);
                    })
                    .unwrap();
                }
            });
            pool.drain().unwrap();
            assert_eq!(ran.load(Ordering::Relaxed), 1_000, "queue {queue}, {workers} workers");
            assert_eq!(pool.stats().accepted, 1_001);
        }
    }
}

/// Runs and submits ten tasks that do the same, down to `depth`.
fn branch(pool: &Pool, depth: usize, ran: &Arc<AtomicUsize>) {
    ran.fetch_add(1, Ordering::Relaxed);
    if depth == 0 {
        return;
    }
    for _ in 0..10 {
        let (handle, ran) = (pool.clone(), Arc::clone(ran));
        pool.submit(move || branch(&handle, depth - 1, &ran)).expect("the pool is open");
    }
}

#[test]
fn tasks_may_submit_tasks_at_any_depth() {
    for queue in QUEUES {
        for workers in [1, 2, 5] {
            let (pool, ran) = (pool_of(workers, queue), Arc::new(AtomicUsize::new(0)));
            let (handle, count) = (pool.clone(), Arc::clone(&ran));
            pool.submit(move || branch(&handle, 3, &count)).unwrap();
            let handle = pool.clone();
            join(thread::spawn(move || handle.wait_idle())).unwrap();
            assert_eq!(ran.load(Ordering::Relaxed), 1_111, "queue {queue}, {workers} workers");
            pool.drain().unwrap();
        }
    }
}

#[test]
fn a_task_does_not_wait_although_all_workers_are_held_and_others_wait() {
    let (pool, door) = (pool_of(2, 0), Door::new());
    hold_workers(&pool, &door, 1);
    let (handle, at_door, (done, ready)) = (pool.clone(), door.clone(), mpsc::channel());
    let (go, start) = mpsc::channel::<()>();
    let busy_one = move || {
        start.recv().unwrap();
        for _ in 0..10 {
            handle.submit(|| ()).unwrap();
        }
        done.send(()).unwrap();
        at_door.wait();
    };
    pool.submit(busy_one).unwrap();
    let handle = pool.clone();
    let outsider = thread::spawn(move || handle.submit(|| ()).is_ok());
    eventually("a submitter waits outside", || pool.waiting() == 1);
    go.send(()).unwrap();
    ready.recv_timeout(common::PATIENCE).expect("a task does not wait behind the outsider");
    assert_eq!((pool.queued(), pool.waiting()), (10, 1), "beyond the bound");
    door.open();
    assert!(join(outsider));
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 13);
}

#[test]
fn a_task_gets_its_permit_at_once() {
    for queue in QUEUES {
        let pool = pool_of(1, queue);
        inside(&pool, move |pool| {
            for _ in 0..queue + 5 {
                pool.admit().unwrap().submit(|| ());
                pool.admit_timeout(Duration::MAX).unwrap().submit(|| ());
                block_on(pool.admit_async()).unwrap().submit(|| ());
            }
            drop(pool.admit().unwrap());
        });
        pool.drain().unwrap();
        assert_eq!(pool.stats().completed, 1 + 3 * (queue as u64 + 5));
    }
}

#[test]
fn a_task_that_only_tries_is_refused_when_the_pool_is_full() {
    for queue in QUEUES {
        let pool = pool_of(1, queue);
        inside(&pool, move |pool| {
            (0..queue).for_each(|_| pool.try_submit(|| ()).unwrap());
            let (sender, receiver) = mpsc::channel();
            let error = pool.try_submit(move || sender.send(1).unwrap()).unwrap_err();
            assert_eq!(error.reason(), Refused::Full);
            error.into_task()();
            assert_eq!(receiver.recv().unwrap(), 1);
            assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
        });
        pool.drain().unwrap();
        assert_eq!(pool.stats().completed, 1 + queue as u64);
    }
}

#[test]
fn a_task_of_a_pool_that_refuses_or_lets_callers_run_does_not_wait_either() {
    let builder = Pool::builder().workers(1).queue(0);
    let pool = builder.clone().when_full(WhenFull::Refuse).build().unwrap();
    let reason = inside(&pool, |pool| pool.submit(|| ()).map_err(|error| error.reason()));
    assert_eq!(reason, Err(Refused::Full));

    let pool = builder.when_full(WhenFull::CallerRuns).build().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    inside(&pool, move |pool| {
        for _ in 0..100 {
            let count = Arc::clone(&count);
            pool.submit(move || {
                count.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
        }
    });
    pool.drain().unwrap();
    assert_eq!((ran.load(Ordering::Relaxed), pool.stats().accepted), (100, 101));
}

#[test]
fn a_task_is_refused_by_its_closed_pool_and_gets_its_task_back() {
    let pool = pool_of(1, 4);
    let reason = inside(&pool, |pool| {
        pool.close();
        pool.submit(|| ()).map_err(|error| error.reason())
    });
    assert_eq!(reason, Err(Refused::Closed));
    pool.drain().unwrap();
}

#[test]
fn what_a_task_submitted_beyond_the_bound_counts_for_those_outside() {
    let (pool, door) = (pool_of(1, 2), Door::new());
    let (handle, at_door) = (pool.clone(), door.clone());
    let greedy = move || {
        (0..5).for_each(|_| handle.submit(|| ()).unwrap());
        at_door.wait();
    };
    pool.submit(greedy).unwrap();
    door.await_waiting(1);
    assert_eq!(pool.queued(), 5);
    assert_eq!(pool.try_submit(|| ()).unwrap_err().reason(), Refused::Full);
    door.open();
    pool.wait_idle().unwrap();
    // All places are there again, and no more.
    let permits: Vec<_> = (0..3).map(|_| pool.try_admit().unwrap()).collect();
    assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
    drop(permits);
    pool.drain().unwrap();
}

#[test]
fn two_pools_may_submit_to_each_other() {
    fn bounce(from: &Pool, to: &Pool, left: usize, done: mpsc::Sender<()>) {
        if left == 0 {
            return done.send(()).expect("the test waits");
        }
        let (back, on) = (from.clone(), to.clone());
        to.submit(move || bounce(&on, &back, left - 1, done)).expect("both pools are open");
    }
    let (one, other) = (pool_of(1, 0), pool_of(1, 0));
    let (done, end) = mpsc::channel();
    bounce(&one, &other, 1_000, done);
    end.recv_timeout(common::PATIENCE).unwrap();
    one.drain().unwrap();
    other.drain().unwrap();
}
