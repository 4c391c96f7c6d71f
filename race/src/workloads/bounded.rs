//! bounded: as [`tiny`](super::tiny), but the queue has a bound, and the producer waits when it is full.

use super::tiny::run;
use super::{Entry, Params, Workload};
use crate::contenders::{
    Crossbeam, Formic, Gated, Rayon, SyncChannel, Threadfin, Threadpool, TokioSemaphore,
};
use crate::yardstick::Yardstick;

/// Pools whose queue has no bound get one by a gate before them.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "bounded",
    about: "As tiny, into a queue with a bound: the producer has to wait whenever it is full.",
    yardstick: Yardstick::PER_TASK,
    params: Params { queue: Some(1024), ..Params::of(2_000_000, 2) },
    rounds: 7,
    entries: &[
        Entry::formic(Formic::BOUNDED, |params| run(params, Formic::bounded)),
        Entry::peer("crossbeam", Crossbeam::BOUNDED, |params| run(params, Crossbeam::bounded)),
        Entry::peer("sync_channel", SyncChannel::BOUNDED, |params| {
            run(params, SyncChannel::bounded)
        }),
        Entry::peer("threadfin", Threadfin::BOUNDED, |params| run(params, Threadfin::bounded)),
        Entry::peer("rayon+gate", Gated::<Rayon>::SETTINGS, |params| {
            run(params, |params| Gated::around(Rayon::fixed, params))
        }),
        Entry::peer("threadpool+gate", Gated::<Threadpool>::SETTINGS, |params| {
            run(params, |params| Gated::around(Threadpool::fixed, params))
        }),
        Entry::peer("tokio+semaphore", TokioSemaphore::BOUNDED, |params| {
            run(params, TokioSemaphore::bounded)
        }),
    ],
};
