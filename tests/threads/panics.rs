//! A panic costs one task: never a worker's place, never the pool (promise 3).

use std::panic::panic_any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::{env, process, thread};

use crate::common::{self, Door, eventually, hold_workers, hush_quiet_threads, join};
use formic::{Builder, FnPool, Pool, TaskPanic};

/// Settings for a pool whose panics are not printed.
fn quiet() -> Builder {
    hush_quiet_threads();
    Pool::builder().name("quiet")
}

/// Panics when it is dropped, unless that would end the process.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(thread::panicking(), "{}", self.0);
    }
}

/// A panic hook that keeps the messages, and the messages.
fn messages() -> (impl Fn(&TaskPanic) + Send + Sync + 'static, Arc<Mutex<Vec<String>>>) {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&messages);
    let hook = move |panic: &TaskPanic| {
        kept.lock().expect("no hook panics here").push(panic.message().to_owned());
    };
    (hook, messages)
}

/// Both workers of the pool are there and work.
#[track_caller]
fn assert_two_workers_work(pool: &Pool) {
    let door = Door::new();
    hold_workers(pool, &door, 2);
    assert_eq!(pool.busy(), 2);
    door.open();
    pool.wait_idle().expect("this is no task of the pool");
}

#[test]
fn the_hook_is_told_what_panicked_and_where() {
    #[derive(Debug, PartialEq)]
    struct Reason(u32);
    let (sender, receiver) = mpsc::channel();
    let hook = move |panic: &TaskPanic| {
        let reason =
            panic.with_payload(|payload| payload.downcast_ref::<Reason>().map(|reason| reason.0));
        let line = panic.submitted_at().map(|location| (location.file(), location.line()));
        let current = thread::current().name().map(str::to_owned);
        let texts = (panic.message().to_owned(), panic.worker().to_owned(), panic.to_string());
        sender.send((reason, line, current, texts)).unwrap();
    };
    let pool = quiet().workers(1).on_panic(hook).build().unwrap();

    let (task, line) = (|| panic_any(Reason(7)), line!() + 1);
    pool.submit(task).unwrap();
    let (reason, place, current, (message, worker, _)) = receiver.recv().unwrap();
    assert_eq!((reason, place), (Some(7), Some((file!(), line))));
    assert_eq!((&message[..], &worker[..]), ("a panic without a message", "quiet-0"));
    assert_eq!(current.as_deref(), Some("quiet-0"), "the hook runs on the worker");

    let line = line!() + 1;
    pool.try_submit(|| panic!("a plain text")).unwrap();
    let (reason, place, _, (message, _, whole)) = receiver.recv().unwrap();
    assert_eq!((reason, place), (None, Some((file!(), line))));
    assert_eq!(message, "a plain text");
    assert!(whole.contains("a plain text") && whole.contains("quiet-0"), "{whole}");
    assert!(whole.contains(&format!("{}:{line}", file!())), "{whole}");

    let (permit, number) = (pool.admit().unwrap(), 5);
    let line = line!() + 1;
    permit.submit(move || panic!("a text with {number}"));
    let (_, place, _, (message, ..)) = receiver.recv().unwrap();
    assert_eq!((place, &message[..]), (Some((file!(), line)), "a text with 5"));
    pool.drain().unwrap();
    assert_eq!(pool.stats().panicked, 3);
}

#[test]
fn ten_thousand_panics_cost_no_place() {
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let hook = move |_: &TaskPanic| {
        count.fetch_add(1, Ordering::Relaxed);
    };
    let pool = quiet().workers(2).queue(2).on_panic(hook).build().unwrap();
    // The queue is short, so the submitters block again and again.
    let submitters: Vec<_> = (0..4)
        .map(|_| {
            let pool = pool.clone();
            thread::spawn(move || {
                (0..2_500).for_each(|_| pool.submit(|| panic!("on purpose")).unwrap());
                (0..100).for_each(|_| pool.submit(|| ()).unwrap());
            })
        })
        .collect();
    submitters.into_iter().for_each(join);
    pool.wait_idle().unwrap();
    let stats = pool.stats();
    assert_eq!((stats.accepted, stats.panicked, stats.completed), (10_400, 10_000, 400));
    assert_eq!((stats.busy, stats.queued, stats.waiting), (0, 0, 0));
    assert_eq!(told.load(Ordering::Relaxed), 10_000);
    assert_two_workers_work(&pool);
    pool.drain().unwrap();
}

