//! Class 4: more run than may, above all while the size changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, Random, block_on, eventually, seed};
use crate::kinds::{Job, Kind, Plan};
use crate::{rounds, time, yield_once};

/// How many tasks run, and how many did at most: both in one word, so that they fit together.
#[derive(Clone, Default)]
struct Gauge(Arc<AtomicU64>);

/// Counts as running as long as it lives.
struct Running(Gauge);

impl Gauge {
    fn begin(&self) -> Running {
        let begin = |word: u64| {
            let running = (word & 0xffff_ffff) + 1;
            Some((word >> 32).max(running) << 32 | running)
        };
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, begin).expect("always changes");
        Running(self.clone())
    }

    fn high(&self) -> usize {
        (self.0.load(Ordering::SeqCst) >> 32) as usize
    }

    /// Forgets the past: as many as run now are the most that did.
    fn reset(&self) {
        let reset = |word: u64| Some((word & 0xffff_ffff) << 32 | (word & 0xffff_ffff));
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, reset).expect("always changes");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A task of some length, measured.
fn measured(gauge: &Gauge, length: u64) -> Job {
    let gauge = gauge.clone();
    Box::pin(async move {
        let _running = gauge.begin();
        match length {
            0..60 => {}
            60..75 => yield_once().await,
            75..98 => (0..2000).for_each(|_| std::hint::spin_loop()),
            _ => {
                for _ in 0..20 {
                    yield_once().await;
                }
            }
        }
    })
}

/// Eight submitters, and sizes at random: never more at once than the size says.
fn random_sizes<K: Kind>() {
    let seed = seed("class_04_capacity_overshoot::random_sizes");
    let (pool, gauge) = (K::build(&Plan::new(8, 64)), Gauge::default());
    let (stop, end) = (AtomicBool::new(false), Instant::now() + time(Duration::from_secs(20)));
    thread::scope(|scope| {
        for number in 0..8 {
            let (pool, gauge, stop) = (&pool, &gauge, &stop);
            scope.spawn(move || {
                let mut random = Random(seed ^ number);
                while !stop.load(Ordering::Relaxed) {
                    block_on(pool.submit(measured(gauge, random.below(100)))).unwrap();
                }
            });
        }
        let _stop = StopAtLast(&stop);
        let mut random = Random(seed);
        while Instant::now() < end {
            let size = 1 + random.below(8) as usize;
            pool.resize(size);
            phase(&pool, &gauge, size * K::SHARDS, random.below(300));
        }
    });
    assert!(block_on(pool.drain()));
    assert!(pool.stats().adds_up());
}
on_every_pool!(random_sizes);

/// Lets some tasks run under one size. Those that began under a larger one may still run at first;
/// nothing may begin meanwhile.
fn phase<K: Kind>(pool: &K, gauge: &Gauge, most: usize, tasks: u64) {
    // Of several shards each keeps to its own size, so together they may be fewer for a moment.
    let settled = || pool.stats().busy <= most;
    eventually("as few run as may", settled);
    gauge.reset();
    let goal = pool.stats().completed + tasks;
    eventually("the phase is over", || {
        let stats = pool.stats();
        assert!(stats.adds_up(), "{stats:?}");
        assert!(K::SHARDS > 1 || stats.busy <= most, "{stats:?}");
        stats.completed >= goal
    });
    let high = gauge.high();
    // With shards: one may still be above its size while the other is below, for the whole phase.
    let most = if K::SHARDS > 1 { 8 * K::SHARDS } else { most };
    assert!(high <= most, "{high} ran at once, {most} may");
}

/// Ends the submitters, also after a failure.
struct StopAtLast<'a>(&'a AtomicBool);

impl Drop for StopAtLast<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A thousand sizes, and as few threads afterwards as there may be.
fn threads_after_a_thousand_sizes<K: Kind>() {
    let mut random = Random(seed("class_04_capacity_overshoot::threads_after_a_thousand_sizes"));
    let plan = Plan::new(8, 64);
    let (pool, gauge) = (K::build(&plan), Gauge::default());
    for _ in 0..rounds(1000).max(200) {
        pool.resize(1 + random.below(8) as usize);
        for _ in 0..random.below(20) {
            block_on(pool.submit(measured(&gauge, random.below(100)))).unwrap();
        }
        let workers = pool.stats().workers;
        assert!(workers <= 8 * K::SHARDS, "{workers} workers");
    }
    pool.resize(3);
    // The pool has let go of hundreds that have still to end, each after twenty turns of its own: where
    // processors are scarce that takes longer than anything else here.
    let deadline = Instant::now() + 4 * PATIENCE;
    while plan.census.count() > 3 * K::SHARDS {
        let (threads, stats) = (plan.census.count(), pool.stats());
        assert!(Instant::now() < deadline, "{threads} threads are left: {stats:?}");
        thread::sleep(Duration::from_millis(1));
    }
    assert!(block_on(pool.drain()));
    assert_eq!(plan.census.count(), 0);
}
on_every_thread_pool!(threads_after_a_thousand_sizes);

/// A thousand sizes, and no more tasks of the runtime than it has threads.
#[cfg(feature = "tokio")]
#[test]
fn drivers_after_a_thousand_sizes() {
    use crate::common::on_tokio::runtime;

    let mut random = Random(seed("class_04_capacity_overshoot::drivers_after_a_thousand_sizes"));
    let (runtime, gauge) = (runtime(2), Gauge::default());
    let pool = formic::AsyncPool::builder().workers(8).queue(64).runtime(runtime.handle().clone());
    let (pool, metrics) = (pool.build().unwrap(), runtime.metrics());
    for _ in 0..rounds(1000).max(200) {
        pool.resize(1 + random.below(8) as usize);
        for _ in 0..random.below(20) {
            block_on(pool.submit(measured(&gauge, random.below(100)))).unwrap();
        }
        // The runtime counts one that has just left, too.
        eventually("as few drivers as threads", || metrics.num_alive_tasks() <= 2);
    }
    block_on(pool.drain()).unwrap();
    eventually("no driver is left", || metrics.num_alive_tasks() == 0);
}
