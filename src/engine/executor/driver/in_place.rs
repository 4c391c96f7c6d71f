//! Going on in place: what has run a task that has completed goes on with the next one, at once; and what
//! runs one begins with more of them, beside it.

use std::sync::Arc;

use super::{Begin, Drives};
use crate::engine::Engine;
use crate::engine::executor::cell::Runnable;
use crate::engine::executor::list::List;
use crate::engine::executor::polling::{current_driver, driver_of, forget_waits, is_away};
use crate::engine::scheduler::crew::Acts;
use crate::engine::task::run::End;

/// Where so many begin at once, there may be more to come.
const MANY: usize = 32;
/// So many bytes are room for some hundred of them.
const ROOM: usize = 48 << 10;

/// Has the allocator get more than a page at a time from the system. glibc does not by itself, for a thread with
/// a heap of its own, and to get a page takes as long as ten polls.
fn make_room() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(ROOM)));
}

impl<W: Drives> Engine<W> {
    /// The task that the calling thread polls has completed. What comes next in its place, if `fits` says
    /// that its cell can go on with it; otherwise what is still to be counted.
    pub(crate) fn go_on<T>(
        self: &Arc<Self>,
        fits: impl FnOnce(W::Job) -> Result<T, W::Job>,
    ) -> Result<T, End> {
        // The list of whoever polls, not of the cell: the cell's own driver may be lost by now, and nobody
        // would look for what is put there.
        let Some(driver) = current_driver() else { return Err(End::Completed) };
        // The next one begins with whoever polls.
        if is_away() {
            return Err(End::Completed);
        }
        let list = self.work.board().list(driver);
        match fits(self.next_in_place(list)?) {
            Ok(next) => {
                forget_waits();
                Ok(next)
            }
            Err(job) => {
                match self.begin(list, job) {
                    Begin::Cell(cell) => {
                        list.add(&mut vec![cell]);
                        list.wake_or_call();
                    }
                    Begin::Ended(end) => self.count_driven(end),
                }
                Err(End::Counted)
            }
        }
    }

    /// The number of the driver that polls on the calling thread, if it is one of this pool's.
    pub(crate) fn driver_here(&self) -> Option<usize> {
        driver_of(self.work.board())
    }

    /// Begins with up to `most` more futures beside those of a driver, without a way through the line: of the
    /// one that polls on the calling thread, or of `other`, if that one is there. `cell` is told which, by
    /// number. How many that were; None if somebody stands in the line, or no driver polls here.
    pub(crate) fn begin_beside(
        self: &Arc<Self>,
        other: usize,
        most: usize,
        mut cell: impl FnMut(usize) -> Arc<dyn Runnable>,
    ) -> Option<usize> {
        let own = self.driver_here()?;
        let mut acts = Acts::default();
        let mut crew = self.lock();
        let begun = crew.begin_beside(most, &mut acts)?;
        // From here on it stays: there is something to drive.
        let driver = if crew.roster.stays(other) { other } else { own };
        drop(crew);
        self.perform(acts);
        if begun >= MANY {
            make_room();
        }
        let list = self.work.board().list(driver);
        list.add(&mut (0..begun).map(|_| cell(driver)).collect());
        if driver != own && begun > 0 {
            list.wake_or_call();
        }
        Some(begun)
    }

    /// A task on this list has completed: counts it, and takes the next one for its place, so that what
    /// ran the one can go on with the other. Otherwise it says what is still to be counted.
    pub(super) fn next_in_place(self: &Arc<Self>, list: &List) -> Result<W::Job, End> {
        if !self.is_wanted() {
            return Err(End::Completed);
        }
        // As in `Driver::serve_if_stuck`.
        let alone = list.others_sleep();
        let mut acts = Acts::default();
        let mut crew = self.lock();
        crew.line.end_driven();
        crew.serve_waiters(&mut acts);
        let job = crew.take_next();
        if alone {
            crew.call_for_help(&mut acts);
        }
        drop(crew);
        self.perform(acts);
        job.ok_or(End::Counted)
    }
}
