//! Settings: each bad one is refused by name and value, each good one is honoured.

use std::error::Error;
use std::hint::black_box;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::{Door, eventually, hold_workers, join, warm_up};
use formic::{BuildError, Builder, FnPool, Pool, PrestartError, Refused, ReopenError, ResizeError};

const MOST: usize = Builder::MAX_WORKERS;

/// A stack that no machine has room for.
const ENORMOUS: usize = 1 << 60;

#[track_caller]
fn refused(builder: Builder) -> (BuildError, String) {
    let error = builder.build().expect_err("a bad setting");
    let text = error.to_string();
    (error, text)
}

#[test]
fn a_pool_without_workers_cannot_be_built() {
    for builder in [Pool::builder().workers(0), Pool::builder().workers(..=0)] {
        let (error, text) = refused(builder);
        assert_eq!(error.setting(), Some("workers"));
        assert_eq!(error.problem(), Some("0 workers cannot run anything"));
        assert_eq!(text, "workers: 0 workers cannot run anything");
        assert!(error.source().is_none());
    }
    assert_eq!(refused(Pool::builder().workers(0..=0)).0.setting(), Some("workers"));
}

#[test]
#[should_panic(expected = "workers: 0 workers cannot run anything")]
fn a_new_pool_without_workers_panics() {
    drop(Pool::new(0));
}

#[test]
#[should_panic(expected = "workers: 65536 is above the limit of 65535")]
fn a_new_pool_with_too_many_workers_panics() {
    drop(Pool::new(65_536));
}

#[test]
fn a_minimum_above_the_capacity_is_refused() {
    #[expect(clippy::reversed_empty_ranges, reason = "this is the bad input")]
    let (error, text) = refused(Pool::builder().workers(5..=2));
    assert!(matches!(error, BuildError::Setting { setting: "workers", .. }));
    assert_eq!(text, "workers: the minimum 5 is above the capacity 2");
}

#[test]
fn more_workers_than_can_be_counted_are_refused() {
    for workers in [MOST + 1, usize::MAX] {
        let (_, text) = refused(Pool::builder().workers(workers));
        assert_eq!(text, format!("workers: {workers} is above the limit of {MOST}"));
    }
    assert_eq!(Pool::builder().workers(MOST).build().unwrap().capacity(), MOST);
}

#[test]
fn a_stack_that_is_too_small_is_refused() {
    for bytes in [0, 1, 16 * 1024 - 1] {
        let (_, text) = refused(Pool::builder().stack_size(bytes));
        assert_eq!(text, format!("stack_size: {bytes} bytes are below the minimum of 16384"));
    }
    assert!(Pool::builder().stack_size(16 * 1024).build().is_ok());
}

#[test]
fn more_workers_at_the_start_than_the_capacity_are_refused() {
    let (_, text) = refused(Pool::builder().workers(2).prestart(3));
    assert_eq!(text, "prestart: 3 is above the capacity 2");
    let pool = Pool::builder().workers(2).prestart(2).build().unwrap();
    assert_eq!(pool.workers(), 2);
    let error = pool.prestart(3).unwrap_err();
    assert!(matches!(error, PrestartError::AboveCapacity { workers: 3, capacity: 2 }));
    assert_eq!(error.to_string(), "prestart: 3 is above the capacity 2");
    pool.drain().unwrap();
    let error = pool.prestart(1).unwrap_err();
    assert!(matches!(error, PrestartError::Closed));
    assert_eq!(error.to_string(), "prestart: the pool is closed");
}

#[test]
fn more_workers_at_the_start_than_can_be_counted_are_refused_by_the_true_limit() {
    let (_, text) = refused(Pool::builder().unlimited().prestart(MOST + 1));
    assert!(text.starts_with("prestart: 65536 ") && text.contains("65535"), "{text}");
    let pool = Pool::builder().unlimited().build().unwrap();
    let text = pool.prestart(MOST + 1).unwrap_err().to_string();
    assert!(text.starts_with("prestart: 65536 ") && text.contains("65535"), "{text}");
    assert_eq!(pool.workers(), 0);
}

#[test]
fn a_keep_alive_of_zero_is_refused() {
    let (_, text) = refused(Pool::builder().keep_alive(Duration::ZERO));
    assert_eq!(text, "keep_alive: 0 seconds leave no worker to be reused");
}

#[test]
fn what_has_no_bound_cannot_be_preallocated() {
    let (_, text) = refused(Pool::builder().queue_unbounded().preallocate());
    assert_eq!(text, "preallocate: `queue_unbounded` has no bound");
    let (_, text) = refused(Pool::builder().unlimited().preallocate());
    assert_eq!(text, "preallocate: `unlimited` has no bound");
    let (_, text) = refused(Pool::builder().queue((1 << 22) + 1).preallocate());
    assert_eq!(text, "preallocate: a queue of 4194305 is above the limit of 4194304");
}

