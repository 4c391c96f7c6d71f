//! Batches that are filled on one thread and read on another, on every kind of pool of threads.

use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use crate::common::{Door, PATIENCE, block_on, eventually, hush_quiet_threads, join, poll_once};
use formic::{Balance, Batch, BatchSpawner, FnPool, Multi, Pool, Refused, WhenFull};

/// What a task does.
enum Act {
    Return(usize),
    Wait(Door, usize),
}

fn act(act: Act) -> usize {
    match act {
        Act::Return(number) => number,
        Act::Wait(door, number) => {
            door.wait();
            number
        }
    }
}

/// Makes a test of each kind of pool. `$pool` makes a pool of so many workers with a queue of so many, and `$task`
/// makes a task of it.
macro_rules! on_every_kind {
    ($(fn $test:ident($pool:ident, $task:ident) $body:block)*) => {
        mod pool {
            use super::*;
            $(#[test] fn $test() {
                let $pool = |workers, queue| Pool::builder().workers(workers).queue(queue).build().unwrap();
                let $task = |it: Act| move || act(it);
                $body
            })*
        }
        mod fn_pool {
            use super::*;
            $(#[test] fn $test() {
                let $pool = |workers, queue| FnPool::builder().workers(workers).queue(queue).build(act).unwrap();
                let $task = |it: Act| it;
                $body
            })*
        }
        mod multi {
            use super::*;
            $(#[test] fn $test() {
                let $pool = |workers, queue| {
                    let make = || Pool::builder().workers(workers).queue(queue).build();
                    Multi::try_new(2, Balance::RoundRobin, make).unwrap()
                };
                let $task = |it: Act| move || act(it);
                $body
            })*
        }
        mod multi_fn {
            use super::*;
            $(#[test] fn $test() {
                let $pool = |workers, queue| {
                    let make = || FnPool::builder().workers(workers).queue(queue).build(act);
                    Multi::try_new(2, Balance::RoundRobin, make).unwrap()
                };
                let $task = |it: Act| it;
                $body
            })*
        }
    };
}

on_every_kind! {
    fn three_spawners_and_a_reader_see_each_task_once(pool, task) {
        for queue in [0, 3] {
            let pool = pool(2, queue);
            let mut batch = pool.batch();
            let first = batch.spawner();
            let threads: Vec<_> = (0..3_usize).map(|number| {
                let spawner = first.clone();
                thread::spawn(move || {
                    let spawn = |value| (spawner.spawn(task(Act::Return(value))).unwrap(), value);
                    (500 * number..500 * (number + 1)).map(spawn).collect::<Vec<_>>()
                })
            }).collect();
            drop(first);
            let mut outcomes: Vec<_> =
                join(thread::spawn(move || batch.indexed().map(|(index, value)| (index, value.unwrap())).collect()));
            let mut spawned: Vec<_> = threads.into_iter().flat_map(join).collect();
            outcomes.sort_unstable();
            spawned.sort_unstable();
            assert_eq!(outcomes.len(), 1500);
            assert_eq!(outcomes, spawned, "each outcome has the index that its spawner was told");
            assert!(outcomes.iter().map(|(index, _)| *index).eq(0..1500));
        }
    }

    fn a_batch_ends_when_its_last_spawner_is_dropped(pool, task) {
        let pool = pool(1, 4);
        let mut batch = pool.batch();
        let spawner = batch.spawner();
        let other = spawner.clone();
        spawner.spawn(task(Act::Return(7))).unwrap();
        assert_eq!(block_on(batch.next_async()).unwrap().unwrap(), 7);
        drop(spawner);
        assert!(poll_once(std::pin::pin!(batch.next_async())).is_pending(), "one is left");
        assert_eq!(batch.size_hint(), (0, None));
        drop(other);
        assert!(block_on(batch.next_async()).is_none());
        assert!(batch.next().is_none());
        assert_eq!(batch.size_hint(), (0, Some(0)));
        batch.spawn(task(Act::Return(8))).unwrap();
        assert_eq!(batch.next().unwrap().unwrap(), 8, "and the batch itself may go on");
    }

    fn a_parked_reader_ends_with_the_last_spawner(pool, task) {
        let pool = pool(1, 4);
        let mut batch = pool.batch();
        let spawner = batch.spawner();
        spawner.spawn(task(Act::Return(1))).unwrap();
        let (reads, is_reading) = mpsc::channel();
        let reader = thread::spawn(move || {
            let first = batch.next();
            reads.send(()).unwrap();
            (first.unwrap().unwrap(), batch.count())
        });
        is_reading.recv().unwrap();
        spawner.spawn(task(Act::Return(2))).unwrap();
        drop(spawner);
        assert_eq!(join(reader), (1, 1));
    }

    fn a_spawner_whose_batch_is_gone_gives_the_task_back(pool, task) {
        let pool = pool(1, 4);
        let mut batch = pool.batch();
        let spawner = batch.spawner();
        let door = Door::new();
        spawner.spawn(task(Act::Wait(door.clone(), 0))).unwrap();
        door.await_waiting(1);
        drop(batch);
        for error in [spawner.spawn(task(Act::Return(1))), spawner.try_spawn(task(Act::Return(1)))] {
            let error = error.unwrap_err();
            assert_eq!(error.reason(), Refused::BatchGone);
            drop(error.into_task());
        }
        let error = block_on(spawner.spawn_async(task(Act::Return(1)))).unwrap_err();
        assert_eq!(error.reason(), Refused::BatchGone);
        door.open();
        pool.drain().unwrap();
        assert_eq!(pool.stats().completed, 1, "what was in the batch runs on");
    }

    fn a_full_pool_refuses_or_waits_as_a_future(pool, task) {
        let pool = pool(1, 0);
        let mut batch = pool.batch();
        let spawner = batch.spawner();
        let door = Door::new();
        while spawner.try_spawn(task(Act::Wait(door.clone(), 0))).is_ok() {}
        let held = batch.len();
        let error = spawner.try_spawn(task(Act::Return(1))).unwrap_err();
        assert_eq!(error.reason(), Refused::Full);
        let mut waiting = std::pin::pin!(spawner.spawn_async(task(Act::Return(1))));
        assert!(poll_once(waiting.as_mut()).is_pending());
        door.open();
        assert_eq!(block_on(waiting).unwrap(), held);
        drop(spawner);
        assert_eq!(batch.map(Result::unwrap).sum::<usize>(), 1);
    }
}

