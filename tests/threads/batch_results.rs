//! Batches as a whole: of tasks that may fail, for a time, cancelled with the batch.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::{Door, block_on, hush_quiet_threads, join, poll_once};
use formic::{Batch, BatchError, BatchSpawner, Error, Pool, Refused};

fn quiet(workers: usize) -> Pool {
    hush_quiet_threads();
    Pool::builder().workers(workers).name("quiet").build().unwrap()
}

fn stubborn() -> Result<u32, &'static str> {
    while !formic::is_cancelled() {
        thread::yield_now();
    }
    Err("asked to stop")
}

#[test]
fn the_first_that_returns_is_not_the_first_success() {
    let pool = quiet(1);
    for awaited in [false, true] {
        let batch = || {
            let mut batch = pool.batch();
            batch.spawn(|| panic!("no")).unwrap();
            batch.spawn(|| Err("no")).unwrap();
            batch.spawn(|| Ok(7)).unwrap();
            batch
        };
        let (returned, success) = if awaited {
            (block_on(batch().first_returned_async()), block_on(batch().first_success_async()))
        } else {
            (batch().first_returned(), batch().first_success())
        };
        assert_eq!(returned.unwrap(), Err("no"));
        assert_eq!(success.unwrap(), 7);
    }
}

#[test]
fn without_a_success_there_are_all_failures_with_their_indices() {
    let pool = quiet(1);
    let mut batch = pool.batch::<Result<(), &str>>();
    batch.spawn(|| panic!("zero")).unwrap();
    batch.spawn(|| Err("one")).unwrap();
    let errors = batch.first_success().unwrap_err();
    assert!(matches!(
        &errors[..],
        [BatchError::Panicked { index: 0, panic }, BatchError::Failed { index: 1, error: "one" }]
            if panic.message() == "zero"
    ));
}

#[test]
fn a_success_cancels_the_rest() {
    let pool = quiet(2);
    let (started, has_started) = mpsc::channel();
    let mut batch = pool.batch();
    batch
        .spawn(move || {
            started.send(()).unwrap();
            stubborn()
        })
        .unwrap();
    has_started.recv().unwrap();
    batch.spawn(|| Ok(1)).unwrap();
    assert_eq!(join(thread::spawn(move || batch.first_success().unwrap())), 1);
    pool.drain().unwrap();
}

#[test]
fn all_values_come_in_order_of_spawning() {
    let pool = Pool::new(3);
    for awaited in [false, true] {
        let mut batch = pool.batch::<Result<u32, String>>();
        for number in 0..300 {
            batch.spawn(move || Ok(number)).unwrap();
        }
        let all = if awaited { block_on(batch.try_join_all_async()) } else { batch.try_join_all() };
        assert_eq!(all.unwrap(), (0..300).collect::<Vec<_>>());
    }
}

#[test]
fn the_failure_of_the_lowest_index_is_returned_after_what_runs_has_ended() {
    let pool = quiet(2);
    for awaited in [false, true] {
        let ran = Arc::new(AtomicUsize::new(0));
        let mut batch = pool.batch();
        let (tell, started) = mpsc::channel();
        let first = move || {
            tell.send(()).unwrap();
            stubborn()
        };
        batch.spawn(first).unwrap();
        started.recv().unwrap();
        batch.spawn(|| Err("one")).unwrap();
        for _ in 0..100 {
            let ran = Arc::clone(&ran);
            batch
                .spawn(move || {
                    ran.fetch_add(1, Ordering::Relaxed);
                    Ok(0)
                })
                .unwrap();
        }
        let error = join(thread::spawn(move || {
            let all =
                if awaited { block_on(batch.try_join_all_async()) } else { batch.try_join_all() };
            all.unwrap_err()
        }));
        assert_eq!(pool.stats().busy + pool.stats().queued, 0, "nothing runs any more");
        // The first was asked to stop because of the second, and its own failure comes first.
        assert!(matches!(error, BatchError::Failed { index: 0, error: "asked to stop" }));
        assert!(ran.load(Ordering::Relaxed) <= 100);
    }
    assert!(pool.stats().adds_up());
}

#[test]
fn a_failure_refuses_what_spawners_add() {
    let pool = quiet(1);
    let mut batch = pool.batch();
    let spawner = batch.spawner();
    let producer = thread::spawn(move || {
        loop {
            if let Err(error) = spawner.spawn(|| Err::<u32, _>("no")) {
                return error.reason();
            }
        }
    });
    let error = join(thread::spawn(move || batch.try_join_all().unwrap_err()));
    assert_eq!((error.index(), error.into_error()), (0, Some("no")));
    assert_eq!(join(producer), Refused::BatchGone);
    pool.drain().unwrap();
    assert!(pool.stats().adds_up());
}

/// Four threads that spawn a task again and again, until the batch is gone.
fn four_that_go_on<T: Send + 'static>(
    batch: &mut Batch<T>,
    task: fn() -> T,
) -> Vec<thread::JoinHandle<()>> {
    let spawn_on = |spawner: BatchSpawner<T>| move || while spawner.spawn(task).is_ok() {};
    (0..4).map(|_| thread::spawn(spawn_on(batch.spawner()))).collect()
}

