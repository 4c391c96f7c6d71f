//! A pool whose runtime is gone says so, to everybody, and nothing hangs.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::on_tokio::{Stop, runtime, watch, watch_for};
use crate::common::own_process::in_its_own_process;
use crate::common::{self, Door, Random, eventually, join, stress_time};
use formic::{AsyncFnPool, AsyncPool, JoinError, JoinHandle, Refused, ReopenError};
use tokio::runtime::{Handle, Runtime};

fn pool_on(runtime: &Handle, workers: usize, queue: usize) -> AsyncPool {
    let builder = AsyncPool::builder().workers(workers).queue(queue);
    builder.runtime(runtime.clone()).build().unwrap()
}

fn end(runtime: Runtime, in_background: bool) {
    if in_background { runtime.shutdown_background() } else { drop(runtime) }
}

fn has_ended(pool: &AsyncPool) {
    let stats = pool.stats();
    assert!(stats.adds_up(), "{stats:?}");
    assert_eq!((stats.busy, stats.queued, stats.waiting), (0, 0, 0), "{stats:?}");
    common::block_on(pool.drain()).unwrap();
    common::block_on(pool.wait_idle()).unwrap();
    let refused = pool.try_submit(async {}).unwrap_err().reason();
    assert!(matches!(refused, Refused::RuntimeGone | Refused::Closed), "{refused:?}");
    if pool.is_closed() {
        // A runtime that shuts down in the background takes tasks until one of its threads has closed it. Until
        // then a pool without a driver can be opened again.
        eventually("the runtime is known to be gone", || {
            let reopened = pool.reopen();
            pool.close();
            common::block_on(pool.drain()).unwrap();
            matches!(reopened, Err(ReopenError::RuntimeGone))
        });
    }
}

#[test]
fn every_waiter_is_told_when_the_runtime_goes() {
    for (threads, in_background) in [(0, false), (0, true), (2, false), (2, true)] {
        watch(move || {
            let (runtime, stop, token) = (runtime(threads), Stop::new(), Arc::new(()));
            let pool = pool_on(runtime.handle(), 2, 3);
            let mut handles = Vec::new();
            for _ in 0..2 {
                let (stop, token) = (stop.clone(), Arc::clone(&token));
                let task = async move {
                    stop.pass().await;
                    drop(token);
                };
                handles.push(pool.try_spawn(task).unwrap());
            }
            runtime.block_on(stop.have_come(2));
            for _ in 0..2 {
                let token = Arc::clone(&token);
                handles.push(pool.try_spawn(async move { drop(token) }).unwrap());
            }
            let kept = Arc::clone(&token);
            pool.try_submit(async move { drop(kept) }).unwrap();
            let mut waiting = Vec::new();
            for number in 0..4 {
                let pool = pool.clone();
                waiting.push(thread::spawn(move || match number {
                    0 => pool.blocking_submit(async {}).unwrap_err().reason(),
                    1 => common::block_on(pool.submit(async {})).unwrap_err().reason(),
                    2 => common::block_on(pool.spawn(async {})).unwrap_err().reason(),
                    _ => common::block_on(pool.admit()).unwrap_err(),
                }));
            }
            eventually("four wait", || pool.waiting() == 4);
            let drains = {
                let pool = pool.clone();
                thread::spawn(move || common::block_on(pool.wait_idle()))
            };
            end(runtime, in_background);
            for waiting in waiting {
                assert_eq!(join(waiting), Refused::RuntimeGone);
            }
            for handle in handles {
                assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
            }
            join(drains).unwrap();
            eventually("nothing is left", || Arc::strong_count(&token) == 1);
            has_ended(&pool);
            assert_eq!(pool.stats().cancelled, 5);
        });
    }
}

