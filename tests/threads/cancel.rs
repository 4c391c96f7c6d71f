//! Cancelling: a queued task never runs, a running one is asked to stop (promises 1 and 10).

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use crate::common::own_process::in_its_own_process;
use crate::common::{self, Door, Random, block_on, eventually, hold_workers, join, seed};
use formic::{JoinHandle, Pool, Refused, Stats, is_cancelled};

fn pool_of(workers: usize, queue: usize) -> Pool {
    Pool::builder().workers(workers).queue(queue).build().expect("good settings")
}

/// Completed, panicked and cancelled.
fn ended(stats: &Stats) -> (u64, u64, u64) {
    assert!(stats.adds_up(), "{stats:?}");
    (stats.completed, stats.panicked, stats.cancelled)
}

/// A task that waits at the door and then says whether it was asked to stop. It is running when
/// this returns.
fn listener(pool: &Pool, door: &Door) -> JoinHandle<bool> {
    let at_door = door.clone();
    let handle = pool.spawn(move || {
        at_door.wait();
        is_cancelled()
    });
    door.await_waiting(1);
    handle.expect("there is a place")
}

#[test]
fn a_cancelled_task_never_runs_and_is_gone_at_once() {
    let (pool, door) = (pool_of(1, 4), Door::new());
    hold_workers(&pool, &door, 1);
    let (token, ran) = (Arc::new(()), Arc::new(AtomicUsize::new(0)));
    for round in 1..=1_000 {
        let (inside, count) = (Arc::clone(&token), Arc::clone(&ran));
        let handle = pool.spawn(move || (count.fetch_add(1, Ordering::SeqCst), inside)).unwrap();
        assert!(handle.cancel());
        assert_eq!(Arc::strong_count(&token), 1, "what it owned is gone");
        assert!(handle.is_finished());
        let stats = pool.stats();
        assert_eq!((stats.queued, stats.busy, stats.cancelled), (0, 1, round));
        assert!(stats.adds_up());
        assert!(handle.join().unwrap_err().is_cancelled());
    }
    door.open();
    pool.drain().unwrap();
    assert_eq!((ran.load(Ordering::SeqCst), ended(&pool.stats())), (0, (1, 0, 1_000)));
}

#[test]
fn a_cancelled_tasks_place_is_free_at_once() {
    let (pool, door) = (pool_of(1, 2), Door::new());
    hold_workers(&pool, &door, 1);
    let mut queued = [pool.spawn(|| ()).unwrap(), pool.spawn(|| ()).unwrap()];
    for round in 0..1_000 {
        assert_eq!(pool.try_submit(|| ()).unwrap_err().reason(), Refused::Full);
        assert!(queued[round % 2].cancel());
        queued[round % 2] = pool.try_spawn(|| ()).expect("a place is free");
    }
    let handle = pool.clone();
    let submitter = thread::spawn(move || handle.submit(|| ()).is_ok());
    eventually("the submitter waits", || pool.waiting() == 1);
    assert!(queued[0].cancel());
    assert!(join(submitter), "it came in, though nothing else has ended");
    assert_eq!((pool.queued(), pool.busy()), (2, 1));
    door.open();
    pool.drain().unwrap();
    assert_eq!(ended(&pool.stats()), (3, 0, 1_001));
}

#[test]
fn cancelling_twice_or_late_changes_nothing() {
    let (pool, door) = (pool_of(1, 4), Door::new());
    let running = listener(&pool, &door);
    let queued = pool.spawn(|| ()).unwrap();
    assert!(queued.cancel());
    assert!(!queued.cancel(), "it is not there any more");
    let mut waited = pool.spawn(|| ()).unwrap();
    assert!(waited.join_timeout(Duration::from_millis(1)).is_none());
    assert!(waited.cancel());
    assert!(!running.cancel());
    door.open();
    assert!(running.join().unwrap());
    let late = pool.spawn(|| 5).unwrap();
    eventually("it is finished", || late.is_finished());
    assert!(!late.cancel());
    assert_eq!(late.join().unwrap(), 5);
    for cancelled in [queued, waited] {
        assert!(cancelled.join().unwrap_err().is_cancelled());
    }
    assert_eq!(ended(&pool.stats()), (2, 0, 2));
}

#[test]
fn a_future_of_a_cancelled_task_is_woken() {
    #[derive(Default)]
    struct Bell(AtomicBool);
    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            assert!(!self.0.swap(true, Ordering::SeqCst), "once");
        }
    }
    let (pool, door) = (pool_of(1, 4), Door::new());
    hold_workers(&pool, &door, 1);
    for discard in [false, true] {
        let mut handle = pool.spawn(|| ()).unwrap();
        let bell = Arc::new(Bell::default());
        let waker = Waker::from(Arc::clone(&bell));
        assert!(Pin::new(&mut handle).poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(if discard { pool.discard() == 1 } else { handle.cancel() });
        assert!(bell.0.load(Ordering::SeqCst));
        assert!(block_on(handle).unwrap_err().is_cancelled());
    }
    door.open();
}

