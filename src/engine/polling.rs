//! What a thread polls: a driver polls a cell of a list, which may poll one that it has taken in.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::task::Context;

use super::cell::{Header, Runnable};
use super::list::Board;
use super::run::End;
use super::seat::Seat;

#[cfg(not(loom))]
thread_local! {
    /// The innermost, if it polls one inside another.
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
    /// What changes with each poll lies by itself, where it is written without a look at the rest.
    static DETAILS: Cell<Details> = const { Cell::new(Details::NONE) };
}

#[cfg(loom)]
loom::thread_local! {
    static CURRENT: RefCell<Option<Current>> = RefCell::new(None);
    static DETAILS: Cell<Details> = Cell::new(Details::NONE);
}

/// What a thread polls: a cell of a list, or one that was taken in and has this seat.
enum Current {
    Listed {
        board: Arc<Board>,
        /// The number of the driver that polls.
        driver: usize,
    },
    TakenIn(Arc<Seat>),
}

/// Of what is polled.
#[derive(Clone, Copy)]
struct Details {
    /// The number of the driver that polls.
    driver: u32,
    /// The number of the cell's list, and its index there. They are set before each poll: to hold the cell
    /// itself would cost two counts.
    list: u32,
    index: u32,
    /// It may have a seat.
    seated: bool,
    /// See [`is_away`].
    away: bool,
    /// Polls are known to be short.
    short: bool,
}

impl Details {
    const NONE: Self =
        Details { driver: 0, list: 0, index: 0, seated: false, away: false, short: false };
}

/// While it lives, the thread polls for somebody. What was there before comes back with its end.
#[must_use]
pub(crate) struct Polls(Option<Current>, Details);

impl Polls {
    /// For the driver with this number.
    pub(crate) fn cells_of(board: &Arc<Board>, driver: usize) -> Self {
        let polls = Polls::begin(Current::Listed { board: Arc::clone(board), driver });
        let short = board.list(driver).tempo.is_short();
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
pub(super) fn set_place(header: &Header) {
    if let Some(home) = header.home() {
        let (list, index) = (home.number() as u32, header.index());
        DETAILS.with(|details| {
            let before = details.get();
            let (seated, away) = (home.is_seated(), before.driver != list && home.is_for_one());
            details.set(Details { list, index, seated, away, ..before });
        });
    }
}

/// Says whether polls are short.
pub(super) fn set_short(short: bool) {
    DETAILS.with(|details| details.set(Details { short, ..details.get() }));
}

#[inline]
fn place() -> (usize, u32) {
    let details = DETAILS.with(Cell::get);
    (details.list as usize, details.index)
}

/// Polls a cell for somebody who has taken it in. May panic.
pub(crate) fn poll_within(
    cell: &Arc<dyn Runnable>,
    seat: &Arc<Seat>,
    context: &mut Context<'_>,
) -> Option<End> {
    let _polls = Polls::begin(Current::TakenIn(Arc::clone(seat)));
    cell.run_within(context).unwrap_or_else(|panic| panic.resume())
}

/// The seat of the cell that the calling thread polls.
pub(crate) fn current_seat() -> Option<Arc<Seat>> {
    DETAILS.with(|details| details.set(Details { seated: true, ..details.get() }));
    with_current(|current| match current {
        Current::Listed { board, .. } => {
            let (list, index) = place();
            board.list(list).seat(index)
        }
        Current::TakenIn(seat) => Arc::clone(seat),
    })
}

/// The cell that the calling thread polls goes on with another task. That one has a seat of its own: what
/// sits in the old one may stay for long.
#[inline]
pub(crate) fn leave_seat() {
    // Whether it has one was seen before it was polled, and from then on only this thread gives it one.
    if DETAILS.with(Cell::get).seated {
        forget_seat();
    }
}

#[cold]
fn forget_seat() {
    // It is dropped here, where nothing is locked: somebody's waker may lie in it.
    drop(with_current(|current| match current {
        Current::Listed { board, .. } => {
            let (list, index) = place();
            board.list(list).forget_seat(index)
        }
        Current::TakenIn(_) => None,
    }));
}

/// The number of the driver that polls a cell on the calling thread, whosever it is.
pub(crate) fn current_driver() -> Option<usize> {
    with_current(|current| match current {
        Current::Listed { driver, .. } => Some(*driver),
        Current::TakenIn(_) => None,
    })
    .flatten()
}

/// The number of the driver that polls a cell on the calling thread, if it is one of these.
pub(crate) fn driver_of(board: &Arc<Board>) -> Option<usize> {
    with_current(|current| match current {
        Current::Listed { board: its, driver } if Arc::ptr_eq(its, board) => Some(*driver),
        _ => None,
    })
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
    use std::task::{Poll, Waker};

    use super::super::cell::Cell as Task;
    use super::super::stubs::errand;
    use super::*;

    fn sits_in(seat: &Arc<Seat>) -> bool {
        current_seat().is_some_and(|current| Arc::ptr_eq(&current, seat))
    }

    #[test]
    fn what_is_taken_in_sits_where_it_is_told_and_has_no_driver() {
        let board = Arc::new(Board::new(2));
        let polls = Polls::cells_of(&board, 1);
        let outer = current_seat().expect("a driver polls");
        let inner: Arc<Seat> = Arc::default();
        let its = Arc::clone(&inner);
        let cell: Arc<dyn Runnable> = Task::new(errand(move |_| {
            leave_seat();
            assert!(sits_in(&its), "it keeps that one");
            assert_eq!(current_driver(), None);
            Poll::Ready(End::Completed)
        }));
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(poll_within(&cell, &inner, &mut context), Some(End::Completed));
        assert!(sits_in(&outer), "the outer one comes back");
        assert_eq!(current_driver(), Some(1));
        drop(polls);
        assert!(current_seat().is_none() && current_driver().is_none());
    }

    #[test]
    #[cfg(feature = "tokio")]
    fn polls_are_short_if_the_driver_that_polls_finds_them_so() {
        let board = Arc::new(Board::new(2));
        board.list(1).tempo.note(1, std::time::Duration::from_micros(1));
        assert!(!polls_are_short(), "no driver polls");
        for (driver, short) in [(0, false), (1, true)] {
            let _polls = Polls::cells_of(&board, driver);
            assert_eq!(polls_are_short(), short);
            let _within = Polls::begin(Current::TakenIn(Arc::default()));
            assert!(!polls_are_short(), "what is taken in does not keep the one that awaits it");
        }
    }
}
