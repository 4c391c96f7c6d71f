//! round-trip: one caller submits a task, waits for its result, and only then submits the next.

use std::hint;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::histogram::Histogram;
use super::tiny::SETTLE;
use super::{Entry, Params, Workload};
use crate::contenders::{
    Argument, AsyncExecutor, Blocking, Caller, Crossbeam, Formic, FormicCall, Rayon, Replying,
    RustyPool, Threadfin, Threadpool, TokioBlocking, TokioSpawn, answer,
};
use crate::failure::Failure;
use crate::measure::{Sample, Stopwatch};
use crate::yardstick::{Column, Decides, Yardstick};

/// Enough for a pool to have started its threads, for the caches to be warm, and for the system to
/// have spread the threads over the cores: two that begin on the same one can stay there for tens of
/// milliseconds, whatever the pool, because each gives it up to the other all the time.
const WARM_UP: Duration = Duration::from_millis(60);

const YARDSTICK: Yardstick = Yardstick {
    decides: Decides::Named("mean_ns"),
    heading: "mean ns",
    noun: "time",
    per_task: true,
    columns: &[
        Column { key: "mean_ns", heading: "mean ns" },
        Column { key: "p50_ns", heading: "p50 ns" },
        Column { key: "p99_ns", heading: "p99 ns" },
        Column { key: "p999_ns", heading: "p999 ns" },
    ],
};

pub(crate) static WORKLOAD: Workload = Workload {
    name: "round-trip",
    about: "One caller submits a task, waits for its result, and only then submits the next.",
    yardstick: YARDSTICK,
    params: Params::of(50_000, 2),
    rounds: 7,
    entries: &[
        Entry::formic(FormicCall::SETTINGS, |params| run(params, FormicCall::fixed)),
        Entry::variant("formic-spawn", "Pool::spawn and join", |params| {
            run(params, Formic::with_default_queue)
        }),
        Entry::peer("rayon", Replying::<Rayon>::SETTINGS, |params| {
            run(params, |params| Replying::by(Rayon::fixed, params))
        }),
        Entry::peer("rayon-install", "ThreadPool::install", |params| run(params, Rayon::fixed)),
        Entry::peer("crossbeam", Replying::<Crossbeam>::SETTINGS, |params| {
            run(params, |params| Replying::by(Crossbeam::unbounded, params))
        }),
        Entry::peer("rusty_pool", "evaluate and await_complete", |params| {
            run(params, RustyPool::fixed)
        }),
        Entry::peer("threadpool", Replying::<Threadpool>::SETTINGS, |params| {
            run(params, |params| Replying::by(Threadpool::fixed, params))
        }),
        Entry::peer("threadfin", "execute and join", |params| run(params, Threadfin::fixed)),
        Entry::peer("spawn_blocking", "spawn_blocking in block_on", |params| {
            run(params, TokioBlocking::grown)
        }),
        Entry::peer("tokio-spawn", "spawn from outside of the runtime, block_on", |params| {
            run(params, TokioSpawn::fixed)
        }),
        Entry::peer("blocking", "unblock in block_on", |params| run(params, Blocking::grown)),
        Entry::peer("async-executor", "spawn in block_on", |params| {
            run(params, AsyncExecutor::fixed)
        }),
        Entry::beside(
            "tokio-inside",
            "spawn and await inside of a current-thread runtime: no other thread takes part",
            tokio_inside,
        ),
        Entry::beside("spinning", "two threads that spin on two words, no pool", |params| {
            run(params, Spinning::new)
        }),
    ],
};

fn run<C: Caller>(
    params: &Params,
    build: impl FnOnce(&Params) -> Result<C, Failure>,
) -> Result<Sample, Failure> {
    let contender = build(params)?;
    thread::sleep(SETTLE);
    let begin = Instant::now();
    for index in 0.. {
        contender.call(argument(index))?;
        if begin.elapsed() > WARM_UP {
            break;
        }
    }

    let histogram = Histogram::leaked();
    let mut sum = 0u64;
    let stopwatch = Stopwatch::start();
    let mut before = Instant::now();
    for index in 0..params.tasks {
        sum = sum.wrapping_add(contender.call(argument(index))?);
        before = note(histogram, before);
    }
    figures(stopwatch.stop(), histogram, sum, params)
}

