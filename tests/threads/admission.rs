//! Admission: who gets a place, who is refused, and what comes back (promises 1 and 5).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::{self, Door, block_on, eventually, hold_workers, join, warm_up};
use formic::{Pool, Refused, WhenFull};

/// Submits tasks that wait at the door until one is refused; how many were accepted.
fn fill(pool: &Pool, door: &Door) -> usize {
    let mut accepted = 0;
    loop {
        let door = door.clone();
        match pool.try_submit(move || door.wait()) {
            Ok(()) => accepted += 1,
            Err(error) => {
                assert_eq!(error.reason(), Refused::Full);
                return accepted;
            }
        }
    }
}

#[test]
fn without_a_queue_a_task_is_accepted_only_while_a_worker_is_free() {
    for capacity in [1, 3] {
        let (pool, door) =
            (Pool::builder().workers(capacity).queue(0).build().unwrap(), Door::new());
        // No worker has been started yet; those that may be started count as free.
        assert_eq!(fill(&pool, &door), capacity);
        door.await_waiting(capacity);
        let stats = pool.stats();
        assert_eq!((stats.busy, stats.queued, stats.refused), (capacity, 0, 1));
        door.open();
        pool.drain().unwrap();
        assert_eq!(pool.stats().completed, capacity as u64);
    }
}

#[test]
fn without_a_queue_a_task_is_accepted_again_after_another_ended() {
    for capacity in [1, 3] {
        let (pool, door) =
            (Pool::builder().workers(capacity).queue(0).build().unwrap(), Door::new());
        hold_workers(&pool, &door, capacity);
        for round in 1..20 {
            assert_eq!(pool.try_submit(|| ()).unwrap_err().reason(), Refused::Full);
            door.let_one_pass();
            eventually("a worker is free again", || pool.stats().completed == round);
            hold_workers(&pool, &door, 1);
            door.await_waiting(capacity);
        }
        door.open();
        pool.drain().unwrap();
    }
}

#[test]
fn a_queue_takes_exactly_its_bound() {
    for warm in [false, true] {
        for (capacity, queue) in [(1, 1), (2, 5), (3, 64), (1, 1000), (2, 4096)] {
            let (pool, door) =
                (Pool::builder().workers(capacity).queue(queue).build().unwrap(), Door::new());
            if warm {
                warm_up(&pool);
            }
            hold_workers(&pool, &door, capacity);
            assert_eq!(fill(&pool, &door), queue, "{capacity} workers, warm: {warm}");
            assert_eq!(pool.queued(), queue);
            door.open();
            pool.drain().unwrap();
        }
    }
}

#[test]
fn a_submitter_does_not_wait_while_there_is_a_place() {
    for warm in [false, true] {
        for (capacity, queue) in [(1, 1), (2, 64), (1, 1000)] {
            let (pool, door) =
                (Pool::builder().workers(capacity).queue(queue).build().unwrap(), Door::new());
            if warm {
                warm_up(&pool);
            }
            hold_workers(&pool, &door, capacity);
            let handle = pool.clone();
            let submitter = thread::spawn(move || {
                (0..queue).for_each(|_| handle.submit(|| ()).unwrap());
            });
            join(submitter);
            assert_eq!((pool.queued(), pool.waiting()), (queue, 0));
            door.open();
            pool.drain().unwrap();
        }
    }
}

#[test]
fn a_refused_task_comes_back() {
    let (pool, door) = (Pool::builder().workers(1).queue(1).build().unwrap(), Door::new());
    hold_workers(&pool, &door, 1);
    pool.submit(|| ()).unwrap();

    let (sender, receiver) = mpsc::channel();
    let (word, large) = ("a captured value".to_owned(), [7_u64; 100]);
    let small = move || sender.send(word).unwrap();
    let error = pool.try_submit(small).unwrap_err();
    assert_eq!(error.reason(), Refused::Full);
    assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Empty), "it did not run");
    error.into_task()();
    assert_eq!(receiver.recv().unwrap(), "a captured value");

    let (sender, receiver) = mpsc::channel();
    let error = pool.try_submit(move || sender.send(large).unwrap()).unwrap_err();
    error.into_task()();
    assert_eq!(receiver.recv().unwrap(), [7; 100]);
    assert_eq!(pool.stats().refused, 2);
    door.open();
    pool.drain().unwrap();
    assert_eq!(pool.stats().accepted, 2, "what came back was never accepted");
}