#[test]
fn a_pool_for_a_runtime_that_is_gone_refuses() {
    for threads in [0, 2] {
        watch(move || {
            let runtime = runtime(threads);
            let gone = runtime.handle().clone();
            drop(runtime);
            let pool = pool_on(&gone, 2, 2);
            let error = pool.try_spawn(async { 3 }).unwrap_err();
            assert_eq!(error.reason(), Refused::RuntimeGone);
            assert_eq!(common::block_on(error.into_task()), 3);
            let error = common::block_on(pool.submit(async {})).unwrap_err();
            assert_eq!(error.reason(), Refused::RuntimeGone);
            assert_eq!(pool.blocking_submit(async {}).unwrap_err().reason(), Refused::RuntimeGone);
            assert_eq!(common::block_on(pool.admit()).unwrap_err(), Refused::RuntimeGone);
            assert!(common::block_on(pool.for_each(0..3, |_| async {})).is_err());
            has_ended(&pool);
            let calls = AsyncFnPool::builder().runtime(gone).build(|n: u8| async move { n });
            let calls = calls.unwrap();
            assert_eq!(common::block_on(calls.call(3)).unwrap_err().into_argument(), Some(3));
        });
    }
}

#[test]
fn the_task_of_a_permit_is_told_too() {
    for threads in [0, 2] {
        watch(move || {
            let runtime = runtime(threads);
            let pool = pool_on(runtime.handle(), 2, 0);
            let (one, two) = (pool.try_admit().unwrap(), pool.try_admit().unwrap());
            drop(runtime);
            let handle = one.spawn(async {});
            two.submit(async {});
            assert!(handle.join().unwrap_err().is_cancelled());
            has_ended(&pool);
        });
    }
}

#[test]
fn children_in_lent_places_are_told_too() {
    for threads in [0, 2] {
        watch(move || {
            let (runtime, stop) = (runtime(threads), Stop::new());
            let pool = pool_on(runtime.handle(), 1, 0);
            let (inner, child) = (pool.clone(), stop.task());
            let parent = pool.try_spawn(async move {
                let child = inner.spawn(child).await.unwrap();
                child.await.unwrap();
            });
            let parent = parent.unwrap();
            runtime.block_on(stop.have_come(1));
            drop(runtime);
            assert!(parent.join().unwrap_err().is_cancelled());
            has_ended(&pool);
            assert_eq!(pool.stats().cancelled, 2);
        });
    }
}

/// One driver is gone while another one polls a future of its list.
#[test]
fn a_future_that_is_being_polled_elsewhere_ends_in_peace() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    // The panics of the process are counted.
    if in_its_own_process("runtime_gone::a_future_that_is_being_polled_elsewhere_ends_in_peace") {
        return;
    }
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        print(panic);
    }));
    for _ in 0..50 {
        watch(move || {
            let (runtime, door, stop) = (runtime(2), Door::new(), Stop::new());
            let pool = pool_on(runtime.handle(), 100, 100);
            let mut handles = Vec::new();
            for _ in 0..20 {
                let (stop, door) = (stop.clone(), door.clone());
                let task = async move {
                    stop.pass().await;
                    door.wait();
                };
                handles.push(pool.try_spawn(task).unwrap());
            }
            runtime.block_on(stop.have_come(20));
            stop.let_pass(1);
            door.await_waiting(1);
            runtime.shutdown_background();
            door.open();
            for handle in handles {
                let _ended_somehow = handle.join();
            }
            eventually("nothing is left", || pool.stats().busy == 0);
            has_ended(&pool);
        });
    }
    assert_eq!(PANICS.load(Ordering::SeqCst), 0, "nothing panicked");
}

