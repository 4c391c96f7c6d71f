//! Handles: the result of a task, joined or awaited (promises 1, 3, 10 and 11).

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use crate::common::{
    self, Door, block_on, eventually, hold_workers, hush_quiet_threads, join, poll_once,
};
use formic::{
    CallError, JoinError, JoinHandle, Pool, Refused, Stats, SubmitError, TaskPanic, WhenFull,
};

fn pool_of(workers: usize, queue: usize) -> Pool {
    hush_quiet_threads();
    Pool::builder().name("quiet").workers(workers).queue(queue).build().expect("good settings")
}

/// Joins on a thread of its own, so that a join that hangs fails the test.
#[track_caller]
fn joined<T: Send + 'static>(handle: JoinHandle<T>) -> Result<T, JoinError> {
    join(thread::spawn(move || handle.join()))
}

/// Completed, panicked and cancelled.
fn ended(stats: &Stats) -> (u64, u64, u64) {
    assert!(stats.adds_up(), "{stats:?}");
    (stats.completed, stats.panicked, stats.cancelled)
}

/// A waker that counts.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Bell {
    fn rung(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Panics when it is dropped, unless that would end the process.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(thread::panicking(), "a value's drop");
    }
}

#[test]
fn join_gives_the_value() {
    let pool = pool_of(2, 1024);
    let handles: Vec<_> = (0..1_000_u64).map(|n| pool.spawn(move || n * n).unwrap()).collect();
    for (n, handle) in (0..).zip(handles) {
        assert_eq!(handle.join().unwrap(), n * n);
    }
    assert_eq!(pool.try_spawn(|| "tried").unwrap().join().unwrap(), "tried");
    assert_eq!(pool.admit().unwrap().spawn(|| "permitted").join().unwrap(), "permitted");
    assert_eq!(ended(&pool.stats()), (1_002, 0, 0));
}

#[test]
fn handles_may_be_joined_from_many_threads() {
    let (pool, door) = (pool_of(2, 64), Door::new());
    hold_workers(&pool, &door, 2);
    let mut handles: Vec<_> =
        (0..64_usize).map(|n| (n, pool.spawn(move || n + 1).unwrap())).collect();
    let joiners: Vec<_> = (0..8)
        .map(|_| {
            let mine = handles.split_off(handles.len() - 8);
            thread::spawn(move || mine.into_iter().all(|(n, task)| task.join().unwrap() == n + 1))
        })
        .collect();
    door.open();
    assert!(joiners.into_iter().all(join));
    // Those that held the workers have no handle to tell that they have ended.
    pool.wait_idle().unwrap();
    assert_eq!(ended(&pool.stats()).0, 66);
}

#[test]
fn join_timeout_may_be_called_until_there_is_an_outcome() {
    let (pool, door) = (pool_of(1, 4), Door::new());
    let at_door = door.clone();
    let mut handle = pool.spawn(move || at_door.wait()).unwrap();
    for time in [Duration::ZERO, Duration::from_millis(1), Duration::from_millis(2)] {
        assert!(handle.join_timeout(time).is_none() && !handle.is_finished());
    }
    door.open();
    handle.join_timeout(Duration::MAX).expect("there is no such time").unwrap();
    let mut handle = pool.spawn(|| 7).unwrap();
    eventually("it is finished", || handle.is_finished());
    assert_eq!(handle.join_timeout(Duration::ZERO).expect("it is there").unwrap(), 7);
}

#[test]
fn a_handle_gives_its_result_once() {
    let ways: [fn(JoinHandle<u8>); 3] = [
        |handle| drop(handle.join()),
        |mut handle| drop(handle.join_timeout(Duration::ZERO)),
        |mut handle| drop(poll_once(Pin::new(&mut handle))),
    ];
    let pool = pool_of(1, 4);
    for again in ways {
        let mut handle = pool.spawn(|| 7).unwrap();
        assert_eq!(handle.join_timeout(common::PATIENCE).expect("it runs").unwrap(), 7);
        assert!(handle.is_finished() && !handle.cancel());
        let panic = catch_unwind(AssertUnwindSafe(|| again(handle))).unwrap_err();
        assert!(panic.downcast_ref::<String>().unwrap().contains("after it had given it"));
    }
}

