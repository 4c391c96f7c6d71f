//! Contenders for futures: those who are pushed to, one future at a time, and those who pull.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use async_executor::Executor;
use futures_util::StreamExt;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, unconstrained};

use super::Refused;
use crate::failure::Failure;

/// What is to be done for each number: the same future for every contender of a workload.
pub(crate) trait Job: Copy + Send + Sync + 'static {
    fn start(self, index: u64) -> impl Future<Output = ()> + Send + 'static;
}

/// The timer of the runtime a contender lives on.
pub(crate) trait Timer: Copy + Send + Sync + 'static {
    fn nap(self, time: Duration) -> impl Future<Output = ()> + Send + 'static;
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TokioTimer;

impl Timer for TokioTimer {
    fn nap(self, time: Duration) -> impl Future<Output = ()> + Send + 'static {
        tokio::time::sleep(time)
    }
}

/// The timer of `async-io`, whose reactor has a thread of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SmolTimer;

impl Timer for SmolTimer {
    async fn nap(self, time: Duration) {
        async_io::Timer::after(time).await;
    }
}

/// A pool of futures that is pushed to. It lives inside the runtime, as does its producer.
pub(crate) trait Pushed<J: Job> {
    /// Starts number `index`, and waits for a place before that where there is a limit.
    async fn push(&mut self, index: u64) -> Result<(), Refused>;
}

/// A task for each future, and a permit for each task.
#[derive(Debug)]
pub(crate) struct SpawnWithSemaphore<J> {
    job: J,
    permits: Arc<Semaphore>,
}

impl<J: Job> SpawnWithSemaphore<J> {
    pub(crate) fn new(job: J, limit: usize) -> Self {
        Self { job, permits: Arc::new(Semaphore::new(limit)) }
    }
}

impl<J: Job> Pushed<J> for SpawnWithSemaphore<J> {
    async fn push(&mut self, index: u64) -> Result<(), Refused> {
        let permits = Arc::clone(&self.permits);
        let permit = permits.acquire_owned().await.map_err(|_| Refused)?;
        let task = self.job.start(index);
        drop(tokio::spawn(async move {
            task.await;
            drop(permit);
        }));
        Ok(())
    }
}

/// A `JoinSet` that is not let grow over the limit.
#[derive(Debug)]
pub(crate) struct CappedJoinSet<J> {
    job: J,
    limit: usize,
    tasks: JoinSet<()>,
}

impl<J: Job> CappedJoinSet<J> {
    pub(crate) fn new(job: J, limit: usize) -> Self {
        Self { job, limit, tasks: JoinSet::new() }
    }
}

impl<J: Job> Pushed<J> for CappedJoinSet<J> {
    async fn push(&mut self, index: u64) -> Result<(), Refused> {
        if self.tasks.len() >= self.limit {
            // One has ended: its place is free. What else has ended makes room without a wait.
            self.tasks.join_next().await;
            while self.tasks.try_join_next().is_some() {}
        }
        self.tasks.spawn(self.job.start(index));
        Ok(())
    }
}

/// As many looping tasks as the limit says, that take numbers from a channel.
#[derive(Debug)]
pub(crate) struct WorkerTasks {
    numbers: async_channel::Sender<u64>,
}

/// How many numbers may wait in a channel for those who take them.
const CHANNEL: usize = 4096;

impl WorkerTasks {
    pub(crate) fn new<J: Job>(job: J, limit: usize) -> Self {
        let (numbers, taken) = async_channel::bounded(CHANNEL);
        for _ in 0..limit {
            let taken = taken.clone();
            drop(tokio::spawn(async move {
                while let Ok(index) = taken.recv().await {
                    job.start(index).await;
                }
            }));
        }
        Self { numbers }
    }
}

impl<J: Job> Pushed<J> for WorkerTasks {
    async fn push(&mut self, index: u64) -> Result<(), Refused> {
        self.numbers.send(index).await.map_err(|_| Refused)
    }
}

/// One task that drives all futures by `buffer_unordered`, fed by a channel.
///
/// It must be unconstrained: with tokio's budget of 128 polls for each turn of a task, timers beyond
/// that wake themselves again and again, and the whole is fifty times as slow.
#[derive(Debug)]
pub(crate) struct BufferedChannel {
    numbers: tokio::sync::mpsc::Sender<u64>,
}