#[test]
fn a_name_that_no_thread_can_have_is_refused() {
    let (_, text) = refused(Pool::builder().name("a\0b"));
    assert_eq!(text, r#"name: "a\0b" contains a NUL byte"#);
}

#[test]
fn a_capacity_that_a_pool_cannot_have_is_refused_and_changes_nothing() {
    let pool = Pool::builder().workers(2..=4).build().unwrap();
    let refusals = [
        (0, ResizeError::NoWorkers, "resize: 0 workers cannot run anything"),
        (
            1,
            ResizeError::BelowMinimum { workers: 1, minimum: 2 },
            "resize: 1 is below the minimum 2",
        ),
        (
            MOST + 1,
            ResizeError::TooManyWorkers { workers: MOST + 1, limit: MOST },
            "resize: 65536 is above the limit of 65535",
        ),
    ];
    for (workers, error, text) in refusals {
        assert_eq!(pool.resize(workers), Err(error));
        assert_eq!(error.to_string(), text);
        assert_eq!((pool.capacity(), pool.workers()), (4, 2));
    }
    pool.resize(2).unwrap();
    pool.resize(MOST).unwrap();
    pool.drain().unwrap();
}

#[test]
fn a_pool_is_reopened_only_after_its_end() {
    let (pool, door) = (Pool::new(1), Door::new());
    let error = pool.reopen().unwrap_err();
    assert!(matches!(error, ReopenError::Open));
    assert_eq!(error.to_string(), "reopen: the pool is open");
    hold_workers(&pool, &door, 1);
    pool.submit(|| ()).unwrap();
    pool.close();
    let error = pool.reopen().unwrap_err();
    assert!(matches!(error, ReopenError::StillRunning(left)
        if (left.running(), left.queued(), left.permits()) == (1, 1, 0)));
    assert_eq!(error.to_string(), "reopen: the pool has not ended");
    let left = error.source().map(ToString::to_string);
    assert_eq!(
        left.as_deref(),
        Some("1 task runs, 1 is queued, 0 permits are held, 1 worker is alive")
    );
    assert!(pool.is_closed());
    door.open();
    pool.drain().unwrap();
    pool.reopen().unwrap();
    pool.submit(|| ()).unwrap();
    pool.drain().unwrap();
    assert_eq!(pool.stats().completed, 3, "the figures go on");
}

#[test]
fn a_thread_that_cannot_be_started_is_an_error() {
    let builder = || Pool::builder().workers(2).stack_size(ENORMOUS);
    let (error, text) = refused(builder().prestart(1));
    assert!(matches!(error, BuildError::Thread(_)), "{text}");
    assert_eq!((error.setting(), error.problem()), (None, None));
    assert!(error.source().is_some());
    let (error, _) = refused(Pool::builder().workers(1..=2).stack_size(ENORMOUS));
    assert!(matches!(error, BuildError::Thread(_)));

    let pool = builder().build().unwrap();
    assert!(matches!(pool.prestart(2).unwrap_err(), PrestartError::Thread(_)));
    let (sender, receiver) = mpsc::channel();
    let error = pool.submit(move || sender.send(3).unwrap()).unwrap_err();
    assert_eq!(error.reason(), Refused::NoWorker);
    error.into_task()();
    assert_eq!(receiver.recv().unwrap(), 3);
    assert_eq!(pool.admit().unwrap_err(), Refused::NoWorker);
    assert_eq!((pool.workers(), pool.stats().refused), (0, 2));
    pool.drain().unwrap();
}

#[test]
fn the_largest_stack_size_is_an_error_and_not_a_panic() {
    let built = thread::spawn(|| Pool::builder().stack_size(usize::MAX).prestart(1).build().err());
    assert!(join(built).is_some());
}

#[test]
fn workers_are_named_after_their_pool() {
    for (builder, name) in
        [(Pool::builder().name("my pool"), "my pool-"), (Pool::builder(), "formic-")]
    {
        let (pool, door) = (builder.workers(3).build().unwrap(), Door::new());
        let names = Arc::new(Mutex::new(Vec::new()));
        for _ in 0..3 {
            let (names, door) = (Arc::clone(&names), door.clone());
            let task = move || {
                names.lock().unwrap().push(thread::current().name().map(str::to_owned));
                door.wait();
            };
            pool.submit(task).unwrap();
        }
        door.await_waiting(3);
        door.open();
        pool.drain().unwrap();
        let mut names = names.lock().unwrap();
        names.sort();
        assert_eq!(*names, [0, 1, 2].map(|place| Some(format!("{name}{place}"))));
    }
}

#[test]
fn a_stack_is_as_large_as_it_was_asked_for() {
    /// Uses at least a kilobyte of stack per level.
    fn descend(levels: usize) -> usize {
        if levels == 0 {
            return 0;
        }
        let room = black_box([1; 128]);
        let below = descend(levels - 1);
        below + black_box(&room)[levels % 128]
    }
    // 32 MB at least, where a thread has 2 MB by default.
    let pool = Pool::builder().workers(1).stack_size(256 << 20).build().unwrap();
    let (sender, receiver) = mpsc::channel();
    pool.submit(move || sender.send(descend(black_box(32 << 10))).unwrap()).unwrap();
    assert_eq!(receiver.recv().unwrap(), 32 << 10);
    pool.drain().unwrap();
}

/// The pool has exactly `capacity` workers when all of them are needed.
#[track_caller]
fn assert_capacity(pool: &Pool, capacity: usize) {
    let door = Door::new();
    for _ in 0..capacity + 3 {
        let door = door.clone();
        pool.submit(move || door.wait()).expect("there is a place");
    }
    door.await_waiting(capacity);
    assert_eq!((pool.capacity(), pool.busy(), pool.queued()), (capacity, capacity, 3));
    door.open();
    pool.wait_idle().expect("this is no task of the pool");
}

#[test]
fn a_preallocated_pool_can_be_resized() {
    let pool = Pool::builder().workers(2).queue(3).preallocate().build().unwrap();
    for capacity in [2, 9, 1, 64, 3] {
        pool.resize(capacity).unwrap();
        assert_capacity(&pool, capacity);
        warm_up(&pool);
    }
    pool.drain().unwrap();
}

#[test]
fn an_unlimited_pool_can_be_given_a_limit() {
    let (pool, door) = (Pool::builder().unlimited().queue(3).build().unwrap(), Door::new());
    hold_workers(&pool, &door, 20);
    pool.resize(4).unwrap();
    assert_eq!(pool.capacity(), 4);
    assert_eq!(pool.try_submit(|| ()).unwrap_err().reason(), Refused::Full);
    door.open();
    eventually("the surplus workers go", || pool.workers() <= 4);
    assert_capacity(&pool, 4);
    pool.drain().unwrap();
}

#[test]
fn endless_times_are_no_panic() {
    let pool = Pool::builder().workers(1).queue(0).keep_alive(Duration::MAX).build().unwrap();
    let permit = pool.admit_timeout(Duration::MAX).unwrap();
    let handle = pool.clone();
    let waiting = thread::spawn(move || handle.admit_timeout(Duration::MAX).map(drop));
    eventually("it waits", || pool.waiting() == 1);
    permit.submit(|| ());
    assert_eq!(join(waiting), Ok(()));
    pool.wait_idle().unwrap();
    assert_eq!(pool.workers(), 1);
    let handle = pool.clone();
    assert_eq!(join(thread::spawn(move || handle.drain_timeout(Duration::MAX))), Ok(()));
}

#[test]
fn huge_queues_and_any_number_of_waiters_are_possible() {
    for queue in [usize::MAX, usize::MAX - 1, 1 << 47] {
        let pool = Pool::builder().workers(2).queue(queue).waiters(usize::MAX).build().unwrap();
        warm_up(&pool);
        pool.resize(MOST).unwrap();
        warm_up(&pool);
        pool.drain().unwrap();
        assert_eq!(pool.stats().completed, 10_000);
    }
}

/// A worker that hangs in what is no task is named by an error that would say otherwise that nothing is left.
#[test]
fn a_worker_that_hangs_beside_its_tasks_is_left() {
    let door = Door::new();
    let stopping = {
        let waits = door.clone();
        let pool = Pool::builder().on_worker_stop(move |_| waits.wait()).build().unwrap();
        pool.prestart(1).unwrap();
        pool.close();
        door.await_waiting(1);
        pool.drain_timeout(Duration::from_millis(1)).unwrap_err()
    };
    let preparing = {
        let waits = door.clone();
        let ready = move |(): &mut ()| {
            waits.wait();
            true
        };
        let builder = FnPool::builder().workers(1).state(|_| Ok::<_, String>(())).ready(ready);
        let pool = builder.build(|(): &mut (), (): ()| ()).unwrap();
        pool.submit(()).unwrap();
        door.await_waiting(2);
        assert_eq!(pool.discard(), 1);
        pool.drain_timeout(Duration::from_millis(1)).unwrap_err()
    };
    for left in [stopping, preparing] {
        assert_eq!((left.running(), left.queued(), left.permits(), left.workers()), (0, 0, 0, 1));
        assert!(left.to_string().ends_with("1 worker is alive"), "{left}");
    }
    door.open();
}
