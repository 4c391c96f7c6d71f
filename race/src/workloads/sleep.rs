//! sleep: an outside producer pushes futures that sleep, with a limit on how many do so at once.

use std::time::Duration;

use super::tally::Tally;
use super::{Entry, Params, Runtime, Workload};
use crate::contenders::formic_futures::{FormicFnPushed, FormicPushed};
use crate::contenders::futures::{
    BufferedChannel, CappedJoinSet, ExecutorWithSemaphore, Job, Pushed, SmolTimer,
    SpawnWithSemaphore, Timer, TokioTimer, UnlimitedSpawn, WorkerTasks,
};
use crate::contenders::stage::{on_executor, on_tokio};
use crate::failure::Failure;
use crate::measure::{Sample, Stopwatch};
use crate::yardstick::Yardstick;

/// How long each future sleeps.
const ASLEEP: Duration = Duration::from_millis(10);
/// How long the producer sleeps between two looks at the tally, when it has pushed everything.
const LOOK: Duration = Duration::from_millis(1);

pub(crate) static WORKLOAD: Workload = Workload {
    name: "sleep",
    about: "A producer outside of the runtime's threads pushes futures that sleep for 10 ms, one at \
        a time, with a limit on how many are under way.",
    yardstick: Yardstick::WALL,
    params: Params { runtime: Some(Runtime::TwoThreads), ..Params::of(1_000_000, 50_000) },
    rounds: 5,
    entries: &[
        Entry::formic(FormicPushed::<Sleeper<TokioTimer>>::SETTINGS, |params| {
            tokio(params, FormicPushed::new)
        }),
        Entry::variant("formic-own", "the same with own_threads(2)", |params| {
            tokio(params, FormicPushed::own)
        }),
        Entry::variant("formic-fn", FormicFnPushed::SETTINGS, |params| {
            tokio(params, FormicFnPushed::new)
        }),
        Entry::peer("tokio-semaphore", "a task for each, acquire_owned before spawn", |params| {
            tokio(params, SpawnWithSemaphore::new)
        }),
        Entry::peer("tokio-joinset", "JoinSet; at the limit join_next before spawn", |params| {
            tokio(params, CappedJoinSet::new)
        }),
        Entry::peer("tokio-workers", "`workers` looping tasks over an async-channel", |params| {
            tokio(params, WorkerTasks::new)
        }),
        Entry::peer(
            "tokio-buffered",
            "one unconstrained task with buffer_unordered(workers), fed by a tokio channel",
            |params| tokio(params, BufferedChannel::new),
        ),
        Entry::peer(
            "async-executor",
            "a task for each, a semaphore of async-lock, timers of async-io",
            async_executor,
        ),
        Entry::beside("tokio-unlimited", "a task for each, no limit at all", |params| {
            tokio(params, |job, _| UnlimitedSpawn(job))
        }),
    ],
};

/// Sleeps, and is counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleeper<T> {
    pub(super) tally: &'static Tally,
    pub(super) timer: T,
}

impl<T: Timer> Job for Sleeper<T> {
    async fn start(self, index: u64) {
        self.timer.nap(ASLEEP).await;
        self.tally.add(index);
    }
}

/// A contender on tokio. It is made, like its tasks, while the clock runs.
fn tokio<P: Pushed<Sleeper<TokioTimer>>>(
    params: &Params,
    build: impl FnOnce(Sleeper<TokioTimer>, usize) -> P,
) -> Result<Sample, Failure> {
    let job = Sleeper { tally: Tally::leaked(params.tasks), timer: TokioTimer };
    on_tokio(params, produce(job, || build(job, params.workers)))
}

fn async_executor(params: &Params) -> Result<Sample, Failure> {
    let job = Sleeper { tally: Tally::leaked(params.tasks), timer: SmolTimer };
    on_executor(params, |executor| {
        produce(job, move || ExecutorWithSemaphore::new(job, params.workers, executor))
    })
}

/// The producer, the same for all.
async fn produce<T: Timer, P: Pushed<Sleeper<T>>>(
    job: Sleeper<T>,
    build: impl FnOnce() -> P,
) -> Result<Sample, Failure> {
    let stopwatch = Stopwatch::start();
    let mut contender = build();
    for index in 0..job.tally.tasks() {
        contender.push(index).await?;
    }
    while !job.tally.is_full() {
        job.timer.nap(LOOK).await;
    }
    let sample = stopwatch.stop();
    job.tally.check()?;
    Ok(sample)
}