/// The reader is a task of a pool of one. The tasks come from a thread outside, and each needs the place that the
/// reader lends. Without a queue there would be no place for them: the reader has the only one.
#[test]
fn a_task_reads_what_a_thread_outside_spawns_on_its_own_pool() {
    for queue in [1, 2, 64] {
        let pool = Pool::builder().workers(1).queue(queue).build().unwrap();
        let inside = pool.clone();
        let (give, spawners) = mpsc::channel();
        let reader = pool
            .spawn(move || {
                let mut batch = inside.batch();
                give.send(batch.spawner()).unwrap();
                batch.map(Result::unwrap).sum::<usize>()
            })
            .unwrap();
        let spawner: BatchSpawner<usize> = spawners.recv().unwrap();
        for number in 0..100 {
            spawner.spawn(move || number).unwrap();
        }
        drop(spawner);
        assert_eq!(join(thread::spawn(move || reader.join().unwrap())), 4950);
    }
}

/// As above, with one task at a time: the reader is parked each time, and has to hear of the new task.
#[test]
fn a_parked_task_lends_its_place_to_each_task_that_is_added() {
    let pool = Pool::builder().workers(1).queue(4).build().unwrap();
    let inside = pool.clone();
    let (give, spawners) = mpsc::channel();
    let (done, is_done) = mpsc::channel();
    let reader = pool
        .spawn(move || {
            let mut batch = inside.batch();
            give.send(batch.spawner()).unwrap();
            batch.for_each(|outcome| done.send(outcome.unwrap()).unwrap());
        })
        .unwrap();
    let spawner: BatchSpawner<usize> = spawners.recv().unwrap();
    for number in 0..200 {
        spawner.spawn(move || number).unwrap();
        assert_eq!(is_done.recv_timeout(PATIENCE).unwrap(), number);
    }
    drop(spawner);
    join(thread::spawn(move || reader.join().unwrap()));
}

fn tree(depth: usize, spawner: BatchSpawner<usize>) -> usize {
    for _ in 0..if depth == 0 { 0 } else { 3 } {
        let inner = spawner.clone();
        spawner.spawn(move || tree(depth - 1, inner)).unwrap();
    }
    1
}

#[test]
fn tasks_of_a_batch_add_tasks_to_it_from_outside_and_inside() {
    for (workers, queue) in [(1, 0), (1, 2), (3, 1)] {
        let pool = Pool::builder().workers(workers).queue(queue).build().unwrap();
        let walk = |pool: &Pool| {
            let mut batch = pool.batch();
            let spawner = batch.spawner();
            batch.spawn(move || tree(5, spawner)).unwrap();
            batch.map(Result::unwrap).sum::<usize>()
        };
        let all = (0..=5).map(|depth| 3_usize.pow(depth)).sum::<usize>();
        let outside = pool.clone();
        assert_eq!(join(thread::spawn(move || walk(&outside))), all);
        let inside = pool.clone();
        let task = pool.spawn(move || walk(&inside)).unwrap();
        assert_eq!(join(thread::spawn(move || task.join().unwrap())), all);
    }
}

