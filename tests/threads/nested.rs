//! Waiting inside a task: a task that waits for another lends its place to it (promises 2 and 4).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::common::{self, Door, block_on, hold_workers, hush_quiet_threads, join};
use formic::{JoinError, JoinHandle, Pool, WhenFull, is_cancelled};

fn pool_of(workers: usize, queue: usize) -> Pool {
    Pool::builder().workers(workers).queue(queue).build().expect("good settings")
}

/// Joins on a thread of its own, so that a deadlock fails the test.
#[track_caller]
fn joined<T: Send + 'static>(handle: JoinHandle<T>) -> Result<T, JoinError> {
    join(thread::spawn(move || handle.join()))
}

/// A pool of one worker, which is held, with a task that says which thread ran it.
fn task_of_a_busy_pool(door: &Door) -> (Pool, JoinHandle<ThreadId>) {
    let pool = pool_of(1, 4);
    hold_workers(&pool, door, 1);
    let task = pool.spawn(|| thread::current().id()).expect("there is room");
    (pool, task)
}

/// Spawns a task that spawns and joins a task, and so on, in turns on these pools.
fn dive(pools: &[Pool], depth: usize) -> JoinHandle<usize> {
    let (pool, others) = (pools[depth % pools.len()].clone(), pools.to_vec());
    let task =
        move || if depth == 0 { 0 } else { 1 + dive(&others, depth - 1).join().expect("it ran") };
    pool.spawn(task).expect("the pool is open")
}

#[test]
fn tasks_may_join_tasks_a_hundred_deep_on_one_worker() {
    for queue in [0, 1, 64] {
        let pool = pool_of(1, queue);
        assert_eq!(joined(dive(std::slice::from_ref(&pool), 100)).unwrap(), 100, "queue {queue}");
        pool.drain().unwrap();
        let stats = pool.stats();
        assert_eq!((stats.accepted, stats.completed), (101, 101));
        assert!(stats.adds_up());
    }
}

#[test]
fn a_task_may_join_many_tasks_in_any_order() {
    for (workers, queue, reverse) in
        [(1, 0, false), (1, 0, true), (1, 8, false), (1, 8, true), (2, 1, true), (2, 200, false)]
    {
        let pool = pool_of(workers, queue);
        let handle = pool.clone();
        let parent = move || {
            let mut children: Vec<_> =
                (0..100).map(|n| (n, handle.spawn(move || n).expect("a task may spawn"))).collect();
            if reverse {
                children.reverse();
            }
            children.into_iter().all(|(n, child)| child.join().expect("it ran") == n)
        };
        assert!(joined(pool.spawn(parent).unwrap()).unwrap());
        pool.drain().unwrap();
        assert_eq!(pool.stats().completed, 101);
    }
}

#[test]
fn two_pools_may_call_into_each_other() {
    for depth in [1, 2, 10] {
        let pools = [pool_of(1, 16), pool_of(1, 16)];
        assert_eq!(joined(dive(&pools, depth)).unwrap(), depth);
        for pool in &pools {
            pool.drain().unwrap();
        }
        assert_eq!(pools.iter().map(|pool| pool.stats().completed).sum::<u64>(), depth as u64 + 1);
    }
}

#[test]
fn a_thread_that_is_no_worker_runs_nothing_when_it_joins() {
    let door = Door::new();
    let (_pool, mut task) = task_of_a_busy_pool(&door);
    assert!(task.join_timeout(Duration::from_millis(2)).is_none() && !task.is_finished());
    door.open();
    assert_ne!(task.join().unwrap(), thread::current().id());
}

#[test]
fn a_task_may_await_a_task_of_its_own_pool() {
    let pool = pool_of(1, 0);
    let handle = pool.clone();
    let outer = pool.spawn(move || block_on(handle.spawn(|| 7).expect("a task may spawn")));
    assert_eq!(joined(outer.unwrap()).unwrap().unwrap(), 7);
}