#[test]
fn without_a_hook_a_panic_breaks_nothing() {
    let pool = quiet().workers(2).build().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    for number in 0..1_000 {
        let ran = Arc::clone(&ran);
        let task = move || {
            assert!(number % 3 > 0, "on purpose");
            ran.fetch_add(1, Ordering::Relaxed);
        };
        pool.submit(task).unwrap();
    }
    pool.wait_idle().unwrap();
    let stats = pool.stats();
    assert_eq!((stats.panicked, stats.completed), (334, 666));
    assert_eq!(ran.load(Ordering::Relaxed), 666);
    assert_two_workers_work(&pool);
    pool.drain().unwrap();
}

#[test]
fn a_panic_in_the_hook_is_contained() {
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let hook = move |_: &TaskPanic| {
        count.fetch_add(1, Ordering::Relaxed);
        panic!("in the hook");
    };
    let pool = quiet().workers(2).on_panic(hook).build().unwrap();
    (0..1_000).for_each(|_| pool.submit(|| panic!("in the task")).unwrap());
    assert_two_workers_work(&pool);
    pool.drain().unwrap();
    assert_eq!((told.load(Ordering::Relaxed), pool.stats().panicked), (1_000, 1_000));
}

#[test]
fn a_panic_in_the_drop_of_a_capture_counts_as_the_tasks_own() {
    let (hook, messages) = messages();
    let pool = quiet().workers(2).on_panic(hook).build().unwrap();
    for _ in 0..100 {
        let bomb = Bomb("in a capture");
        // The task itself returns; its captures are dropped after that.
        pool.submit(move || {
            let _kept = &bomb;
        })
        .unwrap();
    }
    assert_two_workers_work(&pool);
    pool.drain().unwrap();
    assert_eq!((pool.stats().panicked, pool.stats().completed), (100, 2));
    assert_eq!(*messages.lock().unwrap(), ["in a capture"; 100]);
}

#[test]
fn a_panic_in_the_drop_of_a_payload_is_contained() {
    for with_hook in [true, false] {
        let (hook, messages) = messages();
        let builder = if with_hook { quiet().on_panic(hook) } else { quiet() };
        let pool = builder.workers(2).build().unwrap();
        (0..100).for_each(|_| pool.submit(|| panic_any(Bomb("in a payload"))).unwrap());
        assert_two_workers_work(&pool);
        pool.drain().unwrap();
        assert_eq!((pool.stats().panicked, pool.stats().completed), (100, 2));
        assert_eq!(messages.lock().unwrap().len(), if with_hook { 100 } else { 0 });
    }
}

#[test]
fn a_panic_in_the_drop_of_a_payload_of_the_hook_is_contained() {
    let hook = |_: &TaskPanic| panic_any(Bomb("in the hook's payload"));
    let pool = quiet().workers(2).on_panic(hook).build().unwrap();
    (0..100).for_each(|_| pool.submit(|| panic_any(Bomb("in a payload"))).unwrap());
    assert_two_workers_work(&pool);
    pool.drain().unwrap();
    assert_eq!(pool.stats().panicked, 100);
}

#[test]
fn a_panic_in_the_drop_of_a_discarded_task_is_contained() {
    let (pool, door) = (quiet().workers(1).build().unwrap(), Door::new());
    hold_workers(&pool, &door, 1);
    let token = Arc::new(());
    for _ in 0..10 {
        let (bomb, token) = (Bomb("in a discarded task"), Arc::clone(&token));
        pool.submit(move || {
            let _kept = (&bomb, &token);
        })
        .unwrap();
    }
    let handle = pool.clone();
    let discarder = thread::Builder::new().name("quiet discarder".to_owned());
    assert_eq!(join(discarder.spawn(move || handle.discard()).unwrap()), 10);
    assert_eq!(Arc::strong_count(&token), 1, "all of them were dropped");
    door.open();
    pool.drain().unwrap();
    assert_eq!((pool.stats().cancelled, pool.stats().completed), (10, 1));
}