#[test]
fn calls_of_a_function_use_batches_of_their_own_pool() {
    type Squares = FnPool<usize, usize>;
    let own: Arc<OnceLock<Squares>> = Arc::default();
    let inside = Arc::clone(&own);
    let pool: Squares = FnPool::builder()
        .workers(1)
        .queue(0)
        .build(move |depth: usize| {
            if depth == 0 {
                return 1;
            }
            let mut batch = inside.get().unwrap().batch();
            for _ in 0..3 {
                batch.spawn(depth - 1).unwrap();
            }
            1 + batch.map(Result::unwrap).sum::<usize>()
        })
        .unwrap();
    assert!(own.set(pool.clone()).is_ok());
    let all = (0..=4).map(|depth| 3_usize.pow(depth)).sum::<usize>();
    assert_eq!(join(thread::spawn(move || pool.call(4).unwrap())), all);
    // The function owns its pool.
    assert!(own.get().is_some_and(|pool| pool.drain().is_ok()));
}

#[test]
fn a_task_that_is_spawned_while_the_batch_goes_has_one_end() {
    let pool = Pool::builder().workers(1).queue(1).build().unwrap();
    for round in 0..200 {
        let mut batch = pool.batch().cancel_on_drop();
        let spawner = batch.spawner();
        let endless = || {
            while !formic::is_cancelled() {
                thread::yield_now();
            }
        };
        let thread = thread::spawn(move || while spawner.spawn(endless).is_ok() {});
        (0..round % 3).for_each(|_| thread::yield_now());
        drop(batch);
        join(thread);
        eventually("every task has ended", || pool.stats().busy + pool.stats().queued == 0);
    }
    assert!(pool.stats().adds_up());
}

#[test]
fn a_reader_that_holds_a_spawner_reads_without_blocking() {
    let pool = Pool::new(2);
    let mut batch = pool.batch();
    let spawner = batch.spawner();
    for number in 0..10 {
        spawner.spawn(move || number).unwrap();
    }
    assert!(batch.join_all_timeout(Duration::ZERO).is_none());
    pool.wait_idle().unwrap();
    let mut sum = 0;
    while let Some(outcome) = batch.try_next() {
        sum += outcome.unwrap();
    }
    assert_eq!(sum, 45);
    assert!(batch.join_all_timeout(Duration::from_millis(1)).is_none(), "the spawner is there");
    drop(spawner);
    assert!(batch.join_all_timeout(Duration::ZERO).unwrap().is_empty());
}

/// Has a task that has ended by then added to a batch whose reader is woken by `wake`. Says what the reader finds, after
/// the spawner is through.
fn add_one_that_has_ended(wake: fn(&Reader)) -> Vec<usize> {
    let pool = Pool::builder().workers(1).queue(0).when_full(WhenFull::CallerRuns).build().unwrap();
    let permit = pool.admit().unwrap();
    let mut batch = pool.batch();
    let spawner = batch.spawner();
    let reader = Arc::new(Reader { batch: Mutex::new(batch), found: Mutex::default(), wake });
    {
        let mut batch = reader.batch.lock().unwrap();
        let waker = Waker::from(Arc::clone(&reader));
        let next = std::pin::pin!(batch.next_async());
        assert!(next.poll(&mut Context::from_waker(&waker)).is_pending());
    }
    let (sender, receiver) = mpsc::channel();
    let thread = thread::Builder::new().name("quiet-spawner".to_owned());
    let thread = thread.spawn(move || {
        // The spawner runs the task itself, because the pool is full.
        let index = spawner.spawn(|| 7).unwrap();
        sender.send(index).unwrap();
    });
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(0), "the spawner does not hang");
    join(thread.unwrap());
    drop(permit);
    reader.find();
    let found = reader.found.lock().unwrap();
    found.clone()
}

/// Reads a batch where it is woken.
struct Reader {
    batch: Mutex<Batch<usize>>,
    found: Mutex<Vec<usize>>,
    wake: fn(&Reader),
}

impl Reader {
    fn find(&self) {
        let outcome = self.batch.lock().unwrap().try_next();
        if let Some(outcome) = outcome {
            self.found.lock().unwrap().push(outcome.unwrap());
        }
    }
}

impl Wake for Reader {
    fn wake(self: Arc<Self>) {
        (self.wake)(&self);
    }
}

/// No lock is held where a waker is called.
#[test]
fn a_waker_of_the_reader_may_read() {
    assert_eq!(add_one_that_has_ended(Reader::find), [7]);
}

/// Such a panic reaches neither the spawner nor the task.
#[test]
fn a_waker_of_the_reader_that_panics_costs_no_outcome() {
    hush_quiet_threads();
    assert_eq!(add_one_that_has_ended(|_| panic!("no one is at home")), [7]);
}