/// The same without handles, with one that panics in that poll: it is counted once.
#[test]
fn a_future_that_panics_elsewhere_while_its_driver_is_lost_is_counted_once() {
    common::hush_quiet_threads();
    for _ in 0..50 {
        watch(|| {
            let (runtime, stop) = (runtime(2), Stop::new());
            let (first, second) = (Door::new(), Door::new());
            // The hook gives whoever loses the driver time to drop the future.
            let hook = |_: &formic::TaskPanic| (0..1000).for_each(|_| thread::yield_now());
            let builder = AsyncPool::builder().workers(100).queue(100).on_panic(hook);
            let pool = builder.runtime(runtime.handle().clone()).build().unwrap();
            let turn = Arc::new(AtomicUsize::new(0));
            for _ in 0..20 {
                let (stop, turn) = (stop.clone(), Arc::clone(&turn));
                let (first, second) = (first.clone(), second.clone());
                let task = async move {
                    stop.pass().await;
                    // The first keeps its driver, so that another one polls the second.
                    if turn.fetch_add(1, Ordering::SeqCst) == 0 {
                        return first.wait();
                    }
                    second.wait();
                    panic!("on purpose");
                };
                pool.try_submit(task).unwrap();
            }
            runtime.block_on(stop.have_come(20));
            stop.let_pass(2);
            first.await_waiting(1);
            // If a thread of tokio has taken both drivers out of the queue, and is kept by the first, it
            // wakes nobody for the second. Whatever happens on the runtime then does.
            eventually("another driver helps", || {
                drop(runtime.spawn(async {}));
                turn.load(Ordering::SeqCst) == 2
            });
            second.await_waiting(1);
            first.open();
            eventually("the first has ended", || pool.stats().completed == 1);
            let shutdown = thread::spawn(|| drop(runtime));
            eventually("its driver is lost", || pool.is_closed());
            second.open();
            join(shutdown);
            let stats = pool.stats();
            assert_eq!((stats.panicked, stats.cancelled), (1, 18), "{stats:?}");
            has_ended(&pool);
        });
    }
}

#[test]
fn for_each_and_map_end_with_the_runtime() {
    use futures_util::StreamExt;
    for threads in [0, 2] {
        watch(move || {
            let (runtime, stop) = (runtime(threads), Stop::new());
            let pool = pool_on(runtime.handle(), 4, 4);
            let (one, two) = (stop.clone(), stop.clone());
            let each = pool.for_each(0.., move |_: u64| {
                let stop = one.clone();
                async move { stop.pass().await }
            });
            let each = thread::spawn(move || common::block_on(each));
            let map = pool.map(0.., move |_: u64| {
                let stop = two.clone();
                async move { stop.pass().await }
            });
            let map = thread::spawn(move || {
                common::block_on(map.collect::<Vec<_>>()).into_iter().all(|r| r.is_err())
            });
            runtime.block_on(stop.have_come(4));
            drop(runtime);
            assert!(join(each).is_err());
            assert!(join(map));
            has_ended(&pool);
        });
    }
}

/// The runtime goes at any moment, under load: everything accepted has an outcome.
#[test]
fn a_runtime_may_go_at_any_moment() {
    let seed = common::seed("a_runtime_may_go_at_any_moment");
    let time = stress_time(Duration::from_secs(2));
    watch_for(time + 2 * common::PATIENCE, move || {
        let (mut random, end) = (Random(seed), Instant::now() + time);
        let mut rounds = 0;
        while Instant::now() < end {
            rounds += 1;
            round(&mut random);
        }
        println!("{rounds} rounds");
    });
}

