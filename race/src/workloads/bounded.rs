//! bounded: as [`tiny`](super::tiny), but the queue has a bound, and the producer waits when it is full.

use super::tiny::run;
use super::{Entry, Role, Workload};
use crate::contenders::{Crossbeam, Formic, Gated, Rayon, SyncChannel, Threadpool};

/// Pools whose queue has no bound get one by a gate before them.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "bounded",
    entries: &[
        Entry { name: "formic", role: Role::Formic, run: |params| run(params, Formic::bounded) },
        Entry {
            name: "crossbeam",
            role: Role::Peer,
            run: |params| run(params, Crossbeam::bounded),
        },
        Entry {
            name: "sync_channel",
            role: Role::Peer,
            run: |params| run(params, SyncChannel::bounded),
        },
        Entry {
            name: "rayon+gate",
            role: Role::Peer,
            run: |params| run(params, |params| Gated::around(Rayon::fixed, params)),
        },
        Entry {
            name: "threadpool+gate",
            role: Role::Peer,
            run: |params| run(params, |params| Gated::around(Threadpool::fixed, params)),
        },
    ],
};
