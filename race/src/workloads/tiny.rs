//! tiny: one outside producer hands over tasks of one atomic add, as fast as it can.

use std::thread;
use std::time::Duration;

use super::tally::Tally;
use super::{Entry, Params, Role, Workload};
use crate::contenders::{Contender, Crossbeam, Formic, Rayon, RustyPool, Threadpool};
use crate::failure::Failure;
use crate::measure::{Sample, Stopwatch};

/// Threads that a pool has started on creation get this long to reach their place of rest.
const SETTLE: Duration = Duration::from_millis(5);

/// The queue is the pool's own: unbounded for all peers, bounded by default for formic.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "tiny",
    entries: &[
        Entry {
            name: "formic",
            role: Role::Formic,
            run: |params| run(params, Formic::with_default_queue),
        },
        Entry {
            name: "formic-unbounded",
            role: Role::Variant,
            run: |params| run(params, Formic::unbounded),
        },
        Entry { name: "rusty_pool", role: Role::Peer, run: |params| run(params, RustyPool::fixed) },
        Entry { name: "rayon", role: Role::Peer, run: |params| run(params, Rayon::fixed) },
        Entry {
            name: "threadpool",
            role: Role::Peer,
            run: |params| run(params, Threadpool::fixed),
        },
        Entry {
            name: "crossbeam",
            role: Role::Peer,
            run: |params| run(params, Crossbeam::unbounded),
        },
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