impl BufferedChannel {
    pub(crate) fn new<J: Job>(job: J, limit: usize) -> Self {
        let (numbers, mut taken) = tokio::sync::mpsc::channel(CHANNEL);
        let stream = futures_util::stream::poll_fn(move |context| taken.poll_recv(context));
        let driven = stream.map(move |index| job.start(index)).buffer_unordered(limit);
        drop(tokio::spawn(unconstrained(driven.for_each(|()| std::future::ready(())))));
        Self { numbers }
    }
}

impl<J: Job> Pushed<J> for BufferedChannel {
    async fn push(&mut self, index: u64) -> Result<(), Refused> {
        self.numbers.send(index).await.map_err(|_| Refused)
    }
}

/// `tokio::spawn` without any limit.
#[derive(Debug)]
pub(crate) struct UnlimitedSpawn<J>(pub(crate) J);

impl<J: Job> Pushed<J> for UnlimitedSpawn<J> {
    async fn push(&mut self, index: u64) -> Result<(), Refused> {
        drop(tokio::spawn(self.0.start(index)));
        Ok(())
    }
}

/// `async-executor`, with a semaphore of `async-lock` as the limit.
#[derive(Debug)]
pub(crate) struct ExecutorWithSemaphore<J> {
    job: J,
    executor: &'static Executor<'static>,
    permits: Arc<async_lock::Semaphore>,
}

impl<J: Job> ExecutorWithSemaphore<J> {
    pub(crate) fn new(job: J, limit: usize, executor: &'static Executor<'static>) -> Self {
        Self { job, executor, permits: Arc::new(async_lock::Semaphore::new(limit)) }
    }
}

impl<J: Job> Pushed<J> for ExecutorWithSemaphore<J> {
    async fn push(&mut self, index: u64) -> Result<(), Refused> {
        let permit = self.permits.acquire_arc().await;
        let task = self.job.start(index);
        let task = self.executor.spawn(async move {
            task.await;
            drop(permit);
        });
        task.detach();
        Ok(())
    }
}

/// Pulls by `buffer_unordered` in one task.
pub(crate) async fn pull_buffered<J: Job>(job: J, tasks: u64, limit: usize) -> Result<(), Failure> {
    let stream = futures_util::stream::iter(0..tasks).map(move |index| job.start(index));
    let driven = stream.buffer_unordered(limit).for_each(|()| std::future::ready(()));
    tokio::spawn(unconstrained(driven)).await.map_err(Failure::new)
}

/// The same on two threads, each with a runtime and half of the limit, over a counter that they share.
pub(crate) async fn pull_buffered_apart<J: Job>(
    job: J,
    tasks: u64,
    limit: usize,
) -> Result<(), Failure> {
    let next = Arc::new(AtomicU64::new(0));
    let half = |limit: usize| -> Result<_, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::new)?;
        let next = Arc::clone(&next);
        let take =
            move || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|index| *index < tasks);
        let stream = futures_util::stream::iter(std::iter::from_fn(take));
        let driven = stream.map(move |index| job.start(index)).buffer_unordered(limit);
        let driven = driven.for_each(|()| std::future::ready(()));
        let (tell, told) = tokio::sync::oneshot::channel();
        thread::spawn(move || tell.send(runtime.block_on(runtime.spawn(unconstrained(driven)))));
        Ok(told)
    };
    for told in [half(limit.div_ceil(2))?, half((limit / 2).max(1))?] {
        told.await.map_err(Failure::new)?.map_err(Failure::new)?;
    }
    Ok(())
}

/// Pulls by as many looping tasks as the limit says, over a counter that they share.
pub(crate) async fn pull_by_tasks<J: Job>(job: J, tasks: u64, limit: usize) -> Result<(), Failure> {
    let next = Arc::new(AtomicU64::new(0));
    let workers = (0..limit as u64).map(|_| tokio::spawn(take_turns(job, tasks, next.clone())));
    for worker in workers.collect::<Vec<_>>() {
        worker.await.map_err(Failure::new)?;
    }
    Ok(())
}

/// The same on `async-executor`.
pub(crate) async fn pull_on_executor<J: Job>(
    job: J,
    tasks: u64,
    limit: usize,
    executor: &'static Executor<'static>,
) -> Result<(), Failure> {
    let next = Arc::new(AtomicU64::new(0));
    let workers = (0..limit).map(|_| executor.spawn(take_turns(job, tasks, next.clone())));
    for worker in workers.collect::<Vec<_>>() {
        worker.await;
    }
    Ok(())
}

async fn take_turns<J: Job>(job: J, tasks: u64, next: Arc<AtomicU64>) {
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= tasks {
            return;
        }
        job.start(index).await;
    }
}
