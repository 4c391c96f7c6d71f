//! The queue: tasks in the order they were accepted, in blocks that are used again.
//!
//! A task's ticket is its number in the queue. The tickets `base..` of the first block, and so on
//! block after block, say where it stands; how many have been taken is counted in the [`FastPath`].

pub(crate) mod block;
pub(crate) mod fast_path;

use std::collections::VecDeque;

use crate::engine::queue::block::{Block, CELLS};
use crate::engine::queue::fast_path::{Claim, FastPath};
use crate::engine::sync::Arc;

/// How many empty blocks are kept for later, at least, and at most if the pool reserved no more.
const SPARE_BLOCKS: usize = 4;
const MOST_SPARE_BLOCKS: usize = 16;

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

    /// Keeps room for about `tasks` tasks once it has been made: where submitters make it and workers give
    /// it up, they wait for each other at the allocator.
    pub(crate) fn keep_room(&mut self, tasks: usize) {
        self.spare_limit = (tasks / CELLS + 1).clamp(SPARE_BLOCKS, MOST_SPARE_BLOCKS);
        self.spare.truncate(self.spare_limit);
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
        self.skip(left);
        self.drop_spent();
        left
    }

    /// Counts tickets as published and taken. For an empty queue. Seals the fast path.
    fn skip(&mut self, tickets: u64) {
        self.fast_path.seal();
        debug_assert_eq!(self.queued(), 0, "no queued task is passed over");
        self.published += tickets;
        self.fast_path.publish(self.published);
        self.fast_path.take(tickets, false);
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
        let taken = self.published - self.queued() as u64;
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn queue_of<J>(jobs: impl IntoIterator<Item = J>) -> Queue<J> {
        let mut queue = Queue::new(Arc::new(FastPath::new()));
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
    fn as_many_empty_blocks_are_kept_as_a_full_queue_needs_within_bounds() {
        let kept = |bound| {
            let mut queue = queue_of(0..(MOST_SPARE_BLOCKS + 2) * CELLS);
            queue.keep_room(bound);
            queue.take_all();
            queue.spare.len()
        };
        assert_eq!((kept(0), kept(4 * CELLS), kept(usize::MAX)), (4, 5, 16));
    }

    #[test]
    fn what_is_reserved_is_there_and_kept() {
        let mut queue = queue_of([0]);
        queue.reserve(10 * CELLS);
        assert_eq!((queue.blocks.len(), queue.spare.len()), (1, 10));
        (0..11 * CELLS).for_each(|job| queue.push(job));
        queue.take_all();
        assert_eq!(queue.spare.len(), 11);
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
}
