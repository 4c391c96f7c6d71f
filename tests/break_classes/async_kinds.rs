//! The kinds of pools of futures.

use std::sync::LazyLock;
use std::time::Duration;

use formic::{AsyncFnPool, AsyncPool, Balance, JoinHandle, Multi, Stats};
use tokio::runtime::{Handle, Runtime};

use crate::common::block_on;
use crate::common::on_tokio::runtime;
use crate::kinds::{Back, Job, Kind, Plan, Soon, back, controls, multi_controls, those_of_another};

/// The runtime of all tests with two threads.
static TWO_THREADS: LazyLock<Runtime> = LazyLock::new(|| runtime(2));

/// And a current-thread one, which a thread of its own turns.
static ONE_THREAD: LazyLock<Handle> = LazyLock::new(|| {
    let runtime = runtime(0);
    let handle = runtime.handle().clone();
    let turn = move || runtime.block_on(std::future::pending::<()>());
    let thread = std::thread::Builder::new().name("quiet-current".to_owned());
    thread.spawn(turn).expect("a thread can be started");
    handle
});

/// The ways in of a pool of futures.
macro_rules! futures {
    () => {
        fn submit(&self, job: Job) -> Soon<'_, Result<(), Back>> {
            Box::pin(async move { self.submit(job).await.map_err(back) })
        }
        fn try_submit(&self, job: Job) -> Result<(), Back> {
            self.try_submit(job).map_err(back)
        }
        fn spawn(&self, job: Job) -> Soon<'_, Result<JoinHandle<()>, Back>> {
            Box::pin(async move { self.spawn(job).await.map_err(back) })
        }
    };
}

/// Its waits. They are made in one poll, because of the compiler: it cannot see that the future of a
/// `Multi` whose argument is a `dyn` type is `Send`. A task is told at once that it cannot wait, so
/// nobody blocks a thread of the runtime.
macro_rules! waits {
    () => {
        fn wait_idle(&self) -> Soon<'_, bool> {
            Box::pin(async move { block_on(self.wait_idle_async()).is_ok() })
        }
        fn drain(&self) -> Soon<'_, bool> {
            Box::pin(async move { block_on(self.drain_async()).is_ok() })
        }
        fn shutdown(&self, grace: Duration) -> Soon<'_, bool> {
            Box::pin(async move { self.shutdown(grace).await.is_ok() })
        }
        const THREADS: bool = false;
    };
}

fn on(runtime: &Handle, plan: &Plan) -> AsyncPool {
    let builder = plan.settings(AsyncPool::builder()).runtime(runtime.clone());
    builder.build().expect("sound settings")
}

impl Kind for AsyncPool {
    fn build(plan: &Plan) -> Self {
        on(TWO_THREADS.handle(), plan)
    }
    futures!();
    waits!();
    controls!();
}

/// A pool of futures on a current-thread runtime.
#[derive(Clone)]
pub(crate) struct OnOneThread(AsyncPool);

impl std::ops::Deref for OnOneThread {
    type Target = AsyncPool;

    fn deref(&self) -> &AsyncPool {
        &self.0
    }
}

impl Kind for OnOneThread {
    fn build(plan: &Plan) -> Self {
        OnOneThread(on(&ONE_THREAD, plan))
    }
    those_of_another!(AsyncPool);
}

/// A pool of futures on two threads of its own.
#[derive(Clone)]
pub(crate) struct OnOwnThreads(AsyncPool);

impl std::ops::Deref for OnOwnThreads {
    type Target = AsyncPool;

    fn deref(&self) -> &AsyncPool {
        &self.0
    }
}

impl Kind for OnOwnThreads {
    fn build(plan: &Plan) -> Self {
        let builder = plan.own_threads_settings(AsyncPool::builder()).own_threads(2);
        OnOwnThreads(builder.build().expect("sound settings"))
    }
    those_of_another!(AsyncPool);
}

impl Kind for AsyncFnPool<Job, ()> {
    fn build(plan: &Plan) -> Self {
        let builder = plan.settings(AsyncFnPool::builder()).runtime(TWO_THREADS.handle().clone());
        builder.build(|job: Job| job).expect("sound settings")
    }
    futures!();
    waits!();
    controls!();
}

impl Kind for Multi<AsyncPool> {
    fn build(plan: &Plan) -> Self {
        Multi::new(Self::SHARDS, Balance::LeastLoaded, || AsyncPool::build(plan))
    }
    futures!();
    waits!();
    multi_controls!();
}

impl Kind for Multi<AsyncFnPool<Job, ()>> {
    fn build(plan: &Plan) -> Self {
        Multi::new(Self::SHARDS, Balance::PowerOfTwo, || AsyncFnPool::build(plan))
    }
    futures!();
    waits!();
    multi_controls!();
}
