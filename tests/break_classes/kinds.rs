//! Every kind of pool behind one trait, so that one test holds for all of them. A task is a future:
//! a pool of threads runs it to its end on a worker, a pool of futures polls it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use formic::{
    Balance, Builder, Cancelled, FnPool, JoinHandle, Multi, Pool, Refused, Stats, TaskPanic,
};

use crate::common::{Census, block_on};
use crate::hold::Hold;

pub(crate) type Job = Pin<Box<dyn Future<Output = ()> + Send>>;
pub(crate) type Soon<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A task that was not accepted, and why.
pub(crate) struct Back {
    pub(crate) reason: Refused,
    pub(crate) job: Job,
}

impl std::fmt::Debug for Back {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.reason)
    }
}

/// How a pool is to be.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) workers: usize,
    pub(crate) minimum: usize,
    pub(crate) queue: usize,
    pub(crate) keep_alive: Option<Duration>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) name: &'static str,
    pub(crate) census: Census,
    pub(crate) on_panic: Arc<dyn Fn(&TaskPanic) + Send + Sync>,
}

impl Plan {
    /// Up to so many workers, and so many places in the queue. Panics stay off the standard error.
    pub(crate) fn new(workers: usize, queue: usize) -> Self {
        crate::common::hush_quiet_threads();
        let (census, on_panic) = (Census::default(), Arc::new(|_: &TaskPanic| ()));
        let (minimum, keep_alive) = (0, Some(Duration::from_secs(10)));
        let (stack_size, name) = (None, "quiet");
        Plan { workers, minimum, queue, keep_alive, stack_size, name, census, on_panic }
    }

    /// What every builder can be told.
    pub(crate) fn settings<P>(&self, builder: Builder<P>) -> Builder<P> {
        let on_panic = Arc::clone(&self.on_panic);
        let builder = builder.workers(self.minimum..=self.workers).queue(self.queue);
        builder.name(self.name).on_panic(move |panic| on_panic(panic))
    }

    /// And what only those for threads can.
    fn thread_settings<P: formic::OnThreads>(&self, builder: Builder<P>) -> Builder<P> {
        self.own_threads_settings(builder).keep_alive(self.keep_alive)
    }

    /// What those can be told that have threads of their own.
    pub(crate) fn own_threads_settings<P>(&self, builder: Builder<P>) -> Builder<P> {
        let builder = self.settings(builder).on_worker_start(self.census.hook());
        match self.stack_size {
            Some(bytes) => builder.stack_size(bytes),
            None => builder,
        }
    }
}

/// A kind of pool. What waits is a future; where a pool of threads has a call that blocks, that call
/// is made in the first poll.
pub(crate) trait Kind: Clone + Send + Sync + 'static {
    /// How many pools it is made of; each has the size that was planned.
    const SHARDS: usize = 1;
    /// Whether its workers are threads, so that a running task can only be asked to stop.
    const THREADS: bool;

    fn build(plan: &Plan) -> Self;
    fn submit(&self, job: Job) -> Soon<'_, Result<(), Back>>;
    fn try_submit(&self, job: Job) -> Result<(), Back>;
    fn spawn(&self, job: Job) -> Soon<'_, Result<JoinHandle<()>, Back>>;
    fn stats(&self) -> Stats;
    fn resize(&self, workers: usize);
    /// False if it was called from inside.
    fn wait_idle(&self) -> Soon<'_, bool>;
    /// False if it was called from inside.
    fn drain(&self) -> Soon<'_, bool>;
    fn close(&self);
    fn discard(&self) -> usize;
    fn cancel_all(&self) -> Cancelled;
    fn set_queue(&self, tasks: usize);
    fn set_waiters(&self, submitters: usize);
    /// False if something is left, or if it was called from inside.
    fn shutdown(&self, grace: Duration) -> Soon<'_, bool>;
    /// The same as a call that blocks, and as a future whatever its tasks are.
    fn blocking_shutdown(&self, grace: Duration) -> bool;
    fn shutdown_async(&self, grace: Duration) -> Soon<'static, bool>;
    fn reopen(&self);

    /// Submits so many tasks that wait at `hold`, to each pool it is made of.
    fn hold_each(&self, hold: &Hold, tasks: usize) {
        self.submit_each(&|| hold.job(), tasks);
    }

    /// Submits so many tasks to each pool it is made of; every other one has a handle.
    fn submit_each(&self, job: &dyn Fn() -> Job, tasks: usize) {
        for number in 0..tasks {
            match number % 2 {
                0 => block_on(self.submit(job())).expect("there is a place"),
                _ => drop(block_on(self.spawn(job())).expect("there is a place")),
            }
        }
    }
}

