//! sleep-pull: as [`sleep`](super::sleep), but the contender takes the next number when it has room.

use std::future::Future;

use formic::AsyncPool;

use super::sleep::Sleeper;
use super::tally::Tally;
use super::{Entry, Params, Runtime, Workload};
use crate::contenders::formic_futures::{on_own_threads, pull_by_formic};
use crate::contenders::futures::{
    SmolTimer, TokioTimer, pull_buffered, pull_buffered_apart, pull_by_tasks, pull_on_executor,
};
use crate::contenders::stage::{on_executor, on_tokio};
use crate::failure::Failure;
use crate::measure::{Sample, Stopwatch};
use crate::yardstick::Yardstick;

pub(crate) static WORKLOAD: Workload = Workload {
    name: "sleep-pull",
    about: "The same futures that sleep for 10 ms, but nobody pushes: the contender pulls the next \
        one from an iterator or a counter when it has room.",
    yardstick: Yardstick::WALL,
    params: Params { runtime: Some(Runtime::TwoThreads), ..Params::of(1_000_000, 50_000) },
    rounds: 5,
    entries: &[
        Entry::formic("AsyncPool::new(workers), for_each", |params| formic(params, AsyncPool::new)),
        Entry::variant("formic-own", "the same with own_threads(2)", |params| {
            formic(params, on_own_threads)
        }),
        Entry::peer(
            "tokio-buffered",
            "buffer_unordered(workers) in one unconstrained task",
            |params| tokio(params, pull_buffered),
        ),
        Entry::beside(
            "by-hand",
            "two threads, each with a current-thread runtime and buffer_unordered(workers / 2), over a \
                shared counter",
            |params| tokio(params, pull_buffered_apart),
        ),
        Entry::peer("tokio-workers", "`workers` looping tasks over a shared counter", |params| {
            tokio(params, pull_by_tasks)
        }),
        Entry::peer(
            "async-executor",
            "`workers` looping tasks over a shared counter, timers of async-io",
            async_executor,
        ),
    ],
};

fn formic(params: &Params, build: impl FnOnce(usize) -> AsyncPool) -> Result<Sample, Failure> {
    tokio(params, |job, tasks, limit| pull_by_formic(build(limit), job, tasks))
}

fn tokio<F: Future<Output = Result<(), Failure>>>(
    params: &Params,
    pull: impl FnOnce(Sleeper<TokioTimer>, u64, usize) -> F,
) -> Result<Sample, Failure> {
    let job = Sleeper { tally: Tally::leaked(params.tasks), timer: TokioTimer };
    on_tokio(params, timed(job.tally, || pull(job, params.tasks, params.workers)))
}

fn async_executor(params: &Params) -> Result<Sample, Failure> {
    let job = Sleeper { tally: Tally::leaked(params.tasks), timer: SmolTimer };
    on_executor(params, |executor| {
        timed(job.tally, move || pull_on_executor(job, params.tasks, params.workers, executor))
    })
}

async fn timed<F: Future<Output = Result<(), Failure>>>(
    tally: &Tally,
    pull: impl FnOnce() -> F,
) -> Result<Sample, Failure> {
    let stopwatch = Stopwatch::start();
    pull().await?;
    let sample = stopwatch.stop();
    tally.check()?;
    Ok(sample)
}
