//! A block of the queue: a few cells in a row, each filled once and emptied once.
//!
//! The only unsafe code of the queue. A block does not know which of its cells are full: the queue
//! counts tickets, and a ticket gives the right to one cell. See [`Block::fill`] and
//! [`Block::empty`] for the two states that follow.

use std::mem::MaybeUninit;

use crate::engine::sync::{Arc, Place};

/// How many cells a block has. A worker on the fast path asks the lock for its next block once per so
/// many tasks; models use the smallest number that has a next cell.
pub(crate) const CELLS: usize = if cfg!(loom) { 2 } else { 256 };

/// [`CELLS`] places for jobs. Aligned so that a cell of 64 bytes is one cache line.
#[repr(align(64))]
pub(crate) struct Block<J> {
    cells: [Place<MaybeUninit<J>>; CELLS],
}

// SAFETY: a job is moved in by one thread and out by another, so it must be `Send`. No thread
// holds a reference to a job inside a block, so it need not be `Sync`.
unsafe impl<J: Send> Sync for Block<J> {}

// SAFETY: as above: a block carries jobs and nothing else.
unsafe impl<J: Send> Send for Block<J> {}

impl<J> Block<J> {
    /// It is made where it stays: with large jobs it does not fit onto a stack.
    #[cfg(not(loom))]
    pub(crate) fn new() -> Arc<Self> {
        // SAFETY: it consists of `MaybeUninit`s in cells, which need no value.
        unsafe { Arc::new_uninit().assume_init() }
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Block { cells: std::array::from_fn(|_| Place::new(MaybeUninit::uninit())) })
    }

    /// Moves a job into a cell.
    ///
    /// # Safety
    ///
    /// The cell is empty, and no other thread touches it until it is told, by something that
    /// synchronises, that the cell is full.
    pub(crate) unsafe fn fill(&self, cell: usize, job: J) {
        self.cells[cell].with_mut(|place| {
            // SAFETY: the caller has this cell to itself, so the pointer is valid and unshared;
            // writing a `MaybeUninit` drops nothing.
            unsafe { place.write(MaybeUninit::new(job)) };
        });
    }

    /// Moves the job out of a cell.
    ///
    /// # Safety
    ///
    /// The cell was filled, the filling happened before this call, and this is the only call for
    /// that filling.
    pub(crate) unsafe fn empty(&self, cell: usize) -> J {
        self.cells[cell].with_mut(|place| {
            // SAFETY: the caller has this cell to itself, so the pointer is valid to read.
            let job = unsafe { place.read() };
            // SAFETY: the cell was filled and is emptied once, so the job is there and ours.
            unsafe { job.assume_init() }
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_comes_out_once() {
        let block = Block::new();
        for cell in 0..CELLS {
            // SAFETY: the cells are empty, and this is the only thread.
            unsafe { block.fill(cell, vec![cell; 3]) };
        }
        std::thread::scope(|scope| {
            let block = &block;
            for cell in 0..CELLS {
                // SAFETY: the cell was filled before this thread was started, and only this one
                // empties it.
                scope.spawn(move || assert_eq!(unsafe { block.empty(cell) }, vec![cell; 3]));
            }
        });
    }

    #[test]
    fn a_cell_can_be_used_again() {
        let block = Block::new();
        for round in 0..3 {
            // SAFETY: the cell is empty, and this is the only thread.
            unsafe { block.fill(0, Box::new(round)) };
            // SAFETY: the cell was filled on the line above, and is emptied once.
            assert_eq!(*unsafe { block.empty(0) }, round);
        }
    }
}
