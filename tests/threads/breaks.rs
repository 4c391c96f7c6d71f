//! Where other pools break: a wake-up is lost, a waiter is forgotten, a task stands behind another.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{
    self, Door, PATIENCE, Random, block_on, eventually, poll_once, stress_time, warm_up,
};
use formic::{Permit, Pool, Refused};

fn submit_held(pool: &Pool, door: &Door, tasks: usize) {
    for _ in 0..tasks {
        let door = door.clone();
        pool.submit(move || door.wait()).expect("the pool is open");
    }
}

/// Submits a task and waits for its effect, again and again. Now and then it pauses for so long
/// that the worker has stopped looking around, or is just about to.
fn alternate(test: &str, workers: usize, pauses_among: u64) {
    let rounds = if cfg!(debug_assertions) { 25_000 } else { 250_000 };
    let mut random = Random(common::seed(test));
    let pool = Pool::new(workers);
    let (done, owner) = (Arc::new(AtomicU64::new(0)), thread::current());
    for round in 1..=rounds {
        let (effect, owner) = (Arc::clone(&done), owner.clone());
        let task = move || {
            effect.store(round, Ordering::Release);
            owner.unpark();
        };
        pool.submit(task).expect("the pool is open");
        let begin = Instant::now();
        while done.load(Ordering::Acquire) != round {
            assert!(begin.elapsed() < PATIENCE, "round {round} of {test}: {:?}", pool.stats());
            thread::park_timeout(PATIENCE);
        }
        if random.below(pauses_among) == 0 {
            let end = Instant::now() + Duration::from_micros(random.below(80));
            while Instant::now() < end {
                std::hint::spin_loop();
            }
        }
    }
}

#[test]
fn no_wake_up_is_lost_between_a_submitter_and_one_worker() {
    alternate("no_wake_up_is_lost_between_a_submitter_and_one_worker", 1, 64);
}

#[test]
fn no_wake_up_is_lost_between_a_submitter_and_two_workers() {
    alternate("no_wake_up_is_lost_between_a_submitter_and_two_workers", 2, 64);
}

#[test]
fn no_wake_up_is_lost_when_one_worker_goes_to_sleep() {
    alternate("no_wake_up_is_lost_when_one_worker_goes_to_sleep", 1, 4);
}

#[test]
fn no_wake_up_is_lost_when_two_workers_go_to_sleep() {
    alternate("no_wake_up_is_lost_when_two_workers_go_to_sleep", 2, 4);
}

#[test]
fn each_freed_place_lets_one_blocked_submitter_in() {
    let pool = Pool::builder().workers(1).queue(0).build().unwrap();
    let (door, entered) = (Door::new(), AtomicUsize::new(0));
    submit_held(&pool, &door, 1);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                submit_held(&pool, &door, 1);
                entered.fetch_add(1, Ordering::SeqCst);
            });
        }
        eventually("eight submitters wait", || pool.waiting() == 8);
        for round in 1..=8 {
            door.let_one_pass();
            eventually("one has entered", || entered.load(Ordering::SeqCst) == round);
            door.await_waiting(1);
            assert_eq!((pool.waiting(), pool.busy()), (8 - round, 1));
        }
        assert_eq!(entered.load(Ordering::SeqCst), 8);
        door.open();
    });
    pool.wait_idle().unwrap();
    assert_eq!(pool.stats().completed, 9);
}

#[test]
fn closing_releases_everyone_who_waits_for_a_place() {
    let pool = Pool::builder().workers(1).queue(2).build().unwrap();
    let door = Door::new();
    submit_held(&pool, &door, 3);
    thread::scope(|scope| {
        let mut blocked = Vec::new();
        for number in 0..6 {
            let pool = &pool;
            blocked.push(scope.spawn(move || match number % 3 {
                0 => pool.submit(|| ()).unwrap_err().reason(),
                1 => pool.admit().unwrap_err(),
                _ => block_on(pool.admit_async()).unwrap_err(),
            }));
        }
        eventually("six wait", || pool.waiting() == 6);
        pool.close();
        for blocked in blocked {
            assert_eq!(blocked.join().unwrap(), Refused::Closed);
        }
    });
    assert_eq!((pool.waiting(), pool.stats().refused), (0, 6));
    door.open();
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 3);
}

/// Many submitters, few places, tasks of any length: all of them come through.
#[test]
fn no_blocked_submitter_is_forgotten_under_load() {
    let seed = common::seed("no_blocked_submitter_is_forgotten_under_load");
    let end = Instant::now() + stress_time(Duration::from_secs(2));
    let mut random = Random(seed);
    while Instant::now() < end {
        let (workers, queue) = (1 + random.below(3) as usize, random.below(4) as usize);
        let pool = Pool::builder().workers(workers).queue(queue * queue).build().unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        thread::scope(|scope| {
            for number in 0..6 {
                let (pool, ran) = (&pool, &ran);
                let mut random = Random(random.next() ^ number);
                scope.spawn(move || (0..200).for_each(|_| submit_any(pool, ran, &mut random)));
            }
        });
        pool.drain().unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), 1200, "{:?}", pool.stats());
        assert_eq!(Arc::strong_count(&ran), 1);
    }
}

