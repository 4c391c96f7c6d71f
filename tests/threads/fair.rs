//! Fair: tasks are taken in the order they were accepted, and none stands behind a task that
//! blocks while another worker could take it (promise 6).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use crate::common::{self, Door, Random, eventually, hold_workers, warm_up};
use formic::{Pool, Workers};

fn spin(turns: u64) {
    (0..turns).for_each(|_| std::hint::spin_loop());
}

/// The numbers of `tasks` tasks in the order in which they began, each of a length of its own.
fn order_of_begin(pool: &Pool, tasks: usize, mut turns: impl FnMut() -> u64) -> Vec<usize> {
    let order = Arc::new(Mutex::new(Vec::with_capacity(tasks)));
    for number in 0..tasks {
        let (order, turns) = (Arc::clone(&order), turns());
        let task = move || {
            order.lock().expect("no task panics").push(number);
            spin(turns);
        };
        pool.submit(task).expect("the pool is open");
    }
    pool.wait_idle().expect("this is no task of the pool");
    std::mem::take(&mut *order.lock().expect("no task panics"))
}

#[test]
fn one_worker_runs_tasks_in_the_order_they_were_accepted() {
    for queue in [0, 1, 64, 4096] {
        let pool = Pool::builder().workers(1).queue(queue).build().unwrap();
        let order = order_of_begin(&pool, 10_000, || 0);
        assert!(order.into_iter().eq(0..10_000), "with a queue of {queue}");
    }
}

#[test]
fn one_worker_keeps_the_order_among_tasks_of_mixed_length() {
    let random = &mut Random(common::seed("one_worker_keeps_the_order_among_tasks"));
    for queue in [0, 1, 64, 4096] {
        let pool = Pool::builder().workers(1).queue(queue).build().unwrap();
        let order = order_of_begin(&pool, 10_000, || random.below(100) / 99 * 20_000);
        assert!(order.into_iter().eq(0..10_000), "with a queue of {queue}");
    }
}

#[test]
fn one_worker_keeps_the_order_of_what_was_queued_behind_a_door() {
    let (pool, door) = (Pool::builder().workers(1).queue_unbounded().build().unwrap(), Door::new());
    hold_workers(&pool, &door, 1);
    let order = Arc::new(Mutex::new(Vec::new()));
    for number in 0..10_000 {
        let order = Arc::clone(&order);
        pool.submit(move || order.lock().unwrap().push(number)).unwrap();
    }
    door.open();
    pool.drain().unwrap();
    assert!(order.lock().unwrap().iter().copied().eq(0..10_000));
}

#[test]
fn several_workers_take_tasks_in_the_order_they_were_accepted() {
    let random = &mut Random(common::seed("several_workers_take_tasks_in_the_order"));
    for (workers, queue) in [(2, 0), (2, 4096), (3, 1), (4, 64), (8, 4096)] {
        let pool = Pool::builder().workers(workers).queue(queue).build().unwrap();
        let order = order_of_begin(&pool, 10_000, || random.below(50) / 49 * 5_000);
        assert_eq!(order.len(), 10_000);
        // When a task is noted, every earlier one has been taken; at most all other workers
        // have taken one and not come to note it yet.
        let mut noted = vec![false; order.len()];
        let mut next = 0;
        let mut ahead = 0;
        for number in order {
            noted[number] = true;
            ahead += 1;
            while noted.get(next) == Some(&true) {
                next += 1;
                ahead -= 1;
            }
            if number > next {
                let missing = number - next - (ahead - 1).min(number - next);
                assert!(missing < workers, "{missing} before task {number} are late");
            }
        }
    }
}

/// Sends a batch to a warm pool of which the first `blockers` tasks block at a door. All others
/// must run although the door stays shut.
#[track_caller]
fn others_run_while_some_block(workers: impl Into<Workers>, blockers: usize) {
    const OTHERS: usize = 1_000;
    let (pool, door) =
        (Pool::builder().workers(workers).build().expect("good settings"), Door::new());
    for _ in 0..5 {
        warm_up(&pool);
        let (ran, door) = (Arc::new(AtomicUsize::new(0)), Door::new());
        for _ in 0..blockers {
            let door = door.clone();
            pool.submit(move || door.wait()).expect("the pool is open");
        }
        for _ in 0..OTHERS {
            let ran = Arc::clone(&ran);
            let task = move || {
                ran.fetch_add(1, Ordering::Relaxed);
            };
            pool.submit(task).expect("the pool is open");
        }
        eventually("all others run", || ran.load(Ordering::Relaxed) == OTHERS);
        door.open();
    }
    door.open();
    pool.drain().expect("this is no task of the pool");
}

#[test]
fn no_task_stands_behind_one_that_blocks_while_two_workers_are_kept() {
    others_run_while_some_block(2..=2, 1);
}

#[test]
fn no_task_stands_behind_one_that_blocks_while_another_worker_may_be_started() {
    others_run_while_some_block(2, 1);
    others_run_while_some_block(4, 1);
    others_run_while_some_block(64, 1);
}

#[test]
fn no_task_stands_behind_many_that_block_while_one_worker_is_left() {
    others_run_while_some_block(3..=3, 2);
    others_run_while_some_block(4, 3);
    others_run_while_some_block(64, 63);
}

#[test]
fn no_task_stands_behind_one_in_the_middle_that_blocks() {
    for workers in [2, 4, 64] {
        let pool = Pool::builder().workers(workers).queue_unbounded().build().unwrap();
        warm_up(&pool);
        let (ran, door) = (Arc::new(AtomicUsize::new(0)), Door::new());
        for number in 0..3_000 {
            let (ran, door) = (Arc::clone(&ran), door.clone());
            let task = move || {
                if number == 1_234 {
                    door.wait();
                }
                ran.fetch_add(1, Ordering::Relaxed);
            };
            pool.submit(task).unwrap();
        }
        eventually("all others run", || ran.load(Ordering::Relaxed) == 2_999);
        door.open();
        pool.drain().unwrap();
    }
}

#[test]
fn a_task_that_waits_for_what_it_submitted_does_not_stand_in_its_way() {
    for workers in [2, 4, 64] {
        let pool = Pool::builder().workers(workers).build().unwrap();
        for _ in 0..20 {
            warm_up(&pool);
            let (handle, (done, end)) = (pool.clone(), mpsc::channel());
            let parent = move || {
                let (sender, receiver) = mpsc::channel();
                handle.submit(move || sender.send(()).unwrap()).unwrap();
                let answer = receiver.recv_timeout(common::PATIENCE);
                done.send(answer).unwrap();
            };
            pool.submit(parent).unwrap();
            assert_eq!(end.recv().unwrap(), Ok(()), "the child ran while the parent waited");
        }
        pool.drain().unwrap();
    }
}
