//! The global pool, which outlives its phases: they are told apart by the figures at their begin.

use std::sync::Arc;

use formic::{Control, JoinHandle, Pool, Refused, Stats};

use super::{groups, threads};
use crate::books::Books;
use crate::errand::Errand;
use crate::floor::Floor;
use crate::host::{AT_ONCE, Host, give_back, is_from_inside};
use crate::plan::Plan;
use crate::random::Random;
use crate::watch::Watch;

/// It has the builder's defaults: who waits is refused only when it is closed.
const FAIR: [Refused; 1] = [Refused::Closed];

/// A phase with the global pool. It is drained at its end, so that no thread is left, and open again.
pub(crate) fn run(plan: &Plan, watch: &Watch, books: &Arc<Books>) {
    let pool = formic::global();
    let capacity = pool.capacity();
    let host = Arc::new(OnGlobal { begin: pool.stats() });
    // Its workers were not hired by this phase, so they are not counted.
    threads::drive(plan, watch, books, host, &[Floor::new(usize::MAX)]);
    if let Err(left) = pool.drain() {
        books.fault(format!("a drain of the global pool: {left:?}"));
    }
    // It outlives the phase, and so would a minimum.
    if let Err(error) = pool.set_minimum(0) {
        books.fault(format!("the minimum of the global pool: {error}"));
    }
    let (reopened, resized) = (pool.reopen(), pool.resize(capacity));
    if reopened.is_err() || resized.is_err() {
        books.fault(format!("the global pool: {reopened:?}, {resized:?}"));
    }
}

struct OnGlobal {
    begin: Stats,
}

impl Host for OnGlobal {
    fn submit(&self, errand: Errand, wait: bool) -> Result<(), Refused> {
        let task = move || _ = errand.run();
        let answer = if wait { formic::submit(task) } else { formic::global().try_submit(task) };
        answer.map_err(give_back)
    }

    fn spawn(&self, errand: Errand, wait: bool) -> Result<JoinHandle<u64>, Refused> {
        let task = move || errand.run();
        let answer = if wait { formic::spawn(task) } else { formic::global().try_spawn(task) };
        answer.map_err(give_back)
    }

    fn controls(&self) -> Vec<&Control> {
        vec![formic::global()]
    }

    fn stats(&self) -> Stats {
        let (mut stats, begin) = (formic::global().stats(), self.begin);
        stats.accepted -= begin.accepted;
        stats.completed -= begin.completed;
        stats.panicked -= begin.panicked;
        stats.cancelled -= begin.cancelled;
        stats.refused -= begin.refused;
        stats
    }

    fn fair(&self) -> &[Refused] {
        &FAIR
    }

    fn refuses_end_from_inside(&self) -> bool {
        is_from_inside(formic::global().drain(), formic::global().wait_idle())
    }

    fn extra(self: Arc<Self>, books: &Arc<Books>, depth: usize, random: &mut Random) {
        let pool: &Pool = formic::global();
        groups::any(pool, &(self as Arc<dyn Host>), &FAIR, books, depth, random);
    }

    fn outside(&self, books: &Arc<Books>, random: &mut Random) {
        let Some(errand) = Errand::alone(books, random) else { return };
        if let Err(refused) = self.submit(errand, false) {
            books.refused(refused, &AT_ONCE);
        }
    }
}
