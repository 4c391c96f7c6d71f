//! producers: as [`tiny`](super::tiny), but from many threads at once.

use std::sync::Barrier;
use std::thread;

use super::tally::Tally;
use super::tiny::SETTLE;
use super::{Entry, Params, Workload};
use crate::contenders::{
    AsyncExecutor, Contender, Crossbeam, Formic, FormicMulti, Rayon, Refused, RustyPool, Threadfin,
    Threadpool, TokioBlocking, TokioSpawn,
};
use crate::failure::Failure;
use crate::measure::{Sample, Stopwatch};
use crate::yardstick::Yardstick;

pub(crate) static WORKLOAD: Workload = Workload {
    name: "producers",
    about: "As tiny, but from many threads at once, each with its share of the tasks.",
    yardstick: Yardstick::PER_TASK,
    params: Params { producers: Some(16), ..Params::of(2_000_000, 2) },
    rounds: 7,
    entries: &[
        Entry::formic(Formic::DEFAULT_QUEUE, |params| run(params, Formic::with_default_queue)),
        Entry::variant("formic-multi", FormicMulti::HALVES, |params| {
            run(params, FormicMulti::halves)
        }),
        Entry::variant("formic-unbounded", Formic::UNBOUNDED, |params| {
            run(params, Formic::unbounded)
        }),
        Entry::peer("crossbeam", Crossbeam::UNBOUNDED, |params| run(params, Crossbeam::unbounded)),
        Entry::peer("rusty_pool", RustyPool::FIXED, |params| run(params, RustyPool::fixed)),
        Entry::peer("rayon", Rayon::FIXED, |params| run(params, Rayon::fixed)),
        Entry::peer("threadpool", Threadpool::FIXED, |params| run(params, Threadpool::fixed)),
        Entry::peer("threadfin", Threadfin::FIXED, |params| run(params, Threadfin::fixed)),
        Entry::peer("async-executor", AsyncExecutor::FIXED, |params| {
            run(params, AsyncExecutor::fixed)
        }),
        Entry::peer("tokio-spawn", TokioSpawn::FIXED, |params| run(params, TokioSpawn::fixed)),
        Entry::peer("spawn_blocking", TokioBlocking::GROWN, |params| {
            run(params, TokioBlocking::grown)
        }),
    ],
};

/// The producers stand ready when the clock starts; waking them is part of the run, for all alike.
fn run<C: Contender>(
    params: &Params,
    build: impl FnOnce(&Params) -> Result<C, Failure>,
) -> Result<Sample, Failure> {
    let producers = params.producers.unwrap_or(1);
    let tally = Tally::leaked(params.tasks);
    let contender = build(params)?;
    let start = Barrier::new(producers + 1);

    let stopwatch = thread::scope(|scope| {
        let threads: Vec<_> = (0..producers as u64)
            .map(|producer| {
                let share = |part| params.tasks * part / producers as u64;
                let indices = share(producer)..share(producer + 1);
                let (start, contender) = (&start, &contender);
                scope.spawn(move || -> Result<(), Refused> {
                    start.wait();
                    for index in indices {
                        contender.submit(tally.task(index))?;
                    }
                    Ok(())
                })
            })
            .collect();
        thread::sleep(SETTLE);
        let stopwatch = Stopwatch::start();
        start.wait();
        for thread in threads {
            thread.join().map_err(|_| Failure::new("a producer panicked"))??;
        }
        Ok::<_, Failure>(stopwatch)
    })?;
    tally.wait();
    let sample = stopwatch.stop();

    contender.shut_down()?;
    tally.check()?;
    Ok(sample)
}
