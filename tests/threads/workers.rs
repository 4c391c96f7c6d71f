//! Workers start lazily, only when no idle one can take the task; the newest idle is reused first.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use crate::common::{self, Door, eventually};
use formic::{Pool, PrestartError};

fn submit_held(pool: &Pool, door: &Door, tasks: usize) {
    for _ in 0..tasks {
        let door = door.clone();
        pool.submit(move || door.wait()).expect("the pool is open");
    }
}

#[test]
fn building_a_pool_starts_no_worker() {
    let pool = Pool::builder().workers(8).name("lazy").build().unwrap();
    assert_eq!(pool.workers(), 0);
    #[cfg(target_os = "linux")]
    assert_eq!(common::threads_named("lazy-"), 0);
}

#[test]
fn one_task_at_a_time_never_starts_a_second_worker() {
    let pool = Pool::new(8);
    for round in 0..1000 {
        pool.submit(|| ()).unwrap();
        pool.wait_idle().unwrap();
        assert_eq!(pool.workers(), 1, "in round {round}");
    }
}

#[test]
fn one_slow_task_at_a_time_never_starts_a_second_worker() {
    let pool = Pool::new(8);
    for round in 0..1000 {
        // Longer than what counts as short, so that another way of taking tasks is gone.
        pool.submit(|| (0..20).for_each(|_| thread::yield_now())).unwrap();
        pool.wait_idle().unwrap();
        assert_eq!(pool.workers(), 1, "in round {round}");
    }
}

#[test]
fn held_tasks_start_one_worker_each() {
    for tasks in 1..=6 {
        let (pool, door) = (Pool::new(6), Door::new());
        submit_held(&pool, &door, tasks);
        door.await_waiting(tasks);
        assert_eq!((pool.workers(), pool.busy(), pool.idle()), (tasks, tasks, 0));
        door.open();
        pool.drain().unwrap();
    }
}

#[test]
fn held_tasks_get_a_worker_each_after_many_short_ones() {
    let (pool, door) = (Pool::new(6), Door::new());
    for _ in 0..10 {
        (0..2000).for_each(|_| pool.submit(|| ()).unwrap());
        submit_held(&pool, &door, 6);
        door.await_waiting(6);
        assert_eq!((pool.workers(), pool.busy()), (6, 6));
        (0..6).for_each(|_| door.let_one_pass());
        pool.wait_idle().unwrap();
    }
}

#[test]
fn there_are_never_more_workers_than_the_capacity() {
    let pool = Pool::builder().workers(3).name("atmost").build().unwrap();
    let door = Door::new();
    submit_held(&pool, &door, 50);
    door.await_waiting(3);
    let stats = pool.stats();
    assert_eq!((stats.workers, stats.busy, stats.queued), (3, 3, 47));
    #[cfg(target_os = "linux")]
    assert_eq!(common::threads_named("atmost-"), 3);
    door.open();
    pool.wait_idle().unwrap();
    assert!(pool.workers() <= 3);
}

#[test]
fn an_idle_worker_is_used_before_another_is_started() {
    let (pool, door) = (Pool::new(8), Door::new());
    submit_held(&pool, &door, 3);
    door.await_waiting(3);
    (0..3).for_each(|_| door.let_one_pass());
    pool.wait_idle().unwrap();
    submit_held(&pool, &door, 3);
    door.await_waiting(3);
    assert_eq!(pool.workers(), 3);
    door.open();
}

#[test]
fn the_minimum_is_started_by_build() {
    let pool = Pool::builder().workers(3..=8).name("minimum").build().unwrap();
    assert_eq!((pool.workers(), pool.idle(), pool.capacity()), (3, 3, 8));
    #[cfg(target_os = "linux")]
    eventually("three threads are there", || common::threads_named("minimum-") == 3);
}

#[test]
fn prestart_starts_workers_ahead_of_tasks() {
    let pool = Pool::builder().workers(8).prestart(4).name("ahead").build().unwrap();
    assert_eq!((pool.workers(), pool.idle()), (4, 4));
    pool.prestart(6).unwrap();
    pool.prestart(2).unwrap();
    assert_eq!(pool.workers(), 6, "prestart says how many there are, not how many more");
    #[cfg(target_os = "linux")]
    eventually("six threads are there", || common::threads_named("ahead-") == 6);
    let refused = pool.prestart(9).unwrap_err();
    assert!(matches!(refused, PrestartError::AboveCapacity { workers: 9, capacity: 8 }));
    pool.close();
    assert!(matches!(pool.prestart(7), Err(PrestartError::Closed)));
}

#[test]
fn prestarted_workers_take_tasks() {
    let pool = Pool::builder().workers(4).prestart(4).build().unwrap();
    let door = Door::new();
    submit_held(&pool, &door, 4);
    door.await_waiting(4);
    assert_eq!(pool.workers(), 4);
    door.open();
}

