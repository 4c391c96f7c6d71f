//! Class 2: a task is submitted while the last worker goes, and nobody is left to run it.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, Random, block_on, eventually, seed};
use crate::hold::Hold;
use crate::kinds::{Kind, Plan};
use crate::time;

/// Submits at the moment when workers go, with a jitter, for twenty seconds. Each task must run.
fn each_task_runs<K: Kind>(workers: usize, burst: u64) {
    let mut random = Random(seed("class_02_expiry_against_submit"));
    let plan = Plan { keep_alive: Some(Duration::from_micros(200)), ..Plan::new(workers, 8) };
    let (pool, (sender, receiver)) = (K::build(&plan), mpsc::channel());
    let (end, mut rounds) = (Instant::now() + time(Duration::from_secs(20)), 0_u32);
    while Instant::now() < end {
        let tasks = 1 + random.below(burst);
        for _ in 0..tasks {
            let sender = sender.clone();
            let task = Box::pin(async move { sender.send(()).unwrap_or_default() });
            block_on(pool.submit(task)).unwrap();
        }
        for _ in 0..tasks {
            let ran = receiver.recv_timeout(PATIENCE);
            assert!(ran.is_ok(), "no worker is left after {rounds} rounds: {:?}", pool.stats());
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
    assert!(block_on(pool.drain()));
    assert!(pool.stats().adds_up());
}

fn one_worker_goes<K: Kind>() {
    each_task_runs::<K>(1, 1);
}
on_every_thread_pool!(one_worker_goes);

fn several_workers_go<K: Kind>() {
    each_task_runs::<K>(3, 6);
}
on_every_thread_pool!(several_workers_go);

/// Several go at once, and the minimum stays.
fn the_minimum_is_never_undercut<K: Kind>() {
    let keep_alive = Some(Duration::from_millis(1));
    let plan = Plan { minimum: 3, keep_alive, ..Plan::new(8, 8) };
    let pool = K::build(&plan);
    let end = Instant::now() + time(Duration::from_secs(20));
    while Instant::now() < end {
        let hold = Hold::default();
        for _ in 0..8 * K::SHARDS {
            block_on(pool.submit(hold.job())).unwrap();
        }
        hold.open();
        eventually("the others go", || {
            let stats = pool.stats();
            assert!(stats.workers >= 3 * K::SHARDS, "{stats:?}");
            stats.workers == 3 * K::SHARDS && stats.busy == 0 && stats.queued == 0
        });
    }
    assert!(block_on(pool.drain()));
    assert_eq!(plan.census.count(), 0);
}
on_every_thread_pool!(the_minimum_is_never_undercut);
