//! The tour: what one sees without arguments, a little of every workload.

use std::thread;

use crate::conditions::Conditions;
use crate::scenario::Scenario;
use crate::workloads::{Params, Start, Workload};
use crate::workloads::{bounded, burst, cpu, idle, lateness, nested, producers};
use crate::workloads::{round_trip, sleep, sleep_pull, tiny};

/// How long the tour takes on two cores, for the message at its start.
pub(crate) const DURATION: &str = "a minute and a half";

/// The peers that were fastest in one of the workloads which the tour runs on a busy machine or on one core.
const STRONGEST: [&str; 7] =
    ["formic", "crossbeam", "rusty_pool", "threadpool", "sync_channel", "rayon", "spawn_blocking"];

/// The stops of the tour, in their order: the headline first.
///
/// If the tour is asked for on the machine as it is, it also shows a busy machine and one core. Otherwise
/// all its stops are under the given conditions.
pub(crate) fn stops(conditions: Conditions) -> Vec<Scenario> {
    let mut stops = usual_stops();
    if conditions == Conditions::NONE {
        stops.extend(stops_under(busy_machine()));
        stops.extend(stops_under(Conditions { cores: Some(1), ..Conditions::NONE }));
        // Where the cores of a process cannot be set, the tour is shorter.
        stops.retain(|stop| stop.params.conditions.check_cores().is_ok());
        return stops;
    }
    for stop in &mut stops {
        stop.params.conditions = conditions;
    }
    stops
}

/// As many other processes as there are cores.
fn busy_machine() -> Conditions {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Conditions { busy: cores, ..Conditions::NONE }
}

/// Small enough to take about a minute.
fn usual_stops() -> Vec<Scenario> {
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

/// The three workloads in which waiting decides, under conditions that make waiting dear.
///
/// On a busy machine single rounds differ more, hence more rounds and more tasks than on a quiet one.
fn stops_under(conditions: Conditions) -> [Scenario; 3] {
    [
        stop(&tiny::WORKLOAD, 5, |params| params.tasks = 500_000),
        stop(&bounded::WORKLOAD, 5, |params| params.tasks = 500_000),
        stop(&round_trip::WORKLOAD, 5, |params| params.tasks = 1000),
    ]
    .map(|mut stop| {
        stop.params.conditions = conditions;
        stop.entries.retain(|entry| STRONGEST.contains(&entry.name));
        stop
    })
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