#[test]
fn a_handle_can_be_awaited() {
    let pool = pool_of(2, 16);
    let sum = block_on(async {
        let (one, two) = (pool.spawn(|| 1).unwrap(), pool.spawn(|| 2).unwrap());
        one.await.unwrap() + two.await.unwrap()
    });
    assert_eq!(sum, 3);
    let panicked = pool.spawn(|| panic!("awaited")).unwrap();
    assert_eq!(block_on(panicked).unwrap_err().into_panic().unwrap().message(), "awaited");
}

#[test]
fn an_awaited_handle_wakes_the_task_that_polled_it_last() {
    let (pool, door) = (pool_of(1, 4), Door::new());
    let at_door = door.clone();
    let mut handle = pool.spawn(move || at_door.wait()).unwrap();
    let (first, last) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
    for bell in [&first, &first, &last] {
        let waker = Waker::from(Arc::clone(bell));
        assert!(Pin::new(&mut handle).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    assert_eq!((first.rung(), last.rung()), (0, 0));
    door.open();
    eventually("the last waker is called", || last.rung() == 1);
    assert_eq!(first.rung(), 0);
    assert!(matches!(poll_once(Pin::new(&mut handle)), Poll::Ready(Ok(()))));
    // Whoever rings the bell lets go of it afterwards.
    eventually("no waker is kept", || {
        (Arc::strong_count(&first), Arc::strong_count(&last)) == (1, 1)
    });
}

#[test]
fn a_dropped_handle_lets_its_task_run() {
    let (pool, door) = (pool_of(1, 4), Door::new());
    hold_workers(&pool, &door, 1);
    let (sender, receiver) = mpsc::channel();
    drop(pool.spawn(move || sender.send(1)).unwrap());
    door.open();
    assert_eq!(receiver.recv_timeout(common::PATIENCE), Ok(1));
}

#[test]
fn a_panic_goes_to_the_handle_and_not_to_the_hook() {
    hush_quiet_threads();
    let hooked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&hooked);
    let builder = Pool::builder().name("quiet").workers(1);
    let hook = move |_: &TaskPanic| {
        count.fetch_add(1, Ordering::SeqCst);
    };
    let pool = builder.on_panic(hook).build().unwrap();

    let (task, line) = (|| panic_any(7_u32), line!() + 1);
    let error = pool.spawn(task).unwrap().join().unwrap_err();
    assert_eq!(ended(&pool.stats()), (0, 1, 0));
    assert!(error.is_panic() && !error.is_cancelled());
    let panic = error.into_panic().unwrap();
    let place = panic.submitted_at().map(|place| (place.file(), place.line()));
    assert_eq!((place, panic.worker()), (Some((file!(), line)), "quiet-0"));
    assert_eq!(panic.message(), "a panic without a message");
    assert_eq!(panic.into_payload().downcast_ref(), Some(&7_u32));

    let permit = pool.admit().unwrap();
    let (number, line) = (5_u32, line!() + 1);
    let error = permit.spawn(move || panic!("out of ink {number}")).join().unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("out of ink 5") && text.contains(&format!("{}:{line}", file!())),
        "{text}"
    );
    let payload = catch_unwind(AssertUnwindSafe(|| error.resume())).unwrap_err();
    assert_eq!(payload.downcast_ref::<String>().map(String::as_str), Some("out of ink 5"));
    assert_eq!((hooked.load(Ordering::SeqCst), ended(&pool.stats())), (0, (0, 2, 0)));
}

