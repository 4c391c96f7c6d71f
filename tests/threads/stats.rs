//! Figures that add up, at every instant (promise 10), and captures that are gone before their
//! task counts as completed (promise 11).

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{
    self, Door, Random, eventually, hold_workers, hush_quiet_threads, join, stress_time,
};
use formic::{Pool, Stats};

#[test]
fn every_figure_tells_what_it_says() {
    let (pool, door) = (Pool::builder().workers(2).queue(3).build().unwrap(), Door::new());
    assert_eq!((pool.capacity(), pool.workers(), pool.free()), (2, 0, 2));
    hold_workers(&pool, &door, 2);
    (0..3).for_each(|_| pool.submit(|| ()).unwrap());
    drop(pool.try_submit(|| ()));
    let handle = pool.clone();
    let submitter = thread::spawn(move || handle.submit(|| ()).is_ok());
    eventually("the submitter waits", || pool.waiting() == 1);

    let stats = pool.stats();
    assert_eq!((stats.accepted, stats.queued, stats.busy, stats.completed), (5, 3, 2, 0));
    assert_eq!((stats.panicked, stats.cancelled, stats.refused), (0, 0, 1));
    assert_eq!((stats.capacity, stats.workers, stats.idle, stats.waiting), (2, 2, 0, 1));
    assert_eq!((pool.busy(), pool.idle(), pool.free()), (2, 0, 0));
    assert_eq!((pool.queued(), pool.workers(), pool.capacity()), (3, 2, 2));
    assert!(!pool.is_closed());

    door.open();
    assert!(join(submitter));
    pool.wait_idle().unwrap();
    let stats = pool.stats();
    assert_eq!((stats.accepted, stats.completed, stats.idle, stats.waiting), (6, 6, 2, 0));
    assert_eq!((pool.free(), pool.idle()), (2, 2));
    pool.drain().unwrap();
    assert_eq!((pool.workers(), pool.idle(), pool.is_closed()), (0, 0, true));
}

#[test]
fn captures_are_gone_when_a_task_counts_as_completed() {
    struct Slow(Door);
    impl Drop for Slow {
        fn drop(&mut self) {
            self.0.wait();
        }
    }
    let (pool, door) = (Pool::new(1), Door::new());
    let slow = Slow(door.clone());
    pool.submit(move || {
        let _kept = &slow;
    })
    .unwrap();
    door.await_waiting(1);
    let stats = pool.stats();
    assert_eq!((stats.busy, stats.completed), (1, 0), "its captures are being dropped");
    door.open();
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 1);
}

#[test]
fn captures_are_gone_when_short_tasks_count_as_completed() {
    let pool = Pool::new(1);
    let token = Arc::new(());
    for round in 0..2_000 {
        let tasks = round % 7 + 1;
        let before = pool.stats().completed;
        for _ in 0..tasks {
            let inside = Arc::clone(&token);
            pool.submit(move || {
                let _kept = &inside;
            })
            .unwrap();
        }
        eventually("they complete", || pool.stats().completed == before + tasks);
        assert_eq!(Arc::strong_count(&token), 1);
    }
    pool.drain().unwrap();
}

/// Looks at the figures again and again until `end`; `check` is given each one and the one before.
fn watch(pool: &Pool, end: &AtomicBool, check: impl Fn(&Stats, &Stats)) -> usize {
    let (mut looks, mut last) = (0, pool.stats());
    while !end.load(Ordering::Relaxed) {
        let stats = pool.stats();
        assert!(stats.adds_up(), "{stats:?}");
        assert_eq!(stats.idle + stats.busy, stats.workers, "{stats:?}");
        assert!(stats.accepted >= last.accepted && stats.completed >= last.completed);
        assert!(stats.panicked >= last.panicked && stats.cancelled >= last.cancelled);
        assert!(stats.refused >= last.refused, "{last:?} {stats:?}");
        check(&last, &stats);
        (looks, last) = (looks + 1, stats);
    }
    looks
}

/// What submitters know of the tasks they submitted.
#[derive(Default)]
struct Known {
    accepted: AtomicU64,
    refused: AtomicU64,
    ran: AtomicU64,
    panicked: AtomicU64,
    discarded: AtomicU64,
}

