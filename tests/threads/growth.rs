//! Growth by load: workers come and go by steps, as the queue fills and empties.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{
    self, Door, Random, eventually, join, seed, stress_time, submit_held, warm_up,
};
use formic::{Builder, Growth, Pool, Refused, Workers};

fn by_load(step: usize, grow_at: f64, shrink_at: f64) -> Growth {
    Growth::by_load(step, grow_at, shrink_at)
}

/// Workers that stay unless the load sends them away.
fn builder(workers: impl Into<Workers>, queue: usize, growth: Growth) -> Builder {
    Pool::builder().workers(workers).queue(queue).growth(growth).keep_alive(None)
}

fn pool(workers: impl Into<Workers>, queue: usize, growth: Growth) -> Pool {
    builder(workers, queue, growth).build().expect("a pool")
}

#[test]
fn a_load_above_the_mark_brings_a_step_of_workers() {
    let (pool, door) = (pool(8, 10, by_load(3, 0.5, 0.1)), Door::new());
    let mut workers = Vec::new();
    for _ in 0..18 {
        submit_held(&pool, &door, 1);
        workers.push(pool.workers());
        // Whether those who were started are at the door yet makes no difference to the load.
        if workers.len().is_multiple_of(4) {
            door.await_waiting(pool.workers());
        }
    }
    // One is enough until six wait: one is held, five wait, and the seventh task is one too many.
    let expected = [1, 1, 1, 1, 1, 1, 4, 4, 4, 7, 7, 7, 8, 8, 8, 8, 8, 8];
    assert_eq!(workers, expected, "three at a time, as far as the capacity goes");
    door.await_waiting(8);
    assert_eq!(pool.queued(), 10);
    door.open();
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 18);
}

#[test]
fn a_load_at_the_mark_brings_no_worker() {
    let (pool, door) = (pool(4, 100, by_load(1, 0.57, 0.1)), Door::new());
    submit_held(&pool, &door, 1 + 57);
    assert_eq!(pool.workers(), 1, "57 of 100 are not above 0.57");
    submit_held(&pool, &door, 1);
    assert_eq!(pool.workers(), 2);
    door.open();
}

#[test]
fn the_minimum_is_there_from_the_start() {
    let (pool, door) = (pool(2..=8, 10, by_load(4, 0.5, 0.1)), Door::new());
    assert_eq!(pool.workers(), 2);
    submit_held(&pool, &door, 2 + 5);
    assert_eq!(pool.workers(), 2);
    submit_held(&pool, &door, 1);
    assert_eq!(pool.workers(), 6);
    door.open();
}

#[test]
fn no_worker_is_started_while_another_is_idle() {
    let (pool, door) = (pool(8, 2, by_load(2, 0.4, 0.1)), Door::new());
    pool.prestart(3).unwrap();
    submit_held(&pool, &door, 3);
    door.await_waiting(3);
    assert_eq!(pool.workers(), 3);
    submit_held(&pool, &door, 1);
    assert_eq!(pool.workers(), 5, "one of two is above 0.4, and nobody is idle");
    door.open();
}

#[test]
fn a_load_below_the_mark_retires_a_step_of_workers_down_to_the_minimum() {
    for minimum in [0, 1, 2] {
        let pool = pool(minimum..=7, 10, by_load(2, 0.5, 0.1));
        pool.prestart(7).unwrap();
        for left in [5, 3, minimum.max(1)] {
            // The worker that ends this task finds the queue empty.
            pool.submit(|| ()).unwrap();
            eventually("a step has gone", || pool.workers() == left);
        }
        for _ in 0..50 {
            pool.submit(|| ()).unwrap();
            pool.wait_idle().unwrap();
            assert_eq!(pool.workers(), minimum.max(1), "those stay");
        }
    }
}

#[test]
fn busy_workers_retire_when_their_task_ends() {
    let (pool, door) = (pool(5, 4, by_load(4, 0.5, 0.4)), Door::new());
    submit_held(&pool, &door, 5 + 2);
    door.await_waiting(5);
    let counts = |queued| (pool.workers(), pool.queued(), pool.busy()) == (5, queued, 5);
    for queued in [1, 0] {
        door.let_one_pass();
        eventually("a worker has taken the next", || counts(queued));
        door.await_waiting(5);
    }
    for left in [4, 3, 2, 1] {
        door.let_one_pass();
        eventually("it goes, and the others stay", || {
            (pool.workers(), pool.busy()) == (left, left)
        });
    }
    door.let_one_pass();
    eventually("the last one stays", || (pool.workers(), pool.idle()) == (1, 1));
    assert_eq!(pool.stats().completed, 7);
}

#[test]
fn what_has_retired_comes_again_with_the_load() {
    let pool = pool(6, 4, by_load(5, 0.5, 0.4));
    for round in 1..=3 {
        let door = Door::new();
        submit_held(&pool, &door, 6 + 4);
        door.await_waiting(6);
        assert_eq!(pool.workers(), 6, "in round {round}");
        door.open();
        pool.wait_idle().unwrap();
        eventually("one is left", || pool.workers() == 1);
    }
}

#[test]
fn a_mark_of_zero_leaves_it_to_keep_alive() {
    let pool = pool(4, 10, by_load(1, 0.5, 0.0));
    pool.prestart(4).unwrap();
    for _ in 0..100 {
        pool.submit(|| ()).unwrap();
    }
    pool.wait_idle().unwrap();
    assert_eq!(pool.workers(), 4);
}

#[test]
fn keep_alive_holds_as_well_and_a_later_task_still_runs() {
    let growth = by_load(3, 0.5, 0.0);
    let pool = builder(4, 2, growth).keep_alive(Duration::from_millis(2)).build().unwrap();
    for _ in 0..3 {
        for _ in 0..20 {
            pool.submit(|| ()).unwrap();
        }
        eventually("all have gone", || pool.workers() == 0);
    }
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 60);
}

