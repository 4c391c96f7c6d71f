//! cpu: tasks that compute for a while, as many at once as there are workers.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use super::tally::Tally;
use super::tiny::SETTLE;
use super::{Entry, Params, Workload};
use crate::contenders::{
    AsyncExecutor, Blocking, Contender, Crossbeam, Formic, Rayon, RustyPool, Threadfin, Threadpool,
    TokioBlocking, TokioSpawn,
};
use crate::failure::Failure;
use crate::measure::{Sample, Stopwatch, thread_cpu_time};
use crate::statistics::Spread;
use crate::yardstick::{Column, Yardstick};

/// How long a task computes.
const TASK: Duration = Duration::from_micros(50);
/// How long the speed of the machine is looked at before the clock starts.
const CALIBRATION: Duration = Duration::from_millis(40);

pub(crate) static WORKLOAD: Workload = Workload {
    name: "cpu",
    about: "Tasks that compute for 50 µs. The efficiency is what plain threads without a queue \
        would take, divided by what the contender took.",
    yardstick: Yardstick {
        columns: &[Column { key: "efficiency", heading: "efficiency" }],
        ..Yardstick::WALL
    },
    params: Params::of(20_000, 2),
    rounds: 7,
    entries: &[
        Entry::formic(Formic::DEFAULT_QUEUE, |params| run(params, Formic::with_default_queue)),
        Entry::peer("rayon", Rayon::FIXED, |params| run(params, Rayon::fixed)),
        Entry::peer("rusty_pool", RustyPool::FIXED, |params| run(params, RustyPool::fixed)),
        Entry::peer("threadpool", Threadpool::FIXED, |params| run(params, Threadpool::fixed)),
        Entry::peer("crossbeam", Crossbeam::UNBOUNDED, |params| run(params, Crossbeam::unbounded)),
        Entry::peer("threadfin", Threadfin::FIXED, |params| run(params, Threadfin::fixed)),
        Entry::peer("async-executor", AsyncExecutor::FIXED, |params| {
            run(params, AsyncExecutor::fixed)
        }),
        Entry::peer("tokio-spawn", TokioSpawn::FIXED, |params| run(params, TokioSpawn::fixed)),
        Entry::peer("spawn_blocking", TokioBlocking::GROWN, |params| {
            run(params, TokioBlocking::grown)
        }),
        Entry::peer("blocking", Blocking::GROWN, |params| run(params, Blocking::grown)),
    ],
};

fn run<C: Contender>(
    params: &Params,
    build: impl FnOnce(&Params) -> Result<C, Failure>,
) -> Result<Sample, Failure> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let at_once = params.workers.min(cores);
    let turns = turns_in_a_task(at_once);
    let tally = Tally::leaked(params.tasks);
    let contender = build(params)?;
    thread::sleep(SETTLE);

    let stopwatch = Stopwatch::start();
    for index in 0..params.tasks {
        contender.submit(move || {
            compute(turns);
            tally.add_long(index);
        })?;
    }
    tally.wait_for_long();
    let sample = stopwatch.stop();

    contender.shut_down()?;
    tally.check()?;
    let ideal = TASK.as_nanos() as f64 * params.tasks as f64 / at_once as f64;
    let efficiency = ideal / sample.wall_ns as f64;
    Ok(sample.with("efficiency", efficiency))
}

/// Turns of a loop and not a span of time: a task that loses its core must not end the sooner.
/// Each turn needs the one before it, and nothing but registers.
#[inline(never)]
fn compute(turns: u64) {
    let mut value = black_box(1u64);
    for _ in 0..turns {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    black_box(value);
}

/// How many turns take [`TASK`] while as many threads compute as will do so in the run.
///
/// The time is that of the thread, and the median of many looks counts, so that other programs do
/// not make the machine seem slower than it is.
fn turns_in_a_task(threads: usize) -> u64 {
    const TURNS: u64 = 100_000;
    let start = Barrier::new(threads);
    let rate = || {
        start.wait();
        let begin = Instant::now();
        let mut times = Vec::new();
        while begin.elapsed() < CALIBRATION {
            let before = thread_cpu_time();
            compute(TURNS);
            times.push(thread_cpu_time().saturating_sub(before).as_secs_f64());
        }
        Spread::of(times).map_or(1.0, |times| TURNS as f64 / times.median)
    };
    let rates: Vec<f64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(rate)).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    ((mean * TASK.as_secs_f64()) as u64).max(1)
}