#[test]
fn cancel_on_drop_cancels_what_was_not_joined() {
    let (pool, door) = (pool_of(1, 4), Door::new());
    let at_door = door.clone();
    let running = pool.spawn(move || (at_door.wait(), is_cancelled()).1).unwrap();
    door.await_waiting(1);
    let (sender, receiver) = mpsc::channel::<()>();
    let mut queued = pool.spawn(move || sender.send(())).unwrap().cancel_on_drop();
    assert!(queued.join_timeout(Duration::ZERO).is_none());
    drop(queued);
    assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Disconnected), "it is gone at once");
    door.open();
    assert!(!running.cancel_on_drop().join().unwrap(), "a joined handle does not cancel");

    let finished = pool.spawn(|| ()).unwrap().cancel_on_drop();
    eventually("it is finished", || finished.is_finished());
    drop(finished);
    assert_eq!(ended(&pool.stats()), (2, 0, 1));

    let (sender, receiver) = mpsc::channel();
    let running = pool.spawn(move || {
        sender.send("begun").unwrap();
        while !is_cancelled() {
            thread::yield_now();
        }
        sender.send("asked to stop").unwrap();
    });
    assert_eq!(receiver.recv_timeout(common::PATIENCE), Ok("begun"));
    drop(running.unwrap().cancel_on_drop());
    assert_eq!(receiver.recv_timeout(common::PATIENCE), Ok("asked to stop"));
}

#[test]
fn only_the_running_task_that_was_cancelled_hears_of_it() {
    let (pool, doors) = (pool_of(2, 8), [Door::new(), Door::new()]);
    let asked = listener(&pool, &doors[0]);
    let other = listener(&pool, &doors[1]);
    let next = pool.spawn(is_cancelled).unwrap();
    assert!(!asked.cancel() && !is_cancelled());
    doors[0].open();
    assert!(asked.join().unwrap(), "its outcome is what it returned");
    assert!(!next.join().unwrap(), "the next task on the same worker was not asked");
    doors[1].open();
    assert!(!other.join().unwrap());
    assert_eq!(ended(&pool.stats()), (3, 0, 0));
}

#[test]
fn a_task_that_is_cancelled_while_a_worker_takes_it_has_one_outcome() {
    let seed = seed("a_task_that_is_cancelled_while_a_worker_takes_it_has_one_outcome");
    let pool = pool_of(2, 64);
    let race = |mut random: Random, pool: Pool| {
        let (mut tasks, mut cancelled) = (0_u64, 0);
        while tasks < 10_000 {
            let spawn = |work| {
                let ran = Arc::new(AtomicBool::new(false));
                let inside = Arc::clone(&ran);
                let task = move || {
                    (0..work).for_each(|_| std::hint::spin_loop());
                    assert!(!inside.swap(true, Ordering::SeqCst), "it ran once");
                };
                (pool.spawn(task).unwrap(), ran)
            };
            let (count, work) = (1 + random.below(8), random.below(100));
            let handles: Vec<_> = (0..count).map(|_| spawn(work)).collect();
            (0..random.below(300)).for_each(|_| std::hint::spin_loop());
            // From the end: the workers come from the other side, and one task is met by both.
            for (handle, ran) in handles.into_iter().rev() {
                let said = handle.cancel();
                let outcome = handle.join();
                assert_eq!(said, outcome.is_err(), "the answer agrees with the outcome");
                assert_eq!(ran.load(Ordering::SeqCst), outcome.is_ok(), "it ran, or was cancelled");
                cancelled += u64::from(said);
            }
            tasks += count;
        }
        (tasks, cancelled)
    };
    let racers = [Random(seed), Random(!seed)].map(|random| {
        let pool = pool.clone();
        thread::spawn(move || race(random, pool))
    });
    let [one, other] = racers.map(join);
    let (tasks, cancelled) = (one.0 + other.0, one.1 + other.1);
    pool.drain().unwrap();
    assert_eq!(ended(&pool.stats()), (tasks - cancelled, 0, cancelled));
    assert_eq!(pool.stats().accepted, tasks);
}

/// The memory that this process has, in bytes, where that can be told.
fn memory() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).map_or(0, |n| n * 4096)
}

#[test]
fn cancelling_again_and_again_leaves_nothing_behind() {
    // The memory of the process is looked at.
    if in_its_own_process("cancel::cancelling_again_and_again_leaves_nothing_behind") {
        return;
    }
    const CANCELS: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
    let (pool, door) = (pool_of(1, 1_000), Door::new());
    hold_workers(&pool, &door, 1);
    let (order, token) = (Arc::new(Mutex::new(Vec::new())), Arc::new(()));
    let (mut kept, mut cancelled, before) = (0_usize, 0, memory());
    while cancelled < CANCELS {
        let order = Arc::clone(&order);
        if cancelled % (CANCELS / 100) == 0 {
            let number = kept;
            kept += 1;
            drop(pool.try_spawn(move || order.lock().unwrap().push(number)).unwrap());
        }
        let handles: Vec<_> = (0..500)
            .map(|_| {
                let (inside, ballast) = (Arc::clone(&token), [1_u8; 2_000]);
                let task = move || (inside, ballast).1.len();
                pool.try_spawn(task).expect("what was cancelled takes no place")
            })
            .collect();
        assert!(handles.iter().all(JoinHandle::cancel));
        cancelled += handles.len();
        drop(handles);
        assert!(memory() < before + (100 << 20), "{} MB after {cancelled}", memory() >> 20);
    }
    assert_eq!((Arc::strong_count(&token), pool.queued()), (1, kept));
    door.open();
    pool.drain().unwrap();
    assert_eq!(*order.lock().unwrap(), (0..kept).collect::<Vec<_>>(), "the others ran in order");
    assert_eq!(ended(&pool.stats()), (kept as u64 + 1, 0, cancelled as u64));
}

