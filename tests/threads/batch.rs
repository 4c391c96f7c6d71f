//! A group of tasks: outcomes in order of completion and of spawning, cancellation, no deadlock.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{Door, block_on, join, poll_once};
use formic::{JoinError, Pool, Refused};

#[test]
fn outcomes_come_in_order_of_completion() {
    let pool = Pool::new(3);
    let doors = [Door::new(), Door::new(), Door::new()];
    let mut batch = pool.batch();
    for (number, door) in doors.iter().cloned().enumerate() {
        batch
            .spawn(move || {
                door.wait();
                number
            })
            .unwrap();
    }
    for number in [2, 0, 1] {
        doors[number].open();
        assert_eq!(batch.next().unwrap().unwrap(), number);
    }
    assert!(batch.next().is_none());
    assert!(batch.next().is_none(), "and it stays at its end");
}

#[test]
fn join_all_gives_them_in_order_of_spawning() {
    let pool = Pool::new(4);
    let mut batch = pool.batch();
    for number in 0..1000 {
        batch.spawn(move || number).unwrap();
    }
    let all: Vec<_> = batch.join_all().into_iter().map(Result::unwrap).collect();
    assert_eq!(all, (0..1000).collect::<Vec<_>>());
}

#[test]
fn join_all_leaves_out_what_was_given_out() {
    let pool = Pool::new(1);
    let mut batch = pool.batch();
    for number in 0..5 {
        batch.spawn(move || number).unwrap();
    }
    assert_eq!(batch.next().unwrap().unwrap(), 0, "one worker takes them in order");
    assert_eq!((batch.len(), batch.is_empty()), (4, false));
    let rest: Vec<_> = batch.join_all().into_iter().map(Result::unwrap).collect();
    assert_eq!(rest, [1, 2, 3, 4]);
}

#[test]
fn an_empty_batch_is_at_its_end() {
    let pool = Pool::new(1);
    assert!(pool.batch::<()>().next().is_none());
    assert!(pool.batch::<()>().join_all().is_empty());
    assert!(pool.batch::<()>().first_returned().unwrap_err().is_empty());
    assert!(block_on(pool.batch::<()>().next_async()).is_none());
}

#[test]
fn a_batch_may_go_on_after_its_end() {
    let pool = Pool::new(2);
    let mut batch = pool.batch();
    for round in 0..100 {
        batch.spawn(move || round).unwrap();
        assert_eq!(batch.next().unwrap().unwrap(), round);
        assert!(batch.next().is_none());
    }
}

#[test]
fn a_batch_larger_than_queue_and_capacity_works_from_one_thread() {
    for queue in [0, 1, 7] {
        let pool = Pool::builder().workers(2).queue(queue).build().unwrap();
        let mut batch = pool.batch();
        for number in 0..5000_u64 {
            batch.spawn(move || number).unwrap();
        }
        assert_eq!(batch.map(Result::unwrap).sum::<u64>(), 4999 * 5000 / 2);
    }
}

#[test]
fn the_first_that_returns_wins_and_the_rest_is_cancelled() {
    let pool = Pool::new(1);
    let (door, ran) = (Door::new(), Arc::new(AtomicUsize::new(0)));
    let mut batch = pool.batch();
    batch.spawn(|| panic!("the first fails")).unwrap();
    batch.spawn(|| "the second wins").unwrap();
    let held = door.clone();
    batch
        .spawn(move || {
            held.wait();
            "late"
        })
        .unwrap();
    for _ in 0..10 {
        let ran = Arc::clone(&ran);
        batch
            .spawn(move || {
                ran.fetch_add(1, Ordering::Relaxed);
                "never"
            })
            .unwrap();
    }
    assert_eq!(batch.first_returned().unwrap(), "the second wins");
    door.open();
    pool.wait_idle().unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    assert!(pool.stats().cancelled >= 10);
}

#[test]
fn without_a_winner_there_are_all_errors() {
    let pool = Pool::new(2);
    let mut batch = pool.batch::<()>();
    for _ in 0..3 {
        batch.spawn(|| panic!("no")).unwrap();
    }
    let errors = batch.first_returned().unwrap_err();
    assert_eq!(errors.iter().filter(|error| error.is_panic()).count(), 3);
}

#[test]
fn cancelling_in_the_loop_and_twice_never_hangs() {
    let pool = Pool::new(1);
    let door = Door::new();
    let mut batch = pool.batch();
    let held = door.clone();
    batch.spawn(move || held.wait()).unwrap();
    door.await_waiting(1);
    for _ in 0..20 {
        batch.spawn(|| ()).unwrap();
    }
    batch.cancel();
    batch.cancel();
    let (mut returned, mut cancelled) = (0, 0);
    door.open();
    while let Some(outcome) = batch.next() {
        batch.cancel();
        match outcome {
            Ok(()) => returned += 1,
            Err(JoinError::Cancelled) => cancelled += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((returned, cancelled), (1, 20));
    assert!(pool.stats().adds_up());
}

#[test]
fn a_dropped_batch_lets_its_tasks_run_on() {
    let pool = Pool::new(2);
    let ran = Arc::new(AtomicUsize::new(0));
    let mut batch = pool.batch();
    for _ in 0..100 {
        let ran = Arc::clone(&ran);
        batch.spawn(move || ran.fetch_add(1, Ordering::Relaxed)).unwrap();
    }
    drop(batch);
    pool.drain().unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 100);
}

#[test]
fn a_refused_task_comes_back_and_the_batch_goes_on() {
    let pool = Pool::new(1);
    let mut batch = pool.batch();
    batch.spawn(|| 1).unwrap();
    pool.close();
    let error = batch.spawn(|| 2).unwrap_err();
    assert_eq!((error.reason(), error.into_task()()), (Refused::Closed, 2));
    assert_eq!(batch.map(Result::unwrap).collect::<Vec<_>>(), [1]);
}

#[test]
fn outcomes_can_be_awaited() {
    let pool = Pool::new(2);
    let door = Door::new();
    let mut batch = pool.batch();
    let held = door.clone();
    batch
        .spawn(move || {
            held.wait();
            7
        })
        .unwrap();
    {
        let mut next = std::pin::pin!(batch.next_async());
        assert!(poll_once(next.as_mut()).is_pending());
    }
    door.open();
    assert_eq!(
        block_on(batch.next_async()).unwrap().unwrap(),
        7,
        "the dropped future lost nothing"
    );
    assert!(block_on(batch.next_async()).is_none());
}

#[test]
fn a_batch_inside_a_batch_works_with_one_worker() {
    for queue in [0, 1, 64] {
        let pool = Pool::builder().workers(1).queue(queue).build().unwrap();
        let mut outer = pool.batch();
        for _ in 0..10 {
            let inside = pool.clone();
            outer
                .spawn(move || {
                    let mut inner = inside.batch();
                    for number in 0..10 {
                        inner.spawn(move || number).unwrap();
                    }
                    inner.map(Result::unwrap).sum::<i32>()
                })
                .unwrap();
        }
        let sums = join(std::thread::spawn(move || outer.map(Result::unwrap).sum::<i32>()));
        assert_eq!(sums, 450);
    }
}
