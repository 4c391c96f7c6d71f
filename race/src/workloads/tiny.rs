//! tiny: one outside producer hands over tasks of one atomic add, as fast as it can.

use std::thread;
use std::time::Duration;

use super::tally::Tally;
use super::{Entry, Params, Workload};
use crate::contenders::{
    AsyncExecutor, Blocking, Contender, Crossbeam, CrossbeamValues, Formic, FormicValues, Rayon,
    RustyPool, Threadfin, Threadpool, TokioBlocking, TokioSpawn, Values,
};
use crate::failure::Failure;
use crate::measure::{Sample, Stopwatch};
use crate::yardstick::Yardstick;

/// Threads that a pool has started on creation get this long to reach their place of rest.
pub(super) const SETTLE: Duration = Duration::from_millis(5);

/// The queue is the pool's own: unbounded for all peers, bounded by default for formic.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "tiny",
    about: "One outside thread hands over tasks of one atomic add, as fast as it can. The queue is \
        each pool's own: unbounded for the peers, formic's default for formic.",
    yardstick: Yardstick::PER_TASK,
    params: Params::of(2_000_000, 2),
    rounds: 7,
    entries: &[
        Entry::formic(Formic::DEFAULT_QUEUE, |params| run(params, Formic::with_default_queue)),
        Entry::variant("formic-unbounded", Formic::UNBOUNDED, |params| {
            run(params, Formic::unbounded)
        }),
        Entry::variant("formic-fn", FormicValues::<Piece>::DEFAULT_QUEUE, |params| {
            run_values(params, FormicValues::with_default_queue)
        }),
        Entry::peer("rusty_pool", RustyPool::FIXED, |params| run(params, RustyPool::fixed)),
        Entry::peer("rayon", Rayon::FIXED, |params| run(params, Rayon::fixed)),
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
        Entry::beside("crossbeam-values", CrossbeamValues::<Piece>::UNBOUNDED, |params| {
            run_values(params, CrossbeamValues::unbounded)
        }),
    ],
};

/// The run that is measured, compiled for each contender of its own and otherwise the same for all.
pub(super) fn run<C: Contender>(
    params: &Params,
    build: impl FnOnce(&Params) -> Result<C, Failure>,
) -> Result<Sample, Failure> {
    let tally = Tally::leaked(params.tasks);
    let contender = build(params)?;
    thread::sleep(SETTLE);

    let stopwatch = Stopwatch::start();
    for index in 0..params.tasks {
        contender.submit(tally.task(index))?;
    }
    tally.wait();
    let sample = stopwatch.stop();

    contender.shut_down()?;
    tally.check()?;
    Ok(sample)
}

/// What a pool of one function is given: as many bytes as a task captures.
type Piece = (&'static Tally, u64, u64);

/// The same for a pool of one function.
fn run_values<V: Values<Piece>>(
    params: &Params,
    build: impl FnOnce(&Params, fn(Piece)) -> Result<V, Failure>,
) -> Result<Sample, Failure> {
    let tally = Tally::leaked(params.tasks);
    let contender = build(params, |(tally, index, value)| tally.put(index, value))?;
    thread::sleep(SETTLE);

    let stopwatch = Stopwatch::start();
    for index in 0..params.tasks {
        contender.submit((tally, index, index + 1))?;
    }
    tally.wait();
    let sample = stopwatch.stop();

    contender.shut_down()?;
    tally.check()?;
    Ok(sample)
}