#[test]
fn a_panic_in_the_hooks_of_workers_is_contained() {
    let (starts, stops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (started, stopped) = (Arc::clone(&starts), Arc::clone(&stops));
    let pool = quiet()
        .workers(2)
        .on_worker_start(move |_| {
            started.fetch_add(1, Ordering::Relaxed);
            panic!("at the start");
        })
        .on_worker_stop(move |_| {
            stopped.fetch_add(1, Ordering::Relaxed);
            panic!("at the end");
        })
        .build()
        .unwrap();
    for round in 1..=5 {
        assert_two_workers_work(&pool);
        pool.drain().unwrap();
        assert_eq!(pool.workers(), 0);
        assert_eq!(starts.load(Ordering::Relaxed), 2 * round);
        assert_eq!(stops.load(Ordering::Relaxed), 2 * round);
        pool.reopen().unwrap();
    }
    assert_eq!(pool.stats().panicked, 0, "no task has panicked");
}

#[test]
fn a_panic_in_a_waker_costs_no_worker() {
    struct Loud;
    impl Wake for Loud {
        fn wake(self: Arc<Self>) {
            panic!("in a waker");
        }
    }
    let (pool, door) = (quiet().workers(1).queue(0).build().unwrap(), Door::new());
    hold_workers(&pool, &door, 1);
    let waker = Waker::from(Arc::new(Loud));
    let mut admission = Box::pin(pool.admit_async());
    assert!(admission.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    door.open();
    eventually("the place is given", || pool.waiting() == 0);
    drop(admission);
    let (sender, receiver) = mpsc::channel();
    pool.submit(move || sender.send(()).unwrap()).unwrap();
    receiver.recv_timeout(common::PATIENCE).expect("the worker is still there");
    pool.drain().unwrap();
}

#[test]
fn captures_of_a_task_that_panicked_are_gone_before_it_counts() {
    let pool = quiet().workers(1).build().unwrap();
    let token = Arc::new(());
    for round in 1..=1_000 {
        let inside = Arc::clone(&token);
        let task = move || {
            let _inside = &inside;
            panic!("on purpose");
        };
        pool.submit(task).unwrap();
        eventually("the panic counts", || pool.stats().panicked == round);
        assert_eq!(Arc::strong_count(&token), 1);
    }
    pool.drain().unwrap();
}

#[test]
fn without_a_hook_rust_prints_the_panic() {
    const CHILD: &str = "FORMIC_TEST_CHILD";
    if env::var_os(CHILD).is_some() {
        let pool = Pool::builder().workers(1).name("loud").build().unwrap();
        pool.submit(|| panic!("heard by everybody")).unwrap();
        pool.drain().unwrap();
        assert_eq!(pool.stats().panicked, 1);
        return;
    }
    let child = process::Command::new(env::current_exe().unwrap())
        .args(["--exact", "panics::without_a_hook_rust_prints_the_panic", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{errors}");
    let head = errors.lines().find(|line| line.contains("panicked at")).unwrap_or_default();
    assert!(head.starts_with("thread 'loud-0'") && head.contains(file!()), "{errors}");
    assert_eq!(errors.matches("heard by everybody").count(), 1, "{errors}");
}

#[test]
fn panics_of_the_worker_hooks_reach_the_panic_hook() {
    let (on_panic, messages) = messages();
    let pool = quiet()
        .workers(1)
        .on_worker_start(|index| panic!("start of {index}"))
        .on_worker_stop(|index| panic!("stop of {index}"))
        .on_panic(on_panic)
        .build()
        .unwrap();
    assert_eq!(pool.spawn(|| 3).unwrap().join().unwrap(), 3);
    pool.drain().unwrap();
    assert_eq!(*messages.lock().unwrap(), ["start of 0", "stop of 0"]);
    assert_eq!(pool.stats().panicked, 0, "no task panicked");
}

#[test]
fn a_panic_of_a_dropped_worker_state_reaches_the_panic_hook() {
    hush_quiet_threads();
    let (on_panic, messages) = messages();
    let pool = FnPool::builder().name("quiet").workers(1).on_panic(on_panic);
    let pool = pool.build_with(|| Bomb("the state"), |_, ()| ()).unwrap();
    pool.call(()).unwrap();
    pool.drain().unwrap();
    assert_eq!(*messages.lock().unwrap(), ["the state"]);
}