#[test]
fn the_queue_is_bounded_by_its_length_also_below_capacity() {
    let (pool, door) = (pool(8, 3, by_load(1, 1.0, 0.1)), Door::new());
    submit_held(&pool, &door, 1 + 3);
    door.await_waiting(1);
    let error = pool.try_submit(|| ()).unwrap_err();
    assert_eq!(error.reason(), Refused::Full);
    assert_eq!((pool.workers(), pool.queued()), (1, 3), "nothing is above 1.0");
    door.open();
    pool.drain().unwrap();
}

#[test]
fn a_burst_is_not_refused_before_the_capacity_is_reached() {
    let (pool, door) = (pool(8, 4, by_load(1, 0.5, 0.1)), Door::new());
    for task in 0..8 + 4 {
        let door = door.clone();
        assert!(pool.try_submit(move || door.wait()).is_ok(), "task {task} is refused");
    }
    assert_eq!(pool.try_submit(|| ()).unwrap_err().reason(), Refused::Full);
    assert_eq!(pool.workers(), 8);
    door.open();
    pool.drain().unwrap();
}

#[test]
fn growth_is_noticed_also_after_short_tasks() {
    let (pool, door) = (pool(4, 10, by_load(1, 0.5, 0.1)), Door::new());
    for _ in 0..3 {
        warm_up(&pool);
        submit_held(&pool, &door, 4 + 10);
        door.await_waiting(4);
        assert_eq!(pool.workers(), 4);
        (0..4 + 10).for_each(|_| door.let_one_pass());
        pool.wait_idle().unwrap();
    }
}

#[test]
fn a_larger_capacity_is_used_if_the_load_is_above_the_mark() {
    let (pool, door) = (pool(1, 4, by_load(2, 0.5, 0.1)), Door::new());
    submit_held(&pool, &door, 1 + 4);
    pool.resize(2).unwrap();
    assert_eq!(pool.workers(), 2);
    pool.resize(8).unwrap();
    assert_eq!(pool.workers(), 4, "three of four wait for a worker, so two come");
    pool.resize(1).unwrap();
    door.open();
    pool.wait_idle().unwrap();
    eventually("one is left", || pool.workers() == 1);
}

#[test]
fn a_task_may_join_its_own_whatever_the_load_is() {
    let pool = pool(4, 100, by_load(1, 0.9, 0.1));
    let sum = common::inside(&pool, |pool| {
        let handles: Vec<_> = (0..10).map(|n| pool.spawn(move || n).expect("open")).collect();
        handles.into_iter().map(|handle| handle.join().expect("no panic")).sum::<i32>()
    });
    assert_eq!(sum, 45);
}

#[test]
fn marks_steps_and_queues_that_make_no_sense_are_refused_by_name() {
    let build = |growth| builder(4, 10, growth).build().unwrap_err();
    let text = build(by_load(0, 0.5, 0.1)).to_string();
    assert_eq!(text, "growth: a step of 0 changes nothing");
    for load in [-0.1, 1.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let problem = format!("grow_at is {load}, which is not from 0.0 to 1.0");
        assert_eq!(build(by_load(1, load, 0.1)).problem(), Some(&*problem));
        let problem = format!("shrink_at is {load}, which is not from 0.0 to 1.0");
        assert_eq!(build(by_load(1, 0.5, load)).problem(), Some(&*problem));
    }
    for shrink_at in [0.5, 0.6] {
        let problem = format!("shrink_at {shrink_at} is not below grow_at 0.5");
        assert_eq!(build(by_load(1, 0.5, shrink_at)).problem(), Some(&*problem));
    }
    let growth = by_load(1, 0.5, 0.1);
    let error = builder(4, 0, growth).build().unwrap_err();
    assert_eq!(error.to_string(), "growth: a queue of 0 has no load");
    let error = builder(4, 1, growth).queue_unbounded().build().unwrap_err();
    assert_eq!(error.to_string(), "growth: a queue without a bound has no load");
    assert!(builder(4, 1, by_load(1, 1.0, 0.0)).build().is_ok());
}

#[test]
fn every_task_runs_once_while_workers_come_and_go() {
    let seed = seed("every_task_runs_once_while_workers_come_and_go");
    let deadline = Instant::now() + stress_time(Duration::from_millis(500));
    let (mut random, ran) = (Random(seed), Arc::new(AtomicUsize::new(0)));
    let mut expected = 0;
    while Instant::now() < deadline {
        let step = 1 + random.below(3) as usize;
        let growth =
            by_load(step, 0.2 + random.below(8) as f64 / 10.0, random.below(2) as f64 / 10.0);
        let pool = builder(random.below(2) as usize..=4, 1 + random.below(8) as usize, growth)
            .keep_alive(Duration::from_micros(100))
            .build()
            .unwrap();
        let submitters: Vec<_> = (0..3)
            .map(|_| {
                let (pool, ran, mut random) =
                    (pool.clone(), Arc::clone(&ran), Random(random.next()));
                thread::spawn(move || {
                    for _ in 0..100 {
                        let (ran, yields) = (Arc::clone(&ran), random.below(20).saturating_sub(15));
                        let task = move || {
                            (0..yields).for_each(|_| thread::yield_now());
                            ran.fetch_add(1, Ordering::SeqCst);
                        };
                        pool.submit(task).expect("the pool is open");
                        let stats = pool.stats();
                        assert!(stats.workers <= 4 && stats.busy <= 4);
                    }
                })
            })
            .collect();
        submitters.into_iter().for_each(join);
        pool.drain().unwrap();
        expected += 300;
        assert_eq!(ran.load(Ordering::SeqCst), expected);
    }
}
