//! The tour: what one sees without arguments, a little of every workload.

use crate::scenario::Scenario;
use crate::workloads::{Params, Workload, bounded, tiny};

/// Small enough for the whole tour to take well under a minute.
const TASKS: u64 = 300_000;
const ROUNDS: usize = 3;

/// The stops of the tour, in their order.
pub(crate) fn stops() -> Vec<Scenario> {
    vec![
        stop(&tiny::WORKLOAD, 2, None),
        stop(&tiny::WORKLOAD, 64, None),
        stop(&bounded::WORKLOAD, 2, Some(1024)),
        stop(&bounded::WORKLOAD, 2, Some(64)),
    ]
}

fn stop(workload: &'static Workload, workers: usize, queue: Option<usize>) -> Scenario {
    let params = Params { queue, ..Params::of(TASKS, workers) };
    Scenario::with_all(workload, params, ROUNDS)
}