#[test]
fn a_refused_task_that_is_dropped_drops_its_captures_once() {
    let (pool, door) = (Pool::builder().workers(1).queue(0).build().unwrap(), Door::new());
    hold_workers(&pool, &door, 1);
    let token = Arc::new(());
    let inside = Arc::clone(&token);
    let error = pool.try_submit(move || drop(inside)).unwrap_err();
    assert_eq!(Arc::strong_count(&token), 2);
    drop(error);
    assert_eq!(Arc::strong_count(&token), 1);
    door.open();
}

#[test]
fn one_submitter_more_than_may_wait_is_refused() {
    let (pool, door) =
        (Pool::builder().workers(1).queue(0).waiters(2).build().unwrap(), Door::new());
    hold_workers(&pool, &door, 1);
    let submitters: Vec<_> = (1..=2)
        .map(|number| {
            let handle = pool.clone();
            let submitter = thread::spawn(move || handle.submit(|| ()).is_ok());
            eventually("the submitter waits", || pool.waiting() == number);
            submitter
        })
        .collect();

    assert_eq!(pool.submit(|| ()).unwrap_err().reason(), Refused::Full);
    assert_eq!(pool.admit().unwrap_err(), Refused::Full);
    assert_eq!(pool.admit_timeout(Duration::MAX).unwrap_err(), Refused::Full);
    assert_eq!(block_on(pool.admit_async()).unwrap_err(), Refused::Full);
    assert_eq!((pool.waiting(), pool.stats().refused), (2, 4));

    door.open();
    assert!(submitters.into_iter().all(join), "those that waited came in");
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 3);
}

#[test]
fn where_no_submitter_may_wait_it_is_refused_at_once() {
    let (pool, door) =
        (Pool::builder().workers(1).queue(1).waiters(0).build().unwrap(), Door::new());
    hold_workers(&pool, &door, 1);
    pool.submit(|| ()).unwrap();
    assert_eq!(pool.submit(|| ()).unwrap_err().reason(), Refused::Full);
    assert_eq!(pool.admit().unwrap_err(), Refused::Full);
    door.open();
    pool.drain().unwrap();
}

#[test]
fn a_pool_that_refuses_when_full_never_lets_a_submitter_wait() {
    let pool = Pool::builder().workers(1).queue(2).when_full(WhenFull::Refuse).build().unwrap();
    let door = Door::new();
    hold_workers(&pool, &door, 1);
    pool.submit(|| ()).unwrap();
    pool.submit(|| ()).unwrap();
    let (sender, receiver) = mpsc::channel();
    let error = pool.submit(move || sender.send(5).unwrap()).unwrap_err();
    assert_eq!(error.reason(), Refused::Full);
    error.into_task()();
    assert_eq!(receiver.recv().unwrap(), 5);
    door.open();
    pool.drain().unwrap();
    assert_eq!((pool.stats().completed, pool.stats().refused), (3, 1));
}

#[test]
fn a_caller_runs_what_the_pool_has_no_place_for() {
    let pool = Pool::builder().workers(1).queue(1).when_full(WhenFull::CallerRuns).build().unwrap();
    let door = Door::new();
    hold_workers(&pool, &door, 1);
    pool.submit(|| ()).unwrap();
    assert_eq!(pool.stats().completed, 0);

    let (sender, receiver) = mpsc::channel();
    pool.submit(move || sender.send(thread::current().id()).unwrap()).unwrap();
    assert_eq!(receiver.try_recv().unwrap(), thread::current().id(), "it ran before the return");
    let stats = pool.stats();
    assert_eq!((stats.accepted, stats.completed, stats.refused), (3, 1, 0));
    assert_eq!(pool.try_submit(|| ()).unwrap_err().reason(), Refused::Full);
    assert!(pool.stats().adds_up());

    door.open();
    pool.wait_idle().unwrap();
    let (sender, receiver) = mpsc::channel();
    pool.submit(move || sender.send(thread::current().id()).unwrap()).unwrap();
    assert_ne!(receiver.recv().unwrap(), thread::current().id(), "there is a place again");
    pool.close();
    assert_eq!(pool.submit(|| ()).unwrap_err().reason(), Refused::Closed);
    pool.drain().unwrap();
}