#[test]
fn a_failure_is_noticed_although_spawners_add_tasks_as_fast_as_they_end() {
    for _ in 0..50 {
        let pool = quiet(2);
        let mut batch = pool.batch();
        let producers = four_that_go_on(&mut batch, || Err::<u32, _>("no"));
        let error = join(thread::spawn(move || batch.try_join_all().unwrap_err()));
        assert_eq!(error.into_error(), Some("no"));
        producers.into_iter().for_each(join);
    }
}

#[test]
fn a_wait_ends_in_time_although_spawners_add_tasks_as_fast_as_they_end() {
    for _ in 0..10 {
        let pool = quiet(2);
        let mut batch = pool.batch();
        let producers = four_that_go_on(&mut batch, || ());
        let waiter = thread::spawn(move || {
            let time_out = Duration::from_millis(10);
            assert!(batch.join_all_timeout(time_out).is_none(), "spawners are left");
            assert!(poll_once(pin!(batch.join_all_async())).is_pending(), "spawners are left");
        });
        join(waiter);
        producers.into_iter().for_each(join);
    }
}

#[test]
fn a_failure_converts_into_the_error_of_the_crate() {
    fn work(pool: &Pool) -> Result<Vec<u32>, Error> {
        let mut batch = pool.batch();
        batch.spawn(|| "1".parse::<u32>())?;
        batch.spawn(|| "two".parse::<u32>())?;
        Ok(batch.try_join_all()?)
    }
    let error = work(&Pool::new(1)).unwrap_err();
    assert!(matches!(error, Error::Failed { index: 1, .. }));
}

#[test]
fn a_cancelled_task_is_a_failure() {
    let pool = Pool::new(1);
    let door = Door::new();
    let mut batch = pool.batch::<Result<(), ()>>();
    let held = door.clone();
    batch
        .spawn(move || {
            held.wait();
            Ok(())
        })
        .unwrap();
    door.await_waiting(1);
    batch.spawn(|| Ok(())).unwrap();
    assert_eq!(pool.discard(), 1);
    door.open();
    assert!(matches!(batch.try_join_all(), Err(BatchError::Cancelled { index: 1 })));
}

#[test]
fn nothing_is_lost_when_the_time_is_over() {
    let pool = Pool::new(2);
    let door = Door::new();
    let mut batch = pool.batch();
    let held = door.clone();
    batch
        .spawn(move || {
            held.wait();
            0
        })
        .unwrap();
    for number in 1..10 {
        batch.spawn(move || number).unwrap();
    }
    while batch.join_all_timeout(Duration::from_millis(1)).is_none() {
        assert_eq!(batch.len(), 10);
        if pool.stats().completed == 9 {
            break;
        }
    }
    assert_eq!(batch.join_all_timeout(Duration::ZERO).map(|all| all.len()), None);
    assert_eq!(batch.try_next().unwrap().unwrap(), 1, "the others ended in this order");
    {
        let mut all = std::pin::pin!(batch.join_all_async());
        assert!(poll_once(all.as_mut()).is_pending());
    }
    assert_eq!(batch.len(), 9, "and the dropped future has lost nothing");
    door.open();
    let all = batch.join_all_timeout(crate::common::PATIENCE).unwrap();
    let all: Vec<_> = all.into_iter().map(Result::unwrap).collect();
    assert_eq!(all, [0, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert!(batch.is_empty());
}

#[test]
fn a_task_whose_time_is_over_goes_on_and_may_wait_again() {
    let pool = Pool::builder().workers(1).queue(0).build().unwrap();
    let inside = pool.clone();
    let handle = pool
        .spawn(move || {
            let (door, mut batch) = (Door::new(), inside.batch());
            let held = door.clone();
            batch.spawn(move || held.wait()).unwrap();
            // The pool has a hook-free worker, which would run the task itself and wait for ever: so it is opened here.
            door.open();
            while batch.join_all_timeout(Duration::from_millis(1)).is_none() {}
            inside.stats().adds_up()
        })
        .unwrap();
    assert!(join(thread::spawn(move || handle.join().unwrap())));
}

#[test]
fn a_batch_that_is_dropped_cancels_if_it_was_told_to() {
    let pool = Pool::new(1);
    let mut batch = pool.batch().cancel_on_drop();
    let door = Door::new();
    let held = door.clone();
    batch
        .spawn(move || {
            held.wait();
            stubborn()
        })
        .unwrap();
    door.await_waiting(1);
    for _ in 0..10 {
        batch.spawn(|| Ok(1)).unwrap();
    }
    drop(batch);
    door.open();
    pool.drain().unwrap();
    assert_eq!((pool.stats().completed, pool.stats().cancelled), (1, 10));
}

#[test]
fn the_index_is_that_of_the_task() {
    let pool = Pool::new(3);
    let doors = [Door::new(), Door::new(), Door::new()];
    let mut batch = pool.batch();
    for door in &doors {
        let door = door.clone();
        batch.spawn(move || door.wait()).unwrap();
    }
    for index in [1, 2, 0] {
        doors[index].open();
        let next =
            if index == 2 { block_on(batch.next_indexed_async()) } else { batch.indexed().next() };
        assert_eq!(next.unwrap().0, index);
    }
    assert!(batch.indexed().next().is_none());
}