fn submit_any(pool: &Pool, ran: &Arc<AtomicUsize>, random: &mut Random) {
    let (ran, kind) = (Arc::clone(ran), random.below(100));
    let task = move || {
        match kind {
            0..80 => {}
            80..90 => thread::yield_now(),
            90..99 => (0..1000).for_each(|_| std::hint::spin_loop()),
            _ => thread::park_timeout(Duration::from_micros(50)),
        }
        ran.fetch_add(1, Ordering::SeqCst);
    };
    match random.below(4) {
        0 => pool.submit(task).expect("the pool is open"),
        1 => pool.admit().expect("the pool is open").submit(task),
        2 => pool.admit_timeout(PATIENCE).expect("a place gets free in time").submit(task),
        _ => block_on(pool.admit_async()).expect("the pool is open").submit(task),
    }
}

/// Submitters that give up leave no place behind that nobody has.
#[test]
fn a_submitter_that_gives_up_takes_no_place_along() {
    let seed = common::seed("a_submitter_that_gives_up_takes_no_place_along");
    let pool = Pool::builder().workers(2).queue(2).build().unwrap();
    thread::scope(|scope| {
        for number in 0..6 {
            let pool = &pool;
            let mut random = Random(seed ^ number);
            scope.spawn(move || {
                for _ in 0..2000 {
                    let time = Duration::from_micros(random.below(30));
                    match random.below(3) {
                        0 => drop(pool.admit_timeout(time)),
                        1 => drop(poll_once(pin!(pool.admit_async()))),
                        _ => drop(pool.admit_timeout(time).map(|permit| permit.submit(|| ()))),
                    }
                }
            });
        }
    });
    pool.wait_idle().unwrap();
    assert_eq!(pool.waiting(), 0);
    let permits: Vec<Permit<'_>> = (0..4).map(|_| pool.try_admit().unwrap()).collect();
    assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
    drop(permits);
    pool.drain().unwrap();
}

/// Few places are left, and nothing happens in the pool. Still, they are there to be had.
#[test]
fn a_future_gets_a_free_place_although_few_are_left() {
    let pool = Pool::builder().workers(1).queue(64).build().unwrap();
    warm_up(&pool);
    let mut permits: Vec<Permit<'_>> = (0..60).map(|_| pool.try_admit().unwrap()).collect();
    for _ in 60..65 {
        let mut admit = Box::pin(pool.admit_async());
        eventually("a permit for a free place", || match poll_once(admit.as_mut()) {
            std::task::Poll::Ready(permit) => {
                permits.push(permit.unwrap());
                true
            }
            std::task::Poll::Pending => false,
        });
    }
    assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
}

#[test]
fn a_future_gets_a_free_place_although_the_worker_is_held() {
    let pool = Pool::builder().workers(1).queue(64).build().unwrap();
    warm_up(&pool);
    let door = Door::new();
    submit_held(&pool, &door, 1);
    door.await_waiting(1);
    (0..60).for_each(|_| pool.submit(|| ()).unwrap());
    let mut admit = Box::pin(pool.admit_async());
    eventually("a permit for a free place", || poll_once(admit.as_mut()).is_ready());
    door.open();
}

#[test]
fn a_thread_gets_a_free_place_although_few_are_left() {
    let pool = Pool::builder().workers(1).queue(64).build().unwrap();
    warm_up(&pool);
    let door = Door::new();
    submit_held(&pool, &door, 1);
    door.await_waiting(1);
    (0..64).for_each(|_| pool.admit_timeout(PATIENCE).unwrap().submit(|| ()));
    assert_eq!(pool.try_submit(|| ()).unwrap_err().reason(), Refused::Full);
    door.open();
}

/// Tasks that proved short are taken several at a time; one that blocks must not hold the rest.
#[test]
fn no_task_stands_behind_one_that_blocks() {
    for workers in [2, 4] {
        let pool = Pool::new(workers);
        for _ in 0..20 {
            warm_up(&pool);
            let (door, before) = (Door::new(), pool.stats().completed);
            for task in 0..200 {
                match task {
                    100 => submit_held(&pool, &door, 1),
                    _ => pool.submit(|| ()).unwrap(),
                }
            }
            eventually("the others run", || pool.stats().completed == before + 199);
            assert_eq!((pool.busy(), pool.queued()), (1, 0));
            door.open();
        }
    }
}