#[test]
fn a_hundred_thousand_queued_tasks_can_be_cancelled() {
    let pool = Pool::builder().workers(1).queue_unbounded().build().unwrap();
    let (door, order) = (Door::new(), Arc::new(Mutex::new(Vec::new())));
    for round in 0..3 {
        hold_workers(&pool, &door, 1);
        let spawn = |n: usize| {
            let order = Arc::clone(&order);
            pool.spawn(move || order.lock().unwrap().push(n)).unwrap()
        };
        let handles: Vec<_> = (0..100_000).map(spawn).collect();
        let mut left = Vec::new();
        for (n, handle) in handles.iter().enumerate() {
            if n % 1_000 == round {
                left.push(n);
            } else {
                assert!(handle.cancel());
            }
        }
        assert_eq!(pool.queued(), 100);
        door.let_one_pass();
        pool.wait_idle().unwrap();
        assert_eq!(std::mem::take(&mut *order.lock().unwrap()), left);
        assert!(handles.iter().all(JoinHandle::is_finished));
        assert!(pool.stats().adds_up());
    }
}

#[test]
fn a_pool_whose_queued_tasks_were_all_cancelled_is_idle() {
    let (pool, door) = (pool_of(1, 100), Door::new());
    let running = listener(&pool, &door);
    let queued: Vec<_> = (0..100).map(|_| pool.spawn(|| ()).unwrap()).collect();
    let idler = pool.clone();
    let idler = thread::spawn(move || idler.wait_idle());
    assert!(queued.iter().all(JoinHandle::cancel));
    assert!(!idler.is_finished(), "one task still runs");
    door.open();
    join(idler).unwrap();
    assert!(running.is_finished());
    assert_eq!(ended(&pool.stats()), (1, 0, 100));
    pool.drain().unwrap();
    assert_eq!(pool.workers(), 0);
}

#[test]
fn a_task_that_is_cancelled_and_discarded_is_counted_once() {
    let mut random = Random(seed("a_task_that_is_cancelled_and_discarded_is_counted_once"));
    let pool = pool_of(2, 128);
    let ran = Arc::new(AtomicUsize::new(0));
    let (mut accepted, mut discarded, mut cancelled, mut dropped) = (0_u64, 0, 0, 0);
    for _ in 0..500 {
        let handles: Vec<_> = (0..random.below(60))
            .map(|_| {
                let ran = Arc::clone(&ran);
                pool.spawn(move || ran.fetch_add(1, Ordering::SeqCst)).unwrap()
            })
            .collect();
        accepted += handles.len() as u64;
        let discarder = pool.clone();
        let discarder = thread::spawn(move || discarder.discard());
        cancelled += handles.iter().filter(|handle| handle.cancel()).count();
        discarded += join(discarder);
        dropped += handles.into_iter().filter_map(|handle| handle.join().err()).count();
    }
    pool.drain().unwrap();
    let stats = pool.stats();
    assert_eq!(dropped, discarded + cancelled);
    assert_eq!(ended(&stats), (ran.load(Ordering::SeqCst) as u64, 0, dropped as u64));
    assert_eq!((stats.accepted, stats.completed + stats.cancelled), (accepted, accepted));
}

#[test]
fn what_is_dropped_by_a_cancel_may_call_the_pool() {
    struct Caller(Pool, mpsc::Sender<()>);
    impl Drop for Caller {
        fn drop(&mut self) {
            let sender = self.1.clone();
            assert!(self.0.stats().adds_up());
            self.0.try_submit(move || sender.send(()).unwrap()).unwrap();
        }
    }
    let (pool, door, (sender, receiver)) = (pool_of(1, 4), Door::new(), mpsc::channel());
    hold_workers(&pool, &door, 1);
    let spawn = || {
        let caller = Caller(pool.clone(), sender.clone());
        pool.spawn(move || drop(caller)).unwrap()
    };
    let (cancelled, discarded) = (spawn(), spawn());
    assert!(cancelled.cancel());
    assert_eq!(pool.discard(), 2, "the other, and what the first has submitted");
    door.open();
    receiver.recv_timeout(common::PATIENCE).expect("what the other has submitted runs");
    assert!(discarded.join().unwrap_err().is_cancelled());
}