#[test]
fn hooks_are_called_once_per_worker_on_its_thread() {
    type Calls = Arc<Mutex<Vec<(usize, ThreadId, Option<String>)>>>;
    fn note(calls: &Calls) -> impl Fn(usize) + Send + Sync + 'static {
        let calls = Arc::clone(calls);
        move |index| {
            let thread = thread::current();
            let call = (index, thread.id(), thread.name().map(str::to_owned));
            calls.lock().expect("no panic here").push(call);
        }
    }
    let (starts, stops, door) = (Calls::default(), Calls::default(), Door::new());
    let builder = Pool::builder().workers(4).name("hooked");
    let pool = builder.on_worker_start(note(&starts)).on_worker_stop(note(&stops)).build().unwrap();
    let late = Arc::new(AtomicUsize::new(0));
    for _ in 0..4 {
        let (door, starts, late) = (door.clone(), Arc::clone(&starts), Arc::clone(&late));
        let task = move || {
            let me = thread::current().id();
            if !starts.lock().unwrap().iter().any(|(_, thread, _)| *thread == me) {
                late.fetch_add(1, Ordering::Relaxed);
            }
            door.wait();
        };
        pool.submit(task).unwrap();
    }
    door.await_waiting(4);
    assert_eq!(late.load(Ordering::Relaxed), 0, "a task ran before its worker's hook");
    assert!(stops.lock().unwrap().is_empty(), "a busy worker has not stopped");
    door.open();
    pool.drain().unwrap();

    let (mut starts, mut stops) = (starts.lock().unwrap().clone(), stops.lock().unwrap().clone());
    starts.sort_by_key(|(index, ..)| *index);
    stops.sort_by_key(|(index, ..)| *index);
    assert_eq!(starts, stops);
    assert_eq!(starts.iter().map(|(index, ..)| *index).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(
        starts.iter().map(|(_, thread, _)| format!("{thread:?}")).collect::<BTreeSet<_>>().len(),
        4
    );
    for (index, _, name) in starts {
        assert_eq!(name, Some(format!("hooked-{index}")));
    }
}

/// Only the operating system can tell when a worker has gone idle for good.
#[cfg(target_os = "linux")]
mod newest_first {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::common::{PATIENCE, await_sleep};

    /// Makes three workers idle, one after the other, and says their names in that order.
    fn make_three_idle(pool: &Pool) -> Vec<String> {
        let doors: Vec<Door> = (0..3).map(|_| Door::new()).collect();
        let (sender, receiver) = mpsc::channel();
        for door in &doors {
            let (door, sender) = (door.clone(), sender.clone());
            let task = move || {
                door.wait();
                drop(sender.send(thread::current().name().map(str::to_owned)));
            };
            pool.submit(task).expect("the pool is open");
        }
        doors.iter().for_each(|door| door.await_waiting(1));
        let end = |door: &Door| {
            door.open();
            let name = receiver.recv_timeout(PATIENCE).expect("the task ends");
            let name = name.expect("a worker has a name");
            await_sleep(&name);
            name
        };
        doors.iter().map(end).collect()
    }

    fn worker_of_next_task(pool: &Pool) -> String {
        let (sender, receiver) = mpsc::channel();
        let name = || thread::current().name().map(str::to_owned);
        pool.submit(move || drop(sender.send(name()))).expect("the pool is open");
        let name = receiver.recv_timeout(PATIENCE).expect("the task runs");
        let name = name.expect("a worker has a name");
        await_sleep(&name);
        name
    }

    #[test]
    fn the_most_recently_idle_worker_is_reused_first() {
        let pool = Pool::builder().workers(3).name("newest").build().unwrap();
        for _ in 0..10 {
            let idle = make_three_idle(&pool);
            assert_eq!(idle.iter().collect::<BTreeSet<_>>().len(), 3);
            for _ in 0..5 {
                assert_eq!(worker_of_next_task(&pool), idle[2], "went idle in order {idle:?}");
            }
        }
    }

    #[test]
    fn the_others_retire_although_the_pool_is_used_now_and_then() {
        let keep_alive = Duration::from_millis(100);
        let pool = Pool::builder().workers(3).keep_alive(keep_alive).name("others");
        let pool = pool.build().unwrap();
        make_three_idle(&pool);
        // Now and then means far more often than keep-alive: if the workers took turns, none would retire. An
        // idle worker that looks for itself may take a task while the machine keeps the newest one waiting.
        eventually("the others retire", || {
            thread::park_timeout(Duration::from_millis(2));
            worker_of_next_task(&pool);
            pool.workers() == 1
        });
    }
}
