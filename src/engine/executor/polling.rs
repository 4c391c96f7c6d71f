//! What a thread polls: the cell of a driver's run queue.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::engine::executor::cell::Header;
use crate::engine::executor::run_queue::Executor;
use crate::engine::scheduler::lend::Lender;
use crate::engine::task::current::set_epoch;
use crate::engine::task::waits::Waits;
use crate::on_cancel::Owner;

#[cfg(not(loom))]
thread_local! {
    /// The innermost driver, if one runs inside of a poll of another.
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
    /// What changes with each poll lies by itself, where it is written without a look at the rest.
    static DETAILS: Cell<Details> = const { Cell::new(Details::NONE) };
}

#[cfg(loom)]
loom::thread_local! {
    static CURRENT: RefCell<Option<Current>> = RefCell::new(None);
    static DETAILS: Cell<Details> = Cell::new(Details::NONE);
}

/// The driver that polls, by its number.
struct Current {
    executor: Arc<Executor>,
    driver: usize,
}

/// Of what is polled.
#[derive(Clone, Copy)]
struct Details {
    /// The number of the driver that polls.
    driver: u32,
    /// The number of the cell's list, and its index there. They are set before each poll: to hold the cell
    /// itself would cost two counts.
    run_queue: u32,
    index: u32,
    /// It may have polled a handle.
    awaits: bool,
    /// See [`is_away`].
    away: bool,
    /// Polls are known to be short.
    short: bool,
    /// No cell is polled: the driver makes futures.
    begins: bool,
}

impl Details {
    const NONE: Self = Details {
        driver: 0,
        run_queue: 0,
        index: 0,
        awaits: false,
        away: false,
        short: false,
        begins: false,
    };
}

/// While it lives, the thread polls for a pool. What was there before comes back with its end.
#[must_use]
pub(crate) struct Polls(Option<Current>, Details);

impl Polls {
    /// For the driver with this number.
    pub(crate) fn cells_of(executor: &Arc<Executor>, driver: usize) -> Self {
        let polls = Polls::begin(Current { executor: Arc::clone(executor), driver });
        let short = executor.run_queue(driver).poll_stats.is_short();
        DETAILS
            .with(|details| details.set(Details { driver: driver as u32, short, ..Details::NONE }));
        polls
    }

    fn begin(current: Current) -> Self {
        let details = DETAILS.with(|details| details.replace(Details::NONE));
        Polls(CURRENT.with(|place| place.replace(Some(current))), details)
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
fn with_current<R>(look: impl FnOnce(&Current) -> R) -> Option<R> {
    CURRENT.try_with(|current| current.borrow().as_ref().map(look)).ok().flatten()
}

/// Says which cell is polled next.
#[inline]
pub(in crate::engine) fn set_place(header: &Header) {
    if let Some(home) = header.home() {
        let (run_queue, index) = (home.number() as u32, header.index());
        DETAILS.with(|details| {
            let before = details.get();
            let (awaits, away) = (home.awaits(), before.driver != run_queue && home.is_for_one());
            details.set(Details { run_queue, index, awaits, away, begins: false, ..before });
        });
        set_epoch(header.epoch());
        if home.awaits() {
            resume();
        }
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
    with_current(|current| current.executor.run_queue(run_queue).known_waits(index)).flatten()
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

/// Says that the thread polls no cell until the next [`set_place`]: it makes futures.
pub(in crate::engine) fn begin_futures() {
    DETAILS.with(|details| details.set(Details { begins: true, ..details.get() }));
}

/// Whose functions are those of the cell that the calling thread polls, if its task has no handle.
pub(in crate::engine) fn owner() -> Owner {
    if DETAILS.with(Cell::get).begins {
        return Owner::Unplaced;
    }
    let (run_queue, index) = place();
    Owner::Cell(run_queue, index)
}

/// What the cell waits for that the calling thread polls, which is a task of this pool.
pub(crate) fn current_waits(pool: &Arc<dyn Lender>) -> Option<Arc<Waits>> {
    DETAILS.with(|details| details.set(Details { awaits: true, ..details.get() }));
    let (run_queue, index) = place();
    with_current(|current| current.executor.run_queue(run_queue).waits(index, pool))
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
    drop(with_current(|current| current.executor.run_queue(run_queue).forget_waits(index)));
}

/// The number of the driver that polls a cell on the calling thread, if it is one of these.
pub(crate) fn driver_of(executor: &Arc<Executor>) -> Option<usize> {
    with_current(|current| Arc::ptr_eq(&current.executor, executor).then_some(current.driver))
        .flatten()
}

/// Whether the cell that the calling thread polls, or has polled last, is at home with a driver that sleeps
/// because another one is enough. Each poll there takes a detour, so whatever can begin anew should.
#[inline]
pub(crate) fn is_away() -> bool {
    DETAILS.try_with(Cell::get).is_ok_and(|details| details.away)
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

    #[test]
    fn the_outer_driver_comes_back() {
        let (outer, inner) = (Arc::new(Executor::new(2)), Arc::new(Executor::new(1)));
        let polls = Polls::cells_of(&outer, 1);
        let within = Polls::cells_of(&inner, 0);
        assert_eq!((driver_of(&inner), driver_of(&outer)), (Some(0), None));
        drop(within);
        assert_eq!((driver_of(&inner), driver_of(&outer)), (None, Some(1)));
        drop(polls);
        assert_eq!(driver_of(&outer), None);
    }

    #[test]
    #[cfg(feature = "tokio")]
    fn polls_are_short_if_the_driver_that_polls_finds_them_so() {
        let executor = Arc::new(Executor::new(2));
        executor.run_queue(1).poll_stats.note(1, std::time::Duration::from_micros(1));
        assert!(!polls_are_short(), "no driver polls");
        for (driver, short) in [(0, false), (1, true)] {
            let _polls = Polls::cells_of(&executor, driver);
            assert_eq!(polls_are_short(), short);
        }
    }
}