/// Spawns a task that owns a token and so many bytes, and asserts that both are gone with its end.
fn captures_are_gone<const BYTES: usize>(pool: &Pool) {
    let token = Arc::new(());
    for round in 0..300 {
        let (inside, ballast) = (Arc::clone(&token), [round as u8; BYTES]);
        let handle = pool.spawn(move || {
            assert!(ballast.iter().all(|byte| *byte == round as u8));
            end_with(round, &inside);
        });
        let mut handle = handle.expect("there is a place");
        let before = pool.stats();
        match round % 3 {
            0 => drop(handle.join()),
            1 => eventually("it is finished", || handle.is_finished()),
            _ => eventually("it is ready", || poll_once(Pin::new(&mut handle)).is_ready()),
        }
        assert_eq!(Arc::strong_count(&token), 1, "round {round}, {BYTES} bytes");
        let (stats, done) = (pool.stats(), before.accepted);
        let (completed, panicked, cancelled) = ended(&stats);
        assert_eq!(completed + panicked + cancelled, done, "it is counted, round {round}");
    }
}

/// Every other task panics.
fn end_with(round: usize, inside: &Arc<()>) {
    assert!(Arc::strong_count(inside) > 0 && round.is_multiple_of(2), "on purpose");
}

#[test]
fn captures_are_gone_and_the_task_is_counted_before_the_outcome_shows() {
    let (pool, door) = (pool_of(2, 64), Door::new());
    captures_are_gone::<0>(&pool);
    captures_are_gone::<40>(&pool);
    captures_are_gone::<2_000>(&pool);
    assert_eq!(ended(&pool.stats()), (450, 450, 0));
    hold_workers(&pool, &door, 2);
    let token = Arc::new(([1_u8; 2_000], 0));
    for round in 0..100 {
        let (inside, copy) = (Arc::clone(&token), *token);
        let handle = pool.spawn(move || inside.1 + copy.1).unwrap();
        assert!(if round % 2 == 0 { handle.cancel() } else { pool.discard() == 1 });
        assert!(handle.is_finished());
        assert_eq!((Arc::strong_count(&token), pool.stats().cancelled), (1, round + 1));
        assert!(handle.join().unwrap_err().is_cancelled());
    }
    door.open();
}

#[test]
fn a_refused_task_is_the_very_same() {
    /// Asserts that the task comes back with what it owns.
    fn comes_back(pool: &Pool, reason: Refused) {
        let (owned, refused) = (Box::new(5), pool.stats().refused);
        let address = (&raw const *owned).addr();
        let task = move || ((&raw const *owned).addr(), owned).0;
        let error = pool.try_spawn(task).unwrap_err();
        assert_eq!(error.reason(), reason);
        assert_eq!(error.into_task()(), address);
        assert_eq!(pool.stats().refused, refused + 1);
    }
    let (pool, door) = (pool_of(1, 1), Door::new());
    hold_workers(&pool, &door, 1);
    let queued = pool.spawn(|| "ran").unwrap();
    comes_back(&pool, Refused::Full);
    pool.close();
    comes_back(&pool, Refused::Closed);
    assert_eq!(pool.spawn(|| 1).unwrap_err().into_task()(), 1);
    door.open();
    assert_eq!(joined(queued).unwrap(), "ran");
    // Miri starts a thread with a stack of any size.
    if !cfg!(miri) {
        comes_back(&Pool::builder().stack_size(1 << 60).build().unwrap(), Refused::NoWorker);
    }
}

#[test]
fn a_caller_that_runs_its_task_gets_a_handle_that_is_ready() {
    let pool = Pool::builder().workers(1).queue(0).when_full(WhenFull::CallerRuns).build().unwrap();
    let door = Door::new();
    hold_workers(&pool, &door, 1);
    let handle = pool.spawn(|| thread::current().id()).unwrap();
    assert!(handle.is_finished() && !handle.cancel());
    assert_eq!(ended(&pool.stats()), (1, 0, 0));
    assert_eq!(handle.join().unwrap(), thread::current().id());
    door.open();
}