/// What every pool but `Multi` has from `Control`.
macro_rules! controls {
    () => {
        fn stats(&self) -> Stats {
            formic::Control::stats(self)
        }
        fn resize(&self, workers: usize) {
            formic::Control::resize(self, workers).expect("a sound capacity");
        }
        fn close(&self) {
            formic::Control::close(self);
        }
        fn discard(&self) -> usize {
            formic::Control::discard(self)
        }
        fn cancel_all(&self) -> formic::Cancelled {
            formic::Control::cancel_all(self)
        }
        fn set_queue(&self, tasks: usize) {
            formic::Control::set_queue(self, tasks).expect("a sound bound");
        }
        fn set_waiters(&self, submitters: usize) {
            formic::Control::set_waiters(self, submitters);
        }
        fn blocking_shutdown(&self, grace: std::time::Duration) -> bool {
            formic::Control::blocking_shutdown(self, grace).is_ok()
        }
        fn shutdown_async(&self, grace: std::time::Duration) -> Soon<'static, bool> {
            let ended = formic::Control::shutdown_async(self, grace);
            Box::pin(async move { ended.await.is_ok() })
        }
        fn reopen(&self) {
            formic::Control::reopen(self).expect("it has come to its end");
        }
    };
}
#[cfg(feature = "tokio")]
pub(crate) use controls;

/// What a pool has that is another kind with other settings.
macro_rules! those_of_another {
    ($kind:ty) => {
        const THREADS: bool = <$kind as Kind>::THREADS;

        fn submit(&self, job: Job) -> Soon<'_, Result<(), Back>> {
            Kind::submit(&self.0, job)
        }
        fn try_submit(&self, job: Job) -> Result<(), Back> {
            Kind::try_submit(&self.0, job)
        }
        fn spawn(&self, job: Job) -> Soon<'_, Result<JoinHandle<()>, Back>> {
            Kind::spawn(&self.0, job)
        }
        fn wait_idle(&self) -> Soon<'_, bool> {
            Kind::wait_idle(&self.0)
        }
        fn drain(&self) -> Soon<'_, bool> {
            Kind::drain(&self.0)
        }
        fn shutdown(&self, grace: std::time::Duration) -> Soon<'_, bool> {
            Kind::shutdown(&self.0, grace)
        }
        controls!();
    };
}
#[cfg(feature = "tokio")]
pub(crate) use those_of_another;

/// What every `Multi` has by itself.
macro_rules! multi_controls {
    () => {
        const SHARDS: usize = 2;

        fn submit_each(&self, job: &dyn Fn() -> Job, tasks: usize) {
            self.shards().iter().for_each(|shard| shard.submit_each(job, tasks));
        }
        fn stats(&self) -> Stats {
            self.stats()
        }
        fn resize(&self, workers: usize) {
            self.resize(workers).expect("a sound capacity");
        }
        fn close(&self) {
            self.close();
        }
        fn discard(&self) -> usize {
            self.discard()
        }
        fn cancel_all(&self) -> formic::Cancelled {
            self.cancel_all()
        }
        fn set_queue(&self, tasks: usize) {
            self.set_queue(tasks).expect("a sound bound");
        }
        fn set_waiters(&self, submitters: usize) {
            self.set_waiters(submitters);
        }
        fn blocking_shutdown(&self, grace: std::time::Duration) -> bool {
            self.blocking_shutdown(grace).is_ok()
        }
        fn shutdown_async(&self, grace: std::time::Duration) -> Soon<'static, bool> {
            let ended = self.shutdown_async(grace);
            Box::pin(async move { ended.await.is_ok() })
        }
        fn reopen(&self) {
            self.reopen().expect("all shards have come to their end");
        }
    };
}
#[cfg(feature = "tokio")]
pub(crate) use multi_controls;

