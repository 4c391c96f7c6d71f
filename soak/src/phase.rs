//! A phase: one pool, from its first task to the last trace of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::books::Books;
use crate::drivers::{
    async_fn_pool, async_pool, dropped_waiters, ended_runtimes, fn_pool, global, multi,
    multi_async, pool, semaphore, start_order, streams, thread_locals,
};
use crate::memory::{Leftovers, live};
use crate::plan::{Kind, Plan};
use crate::watch::Watch;

/// What was done in a phase.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) phases: u64,
    pub(crate) tasks: u64,
    pub(crate) ran: u64,
    pub(crate) cancelled: u64,
    pub(crate) returned: u64,
}

impl Tally {
    /// Both together.
    pub(crate) fn and(self, other: Tally) -> Tally {
        Tally {
            phases: self.phases + other.phases,
            tasks: self.tasks + other.tasks,
            ran: self.ran + other.ran,
            cancelled: self.cancelled + other.cancelled,
            returned: self.returned + other.returned,
        }
    }
}

/// Runs a phase. An error says everything that was wrong.
pub(crate) fn run(
    plan: &Plan,
    watch: &Watch,
    leftovers: &mut Leftovers,
) -> Result<Tally, Vec<String>> {
    let (books, threads) = (Books::new(plan.tasks), threads());
    let before = live();
    if catch_unwind(AssertUnwindSafe(|| drive(plan, watch, &books))).is_err() {
        books.fault("a driver panicked");
    }
    watch.await_that(&books, "no task is left", || Arc::strong_count(&books) == 1);
    watch.await_that(&books, "no thread is left", || self::threads() <= threads);
    watch.forget();
    books.audit();
    // A fault is kept on the heap, so the heap tells nothing after one.
    if books.faults().is_empty() {
        leftovers.check(plan.kind, before, watch, &books);
    }
    let faults = books.faults();
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(Tally {
        phases: 1,
        tasks: books.made() as u64,
        ran: books.ran(),
        cancelled: books.cancelled(),
        returned: books.returned(),
    })
}

fn drive(plan: &Plan, watch: &Watch, books: &Arc<Books>) {
    match plan.kind {
        Kind::Pool => pool::run(plan, watch, books),
        Kind::FnPool | Kind::FnPoolWithState | Kind::FnPoolUnready => {
            fn_pool::run(plan, watch, books);
        }
        Kind::Multi | Kind::MultiFn => multi::run(plan, watch, books),
        Kind::AsyncPool => async_pool::run(plan, watch, books),
        Kind::AsyncFnPool => async_fn_pool::run(plan, watch, books),
        Kind::MultiAsync | Kind::MultiAsyncFn => multi_async::run(plan, watch, books),
        Kind::Global => global::run(plan, watch, books),
        Kind::Semaphore => semaphore::run(plan, watch, books),
        Kind::Streams => streams::run(plan, watch, books),
        Kind::DroppedWaiters => dropped_waiters::run(plan, watch, books),
        Kind::ThreadLocals => thread_locals::run(plan, watch, books),
        Kind::EndedRuntimes => ended_runtimes::run(plan, watch, books),
        Kind::StartOrder => start_order::run(plan, watch, books),
    }
}

/// The threads of this process, where the operating system tells.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}