#[test]
fn results_may_be_large_empty_or_not_sync() {
    let pool = pool_of(2, 16);
    let large = pool.spawn(|| [7_u8; 100_000]).unwrap().join().unwrap();
    assert!(large.iter().all(|byte| *byte == 7));
    pool.spawn(|| ()).unwrap().join().unwrap();
    assert_eq!(joined(pool.spawn(|| Cell::new(3)).unwrap()).unwrap().get(), 3);
    let nested = pool.spawn(|| Box::new(|| 8) as Box<dyn Fn() -> i32 + Send>).unwrap();
    assert_eq!(nested.join().unwrap()(), 8);
}

/// The only worker is there, and so is each task's end, after something panicked on it.
#[track_caller]
fn assert_unharmed(pool: &Pool, expected: (u64, u64, u64)) {
    let (sender, receiver) = mpsc::channel();
    pool.submit(move || sender.send(()).expect("the test listens")).expect("the pool is open");
    receiver.recv_timeout(common::PATIENCE).expect("the worker is still there");
    eventually("all tasks have ended", || pool.busy() == 0);
    assert_eq!(ended(&pool.stats()), expected);
    pool.drain_timeout(common::PATIENCE).expect("no task is left");
}

#[test]
fn a_panic_in_the_drop_of_an_unwanted_result_costs_nothing() {
    for payload in [false, true] {
        let (pool, door) = (pool_of(1, 4), Door::new());
        let at_door = door.clone();
        let task = move || {
            at_door.wait();
            if payload { panic_any(Bomb) } else { Bomb }
        };
        let handle = pool.spawn(task).unwrap();
        door.await_waiting(1);
        drop(handle);
        door.open();
        assert_unharmed(&pool, if payload { (1, 1, 0) } else { (2, 0, 0) });
    }
}

#[test]
fn a_panic_in_the_waker_of_a_handle_costs_nothing() {
    struct Loud;
    impl Wake for Loud {
        fn wake(self: Arc<Self>) {
            panic!("in a waker");
        }
    }
    let (pool, door) = (pool_of(1, 4), Door::new());
    let at_door = door.clone();
    let mut handle = pool.spawn(move || at_door.wait()).unwrap();
    let waker = Waker::from(Arc::new(Loud));
    assert!(Pin::new(&mut handle).poll(&mut Context::from_waker(&waker)).is_pending());
    door.open();
    eventually("it is finished", || handle.is_finished());
    handle.join().unwrap();
    assert_unharmed(&pool, (2, 0, 0));
}

#[test]
fn every_handle_resolves_when_its_pool_ends() {
    for round in 0..3 {
        let (pool, door) = (pool_of(2, 64), Door::new());
        hold_workers(&pool, &door, 2);
        let handles: Vec<_> = (0..50).map(|n| pool.spawn(move || n).unwrap()).collect();
        match round {
            0 => drop(pool),
            1 => assert_eq!(pool.discard(), 50),
            _ => pool.close(),
        }
        door.open();
        for (n, handle) in (0..).zip(handles) {
            match joined(handle) {
                Ok(value) => assert!(value == n && round != 1),
                Err(error) => assert!(error.is_cancelled() && round == 1),
            }
        }
    }
    let pool = pool_of(2, 64);
    let handles: Vec<_> = (0..60).map(|n| pool.spawn(move || n).unwrap()).collect();
    pool.drain().unwrap();
    assert!(handles.iter().all(JoinHandle::is_finished));
    assert_eq!(handles.into_iter().map(|task| task.join().unwrap()).sum::<i32>(), 59 * 30);
}

#[test]
fn what_goes_wrong_can_be_passed_on_between_threads() {
    fn passes<E: std::error::Error + Send + Sync + 'static>() {}
    passes::<JoinError>();
    passes::<TaskPanic>();
    passes::<CallError<u32>>();
    passes::<SubmitError<u32>>();
}
