//! Pools of futures on threads of their own: they need no runtime, each thread has timers and sockets, and all of
//! it is gone after a drain.

use std::collections::HashSet;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::common::on_tokio::{on, runtime, soon, watch};
use crate::common::{self, Census, Door, PATIENCE, block_on};
use formic::{AsyncFnPool, AsyncPool, Builder, CallError, JoinError, Refused};
use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::time::sleep;

fn builder(workers: usize) -> Builder<AsyncPool> {
    common::hush_quiet_threads();
    AsyncPool::builder().workers(workers).own_threads(2).name("quiet-own")
}

fn pool(workers: usize) -> AsyncPool {
    builder(workers).build().unwrap()
}

/// The threads on which this is called.
#[derive(Clone, Default)]
struct Threads(Arc<Mutex<HashSet<ThreadId>>>);

impl Threads {
    fn note(&self) {
        self.0.lock().unwrap().insert(thread::current().id());
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

#[test]
fn no_runtime_is_needed() {
    watch(|| {
        assert!(Handle::try_current().is_err());
        let (pool, sum) = (pool(100), Arc::new(AtomicUsize::new(0)));
        for number in 0..1000 {
            let sum = Arc::clone(&sum);
            let nap = async move {
                sleep(Duration::from_millis(1)).await;
                sum.fetch_add(number, Ordering::Relaxed);
            };
            pool.blocking_submit(nap).unwrap();
        }
        let answer = block_on(pool.spawn(async { 6 * 7 })).unwrap();
        assert_eq!(answer.join().unwrap(), 42);
        assert_eq!(block_on(pool.try_spawn(async { 1 }).unwrap()).unwrap(), 1);
        pool.blocking_drain().unwrap();
        assert_eq!(sum.load(Ordering::Relaxed), 499_500);
        let stats = pool.stats();
        assert!(stats.adds_up() && stats.completed == 1002, "{stats:?}");
    });
}

#[test]
fn two_polls_run_at_once_on_two_threads() {
    watch(|| {
        let (pool, both, threads) = (pool(2), Arc::new(Barrier::new(2)), Threads::default());
        let handles = [0, 1].map(|_| {
            let (both, threads) = (Arc::clone(&both), threads.clone());
            pool.try_spawn(async move {
                both.wait();
                threads.note();
            })
        });
        handles.into_iter().for_each(|handle| handle.unwrap().join().unwrap());
        assert_eq!(threads.count(), 2);
    });
}

/// Calls itself so often, with some 64 KiB of stack each time.
fn depth(calls: u32) -> u32 {
    let frame = black_box([calls; 16 << 10]);
    if calls == 0 { frame[0] } else { 1 + depth(calls - 1) }
}

#[test]
fn a_thread_bears_the_name_of_its_pool_and_tells_of_its_start_and_its_end() {
    watch(|| {
        let (tell, told) = mpsc::channel();
        let tells = [tell.clone(), tell];
        let hook = |number: usize, name: &'static str| {
            let tell = Mutex::new(tells[number].clone());
            move |index: usize| {
                let thread = thread::current().name().unwrap().to_owned();
                tell.lock().unwrap().send((name, index, thread)).unwrap();
            }
        };
        let pool = builder(4).on_worker_start(hook(0, "start")).on_worker_stop(hook(1, "stop"));
        let pool = pool.stack_size(16 << 20).build().unwrap();
        drop(tells);
        for _ in 0..3 {
            let deep = pool.try_spawn(async { depth(50) }).unwrap();
            assert_eq!(deep.join().unwrap(), 50, "the stack is as large as was asked for");
            let name = async { thread::current().name().unwrap().to_owned() };
            let name = pool.try_spawn(name).unwrap().join().unwrap();
            pool.blocking_drain().unwrap();
            let mut tales: Vec<_> = told.try_iter().collect();
            assert!(tales.iter().any(|(_, _, thread)| *thread == name), "{name}: {tales:?}");
            tales.sort();
            let expected = [("start", 0), ("start", 1), ("stop", 0), ("stop", 1)];
            let expected =
                expected.map(|(what, index)| (what, index, format!("quiet-own-{index}")));
            assert_eq!(tales, expected, "drain returns after the last of it");
            pool.reopen().unwrap();
        }
    });
}

#[test]
fn no_thread_is_left_after_a_drain_however_it_is_waited_for() {
    watch(|| {
        let census = Census::default();
        let pool = builder(10).on_worker_start(census.hook()).build().unwrap();
        assert_eq!(census.count(), 0, "none is started before it is needed");
        for round in 0..60 {
            for _ in 0..20 {
                pool.blocking_submit(async { tokio::task::yield_now().await }).unwrap();
            }
            match round % 3 {
                0 => pool.blocking_drain().unwrap(),
                1 => block_on(pool.drain()).unwrap(),
                _ => pool.blocking_drain_timeout(PATIENCE).unwrap(),
            }
            assert_eq!(census.count(), 0, "in round {round}");
            pool.reopen().unwrap();
        }
        pool.blocking_submit(async {}).unwrap();
        drop(pool);
        common::eventually("the threads go with the last handle", || census.count() == 0);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn an_idle_pool_uses_no_processor() {
    watch(|| {
        let pool = builder(1000).name("apart").build().unwrap();
        let naps = pool.for_each(0..20_000, |_| sleep(Duration::from_millis(1)));
        block_on(naps).unwrap();
        common::assert_silent("apart-", 2);
        pool.blocking_submit(async {}).unwrap();
        pool.blocking_drain().unwrap();
    });
}

#[test]
fn sockets_work() {
    watch(|| {
        let pool = pool(10);
        let listener = TcpListener::bind("127.0.0.1:0");
        let (tell, told) = mpsc::channel();
        let server = pool.try_spawn(async move {
            let listener = listener.await.unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            for _ in 0..5 {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut text = [0; 5];
                stream.read_exact(&mut text).await.unwrap();
                stream.write_all(&text.map(|byte| byte.to_ascii_uppercase())).await.unwrap();
            }
        });
        let address = told.recv().unwrap();
        let answers = pool.map(0..5, move |_| async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(b"hello").await.unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            text
        });
        for answer in block_on(answers.collect::<Vec<_>>()) {
            assert_eq!(answer.unwrap(), "HELLO");
        }
        server.unwrap().join().unwrap();
        pool.blocking_drain().unwrap();
    });
}

#[test]
fn items_are_pulled_on_both_threads() {
    watch(|| {
        for workers in [1, 3, 1000] {
            let (pool, threads) = (pool(workers), Threads::default());
            let (sum, both) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(2)));
            let (adds, its) = (Arc::clone(&sum), threads.clone());
            let pulled = pool.for_each(0..20_000, move |number| {
                let (adds, threads, both) = (Arc::clone(&adds), its.clone(), Arc::clone(&both));
                async move {
                    if number < 2 && workers > 1 {
                        // Neither thread goes on without the other.
                        both.wait();
                        threads.note();
                    } else if number % 64 == 0 {
                        sleep(Duration::from_millis(1)).await;
                    }
                    adds.fetch_add(number, Ordering::Relaxed);
                }
            });
            block_on(pulled).unwrap();
            assert_eq!(sum.load(Ordering::Relaxed), 199_990_000);
            assert_eq!(threads.count(), if workers > 1 { 2 } else { 0 });
            let squares =
                block_on(pool.map(0..100_u64, |n| async move { n * n }).collect::<Vec<_>>());
            let squares: Vec<u64> = squares.into_iter().map(Result::unwrap).collect();
            assert_eq!(squares, (0..100).map(|n| n * n).collect::<Vec<_>>(), "in order");
            pool.blocking_drain().unwrap();
        }
    });
}

#[test]
fn a_runtime_can_use_it_and_runs_none_of_it() {
    on(2, || async {
        let (pool, tasks) = (pool(100), Handle::current().metrics());
        for _ in 0..100 {
            let nap = async {
                sleep(Duration::from_millis(1)).await;
                thread::current().name().unwrap().starts_with("quiet-own-")
            };
            assert!(pool.spawn(nap).await.unwrap().await.unwrap());
        }
        assert_eq!(tasks.num_alive_tasks(), 0, "no driver lives on it");
        pool.drain_timeout(PATIENCE).await.unwrap();
    });
}

#[test]
fn a_cancelled_future_is_dropped_where_it_stands_and_a_panic_costs_one() {
    watch(|| {
        let (pool, guard) = (pool(2), Arc::new(()));
        let (held, (tell, told)) = (Arc::clone(&guard), mpsc::channel());
        let endless = pool.try_spawn(async move {
            let _held = held;
            tell.send(()).unwrap();
            std::future::pending::<()>().await;
        });
        told.recv().unwrap();
        let endless = endless.unwrap();
        assert!(endless.cancel());
        assert!(matches!(endless.join(), Err(JoinError::Cancelled)));
        assert_eq!(Arc::strong_count(&guard), 1);
        let panics = pool.try_spawn(async { panic!("on purpose") }).unwrap();
        assert!(matches!(panics.join(), Err(JoinError::Panicked(_))));
        assert_eq!(pool.try_spawn(async { 1 }).unwrap().join().unwrap(), 1);
        pool.blocking_drain().unwrap();
        let stats = pool.stats();
        assert_eq!((stats.completed, stats.cancelled, stats.panicked), (1, 1, 1), "{stats:?}");
    });
}

#[test]
fn what_a_future_has_spawned_ends_with_its_thread() {
    watch(|| {
        let (pool, guard, door) = (pool(2), Arc::new(()), Door::new());
        let (held, waits) = (Arc::clone(&guard), door.clone());
        let spawns = async move {
            tokio::spawn(async move {
                let _held = held;
                std::future::pending::<()>().await;
            });
            tokio::task::spawn_blocking(move || waits.wait());
        };
        pool.blocking_submit(spawns).unwrap();
        door.await_waiting(1);
        pool.blocking_drain().unwrap();
        assert_eq!(Arc::strong_count(&guard), 1, "the task is gone");
        door.open();
    });
}

#[test]
fn who_would_wait_for_its_own_thread_is_told_so() {
    watch(|| {
        let (pool, (tell, told)) = (pool(2), mpsc::channel());
        for _ in 0..2 {
            let (its, tell) = (pool.clone(), tell.clone());
            let spawns = async move {
                tokio::spawn(async move {
                    its.wait_idle().await.unwrap();
                    let errors = [its.drain().await, its.blocking_drain()];
                    tell.send(errors.map(Result::unwrap_err)).unwrap();
                });
            };
            pool.blocking_submit(spawns).unwrap();
            for error in told.recv_timeout(PATIENCE).unwrap() {
                assert!(error.is_from_inside(), "{error}");
            }
            assert!(!pool.is_closed());
        }
        pool.blocking_drain().unwrap();
    });
}

#[test]
fn the_last_handle_may_go_with_what_a_future_has_spawned() {
    watch(|| {
        let census = Census::default();
        for _ in 0..50 {
            let (pool, door) =
                (builder(2).on_worker_start(census.hook()).build().unwrap(), Door::new());
            let (its, passes) = (pool.clone(), door.clone());
            let spawns = async move {
                tokio::spawn(async move {
                    let _its = its;
                    tokio::task::yield_now().await;
                    passes.wait();
                });
            };
            pool.blocking_submit(spawns).unwrap();
            drop(pool);
            door.open();
            common::eventually("all threads go", || census.count() == 0);
        }
    });
}

#[test]
fn one_function_has_threads_of_its_own_too() {
    watch(|| {
        let calls = AsyncFnPool::builder().workers(10).own_threads(2);
        let calls = calls.build(|time: u64| async move {
            sleep(Duration::from_millis(time)).await;
            time
        });
        let calls = calls.unwrap();
        assert_eq!(block_on(calls.call(1)).unwrap(), 1);
        (0..100).for_each(|_| calls.blocking_submit(1).unwrap());
        // The deadline is told by the runtime of whoever waits.
        let Err(CallError::Refused(error)) = block_on(calls.call_timeout(7, PATIENCE)) else {
            panic!("there is no runtime here")
        };
        assert_eq!((error.reason(), error.into_task()), (Refused::NoRuntime, 7));
        let mut taken_back = 0;
        runtime(0).block_on(async {
            assert_eq!(calls.call_timeout(2, PATIENCE).await.unwrap(), 2);
            let late = || calls.call_timeout(1 << 20, Duration::from_millis(1));
            // The time may be over before a driver has the call, which is then taken back.
            while late().await.unwrap_err().into_argument().is_some() {
                taken_back += 1;
            }
            soon("it is cancelled", || calls.busy() == 0).await;
        });
        calls.blocking_drain().unwrap();
        let stats = calls.stats();
        assert_eq!((stats.completed, stats.cancelled), (102, 1 + taken_back), "{stats:?}");
    });
}

#[test]
fn the_last_word_on_where_it_runs_holds() {
    on(0, || async {
        let here = Handle::current();
        let name = || async { thread::current().name().unwrap().to_owned() };
        let on_runtime = builder(2).runtime(here.clone()).build().unwrap();
        let on_threads =
            AsyncPool::builder().runtime(here).own_threads(1).name("last").build().unwrap();
        assert!(!on_runtime.spawn(name()).await.unwrap().await.unwrap().starts_with("quiet-own"));
        assert_eq!(on_threads.spawn(name()).await.unwrap().await.unwrap(), "last-0");
    });
}

#[test]
fn bad_settings_are_refused_by_name() {
    let error = |builder: Builder<AsyncPool>| builder.build().unwrap_err();
    let none = error(AsyncPool::builder().own_threads(0));
    assert_eq!(none.to_string(), "own_threads: 0 threads cannot run anything");
    let many = error(AsyncPool::builder().own_threads(1025));
    assert_eq!(many.to_string(), "own_threads: 1025 is above the limit of 1024");
    assert!(AsyncPool::builder().own_threads(1024).build().is_ok());
    let small = error(AsyncPool::builder().own_threads(1).stack_size(1));
    assert_eq!(small.setting(), Some("stack_size"));
    on(0, || async {
        type Set = fn(Builder<AsyncPool>) -> Builder<AsyncPool>;
        let settings: [(&str, Set); 3] = [
            ("stack_size", |builder| builder.stack_size(1 << 20)),
            ("on_worker_start", |builder| builder.on_worker_start(|_| ())),
            ("on_worker_stop", |builder| builder.on_worker_stop(|_| ())),
        ];
        for (setting, set) in settings {
            let refused = set(AsyncPool::builder()).build().unwrap_err();
            assert_eq!(refused.setting(), Some(setting));
            let text = "the threads belong to the runtime, and `own_threads` is not set";
            assert_eq!(refused.to_string(), format!("{setting}: {text}"));
            assert!(set(AsyncPool::builder().own_threads(1)).build().is_ok());
        }
    });
}
