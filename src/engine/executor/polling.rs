//! What a thread knows while it polls for a pool.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::engine::context::{self, Lender};
use crate::engine::waits::Waits;
use crate::on_cancel::Owner;

#[cfg(not(loom))]
thread_local! {
    /// What the cell waits for that is polled, if it has polled a handle.
    static WAITS: RefCell<Option<Arc<Waits>>> = const { RefCell::new(None) };
    /// Polls are known to be short.
    static SHORT: Cell<bool> = const { Cell::new(false) };
    /// Where the cell lies that is polled: to hold the cell itself would cost two counts.
    static CELL: Cell<Option<usize>> = const { Cell::new(None) };
}

#[cfg(loom)]
loom::thread_local! {
    static WAITS: RefCell<Option<Arc<Waits>>> = RefCell::new(None);
    static SHORT: Cell<bool> = Cell::new(false);
    static CELL: Cell<Option<usize>> = Cell::new(None);
}

/// While it lives, the thread polls for a pool. What was there before comes back with its end.
#[must_use]
pub(crate) struct Polls {
    waits: Option<Arc<Waits>>,
    short: bool,
    cell: Option<usize>,
}

impl Polls {
    /// For a driver whose polls are known to be short, or not.
    pub(crate) fn begin(short: bool) -> Self {
        Polls {
            waits: replace_waits(None),
            short: SHORT.with(|place| place.replace(short)),
            cell: CELL.with(Cell::take),
        }
    }
}

impl Drop for Polls {
    fn drop(&mut self) {
        CELL.with(|place| place.set(self.cell));
        SHORT.with(|place| place.set(self.short));
        drop(replace_waits(self.waits.take()));
    }
}

/// The thread polls a cell with these waits, or none any more. What the last one waited for.
#[inline]
pub(super) fn replace_waits(waits: Option<Arc<Waits>>) -> Option<Arc<Waits>> {
    WAITS.with(|place| place.replace(waits))
}

/// Says whether polls are short.
pub(super) fn set_short(short: bool) {
    SHORT.with(|place| place.set(short));
}

/// What a driver knows of the future that its thread polls.
pub(super) const POLLS: context::Polls = context::Polls { waits: current_waits, owner };

/// Says which cell is polled next.
#[inline]
pub(super) fn set_cell(address: usize) {
    CELL.with(|place| place.set(Some(address)));
}

/// Says that the thread polls no cell until the next [`set_cell`]: it makes futures.
pub(super) fn begin_futures() {
    CELL.with(|place| place.set(None));
}

/// Whose functions are those of the cell that the calling thread polls, if its task has no handle.
pub(super) fn owner() -> Owner {
    CELL.with(Cell::get).map_or(Owner::Unplaced, Owner::Cell)
}

/// What the cell waits for that the calling thread polls, which is a task of this pool.
pub(crate) fn current_waits(pool: &Arc<dyn Lender>) -> Arc<Waits> {
    WAITS.with(|place| {
        let mut place = place.borrow_mut();
        Arc::clone(place.get_or_insert_with(|| Waits::new(Arc::clone(pool))))
    })
}

/// The cell that the calling thread polls goes on with another task. Handles that the last one has polled may
/// be elsewhere by now, and are not the next one's.
#[inline]
pub(crate) fn forget_waits() {
    drop(replace_waits(None));
}

/// Whether polls are known to be short where the calling thread polls, so that one may do more at a time.
#[cfg(feature = "tokio")]
#[inline]
pub(crate) fn polls_are_short() -> bool {
    SHORT.try_with(Cell::get).unwrap_or(false)
}

#[cfg(all(test, not(loom), feature = "tokio"))]
mod tests {
    use super::*;

    #[test]
    fn what_the_outer_driver_knows_comes_back() {
        assert!(!polls_are_short(), "no driver polls");
        let outer = Polls::begin(true);
        let inner = Polls::begin(false);
        assert!(!polls_are_short());
        drop(inner);
        assert!(polls_are_short());
        drop(outer);
        assert!(!polls_are_short());
    }
}
