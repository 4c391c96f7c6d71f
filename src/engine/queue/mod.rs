//! The queue: tasks in the order they were accepted, in blocks that are used again.
//!
//! A task's ticket is its number in the queue. The tickets `base..` of the first block, and so on
//! block after block, say where it stands; how many have been taken is counted in the [`FastPath`]. A block does not
//! know which of its cells are full: a ticket gives the right to one cell. See [`Block::fill`] and [`Block::empty`] for
//! the two states that follow.

pub(crate) mod fast_path;

use std::collections::VecDeque;
use std::mem::MaybeUninit;

use crate::engine::queue::fast_path::{Claim, FastPath};
use crate::engine::sync::{Arc, Place};

/// How many cells a block has. A worker on the fast path asks the lock for its next block once per so
/// many tasks; models use the smallest number that has a next cell.
pub(crate) const CELLS: usize = if cfg!(loom) { 2 } else { 256 };

/// How many empty blocks are kept for later, unless more are reserved. Where submitters make blocks and workers give them
/// up, they wait for each other at the allocator.
const SPARE_BLOCKS: usize = 16;

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

/// The part of the queue that lives under the lock.
pub(crate) struct Queue<J> {
    pub(crate) fast_path: Arc<FastPath>,
    /// From the block with the next ticket to the one being filled.
    blocks: VecDeque<Arc<Block<J>>>,
    /// The ticket of the first cell of the first block.
    base: u64,
    published: u64,
    spare: Vec<Arc<Block<J>>>,
    spare_limit: usize,
}

/// What a worker on the fast path holds: a block whose cells it may claim.
pub(crate) struct ClaimedBlock<J> {
    block: Arc<Block<J>>,
    base: u64,
    filled: usize,
}

impl<J> Queue<J> {
    pub(crate) fn new(fast_path: Arc<FastPath>) -> Self {
        Queue {
            fast_path,
            blocks: VecDeque::new(),
            base: 0,
            published: 0,
            spare: Vec::new(),
            spare_limit: SPARE_BLOCKS,
        }
    }

    /// Makes room for `tasks` tasks now, and keeps it.
    pub(crate) fn reserve(&mut self, tasks: usize) {
        // One block more than fits: the first and the last one may be used in part.
        let blocks = tasks.div_ceil(CELLS) + 1;
        self.spare_limit = self.spare_limit.max(blocks);
        self.blocks.reserve(blocks);
        while self.blocks.len() + self.spare.len() < blocks {
            self.spare.push(Block::new());
        }
    }

    /// How many tasks have ever been accepted.
    pub(crate) fn published(&self) -> u64 {
        self.published
    }

    /// How many of them have been taken.
    pub(crate) fn taken(&self) -> u64 {
        self.published - self.queued() as u64
    }

    pub(crate) fn queued(&self) -> usize {
        self.fast_path.tally().queued(self.published)
    }

    pub(crate) fn push(&mut self, job: J) {
        let place = self.published - self.base;
        let (block, cell) = (place as usize / CELLS, place as usize % CELLS);
        if block == self.blocks.len() {
            self.add_block();
        }
        // SAFETY: the ticket `published` is new, so its cell is empty: a block is used again only
        // when all its cells have been emptied. No thread touches the cell before `publish`.
        unsafe { self.blocks[block].fill(cell, job) };
        self.published += 1;
        self.fast_path.publish(self.published);
    }

    /// Takes the first task of the queue. Seals the fast path.
    pub(crate) fn pop(&mut self) -> Option<J> {
        let job = self.take_sealed(true)?;
        self.drop_spent();
        Some(job)
    }

    /// Takes up to `most` tasks, which are counted elsewhere. Seals the fast path.
    pub(crate) fn pop_some(&mut self, most: usize, into: &mut Vec<J>) {
        into.extend((0..most).map_while(|_| self.take_sealed(false)));
        self.drop_spent();
    }

    /// Takes everything that stands in the queue. Seals the fast path.
    pub(crate) fn take_all(&mut self) -> Vec<J> {
        let mut jobs = Vec::with_capacity(self.queued());
        self.pop_some(usize::MAX, &mut jobs);
        jobs
    }

    /// Passes over what is left of the block that is being filled, so that a worker which holds it asks the lock before
    /// its next task. Returns how many tickets that were. For an empty queue. Seals the fast path.
    pub(crate) fn end_block(&mut self) -> u64 {
        self.drop_spent();
        let left = (self.base + CELLS as u64 - self.published) % CELLS as u64;
        self.fast_path.seal();
        debug_assert_eq!(self.queued(), 0, "no queued task is passed over");
        self.published += left;
        self.fast_path.publish(self.published);
        self.fast_path.take(left, false);
        self.drop_spent();
        left
    }

    /// Opens the fast path, takes the first task and gives out the block that it was in.
    pub(crate) fn open(&mut self) -> Option<(J, ClaimedBlock<J>)> {
        self.drop_spent();
        let block = Arc::clone(self.blocks.front()?);
        self.fast_path.open();
        let mut claimed = ClaimedBlock { block, base: self.base, filled: 0 };
        match claimed.next(&self.fast_path, false) {
            Ok(job) => Some((job, claimed)),
            Err(_) => {
                self.give_back(claimed);
                None
            }
        }
    }

