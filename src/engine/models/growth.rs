//! Models of growth by load: a rising load is noticed, and who retires leaves no task behind.

use std::time::Duration;

use loom::sync::atomic::Ordering;
use loom::thread;

use super::counting::{BLOCKS, RELEASES, engine};
use super::{WAIT, drain, explore, explore_up_to, settings};
use crate::engine::{ByLoad, Ended, Settings};

fn by_load(capacity: usize, queue: usize, grow_at: f64, shrink_at: f64) -> Settings {
    let growth = Some(ByLoad { step: 1, grow_at, shrink_at });
    let mut settings = settings(capacity, queue);
    settings.limits.growth = growth;
    settings
}

#[test]
fn a_rising_load_brings_a_worker() {
    explore(|| {
        let (engine, count) = engine(by_load(2, 4, 0.4, 0.0));
        // The first one blocks, the second is not load enough, and the third releases the first.
        for job in [BLOCKS, 1, RELEASES] {
            engine.submit(job, WAIT).unwrap();
        }
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), BLOCKS + 1 + RELEASES);
    });
}

#[test]
fn a_started_worker_makes_a_place() {
    // With four threads, two preemptions take long.
    explore_up_to(1, || {
        let (engine, count) = engine(by_load(3, 1, 0.5, 0.0));
        // Two block, so the third finds a place only if a worker was started for the second.
        for job in [BLOCKS, BLOCKS, RELEASES] {
            engine.submit(job, WAIT).unwrap();
        }
        drain(&engine);
        assert_eq!(count.ran.load(Ordering::SeqCst), 2 * BLOCKS + RELEASES);
    });
}

#[test]
fn a_worker_that_retires_by_load_leaves_no_task_behind() {
    explore(|| {
        let mut settings = by_load(2, 4, 0.9, 0.5);
        settings.limits.keep_alive = Some(Duration::from_nanos(1));
        let (engine, count) = engine(settings);
        engine.prestart(2).unwrap();
        engine.submit(1, WAIT).unwrap();
        thread::yield_now();
        engine.submit(10, WAIT).unwrap();
        engine.wait_until(Ended::Tasks, None).unwrap();
        assert_eq!(count.ran.load(Ordering::SeqCst), 11);
        drain(&engine);
    });
}
