//! Silent when idle: workers time themselves, the minimum stays, and a late submit still runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{self, Door, PATIENCE, Random, eventually, stress_time};
use formic::Pool;

fn submit_held(pool: &Pool, door: &Door, tasks: usize) {
    for _ in 0..tasks {
        let door = door.clone();
        pool.submit(move || door.wait()).expect("the pool is open");
    }
    door.await_waiting(tasks);
}

/// Returns when a pool that begins its life now has let all its workers go: the clock by which
/// another pool's patience is measured.
fn outlive_a_pool(keep_alive: Duration) {
    let pool = Pool::builder().workers(4).prestart(4).keep_alive(keep_alive);
    let pool = pool.build().expect("the settings are good");
    eventually("the other pool's workers retire", || pool.workers() == 0);
}

#[test]
fn idle_workers_retire_after_keep_alive() {
    let stopped = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&stopped);
    let pool = Pool::builder().workers(4).keep_alive(Duration::from_millis(20)).name("retire");
    let pool = pool.on_worker_stop(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let pool = pool.build().unwrap();
    for round in 1..=5 {
        let door = Door::new();
        submit_held(&pool, &door, 4);
        assert_eq!(pool.workers(), 4);
        door.open();
        eventually("no worker is left", || pool.workers() == 0);
        assert_eq!(stopped.load(Ordering::Relaxed), 4 * round);
        #[cfg(target_os = "linux")]
        eventually("no thread is left", || common::threads_named("retire-") == 0);
    }
}

#[test]
fn prestarted_workers_retire_too() {
    let pool = Pool::builder().workers(4).prestart(4).keep_alive(Duration::from_millis(5));
    let pool = pool.build().unwrap();
    eventually("no worker is left", || pool.workers() == 0);
}

#[test]
fn a_worker_stays_for_keep_alive() {
    let keep_alive = Duration::from_millis(50);
    let (sender, receiver) = mpsc::channel();
    let pool = Pool::builder().workers(1).keep_alive(keep_alive);
    let pool = pool
        .on_worker_stop(move |_| sender.send(Instant::now()).unwrap_or_default())
        .build()
        .unwrap();
    for _ in 0..3 {
        let before = Instant::now();
        pool.submit(|| ()).unwrap();
        let stopped = receiver.recv_timeout(PATIENCE).unwrap();
        let stayed = stopped.duration_since(before);
        assert!(stayed >= keep_alive, "stayed for {stayed:?} only");
    }
}

#[test]
fn without_keep_alive_workers_stay() {
    let pool = Pool::builder().workers(3).prestart(3).keep_alive(None).build().unwrap();
    outlive_a_pool(Duration::from_millis(100));
    assert_eq!(pool.workers(), 3);
}

#[test]
fn a_busy_worker_does_not_retire() {
    let pool = Pool::builder().workers(2).keep_alive(Duration::from_millis(1)).build().unwrap();
    let door = Door::new();
    submit_held(&pool, &door, 2);
    outlive_a_pool(Duration::from_millis(50));
    assert_eq!((pool.workers(), pool.busy()), (2, 2));
    door.open();
    eventually("they retire afterwards", || pool.workers() == 0);
}

#[test]
fn the_minimum_is_never_undercut() {
    let keep_alive = Duration::from_millis(2);
    let pool = Pool::builder().workers(3..=8).keep_alive(keep_alive).name("never").build().unwrap();
    for round in 0..40 {
        let door = Door::new();
        submit_held(&pool, &door, 8);
        door.open();
        eventually("the others retire", || {
            let workers = pool.workers();
            assert!(workers >= 3, "{workers} in round {round}");
            workers == 3
        });
    }
    outlive_a_pool(Duration::from_millis(20));
    assert_eq!(pool.workers(), 3);
    #[cfg(target_os = "linux")]
    eventually("the threads are those", || common::threads_named("never-") == 3);
}

#[test]
fn a_permit_keeps_the_last_worker() {
    let pool = Pool::builder().workers(4).prestart(4).keep_alive(Duration::from_millis(1));
    let pool = pool.build().unwrap();
    let permit = pool.admit().unwrap();
    eventually("the others retire", || pool.workers() == 1);
    outlive_a_pool(Duration::from_millis(20));
    assert_eq!(pool.workers(), 1);
    let (sender, receiver) = mpsc::channel();
    permit.submit(move || sender.send(()).unwrap_or_default());
    receiver.recv_timeout(PATIENCE).unwrap();
    eventually("the last one retires", || pool.workers() == 0);
}

