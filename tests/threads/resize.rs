//! Never above capacity, not even while it changes; and a change acts at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{self, Census, Door, Random, eventually, stress_time, submit_held};
use formic::{Pool, ResizeError};

#[test]
fn shrinking_sends_idle_workers_away_at_once() {
    let pool = Pool::builder().workers(8).prestart(8).keep_alive(None).name("shrink");
    let pool = pool.build().unwrap();
    pool.resize(2).unwrap();
    assert_eq!(pool.capacity(), 2);
    eventually("six workers go", || pool.workers() == 2);
    #[cfg(target_os = "linux")]
    eventually("six threads go", || common::threads_named("shrink-") == 2);
    pool.resize(1).unwrap();
    eventually("one more goes", || pool.workers() == 1);
}

#[test]
fn shrinking_spares_busy_workers_until_their_task_has_ended() {
    let pool = Pool::builder().workers(6).keep_alive(None).build().unwrap();
    let door = Door::new();
    let ran = submit_held(&pool, &door, 6);
    door.await_waiting(6);
    pool.resize(2).unwrap();
    let stats = pool.stats();
    assert_eq!((stats.workers, stats.busy, stats.capacity), (6, 6, 2));
    submit_held(&pool, &door, 3);
    for left in (2..6).rev() {
        door.let_one_pass();
        eventually("a worker goes", || pool.workers() == left);
        // Nothing may begin while as many run as may run.
        assert_eq!((pool.busy(), pool.queued()), (left, 3));
    }
    assert_eq!(ran.load(Ordering::Relaxed), 4);
    door.let_one_pass();
    eventually("the next task begins", || pool.queued() == 2);
    door.open();
    pool.wait_idle().unwrap();
    assert_eq!(pool.stats().completed, 9);
}

#[test]
fn growing_starts_workers_for_what_waits_at_once() {
    let (pool, door) = (Pool::new(1), Door::new());
    submit_held(&pool, &door, 10);
    door.await_waiting(1);
    assert_eq!((pool.busy(), pool.queued()), (1, 9));
    pool.resize(4).unwrap();
    door.await_waiting(4);
    assert_eq!((pool.workers(), pool.busy(), pool.queued()), (4, 4, 6));
    pool.resize(10).unwrap();
    door.await_waiting(10);
    assert_eq!((pool.workers(), pool.queued()), (10, 0));
    door.open();
}

#[test]
fn growing_starts_workers_after_many_short_tasks_too() {
    let (pool, door) = (Pool::new(1), Door::new());
    common::warm_up(&pool);
    submit_held(&pool, &door, 4);
    door.await_waiting(1);
    pool.resize(4).unwrap();
    door.await_waiting(4);
    door.open();
}

/// Opens the door in the end, also after a failure, so that the threads behind it can go.
struct OpenAtLast<'a>(&'a Door);

impl Drop for OpenAtLast<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}

#[test]
fn growing_starts_workers_for_what_comes_later() {
    let (pool, door) = (Pool::new(1), Door::new());
    let _open = OpenAtLast(&door);
    submit_held(&pool, &door, 1);
    door.await_waiting(1);
    pool.resize(3).unwrap();
    submit_held(&pool, &door, 1);
    eventually("the second begins while the first is held", || pool.busy() == 2);
    submit_held(&pool, &door, 1);
    eventually("the third begins while the others are held", || pool.busy() == 3);
}

#[test]
fn growing_lets_blocked_submitters_in() {
    let pool = Pool::builder().workers(1).queue(0).build().unwrap();
    let door = Door::new();
    submit_held(&pool, &door, 1);
    door.await_waiting(1);
    thread::scope(|scope| {
        let _open = OpenAtLast(&door);
        for _ in 0..4 {
            scope.spawn(|| submit_held(&pool, &door, 1));
        }
        eventually("four submitters wait", || pool.waiting() == 4);
        pool.resize(3).unwrap();
        eventually("two are let in and run", || pool.busy() == 3);
        assert_eq!(pool.waiting(), 2);
        pool.resize(5).unwrap();
        eventually("all are let in and run", || pool.busy() == 5);
    });
}

#[test]
fn shrink_then_grow_does_not_count_past_the_capacity() {
    let pool = Pool::builder().workers(8).keep_alive(None).name("count").build().unwrap();
    let (door, gauge) = (Door::new(), Gauge::default());
    for _ in 0..100 {
        let (door, gauge) = (door.clone(), gauge.clone());
        pool.submit(move || gauge.measure(|| door.wait())).unwrap();
    }
    door.await_waiting(8);
    for round in 1..=90 {
        pool.resize(1).unwrap();
        pool.resize(8).unwrap();
        // One ends in between, so that some leave and some stay.
        door.let_one_pass();
        eventually("the next has begun", || {
            let stats = pool.stats();
            assert!(stats.workers <= 8 && stats.busy <= 8, "{stats:?}");
            stats.completed == round && stats.busy == 8
        });
    }
    #[cfg(target_os = "linux")]
    eventually("the threads are those", || common::threads_named("count-") <= 8);
    door.open();
    pool.drain().unwrap();
    assert_eq!((gauge.high(), pool.stats().completed), (8, 100));
}