    /// Takes back what [`Queue::open`] gave out.
    pub(crate) fn give_back(&mut self, claimed: ClaimedBlock<J>) {
        self.drop_spent();
        self.keep(claimed.block);
    }

    fn take_sealed(&mut self, begin: bool) -> Option<J> {
        self.fast_path.seal();
        let queued = self.queued();
        if queued == 0 {
            return None;
        }
        let place = self.published - self.base - queued as u64;
        let (block, cell) = (place as usize / CELLS, place as usize % CELLS);
        self.fast_path.take(1, begin);
        // SAFETY: the fast path is sealed, so the tickets from `published - queued` on are ours to give
        // out, and the count taken just now keeps every other thread off this one. It was filled
        // under the lock that we hold.
        Some(unsafe { self.blocks[block].empty(cell) })
    }

    /// Lets go of the blocks of which every ticket has been taken.
    fn drop_spent(&mut self) {
        let taken = self.taken();
        while taken - self.base >= CELLS as u64 {
            let Some(block) = self.blocks.pop_front() else {
                return;
            };
            self.base += CELLS as u64;
            self.keep(block);
        }
    }

    /// Keeps a block for later if no other thread holds it. The last thread that holds it brings it here.
    fn keep(&mut self, mut block: Arc<Block<J>>) {
        if self.spare.len() < self.spare_limit && Arc::get_mut(&mut block).is_some() {
            self.spare.push(block);
        }
    }

    fn add_block(&mut self) {
        let block = self.spare.pop().unwrap_or_else(Block::new);
        self.blocks.push_back(block);
    }
}

impl<J> Drop for Queue<J> {
    fn drop(&mut self) {
        drop(self.take_all());
    }
}

impl<J> ClaimedBlock<J> {
    /// Takes the next task off the fast path; `ending` as in [`FastPath::claim`].
    pub(crate) fn next(&mut self, fast_path: &FastPath, ending: bool) -> Result<J, Claim> {
        match fast_path.claim(self.base, &mut self.filled, ending) {
            // SAFETY: the claim gave this cell to us alone, and it lies below `filled`, which was
            // read from `published` with Acquire. The block is not used again while we hold it.
            Claim::Cell(cell) => Ok(unsafe { self.block.empty(cell) }),
            other => Err(other),
        }
    }
}

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

    fn queue_of<J>(jobs: impl IntoIterator<Item = J>) -> Queue<J> {
        let mut queue = Queue::new(Arc::new(FastPath::default()));
        jobs.into_iter().for_each(|job| queue.push(job));
        queue
    }

    #[test]
    fn tasks_come_in_their_order_over_many_blocks() {
        let mut queue = queue_of(0..CELLS / 2);
        for next in 0..3 * CELLS {
            queue.push(next + CELLS / 2);
            assert_eq!(queue.pop(), Some(next));
            queue.fast_path.end_locked();
        }
        let mut some = Vec::new();
        queue.pop_some(2, &mut some);
        assert_eq!(some, [3 * CELLS, 3 * CELLS + 1]);
        assert_eq!(queue.take_all().len(), CELLS / 2 - 2);
        assert!(queue.pop().is_none());
    }

    #[test]
    fn a_block_is_let_go_when_the_last_of_its_tasks_is_taken() {
        let mut queue = queue_of(0..2 * CELLS + 1);
        for next in 0..2 * CELLS {
            let mut taken = Vec::new();
            queue.pop_some(1, &mut taken);
            assert_eq!(taken, [next]);
        }
        assert_eq!((queue.blocks.len(), queue.spare.len()), (1, 2));
    }

    #[test]
    fn a_few_empty_blocks_are_kept() {
        let mut queue = queue_of(0..(SPARE_BLOCKS + 2) * CELLS);
        assert_eq!(queue.take_all().len(), (SPARE_BLOCKS + 2) * CELLS);
        assert_eq!(queue.spare.len(), SPARE_BLOCKS);
    }

    #[test]
    fn what_is_reserved_is_there_and_kept() {
        let mut queue = queue_of([0]);
        queue.reserve(20 * CELLS);
        assert_eq!((queue.blocks.len(), queue.spare.len()), (1, 20));
        (0..21 * CELLS).for_each(|job| queue.push(job));
        queue.take_all();
        assert_eq!(queue.spare.len(), 21);
    }

    #[test]
    fn a_block_is_used_again_only_when_no_other_thread_holds_it() {
        let mut queue = queue_of(0..CELLS);
        let Some((0, claimed)) = queue.open() else { panic!("there was a task") };
        assert!(!queue.fast_path.tally().is_sealed());
        queue.fast_path.seal();
        assert!(queue.fast_path.tally().is_sealed());
        assert_eq!(queue.take_all().len(), CELLS - 1);
        assert!(queue.spare.is_empty());
        queue.give_back(claimed);
        assert_eq!(queue.spare.len(), 1);
    }

    #[test]
    fn queued_tasks_are_dropped_with_the_queue() {
        let token = Arc::new(());
        drop(queue_of((0..3).map(|_| Arc::clone(&token))));
        assert_eq!(Arc::strong_count(&token), 1);
    }

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