/// Submits one task in one of several ways.
fn submit_somehow(pool: &Pool, known: &Arc<Known>, random: &mut Random) {
    let (inside, choice) = (Arc::clone(known), random.below(300));
    let task = move || {
        inside.ran.fetch_add(1, Ordering::Relaxed);
        if choice == 0 {
            inside.panicked.fetch_add(1, Ordering::Relaxed);
            panic!("on purpose");
        }
        (0..choice / 100 * 300).for_each(|_| std::hint::spin_loop());
    };
    let accepted = match random.below(4) {
        0 => pool.try_submit(task).is_ok(),
        1 => match pool.admit_timeout(Duration::from_micros(random.below(50))) {
            Ok(permit) if random.below(3) > 0 => {
                permit.submit(task);
                true
            }
            Ok(_) => return,
            Err(_) => false,
        },
        _ => pool.submit(task).is_ok(),
    };
    let count = if accepted { &known.accepted } else { &known.refused };
    count.fetch_add(1, Ordering::Relaxed);
}

/// Runs submitters, somebody who discards and `disturb`, while the figures are watched.
fn stress(
    test: &str,
    pool: &Pool,
    mut disturb: impl FnMut(&Pool, &mut Random) -> ControlFlow<()> + Send + 'static,
    check: impl Fn(&Stats, &Stats),
) {
    hush_quiet_threads();
    let seeds = &mut Random(common::seed(test));
    let (known, end) = (Arc::new(Known::default()), Arc::new(AtomicBool::new(false)));
    let mut threads = Vec::new();
    for _ in 0..3 {
        let (pool, known, end) = (pool.clone(), Arc::clone(&known), Arc::clone(&end));
        let mut random = Random(seeds.next());
        threads.push(thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                submit_somehow(&pool, &known, &mut random);
            }
        }));
    }
    let (handle, count, ended) = (pool.clone(), Arc::clone(&known), Arc::clone(&end));
    let (mut random, finish) =
        (Random(seeds.next()), Instant::now() + stress_time(Duration::from_millis(700)));
    threads.push(thread::spawn(move || {
        let mut disturbing = true;
        while Instant::now() < finish {
            if random.below(50) == 0 {
                count.discarded.fetch_add(handle.discard() as u64, Ordering::Relaxed);
            }
            disturbing = disturbing && disturb(&handle, &mut random).is_continue();
            thread::yield_now();
        }
        ended.store(true, Ordering::Relaxed);
    }));
    assert!(watch(pool, &end, check) > 0);
    threads.into_iter().for_each(join);
    pool.drain().expect("this is no task of the pool");
    assert_known(&pool.stats(), &known);
}

/// The pool counted what everybody else counted.
fn assert_known(stats: &Stats, known: &Known) {
    let [accepted, refused, ran, panicked, discarded] =
        [&known.accepted, &known.refused, &known.ran, &known.panicked, &known.discarded]
            .map(|count| count.load(Ordering::Relaxed));
    assert_eq!((stats.accepted, stats.refused), (accepted, refused));
    assert_eq!((stats.completed, stats.panicked), (ran - panicked, panicked));
    assert_eq!((stats.cancelled, accepted), (discarded, ran + discarded));
    assert_eq!((stats.busy, stats.queued, stats.workers, stats.waiting), (0, 0, 0, 0));
}

#[test]
fn the_figures_add_up_while_tasks_come_and_go() {
    for queue in [0, 16, 4096] {
        let pool = Pool::builder().name("quiet").workers(3).queue(queue).build().unwrap();
        stress(
            "the_figures_add_up_while_tasks_come_and_go",
            &pool,
            |_, _| ControlFlow::Break(()),
            |_, stats| {
                assert!(stats.busy <= 3 && stats.workers <= 3, "{stats:?}");
                assert!(stats.busy + stats.queued <= 3 + queue, "{stats:?}");
            },
        );
    }
}

#[test]
fn the_figures_add_up_while_the_pool_is_resized() {
    let pool = Pool::builder().name("quiet").workers(1).queue(16).build().unwrap();
    let resize = |pool: &Pool, random: &mut Random| {
        if random.below(20) == 0 {
            pool.resize(1 + random.below(5) as usize).unwrap();
        }
        ControlFlow::Continue(())
    };
    stress("the_figures_add_up_while_the_pool_is_resized", &pool, resize, |_, stats| {
        assert!(stats.busy <= 5 && stats.workers <= 5 && stats.capacity <= 5, "{stats:?}");
    });
}

#[test]
fn never_more_than_the_capacity_run_while_it_grows() {
    let pool = Pool::builder().name("quiet").workers(1).queue(16).build().unwrap();
    let grow = |pool: &Pool, random: &mut Random| {
        if random.below(100) == 0 && pool.capacity() < 8 {
            pool.resize(pool.capacity() + 1).unwrap();
        }
        ControlFlow::Continue(())
    };
    stress("never_more_than_the_capacity_run_while_it_grows", &pool, grow, |last, stats| {
        assert!(stats.capacity >= last.capacity);
        assert!(stats.busy <= stats.capacity && stats.workers <= stats.capacity, "{stats:?}");
    });
}
