//! For tests of pools of futures: runtimes that cannot hang a test, small pools and what is left of
//! them, and a place where futures wait.

use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Instant;

use formic::{AsyncPool, Control, Stats};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

use super::{PATIENCE, hush_quiet_threads};

/// A runtime with so many threads; with none it is the current-thread one.
pub fn runtime(threads: usize) -> Runtime {
    let mut builder = match threads {
        0 => Builder::new_current_thread(),
        threads => {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(threads);
            builder
        }
    };
    builder.enable_all().thread_name("quiet-tokio").build().expect("a runtime can be built")
}

/// Runs a test on a thread of its own, and fails if it hangs.
#[track_caller]
pub fn watch<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    watch_for(PATIENCE, test)
}

/// As [`watch`], for tests that take their time.
#[track_caller]
pub fn watch_for<T: Send + 'static>(
    time: std::time::Duration,
    test: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (sender, receiver) = channel();
    let name = std::thread::current().name().unwrap_or("test").to_owned();
    let thread = std::thread::Builder::new().name(name);
    let thread = thread.spawn(move || drop(sender.send(test()))).expect("a thread can be started");
    match receiver.recv_timeout(time) {
        Ok(value) => value,
        Err(RecvTimeoutError::Timeout) => panic!("the test hangs for {time:?}"),
        Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Ok(()) => unreachable!("it sends before it ends"),
            Err(payload) => std::panic::resume_unwind(payload),
        },
    }
}

/// Runs a test on a runtime with so many threads, and fails if it hangs.
#[track_caller]
pub fn on<Fut>(threads: usize, test: impl FnOnce() -> Fut + Send + 'static) -> Fut::Output
where
    Fut: Future,
    Fut::Output: Send + 'static,
{
    watch(move || {
        let runtime = runtime(threads);
        let output = runtime.block_on(test());
        runtime.shutdown_background();
        output
    })
}

/// Runs a test on a current-thread runtime and on one with two threads.
#[track_caller]
pub fn on_both<Fut>(test: impl Fn() -> Fut + Clone + Send + 'static)
where
    Fut: Future<Output = ()>,
{
    on(0, test.clone());
    on(2, test);
}

/// A pool on the current runtime.
pub fn small(workers: usize, queue: usize) -> AsyncPool {
    AsyncPool::builder().workers(workers).queue(queue).build().unwrap()
}

/// As [`small`], for tests in which futures panic on purpose: it is not printed.
pub fn hushed(workers: usize, queue: usize) -> AsyncPool {
    hush_quiet_threads();
    small(workers, queue)
}

/// Drains a pool, of which nothing is left then, and returns its figures, which add up.
pub async fn drained(pool: &Control) -> Stats {
    pool.drain_async().await.unwrap();
    let stats = pool.stats();
    assert!(stats.adds_up(), "{stats:?}");
    assert_eq!((stats.busy, stats.queued), (0, 0), "{stats:?}");
    stats
}

/// How many tasks were accepted, and how many of them completed, panicked and were cancelled.
pub fn figures(stats: &Stats) -> (u64, u64, u64, u64) {
    (stats.accepted, stats.completed, stats.panicked, stats.cancelled)
}

/// Where futures wait until they may go.
#[derive(Clone)]
pub struct Stop {
    came: Arc<Semaphore>,
    go: Arc<Semaphore>,
}

impl Stop {
    pub fn new() -> Self {
        Stop { came: Arc::new(Semaphore::new(0)), go: Arc::new(Semaphore::new(0)) }
    }

    /// Waits for a pass.
    pub async fn pass(&self) {
        self.came.add_permits(1);
        self.go.acquire().await.expect("it is never closed").forget();
    }

    /// A future that waits for a pass.
    pub fn task(&self) -> impl Future<Output = ()> + Send + use<> {
        let stop = self.clone();
        async move { stop.pass().await }
    }

    /// Lets so many through.
    pub fn let_pass(&self, futures: usize) {
        self.go.add_permits(futures);
    }

    /// Lets everybody through.
    pub fn open(&self) {
        self.go.add_permits(1 << 40);
    }

    /// Is ready when so many more have come.
    pub async fn have_come(&self, futures: u32) {
        self.came.acquire_many(futures).await.expect("it is never closed").forget();
    }
}

/// Is ready when `condition` holds; for what nobody tells.
#[track_caller]
pub fn soon(what: &'static str, mut condition: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let deadline = Instant::now() + PATIENCE;
    async move {
        while !condition() {
            assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
            tokio::task::yield_now().await;
        }
    }
}
