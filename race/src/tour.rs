//! The tour: what one sees without arguments, a little of every workload.

use crate::scenario::Scenario;
use crate::workloads::{Params, Start, Workload};
use crate::workloads::{bounded, burst, cpu, idle, lateness, nested, producers};
use crate::workloads::{round_trip, sleep, sleep_pull, tiny};

/// The stops of the tour, in their order: the headline first.
///
/// Small enough for the whole tour to take about a minute.
pub(crate) fn stops() -> Vec<Scenario> {
    vec![
        // A million tasks of 10 ms, with a limit and without.
        stop(&sleep::WORKLOAD, 1, |_| ()),
        stop(&tiny::WORKLOAD, 3, |params| params.tasks = 200_000),
        stop(&tiny::WORKLOAD, 2, |params| {
            params.tasks = 50_000;
            params.workers = 64;
        }),
        stop(&bounded::WORKLOAD, 3, |params| params.tasks = 200_000),
        stop(&bounded::WORKLOAD, 3, |params| {
            params.tasks = 200_000;
            params.queue = Some(64);
        }),
        stop(&producers::WORKLOAD, 3, |params| params.tasks = 200_000),
        stop(&nested::WORKLOAD, 3, |params| params.tasks = (1 << 17) - 1),
        stop(&round_trip::WORKLOAD, 3, |params| params.tasks = 3000),
        without("rayon", stop(&burst::WORKLOAD, 3, |_| ())),
        without("rayon", stop(&burst::WORKLOAD, 3, |params| params.start = Some(Start::Warm))),
        stop(&cpu::WORKLOAD, 3, |params| params.tasks = 2000),
        stop(&sleep_pull::WORKLOAD, 2, |params| params.tasks = 200_000),
        stop(&lateness::WORKLOAD, 1, |params| {
            params.tasks = 1000;
            params.workers = 1000;
        }),
        stop(&idle::WORKLOAD, 1, |params| params.window_ms = Some(100)),
    ]
}

fn stop(workload: &'static Workload, rounds: usize, sizes: impl FnOnce(&mut Params)) -> Scenario {
    let mut params = workload.params;
    sizes(&mut params);
    Scenario::with_all(workload, params, rounds)
}

/// Leaves out one who takes seconds where the others take milliseconds.
fn without(name: &str, mut stop: Scenario) -> Scenario {
    stop.entries.retain(|entry| entry.name != name);
    stop
}