#[test]
fn a_task_that_runs_elsewhere_is_waited_for() {
    let (pool, door) = (pool_of(2, 4), Door::new());
    let at_door = door.clone();
    let mut running = pool.spawn(move || (at_door.wait(), thread::current().id()).1).unwrap();
    door.await_waiting(1);
    let (sender, receiver) = mpsc::channel();
    let joiner = pool.spawn(move || {
        assert!(running.join_timeout(Duration::from_millis(1)).is_none(), "it is held");
        sender.send(()).expect("the test listens");
        (running.join().expect("it ran"), thread::current().id())
    });
    receiver.recv_timeout(common::PATIENCE).unwrap();
    assert_eq!(pool.busy(), 2);
    door.open();
    let (ran_on, joiner) = joined(joiner.unwrap()).unwrap();
    assert_ne!(ran_on, joiner);
}

#[test]
fn a_join_with_a_time_runs_the_task_as_well() {
    let pool = pool_of(1, 0);
    let handle = pool.clone();
    let outer = pool.spawn(move || {
        let mut inner = handle.spawn(|| 3).expect("a task may spawn");
        inner.join_timeout(Duration::ZERO)
    });
    assert_eq!(joined(outer.unwrap()).unwrap().unwrap().unwrap(), 3);
}

#[test]
fn a_panic_of_a_task_inside_a_task_goes_to_its_handle() {
    hush_quiet_threads();
    let pool = Pool::builder().name("quiet").workers(1).queue(0).build().unwrap();
    let (handle, token) = (pool.clone(), Arc::new(()));
    let inside = Arc::clone(&token);
    let outer = pool.spawn(move || {
        let task = move || panic!("inside with {}", Arc::strong_count(&inside));
        let error = handle.spawn(task).expect("a task may spawn").join().expect_err("it panics");
        assert_eq!(Arc::strong_count(&token), 1, "what it owned is gone");
        let stats = handle.stats();
        assert_eq!((stats.panicked, stats.busy), (1, 1));
        error.into_panic().map(|panic| (panic.message().to_owned(), panic.worker().to_owned()))
    });
    let told = joined(outer.unwrap()).unwrap().unwrap();
    assert_eq!(told, ("inside with 2".to_owned(), "quiet-0".to_owned()));
    pool.drain().unwrap();
    assert_eq!((pool.stats().completed, pool.stats().panicked), (1, 1));
}

#[test]
fn a_task_inside_a_task_hears_only_of_its_own_cancelling() {
    let (pool, door) = (pool_of(1, 8), Door::new());
    let (handle, at_door) = (pool.clone(), door.clone());
    let outer = pool.spawn(move || {
        let inner = handle.spawn(move || {
            at_door.wait();
            is_cancelled()
        });
        let inside = inner.unwrap().join().unwrap();
        (inside, is_cancelled())
    });
    let outer = outer.unwrap();
    door.await_waiting(1);
    assert!(!outer.cancel());
    door.open();
    assert_eq!(outer.join().unwrap(), (false, true));
}

#[test]
fn a_task_that_a_task_runs_for_lack_of_a_place_hears_nothing_of_the_others_cancelling() {
    let pool = Pool::builder().workers(1).queue(0).when_full(WhenFull::CallerRuns).build().unwrap();
    let (door, (sender, receiver)) = (Door::new(), mpsc::channel());
    let (handle, at_door) = (pool.clone(), door.clone());
    let outer = pool.spawn(move || {
        at_door.wait();
        handle.submit(move || sender.send(is_cancelled()).unwrap()).unwrap();
        handle.spawn(is_cancelled).unwrap().join().unwrap()
    });
    let outer = outer.unwrap();
    door.await_waiting(1);
    assert!(!outer.cancel());
    door.open();
    assert!(!outer.join().unwrap(), "a spawned task");
    assert!(!receiver.recv().unwrap(), "a submitted task");
}

/// How many tasks have started and have not waited for another since then. A task that has waited and runs again does
/// not count: the pool may have started another one before it did.
#[derive(Clone, Default)]
struct Running(Arc<AtomicUsize>);

/// One of them, until it is dropped.
struct Runs(Running);

