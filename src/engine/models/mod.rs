//! Loom models: every interleaving of a few threads, for each rule of the README.
//!
//! Each model is named after the invariant it holds. CONTRIBUTING says how to run them; the
//! README's table says by which removed rule each of them was seen to fail.

use std::sync::Arc;

use crate::engine::{Ended, Engine, Hooks, Limits, Patience, Settings, Work};
use crate::stats::Stats;

mod counting; // the pools of models
mod closures;
mod event; // .. and what their tasks wait for

mod drivers;
mod ends;
mod fast_path;
mod gate;
mod growth;
mod handles;
mod lend;
mod permits;
mod ready;
mod stop;
mod workers;

use self::event::Event;

/// A small pool: workers are kept for good unless a model says otherwise.
pub(crate) fn settings(capacity: usize, queue: usize) -> Settings {
    let limits = Limits { capacity, queue, waiters: usize::MAX, ..Limits::default() };
    Settings {
        limits,
        name: "model".into(),
        stack_size: None,
        hooks: Hooks::default(),
        faults: None,
    }
}

const WAIT: Patience = Patience::Until(None);

/// Closes a pool of threads, and waits until its workers have gone. Its last figures.
fn drain<W: Work>(engine: &Arc<Engine<W>>) -> Stats {
    engine.close();
    engine.wait_until(Ended::Workers, None).expect("no task drains from inside");
    let stats = engine.stats();
    assert!(stats.adds_up());
    stats
}

/// Explores a model with up to two preemptions, or as many as `LOOM_MAX_PREEMPTIONS` says.
pub(crate) fn explore(model: impl Fn() + Sync + Send + 'static) {
    explore_up_to(2, model);
}

fn explore_up_to(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    // One that takes more steps than this does not come to its end. The longest take a little more than a thousand.
    builder.max_branches = 2_000;
    builder.check(model);
}
