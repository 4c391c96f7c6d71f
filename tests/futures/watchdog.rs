//! A future that blocks in a poll stops neither the other futures of its pool nor the timers of its runtime, also
//! where polls are short and one driver is enough.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::time::Duration;

use crate::common::on_tokio::{runtime, watch_for};
use crate::common::{self, Door, PATIENCE, Random};
use formic::{AsyncFnPool, AsyncPool, Balance, Builder, Multi};
use tokio::runtime::Runtime;
use tokio::time::sleep;

/// How many futures keep a pool busy.
const SPINNERS: usize = 100;

/// Whose threads they are.
#[derive(Clone, Copy, Debug)]
enum Host {
    Runtime,
    OwnThreads,
}

/// Does a test on either.
#[track_caller]
fn on_either(test: fn(Host)) {
    for host in [Host::Runtime, Host::OwnThreads] {
        watch_for(4 * PATIENCE, move || test(host));
    }
}

/// A pool on two threads with futures that do nothing but yield, until they are told to end.
struct Busy {
    runtime: Runtime,
    pool: AsyncPool,
    to_end: Arc<AtomicUsize>,
}

impl Busy {
    fn new(host: Host, workers: usize, queue: usize) -> Self {
        let (runtime, to_end) = (runtime(2), Arc::new(AtomicUsize::new(0)));
        let pool = AsyncPool::builder().workers(workers).queue(queue);
        let pool = match host {
            Host::Runtime => pool.runtime(runtime.handle().clone()),
            Host::OwnThreads => pool.own_threads(2),
        };
        let busy = Busy { runtime, pool: pool.build().unwrap(), to_end };
        (0..SPINNERS).for_each(|_| busy.pool.blocking_submit(busy.spinner()).unwrap());
        // A debug build's polls may be too long for one driver. Then all of them help, which is as good.
        #[cfg(all(target_os = "linux", not(debug_assertions)))]
        common::eventually("one driver is enough", || watchdogs() > 0);
        busy
    }

    fn spinner(&self) -> impl Future<Output = ()> + Send + 'static {
        let to_end = Arc::clone(&self.to_end);
        let less = |left: usize| left.checked_sub(1);
        async move {
            while to_end.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err() {
                step().await;
            }
        }
    }

    fn end(&self, spinners: usize) {
        self.to_end.fetch_add(spinners, Ordering::Relaxed);
    }

    fn finish(self) {
        self.end(SPINNERS);
        self.runtime.block_on(self.pool.drain()).unwrap();
        assert!(self.pool.stats().adds_up());
    }
}

/// Ready again at once. Unlike `yield_now`, which leaves that to the thread it was polled on: if another
/// future blocks that one, nobody hears of it.
async fn step() {
    let mut again = true;
    poll_fn(|context| match std::mem::take(&mut again) {
        true => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
        false => Poll::Ready(()),
    })
    .await;
}

#[cfg(all(target_os = "linux", not(debug_assertions)))]
fn watchdogs() -> usize {
    common::threads_named("formic-watchdog")
}

#[test]
fn a_ready_future_does_not_wait_for_one_that_blocks() {
    on_either(|host| {
        let busy = Busy::new(host, 2 * SPINNERS, SPINNERS);
        for _ in 0..20 {
            let (door, blocks) = (Door::new(), Arc::new(AtomicBool::new(false)));
            let (opens, blocked) = (door.clone(), Arc::clone(&blocks));
            let is_ready = busy.pool.try_spawn(async move {
                while !blocked.load(Ordering::Relaxed) {
                    step().await;
                }
                opens.open();
            });
            let blocks = busy.pool.try_spawn(async move {
                blocks.store(true, Ordering::Relaxed);
                door.wait();
            });
            is_ready.unwrap().join().unwrap();
            blocks.unwrap().join().unwrap();
        }
        busy.finish();
    });
}

#[test]
fn a_new_future_does_not_wait_for_one_that_blocks() {
    on_either(|host| {
        let busy = Busy::new(host, 2 * SPINNERS, SPINNERS);
        for _ in 0..20 {
            let waits = Door::new();
            let its = waits.clone();
            let blocks = busy.pool.try_spawn(async move { its.wait() }).unwrap();
            waits.await_waiting(1);
            let opens = busy.pool.try_spawn(async move { waits.open() }).unwrap();
            opens.join().unwrap();
            blocks.join().unwrap();
        }
        busy.finish();
    });
}

#[test]
fn a_submitter_gets_its_place_although_a_future_blocks() {
    on_either(|host| {
        let busy = Busy::new(host, SPINNERS + 1, 0);
        for _ in 0..20 {
            let waits = Door::new();
            let its = waits.clone();
            let blocks = busy.pool.spawn(async move { its.wait() });
            let blocks = busy.runtime.block_on(blocks).unwrap();
            waits.await_waiting(1);
            // The pool is full until one of the others has been polled.
            busy.end(1);
            busy.pool.blocking_submit(async move { waits.open() }).unwrap();
            blocks.join().unwrap();
            busy.pool.blocking_submit(busy.spinner()).unwrap();
        }
        busy.finish();
    });
}