/// Submits again and again at the moment when the workers retire. Each task must run.
fn submit_while_retiring(test: &str, workers: usize, burst: u64) {
    let mut random = Random(common::seed(test));
    let keep_alive = Duration::from_micros(200);
    let pool = Pool::builder().workers(workers).keep_alive(keep_alive);
    let pool = pool.build().expect("the settings are good");
    let (sender, receiver) = mpsc::channel();
    let end = Instant::now() + stress_time(Duration::from_millis(1500));
    let mut rounds = 0_u32;
    while Instant::now() < end {
        let tasks = 1 + random.below(burst);
        for _ in 0..tasks {
            let sender = sender.clone();
            pool.submit(move || sender.send(()).unwrap_or_default()).expect("the pool is open");
        }
        for _ in 0..tasks {
            let ran = receiver.recv_timeout(PATIENCE);
            assert!(ran.is_ok(), "a task did not run after {rounds} rounds: {:?}", pool.stats());
        }
        // From somewhat before the worker's time is over to somewhat after.
        let again = Instant::now() + Duration::from_micros(150 + random.below(250));
        if random.below(2) == 0 {
            thread::park_timeout(again.saturating_duration_since(Instant::now()));
        }
        while Instant::now() < again {
            std::hint::spin_loop();
        }
        rounds += 1;
    }
    pool.drain().expect("this is no task of the pool");
    println!("{test}: {rounds} rounds");
}

#[test]
fn a_submit_that_races_with_the_last_retirement_still_runs() {
    submit_while_retiring("a_submit_that_races_with_the_last_retirement_still_runs", 1, 1);
}

#[test]
fn submits_that_race_with_several_retirements_still_run() {
    submit_while_retiring("submits_that_race_with_several_retirements_still_run", 3, 6);
}

#[cfg(target_os = "linux")]
mod silence {
    use super::*;
    use crate::common::{assert_silent, threads_named};

    /// Longer than any test.
    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn workers_retire_without_a_helper_thread() {
        // A thread that is given no name has that of the thread that started it.
        let owner = thread::Builder::new().name("owner".to_owned());
        let body = || {
            let pool = Pool::builder().workers(4).keep_alive(Duration::from_millis(50));
            let pool = pool.name("own").build().unwrap();
            let door = Door::new();
            submit_held(&pool, &door, 4);
            assert_eq!(threads_named("own-"), 4);
            assert_eq!(threads_named("owner"), 1, "the pool has a thread besides its workers");
            door.open();
            eventually("no worker is left", || pool.workers() == 0);
            eventually("no thread is left", || threads_named("own") == 1);
            assert_eq!(threads_named("owner"), 1);
        };
        owner.spawn(body).unwrap().join().unwrap();
    }

    #[test]
    fn an_idle_pool_uses_no_processor() {
        let pool = Pool::builder().workers(8).keep_alive(LONG).name("silent").build().unwrap();
        let door = Door::new();
        submit_held(&pool, &door, 8);
        door.open();
        (0..20_000).for_each(|_| pool.submit(|| ()).unwrap());
        pool.wait_idle().unwrap();
        assert_silent("silent-", 8);
    }

    #[test]
    fn a_pool_that_was_just_built_uses_no_processor() {
        let pool = Pool::builder().workers(4..=8).keep_alive(LONG).name("fresh").build().unwrap();
        assert_silent("fresh-", 4);
        assert_eq!(pool.workers(), 4);
    }

    #[test]
    fn the_minimum_uses_no_processor_after_keep_alive() {
        let pool = Pool::builder().workers(2..=8).keep_alive(Duration::from_millis(2));
        let pool = pool.name("few").build().unwrap();
        let door = Door::new();
        submit_held(&pool, &door, 8);
        door.open();
        eventually("the others retire", || pool.workers() == 2);
        assert_silent("few-", 2);
    }

    #[test]
    fn a_held_pool_with_blocked_submitters_uses_no_processor() {
        let pool = Pool::builder().workers(2).queue(0).keep_alive(LONG).name("held");
        let pool = pool.build().unwrap();
        common::warm_up(&pool);
        let door = Door::new();
        submit_held(&pool, &door, 2);
        thread::scope(|scope| {
            for number in 0..3 {
                let blocked = thread::Builder::new().name(format!("blocked-{number}"));
                let submit = || pool.submit(|| ()).expect("the pool is open");
                blocked.spawn_scoped(scope, submit).unwrap();
            }
            eventually("three submitters wait", || pool.waiting() == 3);
            assert_silent("held-", 2);
            assert_silent("blocked-", 3);
            door.open();
        });
    }
}
