//! burst: many tasks that block for a while, all at once, with room for a thread each.

use std::thread;
use std::time::Duration;

use super::tally::Tally;
use super::tiny::SETTLE;
use super::{Entry, Params, Start, Workload};
use crate::contenders::{
    Blocking, Contender, Crossbeam, Formic, Rayon, RustyPool, ThreadPerTask, Threadfin, Threadpool,
    TokioBlocking,
};
use crate::failure::Failure;
use crate::measure::{Sample, Stopwatch};
use crate::yardstick::Yardstick;

/// How long a task blocks.
const BLOCKED: Duration = Duration::from_millis(10);

pub(crate) static WORKLOAD: Workload = Workload {
    name: "burst",
    about: "Tasks that block for 10 ms, handed over all at once, with room for a thread each. Cold: \
        the pool is built while the clock runs. Warm: the same has been done once before.",
    yardstick: Yardstick::WALL,
    params: Params { start: Some(Start::Cold), ..Params::of(1000, 1000) },
    rounds: 7,
    entries: &[
        Entry::formic(Formic::DEFAULT_QUEUE, |params| run(params, Formic::with_default_queue)),
        Entry::variant("formic-fixed", Formic::FIXED, |params| run(params, Formic::fixed)),
        Entry::peer("rusty_pool", RustyPool::ELASTIC, |params| run(params, RustyPool::elastic)),
        Entry::peer("rusty_pool-fixed", RustyPool::FIXED, |params| run(params, RustyPool::fixed)),
        Entry::peer("threadfin", Threadfin::ELASTIC, |params| run(params, Threadfin::elastic)),
        Entry::peer("spawn_blocking", TokioBlocking::GROWN, |params| {
            run(params, TokioBlocking::grown)
        }),
        Entry::peer("blocking", Blocking::GROWN, |params| run(params, Blocking::grown)),
        Entry::peer("crossbeam", Crossbeam::UNBOUNDED, |params| run(params, Crossbeam::unbounded)),
        Entry::peer("threadpool", Threadpool::FIXED, |params| run(params, Threadpool::fixed)),
        Entry::peer("rayon", Rayon::FIXED, |params| run(params, Rayon::fixed)),
        Entry::peer("thread-per-task", ThreadPerTask::SETTINGS, |params| {
            run(params, ThreadPerTask::unlimited)
        }),
    ],
};

fn run<C: Contender>(
    params: &Params,
    build: impl FnOnce(&Params) -> Result<C, Failure>,
) -> Result<Sample, Failure> {
    match params.start {
        Some(Start::Warm) => warm(params, build),
        Some(Start::Cold) | None => cold(params, build),
    }
}

fn cold<C: Contender>(
    params: &Params,
    build: impl FnOnce(&Params) -> Result<C, Failure>,
) -> Result<Sample, Failure> {
    let tally = Tally::leaked(params.tasks);
    let stopwatch = Stopwatch::start();
    let contender = build(params)?;
    burst(&contender, tally)?;
    finish(stopwatch.stop(), contender, tally)
}

fn warm<C: Contender>(
    params: &Params,
    build: impl FnOnce(&Params) -> Result<C, Failure>,
) -> Result<Sample, Failure> {
    let contender = build(params)?;
    burst(&contender, Tally::leaked(params.tasks))?;
    thread::sleep(SETTLE);
    let tally = Tally::leaked(params.tasks);
    let stopwatch = Stopwatch::start();
    burst(&contender, tally)?;
    finish(stopwatch.stop(), contender, tally)
}

fn burst<C: Contender>(contender: &C, tally: &'static Tally) -> Result<(), Failure> {
    for index in 0..tally.tasks() {
        contender.submit(move || {
            thread::sleep(BLOCKED);
            tally.add_long(index);
        })?;
    }
    tally.wait_for_long();
    Ok(())
}

fn finish<C: Contender>(sample: Sample, contender: C, tally: &Tally) -> Result<Sample, Failure> {
    contender.shut_down()?;
    tally.check()?;
    Ok(sample)
}
