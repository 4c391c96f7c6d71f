//! lateness: many futures sleep, a few compute for long in one poll. How late do the sleepers wake?

use std::time::{Duration, Instant};

use super::histogram::Histogram;
use super::tally::Tally;
use super::{Entry, Params, Runtime, Workload};
use crate::contenders::formic_futures::FormicPushed;
use crate::contenders::futures::{
    BufferedChannel, ExecutorWithSemaphore, Job, Pushed, SmolTimer, SpawnWithSemaphore, Timer,
    TokioTimer, UnlimitedSpawn,
};
use crate::contenders::stage::{on_executor, on_tokio};
use crate::failure::Failure;
use crate::measure::{Sample, Stopwatch};
use crate::yardstick::{Column, Decides, Yardstick};

/// One in so many computes.
const COMPUTES: u64 = 100;
/// For how long, in one poll.
const COMPUTING: Duration = Duration::from_millis(5);
/// How often each future sleeps.
const NAPS: u64 = 5;
const LOOK: Duration = Duration::from_millis(5);

const YARDSTICK: Yardstick = Yardstick {
    decides: Decides::Named("p99_us"),
    heading: "p99 µs",
    noun: "lateness",
    per_task: true,
    columns: &[
        Column { key: "p50_us", heading: "p50 µs" },
        Column { key: "p99_us", heading: "p99 µs" },
        Column { key: "mean_us", heading: "mean µs" },
    ],
};

/// Plain `tokio::spawn` is what formic is compared to, as it is what one would use otherwise.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "lateness",
    about: "Futures that sleep five times, all under way at once. One in a hundred computes for 5 ms \
        after each sleep, in one poll; together they keep about half a core busy. Told is how much \
        later than asked the others wake.",
    yardstick: YARDSTICK,
    params: Params { runtime: Some(Runtime::TwoThreads), ..Params::of(10_000, 10_000) },
    rounds: 3,
    entries: &[
        Entry::formic(FormicPushed::<Napper<TokioTimer>>::SETTINGS, |params| {
            tokio(params, FormicPushed::new)
        }),
        Entry::variant("formic-own", "the same with own_threads(2)", |params| {
            tokio(params, FormicPushed::own)
        }),
        Entry::peer("tokio-spawn", "a task for each", |params| {
            tokio(params, |job, _| UnlimitedSpawn(job))
        }),
        Entry::beside("tokio-semaphore", "a task for each, acquire_owned before spawn", |params| {
            tokio(params, SpawnWithSemaphore::new)
        }),
        Entry::beside(
            "tokio-buffered",
            "one unconstrained task with buffer_unordered: a slow poll holds up all the others",
            |params| tokio(params, BufferedChannel::new),
        ),
        Entry::beside(
            "async-executor",
            "a task for each, a semaphore of async-lock, finer timers of async-io",
            async_executor,
        ),
    ],
};

/// Sleeps a few times, and either tells how late it woke or computes.
#[derive(Clone, Copy, Debug)]
struct Napper<T> {
    tally: &'static Tally,
    lateness: &'static Histogram,
    timer: T,
    /// The longest sleep.
    span: Duration,
}

impl<T: Timer> Napper<T> {
    fn new(tasks: u64, timer: T) -> Self {
        // With a mean of half the span, the computing ones are busy for half a core.
        let computing = u32::try_from(tasks.div_ceil(COMPUTES)).unwrap_or(u32::MAX);
        let span = 4 * computing * COMPUTING;
        Self { tally: Tally::leaked(tasks), lateness: Histogram::leaked(), timer, span }
    }

    /// Sleeps of all lengths up to the span, the same ones for each contender.
    fn nap(&self, index: u64, turn: u64) -> Duration {
        let mixed = (index * NAPS + turn).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        self.span.mul_f64(mixed as f64 / f64::from(u32::MAX))
    }
}

impl<T: Timer> Job for Napper<T> {
    async fn start(self, index: u64) {
        for turn in 0..NAPS {
            let nap = self.nap(index, turn);
            let deadline = Instant::now() + nap;
            self.timer.nap(nap).await;
            if index.is_multiple_of(COMPUTES) {
                compute();
            } else {
                self.lateness.record(deadline.elapsed());
            }
        }
        self.tally.add(index);
    }
}

/// A span of time and not of turns: what matters is how long the poll takes.
fn compute() {
    let begin = Instant::now();
    while begin.elapsed() < COMPUTING {
        std::hint::spin_loop();
    }
}

fn tokio<P: Pushed<Napper<TokioTimer>>>(
    params: &Params,
    build: impl FnOnce(Napper<TokioTimer>, usize) -> P,
) -> Result<Sample, Failure> {
    let job = Napper::new(params.tasks, TokioTimer);
    on_tokio(params, produce(job, || build(job, params.workers)))
}

fn async_executor(params: &Params) -> Result<Sample, Failure> {
    let job = Napper::new(params.tasks, SmolTimer);
    on_executor(params, |executor| {
        produce(job, move || ExecutorWithSemaphore::new(job, params.workers, executor))
    })
}

async fn produce<T: Timer, P: Pushed<Napper<T>>>(
    job: Napper<T>,
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
    let microseconds = |nanoseconds: f64| nanoseconds / 1000.0;
    Ok(sample
        .with("p50_us", microseconds(job.lateness.quantile(0.5)))
        .with("p99_us", microseconds(job.lateness.quantile(0.99)))
        .with("mean_us", microseconds(job.lateness.mean())))
}