/// The waits of a pool of threads: they block.
macro_rules! blocking_waits {
    ($waits:ty) => {
        fn wait_idle(&self) -> Soon<'_, bool> {
            Box::pin(async move { <$waits>::wait_idle(self).is_ok() })
        }
        fn drain(&self) -> Soon<'_, bool> {
            Box::pin(async move { <$waits>::drain(self).is_ok() })
        }
        fn shutdown(&self, grace: Duration) -> Soon<'_, bool> {
            Box::pin(async move { <$waits>::shutdown(self, grace).is_ok() })
        }
        const THREADS: bool = true;
    };
}

/// The ways in of a pool of threads whose tasks are the jobs themselves.
macro_rules! arguments {
    () => {
        fn submit(&self, job: Job) -> Soon<'_, Result<(), Back>> {
            Box::pin(async move { self.submit(job).map_err(back) })
        }
        fn try_submit(&self, job: Job) -> Result<(), Back> {
            self.try_submit(job).map_err(back)
        }
        fn spawn(&self, job: Job) -> Soon<'_, Result<JoinHandle<()>, Back>> {
            Box::pin(async move { self.spawn(job).map_err(back) })
        }
    };
}

/// The same for closures: what comes back is run as one.
macro_rules! closures {
    () => {
        fn submit(&self, job: Job) -> Soon<'_, Result<(), Back>> {
            Box::pin(async move { self.submit(move || block_on(job)).map_err(back_of_closure) })
        }
        fn try_submit(&self, job: Job) -> Result<(), Back> {
            self.try_submit(move || block_on(job)).map_err(back_of_closure)
        }
        fn spawn(&self, job: Job) -> Soon<'_, Result<JoinHandle<()>, Back>> {
            Box::pin(async move { self.spawn(move || block_on(job)).map_err(back_of_closure) })
        }
    };
}

pub(crate) fn back(error: formic::SubmitError<Job>) -> Back {
    Back { reason: error.reason(), job: error.into_task() }
}

fn back_of_closure<F: FnOnce() + Send + 'static>(error: formic::SubmitError<F>) -> Back {
    let (reason, task) = (error.reason(), error.into_task());
    Back { reason, job: Box::pin(async move { task() }) }
}

impl Kind for Pool {
    fn build(plan: &Plan) -> Self {
        plan.thread_settings(Pool::builder()).build().expect("sound settings")
    }
    closures!();
    blocking_waits!(Self);
    controls!();
}

impl Kind for FnPool<Job, ()> {
    fn build(plan: &Plan) -> Self {
        plan.thread_settings(FnPool::builder()).build(block_on).expect("sound settings")
    }
    arguments!();
    blocking_waits!(Self);
    controls!();
}

/// A pool whose workers have a state.
#[derive(Clone)]
pub(crate) struct WithState(FnPool<Job, ()>);

impl std::ops::Deref for WithState {
    type Target = FnPool<Job, ()>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Kind for WithState {
    fn build(plan: &Plan) -> Self {
        let builder = plan.thread_settings(FnPool::builder());
        let run = |calls: &mut u64, job: Job| {
            *calls += 1;
            block_on(job);
        };
        WithState(builder.build_with(|| 0_u64, run).expect("sound settings"))
    }
    those_of_another!(FnPool<Job, ()>);
}

impl Kind for Multi<Pool> {
    fn build(plan: &Plan) -> Self {
        Multi::new(Self::SHARDS, Balance::LeastLoaded, || Pool::build(plan))
    }
    closures!();
    blocking_waits!(Self);
    multi_controls!();
}

impl Kind for Multi<FnPool<Job, ()>> {
    fn build(plan: &Plan) -> Self {
        Multi::new(Self::SHARDS, Balance::RoundRobin, || FnPool::build(plan))
    }
    arguments!();
    blocking_waits!(Self);
    multi_controls!();
}