/// One reading of the clock for each call: the end of one is the beginning of the next.
#[inline]
fn note(histogram: &Histogram, before: Instant) -> Instant {
    let now = Instant::now();
    histogram.record(now - before);
    now
}

fn argument(index: u64) -> Argument {
    Argument { index, salt: !index }
}

fn figures(
    sample: Sample,
    histogram: &Histogram,
    sum: u64,
    params: &Params,
) -> Result<Sample, Failure> {
    let expected = (0..params.tasks).map(|index| answer(argument(index)));
    if sum != expected.fold(0, u64::wrapping_add) || histogram.count() != params.tasks {
        return Err(Failure::new("not every task ran exactly once"));
    }
    Ok(sample
        .with("mean_ns", histogram.mean())
        .with("p50_ns", histogram.quantile(0.5))
        .with("p99_ns", histogram.quantile(0.99))
        .with("p999_ns", histogram.quantile(0.999)))
}

/// The caller is a task itself, and gives its thread to the other one by waiting.
fn tokio_inside(params: &Params) -> Result<Sample, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(Failure::new)?;
    let histogram = Histogram::leaked();
    let (sample, sum) = runtime.block_on(async {
        let mut sum = 0u64;
        let stopwatch = Stopwatch::start();
        let mut before = Instant::now();
        for index in 0..params.tasks {
            let handle = tokio::spawn(async move { answer(argument(index)) });
            sum = sum.wrapping_add(handle.await.map_err(Failure::new)?);
            before = note(histogram, before);
        }
        Ok::<_, Failure>((stopwatch.stop(), sum))
    })?;
    figures(sample, histogram, sum, params)
}

/// What two cores can do at best: one writes a word, the other spins until it sees it.
#[derive(Debug)]
struct Spinning(&'static Words);

#[derive(Debug, Default)]
struct Words {
    asked: Word,
    answered: Word,
    index: AtomicU64,
    result: AtomicU64,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Word(AtomicU64);

impl Spinning {
    fn new(_: &Params) -> Result<Self, Failure> {
        let words: &'static Words = Box::leak(Box::new(Words::default()));
        thread::spawn(move || {
            for turn in 1.. {
                if !words.asked.reached(turn) {
                    return;
                }
                let index = words.index.load(Ordering::Relaxed);
                words.result.store(answer(argument(index)), Ordering::Relaxed);
                // Release: pairs with the Acquire in `reached`, after which the result is read.
                words.answered.0.store(turn, Ordering::Release);
            }
        });
        Ok(Self(words))
    }
}

impl Caller for Spinning {
    fn call(&self, argument: Argument) -> Result<u64, Failure> {
        let words = self.0;
        let turn = words.asked.0.load(Ordering::Relaxed) + 1;
        words.index.store(argument.index, Ordering::Relaxed);
        // Release: pairs with the Acquire in `reached`, after which the index is read.
        words.asked.0.store(turn, Ordering::Release);
        words.answered.reached(turn);
        Ok(words.result.load(Ordering::Relaxed))
    }
}

/// Asks the other thread to end.
impl Drop for Spinning {
    fn drop(&mut self) {
        self.0.asked.0.store(u64::MAX, Ordering::Relaxed);
    }
}

impl Word {
    /// Spins until the word has come to `turn`; false when there will be no more turns.
    ///
    /// A thread that has lost its core gives the other one a chance after a while.
    fn reached(&self, turn: u64) -> bool {
        let mut looks = 0u32;
        loop {
            // Acquire: pairs with the Release stores of the two words.
            match self.0.load(Ordering::Acquire) {
                u64::MAX => return false,
                now if now >= turn => return true,
                _ => {}
            }
            looks += 1;
            if looks.is_multiple_of(10_000) { thread::yield_now() } else { hint::spin_loop() }
        }
    }
}
