//! nested: tasks that submit tasks, a binary tree of them.

use std::thread;

use super::tally::Tally;
use super::tiny::SETTLE;
use super::{Entry, Params, Workload};
use crate::contenders::{
    AsyncExecutor, Contender, Crossbeam, Formic, Rayon, RustyPool, Threadfin, Threadpool,
    TokioSpawn,
};
use crate::failure::Failure;
use crate::measure::{Sample, Stopwatch};
use crate::yardstick::Yardstick;

pub(crate) static WORKLOAD: Workload = Workload {
    name: "nested",
    about: "A binary tree of tasks: each adds to a counter and submits two more, down to the \
        leaves. Only the root comes from outside.",
    yardstick: Yardstick::PER_TASK,
    params: Params::of((1 << 20) - 1, 2),
    rounds: 7,
    entries: &[
        Entry::formic(Formic::DEFAULT_QUEUE, |params| run(params, Formic::with_default_queue)),
        Entry::variant("formic-scope", "Scope::submit on the same pool", formic_scope),
        Entry::peer("rayon", Rayon::FIXED, |params| run(params, Rayon::fixed)),
        Entry::peer("rayon-scope", "Scope::spawn on the same pool", rayon_scope),
        Entry::peer("crossbeam", Crossbeam::UNBOUNDED, |params| run(params, Crossbeam::unbounded)),
        Entry::peer("rusty_pool", RustyPool::FIXED, |params| run(params, RustyPool::fixed)),
        Entry::peer("threadpool", Threadpool::FIXED, |params| run(params, Threadpool::fixed)),
        Entry::peer("threadfin", Threadfin::FIXED, |params| run(params, Threadfin::fixed)),
        Entry::peer("async-executor", AsyncExecutor::FIXED, |params| {
            run(params, AsyncExecutor::fixed)
        }),
        Entry::peer("tokio-spawn", TokioSpawn::FIXED, |params| run(params, TokioSpawn::fixed)),
        Entry::beside("rayon-join", "rayon::join: fork and join, nothing is queued", rayon_join),
    ],
};

/// The indices of the two below `index`, as far as the tree goes.
fn below(index: u64, tally: &Tally) -> impl Iterator<Item = u64> {
    let tasks = tally.tasks();
    [2 * index + 1, 2 * index + 2].into_iter().filter(move |index| *index < tasks)
}

/// The pool is leaked, so that a task holds a plain reference to it and counts none.
fn run<C: Contender>(
    params: &Params,
    build: impl FnOnce(&Params) -> Result<C, Failure>,
) -> Result<Sample, Failure> {
    let tally = Tally::leaked(params.tasks);
    let contender: &'static C = Box::leak(Box::new(build(params)?));
    thread::sleep(SETTLE);

    let stopwatch = Stopwatch::start();
    contender.submit(move || node(contender, tally, 0))?;
    tally.wait();
    let sample = stopwatch.stop();

    // A task that is run twice would be so by now: the pool has nothing left to do.
    thread::sleep(SETTLE);
    tally.check()?;
    Ok(sample)
}

fn node<C: Contender>(contender: &'static C, tally: &'static Tally, index: u64) {
    tally.add(index);
    for index in below(index, tally) {
        // A task that was refused is missing in the tally, and the run does not end.
        contender.submit(move || node(contender, tally, index)).ok();
    }
}

/// The ways that come back by themselves when all tasks have run.
fn run_scoped<C>(
    params: &Params,
    contender: &C,
    walk: impl FnOnce(&C, &'static Tally),
) -> Result<Sample, Failure> {
    let tally = Tally::leaked(params.tasks);
    thread::sleep(SETTLE);
    let stopwatch = Stopwatch::start();
    walk(contender, tally);
    let sample = stopwatch.stop();
    tally.check()?;
    Ok(sample)
}

fn formic_scope(params: &Params) -> Result<Sample, Failure> {
    fn node<'scope>(scope: &'scope formic::Scope<'scope, '_>, tally: &'static Tally, index: u64) {
        tally.add(index);
        for index in below(index, tally) {
            scope.submit(move || node(scope, tally, index));
        }
    }
    let contender = Formic::with_default_queue(params)?;
    run_scoped(params, &contender, |contender, tally| {
        contender.pool().scope(|scope| {
            scope.submit(move || node(scope, tally, 0));
        });
    })
}

fn rayon_scope(params: &Params) -> Result<Sample, Failure> {
    fn node<'scope>(scope: &rayon::Scope<'scope>, tally: &'scope Tally, index: u64) {
        tally.add(index);
        for index in below(index, tally) {
            scope.spawn(move |scope| node(scope, tally, index));
        }
    }
    let contender = Rayon::fixed(params)?;
    run_scoped(params, &contender, |contender, tally| {
        contender.pool().scope(|scope| node(scope, tally, 0));
    })
}

fn rayon_join(params: &Params) -> Result<Sample, Failure> {
    fn node(tally: &Tally, index: u64) {
        tally.add(index);
        let mut below = below(index, tally);
        match (below.next(), below.next()) {
            (Some(left), Some(right)) => {
                rayon::join(|| node(tally, left), || node(tally, right));
            }
            (Some(only), None) => node(tally, only),
            (None, _) => {}
        }
    }
    let contender = Rayon::fixed(params)?;
    run_scoped(params, &contender, |contender, tally| {
        contender.pool().install(|| node(tally, 0));
    })
}
