//! `FnPool` with a state that fails now and then, and workers that are not always ready.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use formic::{BuildError, Builder};

use super::fn_pool::{Counted, Errands};
use crate::errand::Errand;

/// Answers yes to one of a fixed number of questions, whichever worker asks.
#[derive(Default)]
struct OneIn(AtomicUsize);

impl OneIn {
    fn of(&self, many: usize) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed).is_multiple_of(many)
    }
}

/// Builds a pool of errands whose workers cannot make each state, and are not ready for each task.
pub(super) fn build(
    builder: Builder<Errands>,
    states: &Arc<AtomicUsize>,
) -> Result<Errands, BuildError> {
    let (states, fails) = (Arc::clone(states), OneIn::default());
    let (refuses, renews) = (OneIn::default(), OneIn::default());
    builder
        .state(move |_worker| if fails.of(3) { Err("refused") } else { Ok(Counted::new(&states)) })
        .ready(move |_state| !refuses.of(5))
        .retry(Duration::from_micros(20), Duration::from_millis(1))
        .build(move |_state, errand: Errand| {
            if renews.of(7) {
                formic::renew_state();
            }
            errand.run()
        })
}
