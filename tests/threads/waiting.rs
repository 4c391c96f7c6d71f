//! Waiting submitters: what releases them, how many at a time, and in which order (promise 6).

use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::common::{self, Door, eventually, hold_workers, join};
use formic::{Pool, Refused, SubmitError};

/// Starts a thread that submits a task, and returns when it waits for a place.
fn wait_with<F: FnOnce() + Send + 'static>(
    pool: &Pool,
    task: F,
) -> JoinHandle<Result<(), SubmitError<F>>> {
    let (waiting, handle) = (pool.waiting(), pool.clone());
    let submitter = thread::spawn(move || handle.submit(task));
    eventually("the submitter waits", || pool.waiting() == waiting + 1);
    submitter
}

/// A pool whose places are all taken by tasks that wait at the door.
fn full_pool(workers: usize, queue: usize) -> (Pool, Door) {
    let (pool, door) =
        (Pool::builder().workers(workers).queue(queue).build().expect("a pool"), Door::new());
    hold_workers(&pool, &door, workers);
    for _ in 0..queue {
        let door = door.clone();
        pool.try_submit(move || door.wait()).expect("there is a place in the queue");
    }
    (pool, door)
}

#[test]
fn each_freed_place_lets_exactly_one_submitter_in() {
    for (workers, queue) in [(1, 0), (2, 0), (1, 4), (2, 100)] {
        let (pool, door) = full_pool(workers, queue);
        let submitters: Vec<_> = (0..8)
            .map(|_| {
                let door = door.clone();
                wait_with(&pool, move || door.wait())
            })
            .collect();
        let full = pool.stats().accepted;
        for released in 1..=8 {
            door.let_one_pass();
            eventually("one more enters", || pool.stats().accepted == full + released);
            // All workers are at the door again, so nothing else can get free or come in.
            door.await_waiting(workers);
            let stats = pool.stats();
            assert_eq!((stats.accepted, stats.completed), (full + released, released));
            assert_eq!(stats.waiting as u64, 8 - released);
        }
        door.open();
        submitters.into_iter().for_each(|submitter| join(submitter).unwrap());
        pool.drain().unwrap();
        assert_eq!(pool.stats().completed, full + 8);
    }
}

#[test]
fn waiting_submitters_enter_in_order_of_arrival() {
    for (workers, queue) in [(1, 0), (1, 3)] {
        let (pool, door) = full_pool(workers, queue);
        let order = Arc::new(Mutex::new(Vec::new()));
        let submitters: Vec<_> = (0..8)
            .map(|number| {
                let (door, order) = (door.clone(), Arc::clone(&order));
                wait_with(&pool, move || {
                    order.lock().unwrap().push(number);
                    door.wait();
                })
            })
            .collect();
        let full = pool.stats().accepted;
        for released in 1..=8 {
            door.let_one_pass();
            eventually("one more enters", || pool.stats().accepted == full + released);
        }
        door.open();
        submitters.into_iter().for_each(|submitter| join(submitter).unwrap());
        pool.drain().unwrap();
        assert_eq!(*order.lock().unwrap(), (0..8).collect::<Vec<_>>());
    }
}

#[test]
fn waiting_submitters_enter_in_order_although_all_places_come_at_once() {
    for round in 0..20 {
        let (pool, door) = full_pool(1, 8);
        let order = Arc::new(Mutex::new(Vec::new()));
        let submitters: Vec<_> = (0..8)
            .map(|number| {
                let order = Arc::clone(&order);
                wait_with(&pool, move || order.lock().unwrap().push(number))
            })
            .collect();
        door.open();
        submitters.into_iter().for_each(|submitter| join(submitter).unwrap());
        pool.drain().unwrap();
        assert_eq!(*order.lock().unwrap(), (0..8).collect::<Vec<_>>(), "in round {round}");
    }
}

#[test]
fn a_larger_capacity_lets_waiting_submitters_in() {
    let (pool, door) = full_pool(1, 0);
    let submitters: Vec<_> = (0..3)
        .map(|_| {
            let door = door.clone();
            wait_with(&pool, move || door.wait())
        })
        .collect();
    pool.resize(3).unwrap();
    // No task has ended, so the two new places are all there is.
    door.await_waiting(3);
    let stats = pool.stats();
    assert_eq!((stats.busy, stats.accepted, stats.waiting), (3, 3, 1));
    pool.resize(4).unwrap();
    door.await_waiting(4);
    assert_eq!(pool.waiting(), 0);
    door.open();
    submitters.into_iter().for_each(|submitter| join(submitter).unwrap());
    pool.drain().unwrap();
}

#[test]
fn discarded_tasks_make_room_for_waiting_submitters() {
    let (pool, door) = full_pool(1, 3);
    let submitters: Vec<_> = (0..3).map(|_| wait_with(&pool, || ())).collect();
    assert_eq!(pool.discard(), 3);
    submitters.into_iter().for_each(|submitter| join(submitter).unwrap());
    let stats = pool.stats();
    assert_eq!((stats.cancelled, stats.queued, stats.waiting), (3, 3, 0));
    door.open();
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 4);
}