/// What a pool of any kind is given.
type Task = Pin<Box<dyn Future<Output = ()> + Send>>;
/// Submits a task from a thread outside of the runtime.
type Submit = Box<dyn Fn(Task)>;

/// Futures that answer requests once a millisecond, and a future that blocks until one of them has answered. Only the
/// timers of the runtime move the former, so the thread of the latter must not be the one that attends to timers.
struct Answers {
    requests: Arc<Mutex<Vec<mpsc::Sender<()>>>>,
    stop: Arc<AtomicBool>,
}

impl Answers {
    const FEW: usize = 8;
    /// So many that most polls are short, although some block.
    const MANY: usize = 500;
    const ROUNDS: usize = if cfg!(miri) { 3 } else { 1000 };

    fn ticking(&self) -> Task {
        let (requests, stop) = (Arc::clone(&self.requests), Arc::clone(&self.stop));
        Box::pin(async move {
            while !stop.load(Ordering::Relaxed) {
                sleep(Duration::from_millis(1)).await;
                let requests = std::mem::take(&mut *requests.lock().unwrap());
                requests.iter().for_each(|request| request.send(()).unwrap());
            }
        })
    }

    /// Says whether it has got its answer.
    fn blocking(&self, ended: mpsc::Sender<bool>) -> Task {
        let requests = Arc::clone(&self.requests);
        Box::pin(async move {
            let (request, answer) = mpsc::channel();
            requests.lock().unwrap().push(request);
            ended.send(answer.recv_timeout(PATIENCE).is_ok()).unwrap();
        })
    }

    /// Submits futures that block, one after the other, each a random time after the last one has ended.
    fn rounds(name: &str, ticking: usize, submit: &Submit) {
        let answers = Answers { requests: Arc::default(), stop: Arc::default() };
        (0..ticking).for_each(|_| submit(answers.ticking()));
        let (ended, end) = mpsc::channel();
        let mut random = Random(common::seed(name));
        for round in 0..Self::ROUNDS {
            std::thread::sleep(Duration::from_micros(random.next() % 3000));
            submit(answers.blocking(ended.clone()));
            assert!(end.recv().unwrap(), "no timer fires in round {round}");
        }
        answers.stop.store(true, Ordering::Relaxed);
    }
}

/// A pool of futures with room for so many that tick, and one that blocks.
fn room_for(ticking: usize) -> Builder<AsyncPool> {
    AsyncPool::builder().workers(ticking + 1).queue(8)
}

fn submit_to(pool: AsyncPool) -> Submit {
    Box::new(move |task| pool.blocking_submit(task).unwrap())
}

/// Runs the rounds on a runtime of so many threads.
#[track_caller]
fn on_threads(threads: usize, test: impl FnOnce() + Send + 'static) {
    watch_for(4 * PATIENCE, move || {
        let runtime = runtime(threads);
        let inside = runtime.enter();
        test();
        drop(inside);
        runtime.shutdown_background();
    });
}

#[test]
fn timers_fire_although_a_new_future_blocks() {
    for threads in [2, 4] {
        on_threads(threads, || {
            let submit = submit_to(room_for(Answers::FEW).build().unwrap());
            Answers::rounds("timers_fire_although_a_new_future_blocks", Answers::FEW, &submit);
        });
    }
}

#[test]
fn timers_fire_although_a_new_future_of_a_pool_with_short_polls_blocks() {
    on_threads(2, || {
        let pool = room_for(Answers::MANY).build().unwrap();
        // A watchdog comes for these, and stays for the ticking ones.
        let short = || async {
            for _ in 0..1000 {
                step().await;
            }
        };
        let handles: Vec<_> = (0..100).map(|_| pool.try_spawn(short()).unwrap()).collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        let name = "timers_fire_although_a_new_future_of_a_pool_with_short_polls_blocks";
        Answers::rounds(name, Answers::MANY, &submit_to(pool));
    });
}

#[test]
fn timers_fire_although_a_new_call_blocks() {
    on_threads(2, || {
        let pool = AsyncFnPool::builder().workers(Answers::FEW + 1).queue(8);
        let pool = pool.build(|task: Task| task).unwrap();
        let submit: Submit = Box::new(move |task| pool.blocking_submit(task).unwrap());
        Answers::rounds("timers_fire_although_a_new_call_blocks", Answers::FEW, &submit);
    });
}

#[test]
fn timers_fire_although_a_new_future_of_a_shard_blocks() {
    on_threads(2, || {
        let multi =
            Multi::try_new(2, Balance::RoundRobin, || room_for(Answers::FEW).build()).unwrap();
        let submit: Submit = Box::new(move |task| multi.blocking_submit(task).unwrap());
        Answers::rounds(
            "timers_fire_although_a_new_future_of_a_shard_blocks",
            Answers::FEW,
            &submit,
        );
    });
}