#[test]
fn a_panic_of_what_the_caller_runs_is_contained() {
    let (sender, receiver) = mpsc::channel();
    let hook = move |panic: &formic::TaskPanic| {
        sender.send((panic.message().to_owned(), panic.worker().to_owned())).unwrap();
    };
    let builder = Pool::builder().workers(1).queue(0).when_full(WhenFull::CallerRuns);
    let (pool, door) = (builder.on_panic(hook).build().unwrap(), Door::new());
    hold_workers(&pool, &door, 1);

    common::hush_quiet_threads();
    let handle = pool.clone();
    let caller = thread::Builder::new()
        .name("quiet caller".to_owned())
        .spawn(move || handle.submit(|| panic!("on purpose")).is_ok());
    assert!(join(caller.unwrap()), "the caller goes on");
    assert_eq!(receiver.recv().unwrap(), ("on purpose".to_owned(), "quiet caller".to_owned()));
    let stats = pool.stats();
    assert_eq!((stats.accepted, stats.panicked, stats.busy), (2, 1, 1));
    assert!(stats.adds_up());
    door.open();
    pool.drain().unwrap();
}

#[test]
fn a_closed_pool_refuses_everything_and_gives_it_back() {
    for policy in [WhenFull::Wait, WhenFull::Refuse, WhenFull::CallerRuns] {
        let pool = Pool::builder().workers(2).when_full(policy).build().unwrap();
        pool.submit(|| ()).unwrap();
        pool.close();
        let (sender, receiver) = mpsc::channel();
        let task = move || sender.send("mine again").unwrap();
        let error = pool.submit(task).unwrap_err();
        assert_eq!(error.reason(), Refused::Closed);
        let error = pool.try_submit(error.into_task()).unwrap_err();
        assert_eq!(error.reason(), Refused::Closed);
        assert!(receiver.try_recv().is_err(), "nobody ran it");
        error.into_task()();
        assert_eq!(receiver.recv().unwrap(), "mine again");

        assert_eq!(pool.admit().unwrap_err(), Refused::Closed);
        assert_eq!(pool.try_admit().unwrap_err(), Refused::Closed);
        assert_eq!(pool.admit_timeout(Duration::MAX).unwrap_err(), Refused::Closed);
        assert_eq!(block_on(pool.admit_async()).unwrap_err(), Refused::Closed);
        pool.drain().unwrap();
        assert_eq!((pool.stats().accepted, pool.stats().refused), (1, 6));
    }
}

#[test]
fn an_unlimited_pool_gives_every_task_a_worker() {
    for (warm, queue) in [(false, 0), (true, 0), (false, 4096), (true, 4096)] {
        let (pool, door) = (Pool::builder().unlimited().queue(queue).build().unwrap(), Door::new());
        if warm {
            warm_up(&pool);
        }
        assert_eq!(pool.capacity(), usize::MAX);
        hold_workers(&pool, &door, 50);
        let stats = pool.stats();
        assert_eq!((stats.busy, stats.queued), (50, 0));
        assert!(stats.workers >= 50);
        door.open();
        pool.drain().unwrap();
    }
}

#[test]
fn a_queue_without_a_bound_takes_everything() {
    const TASKS: usize = 100_000;
    let (pool, door) = (Pool::builder().workers(1).queue_unbounded().build().unwrap(), Door::new());
    hold_workers(&pool, &door, 1);
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..TASKS {
        let ran = Arc::clone(&ran);
        pool.try_submit(move || {
            ran.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
    }
    assert_eq!(pool.queued(), TASKS);
    door.open();
    pool.drain().unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), TASKS);
}