#[test]
fn no_submitter_overtakes_a_waiting_one() {
    let (pool, door) = full_pool(1, 0);
    let at_door = door.clone();
    let submitter = wait_with(&pool, move || at_door.wait());
    pool.resize(2).unwrap();
    assert_eq!(pool.try_submit(|| ()).unwrap_err().reason(), Refused::Full);
    assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
    join(submitter).unwrap();
    door.open();
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 2);
}

#[test]
fn close_gives_waiting_submitters_their_task_back() {
    let (pool, door) = full_pool(2, 1);
    let (sender, receiver) = mpsc::channel();
    let submitters: Vec<_> = (0..5)
        .map(|number| {
            let sender = sender.clone();
            wait_with(&pool, move || sender.send(number).unwrap())
        })
        .collect();
    pool.close();
    for (number, submitter) in submitters.into_iter().enumerate() {
        let error = join(submitter).unwrap_err();
        assert_eq!(error.reason(), Refused::Closed);
        assert!(receiver.try_recv().is_err(), "the pool did not run it");
        error.into_task()();
        assert_eq!(receiver.recv().unwrap(), number);
    }
    assert_eq!((pool.waiting(), pool.stats().refused), (0, 5));
    door.open();
    pool.drain().unwrap();
    assert_eq!((pool.stats().accepted, pool.stats().completed), (3, 3));
}

#[test]
fn the_last_handle_of_a_waiting_submitter_keeps_the_pool_open() {
    let (pool, door) = full_pool(1, 0);
    let (sender, receiver) = mpsc::channel();
    let submitter = wait_with(&pool, move || sender.send(()).unwrap());
    drop(pool);
    door.open();
    join(submitter).unwrap();
    receiver.recv().unwrap();
}

#[test]
fn a_submitter_whose_time_is_over_gets_no_place() {
    let (pool, door) = full_pool(1, 0);
    for time in [Duration::ZERO, Duration::from_nanos(1), Duration::from_millis(20)] {
        assert_eq!(pool.admit_timeout(time).unwrap_err(), Refused::TimedOut);
    }
    assert_eq!((pool.waiting(), pool.stats().refused), (0, 3));
    door.open();
    pool.wait_idle().unwrap();
    assert!(pool.admit_timeout(Duration::ZERO).is_ok(), "a free place needs no time");
    pool.drain().unwrap();
}

#[test]
fn a_place_freed_after_a_time_out_goes_to_the_next() {
    let (pool, door) = full_pool(1, 0);
    let handle = pool.clone();
    let short_of_time = thread::spawn(move || {
        handle.admit_timeout(Duration::from_millis(50)).map(drop).unwrap_err()
    });
    eventually("the first waits, or its time is over", || {
        pool.waiting() == 1 || short_of_time.is_finished()
    });
    let handle = pool.clone();
    let next = thread::spawn(move || handle.submit(|| ()).is_ok());
    assert_eq!(join(short_of_time), Refused::TimedOut);
    eventually("the next waits", || pool.waiting() == 1);
    door.open();
    assert!(join(next));
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 2);
}

#[test]
fn a_place_that_comes_in_time_is_given() {
    let (pool, door) = full_pool(1, 0);
    let handle = pool.clone();
    let submitter = thread::spawn(move || {
        handle.admit_timeout(Duration::from_secs(3600)).map(|permit| permit.submit(|| ()))
    });
    eventually("the submitter waits", || pool.waiting() == 1);
    door.open();
    assert_eq!(join(submitter), Ok(()));
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 2);
}

#[test]
fn time_outs_and_freed_places_lose_no_place() {
    let random = &mut common::Random(common::seed("time_outs_and_freed_places_lose_no_place"));
    let pool = Pool::builder().workers(1).queue(1).build().unwrap();
    let submitters: Vec<_> = (0..4)
        .map(|_| {
            let (pool, mut random) = (pool.clone(), common::Random(random.next()));
            thread::spawn(move || {
                let mut submitted = 0;
                for _ in 0..2_000 {
                    let time = Duration::from_nanos(random.below(60_000));
                    match pool.admit_timeout(time) {
                        Ok(permit) if random.below(4) > 0 => {
                            submitted += 1;
                            permit.submit(|| (0..200).for_each(|_| std::hint::spin_loop()));
                        }
                        Ok(permit) => drop(permit),
                        Err(refused) => assert_eq!(refused, Refused::TimedOut),
                    }
                }
                submitted
            })
        })
        .collect();
    let submitted: u64 = submitters.into_iter().map(join).sum();
    pool.wait_idle().unwrap();
    assert_eq!(pool.stats().completed, submitted);
    // Both places are there, and no more.
    let permits = (pool.try_admit().unwrap(), pool.try_admit().unwrap());
    assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
    drop(permits);
    pool.drain().unwrap();
}
