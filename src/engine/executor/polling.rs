//! What a thread polls: the cell of a driver's run queue.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::engine::context::{self, Lender, set_epoch};
use crate::engine::executor::cell::Header;
use crate::engine::executor::{Executor, Owner};
use crate::engine::waits::Waits;
use crate::on_cancel;

#[cfg(not(loom))]
thread_local! {
    /// The innermost driver, if one runs inside of a poll of another.
    static CURRENT: RefCell<Option<Arc<Owner>>> = const { RefCell::new(None) };
    /// What changes with each poll lies by itself, where it is written without a look at the rest.
    static DETAILS: Cell<Details> = const { Cell::new(Details::NONE) };
}

#[cfg(loom)]
loom::thread_local! {
    static CURRENT: RefCell<Option<Arc<Owner>>> = RefCell::new(None);
    static DETAILS: Cell<Details> = Cell::new(Details::NONE);
}

/// Of what is polled.
#[derive(Clone, Copy)]
struct Details {
    /// The number of the cell's run queue, and its index there. They are set before each poll: to hold the cell
    /// itself would cost two counts.
    run_queue: u32,
    index: u32,
    /// It may have polled a handle.
    awaits: bool,
    /// Polls are known to be short.
    short: bool,
    /// No cell is polled: the driver makes futures.
    begins: bool,
}

impl Details {
    const NONE: Self =
        Details { run_queue: 0, index: 0, awaits: false, short: false, begins: false };
}

/// While it lives, the thread polls for a pool. What was there before comes back with its end.
#[must_use]
pub(crate) struct Polls(Option<Arc<Owner>>, Details);

impl Polls {
    /// For the driver with this number.
    pub(crate) fn cells_of(owner: &Arc<Owner>, driver: usize) -> Self {
        let short = owner.executor.poll_stats[driver].is_short();
        let details = DETAILS.with(|details| details.replace(Details { short, ..Details::NONE }));
        Polls(CURRENT.with(|place| place.replace(Some(Arc::clone(owner)))), details)
    }
}

impl Drop for Polls {
    fn drop(&mut self) {
        DETAILS.with(|details| details.set(self.1));
        let over = CURRENT.with(|place| place.replace(self.0.take()));
        drop(over);
    }
}

#[inline]
fn with_current<R>(look: impl FnOnce(&Arc<Owner>) -> R) -> Option<R> {
    CURRENT.try_with(|current| current.borrow().as_ref().map(look)).ok().flatten()
}

/// Says which cell is polled next.
#[inline]
pub(in crate::engine) fn set_place(owner: &Owner, header: &Header) {
    let (run_queue, index) = (owner.run_queue, header.index());
    let awaits = owner.executor.run_queues()[run_queue].awaits();
    DETAILS.with(|details| {
        let run_queue = run_queue as u32;
        details.set(Details { run_queue, index, awaits, begins: false, ..details.get() });
    });
    set_epoch(header.epoch());
    if awaits {
        resume();
    }
}

/// The cell that is polled next runs again, if it was suspended on handles.
#[cold]
fn resume() {
    match known_waits() {
        Some(waits) => waits.resume(),
        None => DETAILS.with(|details| details.set(Details { awaits: false, ..details.get() })),
    }
}

/// The poll of the cell has ended, and not its task: its place is lent if a handle is pending.
#[inline]
pub(in crate::engine) fn suspend() {
    if DETAILS.with(Cell::get).awaits {
        suspend_on_handles();
    }
}

#[cold]
fn suspend_on_handles() {
    if let Some(waits) = known_waits() {
        waits.suspend();
    }
}

fn known_waits() -> Option<Arc<Waits>> {
    let (run_queue, index) = place();
    with_current(|current| current.executor.run_queues()[run_queue].known_waits(index)).flatten()
}

/// Says whether polls are short.
pub(in crate::engine) fn set_short(short: bool) {
    DETAILS.with(|details| details.set(Details { short, ..details.get() }));
}

#[inline]
fn place() -> (usize, u32) {
    let details = DETAILS.with(Cell::get);
    (details.run_queue as usize, details.index)
}

/// What a driver knows of the future that its thread polls.
pub(in crate::engine) const POLLS: context::Polls = context::Polls { waits: current_waits, owner };

/// Says that the thread polls no cell until the next [`set_place`]: it makes futures.
pub(in crate::engine) fn begin_futures() {
    DETAILS.with(|details| details.set(Details { begins: true, ..details.get() }));
}

/// Whose functions are those of the cell that the calling thread polls, if its task has no handle.
pub(in crate::engine) fn owner() -> on_cancel::Owner {
    if DETAILS.with(Cell::get).begins {
        return on_cancel::Owner::Unplaced;
    }
    let (run_queue, index) = place();
    on_cancel::Owner::Cell(run_queue, index)
}

/// What the cell waits for that the calling thread polls, which is a task of this pool.
pub(crate) fn current_waits(pool: &Arc<dyn Lender>) -> Option<Arc<Waits>> {
    DETAILS.with(|details| details.set(Details { awaits: true, ..details.get() }));
    let (run_queue, index) = place();
    with_current(|current| current.executor.run_queues()[run_queue].waits(index, pool))
}

/// The cell that the calling thread polls goes on with another task. Handles that the last one has polled may
/// be elsewhere by now, and are not the next one's.
#[inline]
pub(crate) fn forget_waits() {
    // Whether it has any was seen before it was polled, and from then on only this thread adds some.
    if DETAILS.with(Cell::get).awaits {
        forget_known_waits();
    }
}

#[cold]
fn forget_known_waits() {
    let (run_queue, index) = place();
    drop(with_current(|current| current.executor.run_queues()[run_queue].forget_waits(index)));
}

/// The run queue whose driver polls on the calling thread, if it is one of this executor's.
pub(crate) fn owner_here(executor: &Arc<Executor>) -> Option<Arc<Owner>> {
    with_current(|owner| Arc::ptr_eq(&owner.executor, executor).then(|| Arc::clone(owner)))
        .flatten()
}

/// Whether polls are known to be short where the calling thread polls, so that one may do more at a time.
#[cfg(feature = "tokio")]
#[inline]
pub(crate) fn polls_are_short() -> bool {
    DETAILS.try_with(Cell::get).is_ok_and(|details| details.short)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::engine::executor::DriverThreads;

    fn owner(drivers: usize) -> Arc<Owner> {
        Owner::of(&Executor::new(drivers, DriverThreads::Own), drivers - 1)
    }

    #[test]
    fn the_outer_driver_comes_back() {
        let (outer, inner) = (owner(2), owner(1));
        let here = |owner: &Arc<Owner>| owner_here(&owner.executor).map(|owner| owner.run_queue);
        let polls = Polls::cells_of(&outer, 1);
        let within = Polls::cells_of(&inner, 0);
        assert_eq!((here(&inner), here(&outer)), (Some(0), None));
        drop(within);
        assert_eq!((here(&inner), here(&outer)), (None, Some(1)));
        drop(polls);
        assert_eq!(here(&outer), None);
    }

    #[test]
    #[cfg(feature = "tokio")]
    fn polls_are_short_if_the_driver_that_polls_finds_them_so() {
        let owner = owner(2);
        owner.executor.poll_stats[1].note(1, std::time::Duration::from_micros(1));
        assert!(!polls_are_short(), "no driver polls");
        for (driver, short) in [(0, false), (1, true)] {
            let _polls = Polls::cells_of(&owner, driver);
            assert_eq!(polls_are_short(), short);
        }
    }
}