#[test]
fn resizing_from_inside_a_task_works() {
    let pool = Pool::builder().workers(4).keep_alive(None).prestart(4).build().unwrap();
    let inside = pool.clone();
    pool.submit(move || inside.resize(1).unwrap()).unwrap();
    eventually("three workers go", || pool.workers() == 1);
    let inside = pool.clone();
    pool.submit(move || inside.resize(3).unwrap()).unwrap();
    let door = Door::new();
    submit_held(&pool, &door, 3);
    door.await_waiting(3);
    door.open();
}

#[test]
fn a_refused_resize_changes_nothing() {
    let pool = Pool::builder().workers(2..=4).build().unwrap();
    assert_eq!(pool.resize(0), Err(ResizeError::NoWorkers));
    assert_eq!(pool.resize(1), Err(ResizeError::BelowMinimum { workers: 1, minimum: 2 }));
    assert!(matches!(pool.resize(usize::MAX), Err(ResizeError::TooManyWorkers { .. })));
    assert_eq!((pool.capacity(), pool.workers()), (4, 2));
}

#[test]
fn threads_are_bounded_after_a_thousand_resizes() {
    let mut random = Random(common::seed("threads_are_bounded_after_a_thousand_resizes"));
    let census = Census::default();
    let pool = Pool::builder().workers(8).name("bounded").on_worker_start(census.hook());
    let pool = pool.build().unwrap();
    for _ in 0..1000 {
        pool.resize(1 + random.below(8) as usize).unwrap();
        (0..random.below(20)).for_each(|_| pool.submit(|| ()).unwrap());
        assert!(pool.workers() <= 8, "{} workers", pool.workers());
    }
    pool.resize(3).unwrap();
    eventually("few threads are left", || census.count() <= 3);
    #[cfg(target_os = "linux")]
    eventually("few threads are left", || common::threads_named("bounded-") <= 3);
    pool.drain().unwrap();
    assert_eq!(census.count(), 0);
}

/// How many tasks run, and how many did at most: both in one word, so that they fit together.
#[derive(Clone, Default)]
struct Gauge(Arc<AtomicU64>);

impl Gauge {
    fn measure(&self, task: impl FnOnce()) {
        let begin = |word: u64| {
            let running = (word & 0xffff_ffff) + 1;
            Some((word >> 32).max(running) << 32 | running)
        };
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, begin).expect("always changes");
        task();
        self.0.fetch_sub(1, Ordering::SeqCst);
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

fn any_work(kind: u64) {
    match kind {
        0..60 => {}
        60..75 => thread::yield_now(),
        75..98 => (0..2000).for_each(|_| std::hint::spin_loop()),
        _ => thread::park_timeout(Duration::from_micros(100)),
    }
}

#[test]
fn the_capacity_is_never_exceeded_while_it_changes() {
    let seed = common::seed("the_capacity_is_never_exceeded_while_it_changes");
    let pool = Pool::builder().workers(8).queue(64).build().unwrap();
    let (gauge, stop) = (Gauge::default(), AtomicBool::new(false));
    let end = Instant::now() + stress_time(Duration::from_secs(2));
    thread::scope(|scope| {
        for number in 0..8 {
            let (pool, gauge, stop) = (&pool, &gauge, &stop);
            scope.spawn(move || {
                let mut random = Random(seed ^ number);
                while !stop.load(Ordering::Relaxed) {
                    let (kind, gauge) = (random.below(100), gauge.clone());
                    pool.submit(move || gauge.measure(|| any_work(kind))).unwrap();
                }
            });
        }
        let mut random = Random(seed);
        let mut phases = 0;
        while Instant::now() < end {
            let capacity = 1 + random.below(8) as usize;
            pool.resize(capacity).unwrap();
            // Those that began under a larger capacity may still run; nothing may begin meanwhile.
            eventually("as few run as may run", || pool.busy() <= capacity);
            gauge.reset();
            let goal = pool.stats().completed + random.below(300);
            eventually("the phase is over", || {
                let stats = pool.stats();
                assert!(stats.busy <= capacity, "{stats:?}");
                assert!(stats.workers <= 8, "{stats:?}");
                assert!(stats.adds_up(), "{stats:?}");
                stats.completed >= goal
            });
            let high = gauge.high();
            assert!(high <= capacity, "{high} ran at once, {capacity} may");
            phases += 1;
        }
        stop.store(true, Ordering::Relaxed);
        println!("{phases} phases");
    });
    pool.drain().unwrap();
}