fn round(random: &mut Random) {
    let runtime = runtime(random.below(3) as usize);
    let pool = pool_on(runtime.handle(), 1 + random.below(4) as usize, random.below(6) as usize);
    let (over, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let submitters = [Way::Submit, Way::Spawn, Way::TrySpawn].map(|way| {
        let (pool, over, ended) = (pool.clone(), Arc::clone(&over), Arc::clone(&ended));
        let (random, handles) = (Random(random.next()), Vec::new());
        let submitter = Submitter { way, pool, over, ended, random, handles };
        thread::spawn(move || submitter.run())
    });
    let_run(&runtime, Duration::from_micros(random.below(3000)));
    end(runtime, random.below(2) == 0);
    over.store(true, Ordering::SeqCst);
    submitters.into_iter().for_each(join);
    eventually("nothing is left", || {
        let stats = pool.stats();
        stats.busy + stats.queued == 0
    });
    has_ended(&pool);
    assert_eq!(pool.stats().completed, ended.load(Ordering::SeqCst) as u64);
}

/// Gives the runtime some time; one without threads of its own runs only here.
fn let_run(runtime: &Runtime, time: Duration) {
    if runtime.handle().metrics().num_workers() == 1 {
        runtime.block_on(async { tokio::time::sleep(time).await });
    } else {
        thread::sleep(time);
    }
}

/// How a submitter submits.
enum Way {
    Submit,
    Spawn,
    TrySpawn,
}

struct Submitter {
    way: Way,
    pool: AsyncPool,
    over: Arc<AtomicBool>,
    /// How many of the futures have come to their end.
    ended: Arc<AtomicUsize>,
    random: Random,
    handles: Vec<JoinHandle<()>>,
}

impl Submitter {
    /// Submits for as long as it is let in; then each of its handles has an outcome.
    fn run(mut self) {
        while !self.over.load(Ordering::SeqCst) {
            match self.submit() {
                Ok(()) => {}
                Err(Refused::Full) => thread::yield_now(),
                Err(Refused::RuntimeGone) => break,
                Err(other) => panic!("{other:?}"),
            }
        }
        for mut handle in self.handles {
            match handle.join_timeout(Duration::from_secs(10)) {
                Some(Ok(()) | Err(JoinError::Cancelled)) => {}
                other => panic!("{other:?} {:?}", self.pool.stats()),
            }
        }
    }

    fn submit(&mut self) -> Result<(), Refused> {
        let task = work(self.random.below(4), Arc::clone(&self.ended));
        let spawned = match self.way {
            Way::Submit => {
                return self.pool.blocking_submit(task).map_err(|error| error.reason());
            }
            Way::Spawn => common::block_on(self.pool.spawn(task)),
            Way::TrySpawn => self.pool.try_spawn(task),
        };
        self.handles.push(spawned.map_err(|error| error.reason())?);
        Ok(())
    }
}

/// A future that takes some turns, or never ends.
async fn work(kind: u64, ended: Arc<AtomicUsize>) {
    for _ in 0..kind {
        tokio::task::yield_now().await;
    }
    if kind == 3 {
        pending::<()>().await;
    }
    ended.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn a_pool_that_was_drained_before_its_runtime_went_cannot_be_reopened() {
    for threads in [0, 2] {
        watch(move || {
            let runtime = runtime(threads);
            let pool = pool_on(runtime.handle(), 2, 2);
            runtime.block_on(pool.drain()).unwrap();
            pool.reopen().unwrap();
            runtime.block_on(pool.drain()).unwrap();
            drop(runtime);
            assert!(matches!(pool.reopen(), Err(ReopenError::RuntimeGone)));
            assert_eq!(pool.try_submit(async {}).unwrap_err().reason(), Refused::Closed);
        });
    }
}

/// The runtime goes while drivers are started ahead of time. What had been accepted must not be left in the
/// queue without a driver.
#[test]
fn prestart_beside_a_runtime_that_ends_strands_nothing() {
    let end = Instant::now() + stress_time(Duration::from_secs(2));
    let mut rounds = 0_u64;
    while Instant::now() < end {
        rounds += 1;
        watch(move || {
            let runtime = runtime(2);
            let pool = pool_on(runtime.handle(), 100, 100);
            let submitted = (0..20).filter(|_| pool.try_submit(pending()).is_ok()).count();
            let starter = {
                let pool = pool.clone();
                thread::spawn(move || drop(pool.prestart(2)))
            };
            (0..rounds % 64).for_each(|_| std::hint::spin_loop());
            runtime.shutdown_background();
            join(starter);
            common::block_on(pool.drain()).unwrap();
            assert_eq!(pool.stats().cancelled, submitted as u64);
        });
    }
}