impl Running {
    /// A task of a pool with this capacity has started.
    fn start(&self, capacity: usize) -> Runs {
        let before = self.0.fetch_add(1, Ordering::SeqCst);
        assert!(before < capacity, "{before} tasks ran when one started");
        Runs(self.clone())
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Runs a tree of tasks that join each other, and returns how many there are. `runs` is the task that does so.
fn grow(pool: &Pool, depth: usize, running: &Running, runs: Option<Runs>) -> usize {
    let spawn = |_| {
        let (handle, inside) = (pool.clone(), running.clone());
        let task = move || {
            let runs = inside.start(2);
            1 + grow(&handle, depth - 1, &inside, Some(runs))
        };
        pool.spawn(task).expect("the pool is open")
    };
    let children: Vec<_> = (0..if depth == 0 { 0 } else { 3 }).map(spawn).collect();
    drop(runs);
    children.into_iter().map(|child| child.join().expect("it ran")).sum()
}

#[test]
fn the_figures_add_up_and_capacity_holds_while_tasks_join_tasks() {
    let (pool, other, running) = (pool_of(2, 16), pool_of(2, 16), Running::default());
    let (snapshots, stop) = (pool.clone(), Arc::new(AtomicBool::new(false)));
    let stopped = Arc::clone(&stop);
    let watcher = thread::spawn(move || {
        let mut last = snapshots.stats();
        while !stopped.load(Ordering::SeqCst) {
            let stats = snapshots.stats();
            assert!(stats.adds_up(), "{stats:?}");
            assert!(stats.accepted >= last.accepted && stats.completed >= last.completed);
            last = stats;
        }
    });
    let mut tasks = 0;
    for _ in 0..30 {
        // Tasks of another pool join as well. They are not among those that run here.
        let (handle, inside) = (pool.clone(), running.clone());
        let foreign = other.spawn(move || grow(&handle, 4, &inside, None));
        let (handle, inside) = (pool.clone(), running.clone());
        let own = pool.spawn(move || {
            let runs = inside.start(2);
            1 + grow(&handle, 4, &inside, Some(runs))
        });
        let own = own.unwrap();
        tasks += joined(own).unwrap() + joined(foreign.unwrap()).unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    join(watcher);
    pool.drain().unwrap();
    let stats = pool.stats();
    assert_eq!((tasks, stats.completed), (30 * 241, 30 * 241));
    assert_eq!(running.0.load(Ordering::SeqCst), 0);
}

/// A task of `pool` that waits for a task of `other`, which waits for `last`, another task of `pool`.
fn across<T: Send + 'static>(
    pool: &Pool,
    other: &Pool,
    last: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let (own, other) = (pool.clone(), other.clone());
    let between = move || own.spawn(last).expect("it is open").join().expect("it ran");
    let first = move || other.spawn(between).expect("it is open").join().expect("it ran");
    pool.spawn(first).expect("it is open")
}

#[test]
fn every_end_waits_for_a_task_in_a_lent_place() {
    for drain in [false, true] {
        let (pool, other, inside) = (pool_of(1, 4), pool_of(1, 4), Door::new());
        let at_door = inside.clone();
        let first = across(&pool, &other, move || at_door.wait());
        inside.await_waiting(1);
        if drain {
            let left = pool.drain_timeout(Duration::from_millis(5)).unwrap_err();
            assert_eq!((left.running(), left.queued()), (2, 0));
        }
        let ending = pool.clone();
        let ending = thread::spawn(move || if drain { ending.drain() } else { ending.wait_idle() });
        let stats = pool.stats();
        assert_eq!((stats.busy, stats.queued, stats.completed), (2, 0, 0));
        assert!(!ending.is_finished(), "two tasks of the pool still run");
        inside.open();
        join(ending).unwrap();
        assert_eq!((pool.stats().completed, pool.busy()), (2, 0));
        joined(first).unwrap();
    }
}

#[test]
fn a_task_in_a_lent_place_cannot_wait_for_its_own_pools_end() {
    for drain in [false, true] {
        let (pool, other) = (pool_of(1, 4), pool_of(1, 4));
        let handle = pool.clone();
        let end = move || if drain { handle.drain() } else { handle.wait_idle() };
        let first = across(&pool, &other, end);
        let left = joined(first).unwrap().expect_err("it would wait for itself");
        assert!(left.is_from_inside() && !pool.is_closed());
    }
}

#[test]
fn a_task_in_a_lent_place_never_waits_at_its_own_pools_gate() {
    let (pool, other) = (pool_of(1, 1), pool_of(1, 4));
    let own = pool.clone();
    let first = across(&pool, &other, move || {
        while own.try_submit(|| ()).is_ok() {}
        own.submit(|| ()).is_ok()
    });
    assert!(joined(first).unwrap());
    pool.drain().unwrap();
}
