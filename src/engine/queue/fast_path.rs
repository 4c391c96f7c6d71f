//! The fast path: how workers take short tasks without asking the lock for each one.
//!
//! All decisions are made under the engine's lock. When tasks prove to be short, the holder of the
//! lock opens the fast path, and until it is sealed again workers may take the next ticket of the block
//! they were given by one compare-and-swap. Sealing is a compare-and-swap on the same word, so
//! each ticket is taken either before the seal, and the sealer sees it, or not at all: the worker
//! finds the seal and comes to the lock. This is why nothing that needs the workers' attention (a
//! parked submitter, a smaller capacity) can be overlooked, although they do not ask.

use crate::engine::queue::CELLS;
use crate::engine::sync::Padded;
use crate::engine::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// What is counted in one word, so that it always fits together.
///
/// | bits   | meaning                                                       |
/// |--------|---------------------------------------------------------------|
/// | 0..47  | tickets taken so far (a ticket is a task's number in the queue) |
/// | 47..63 | tasks that are running now                                    |
/// | 63     | open; otherwise it is sealed, and only the holder of the lock may change the word |
///
/// A worker compares tickets modulo 2⁴⁷. It could be misled only by a single task during which
/// 1.4 · 10¹⁴ others were taken: fifty days at the full speed of the fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tally(u64);

const TICKETS: u64 = (1 << 47) - 1;
const ONE_BUSY: u64 = 1 << 47;
const OPEN: u64 = 1 << 63;

/// More workers than this do not fit into a [`Tally`].
pub(crate) const MOST_BUSY: usize = (1 << 16) - 1;

impl Tally {
    pub(crate) fn is_sealed(self) -> bool {
        self.0 & OPEN == 0
    }

    pub(crate) fn busy(self) -> usize {
        ((self.0 & !OPEN) / ONE_BUSY) as usize
    }

    /// How many tasks stand in the queue when `published` of them have entered it.
    #[inline]
    pub(crate) fn queued(self, published: u64) -> usize {
        (published.wrapping_sub(self.0) & TICKETS) as usize
    }

    /// How far into the block that begins with ticket `base` the next ticket lies.
    fn offset(self, base: u64) -> u64 {
        self.0.wrapping_sub(base) & TICKETS
    }

    fn took(self, tickets: u64) -> Tally {
        Tally((self.0 & !TICKETS) | (self.0.wrapping_add(tickets) & TICKETS))
    }

    fn began(self) -> Tally {
        Tally(self.0 + ONE_BUSY)
    }

    fn ended(self) -> Tally {
        debug_assert!(self.busy() > 0, "a task ended that never began");
        Tally(self.0 - ONE_BUSY)
    }
}

/// What a worker on the fast path gets when it asks for the next ticket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// This cell of its block is its own now.
    Cell(usize),
    /// Nothing stands in the queue at the moment.
    Dry,
    /// The fast path is sealed or the block is spent: the lock must be asked.
    Ask,
}

/// The two words that workers read without the lock.
#[derive(Debug, Default)]
pub(crate) struct FastPath {
    /// Changed by workers: see [`Tally`].
    word: Padded<AtomicU64>,
    /// Written by submitters under the lock: how many tasks have ever entered the queue.
    published: Padded<AtomicU64>,
    /// Tasks that drivers run: more under the lock, fewer whenever one has ended.
    driven: Padded<AtomicUsize>,
    /// How many workers spin because they have run the queue dry.
    spinning: Padded<AtomicUsize>,
    /// A submitter or drainer waits for a place or for the end of all tasks, so a worker without work should
    /// say so at once. Only a hint: what must not be missed is sealed.
    hurry: AtomicBool,
    /// How many tasks may be queued and running; none in a closed pool. Only a hint.
    places: AtomicUsize,
    /// How many of them may run. Only a hint, too.
    capacity: AtomicUsize,
}

impl FastPath {
    /// How many tasks have entered the queue.
    #[inline]
    pub(crate) fn published(&self) -> u64 {
        // Acquire: pairs with the Release in `publish`, behind which a cell was filled.
        self.published.load(Ordering::Acquire)
    }

    /// Tells every worker that the cells up to ticket `count` are full. Under the lock.
    pub(crate) fn publish(&self, count: u64) {
        // Release: pairs with the Acquire in `published`.
        self.published.store(count, Ordering::Release);
    }

    /// A worker that has run the queue dry begins to spin, unless `most` do.
    pub(crate) fn begin_spin(&self, most: usize) -> bool {
        let may = self.spinning.fetch_add(1, Ordering::Relaxed) < most;
        if !may {
            self.end_spin();
        }
        may
    }

    pub(crate) fn end_spin(&self) {
        self.spinning.fetch_sub(1, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn hurry(&self) -> bool {
        self.hurry.load(Ordering::Relaxed)
    }

    /// Under the lock.
    pub(crate) fn set_hurry(&self, hurry: bool) {
        if self.hurry() != hurry {
            self.hurry.store(hurry, Ordering::Relaxed);
        }
    }

    /// How many tasks may be queued and running, and how many of them may run: none in a closed pool.
    #[inline]
    pub(crate) fn places(&self) -> (usize, usize) {
        (self.places.load(Ordering::Relaxed), self.capacity.load(Ordering::Relaxed))
    }

    /// How many tasks are queued, and how many run. Tasks that were cancelled count until their turn comes.
    pub(crate) fn tasks(&self) -> (usize, usize) {
        // First the tally: what is published later only adds to what was taken before.
        let tally = self.tally();
        (tally.queued(self.published()), tally.busy() + self.driven())
    }

    /// Under the lock.
    pub(crate) fn show_places(&self, places: usize, capacity: usize) {
        self.places.store(places, Ordering::Relaxed);
        self.capacity.store(capacity, Ordering::Relaxed);
    }

    /// How many tasks drivers run.
    #[inline]
    pub(crate) fn driven(&self) -> usize {
        // Acquire: pairs with the Release in `end_driven`: a thread that sees a task ended sees its effects.
        self.driven.load(Ordering::Acquire)
    }

    #[cfg(any(feature = "tokio", test))]
    /// Under the lock.
    pub(crate) fn begin_driven(&self, tasks: usize) {
        self.driven.fetch_add(tasks, Ordering::Relaxed);
    }

    /// A driver's task has ended. Only one that completed is counted without the lock.
    #[inline]
    pub(crate) fn end_driven(&self) {
        // Release: pairs with the Acquire in `driven`.
        let before = self.driven.fetch_sub(1, Ordering::Release);
        debug_assert!(before > 0, "a task ended that never began");
    }

    #[inline]
    pub(crate) fn tally(&self) -> Tally {
        // Acquire: pairs with the Release of `change`: a thread that sees a task ended sees its effects.
        Tally(self.word.load(Ordering::Acquire))
    }

    /// Takes the next ticket of the block that begins at `base` and has cells `..*filled` full as
    /// far as the worker knows. With `ending`, the worker's last task ends in the same step, if
    /// and only if the answer is [`Claim::Cell`].
    pub(crate) fn claim(&self, base: u64, filled: &mut usize, ending: bool) -> Claim {
        let mut seen = Tally(self.word.load(Ordering::Relaxed));
        loop {
            let cell = seen.offset(base) as usize;
            if seen.is_sealed() || cell >= CELLS {
                return Claim::Ask;
            }
            if cell >= *filled {
                *filled = (self.published() - base).min(CELLS as u64) as usize;
                if cell >= *filled {
                    return Claim::Dry;
                }
            }
            let next = if ending { seen.took(1) } else { seen.took(1).began() };
            match self.change(seen, next) {
                Ok(()) => return Claim::Cell(cell),
                Err(other) => seen = other,
            }
        }
    }

    /// Ends a task on the fast path. False if the fast path is sealed: then the lock must be told.
    #[must_use]
    pub(crate) fn end(&self) -> bool {
        let mut seen = Tally(self.word.load(Ordering::Relaxed));
        while !seen.is_sealed() {
            match self.change(seen, seen.ended()) {
                Ok(()) => return true,
                Err(other) => seen = other,
            }
        }
        false
    }

    fn change(&self, seen: Tally, next: Tally) -> Result<(), Tally> {
        // Release: what the ended task wrote is there for the thread that counts it as ended. Acquire:
        // pairs with the Release of the holder of the lock who opened the fast path.
        let done =
            self.word.compare_exchange_weak(seen.0, next.0, Ordering::AcqRel, Ordering::Relaxed);
        done.map(drop).map_err(Tally)
    }

    // ---- Below: for the holder of the lock only. ------------------------------------------------

    /// From now on every change of the word is made under the lock.
    pub(crate) fn seal(&self) {
        if !self.tally().is_sealed() {
            self.word.fetch_and(!OPEN, Ordering::AcqRel);
        }
    }

    /// From now on workers with a block help themselves.
    pub(crate) fn open(&self) {
        if self.tally().is_sealed() {
            self.word.fetch_or(OPEN, Ordering::AcqRel);
        }
    }

    /// Takes `tickets` tickets of a sealed fast path. They count as running if `begin` says so; that
    /// is at most one.
    pub(crate) fn take(&self, tickets: u64, begin: bool) {
        let seen = self.tally();
        debug_assert!(
            seen.is_sealed(),
            "tickets are taken under the lock on a sealed fast path only"
        );
        let next = if begin { seen.took(tickets).began() } else { seen.took(tickets) };
        self.word.store(next.0, Ordering::Release);
    }

    /// Ends a task, whether the fast path is sealed or not.
    pub(crate) fn end_locked(&self) {
        debug_assert!(self.tally().busy() > 0, "a task ended that never began");
        self.word.fetch_sub(ONE_BUSY, Ordering::AcqRel);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_not_taken_from_a_sealed_fast_path_or_a_spent_block() {
        let fast_path = FastPath::default();
        let block = CELLS as u64;
        fast_path.publish(2 * block);
        let claim = |base| fast_path.claim(base, &mut 0, false);
        assert_eq!(claim(0), Claim::Ask, "the fast path is sealed");
        fast_path.open();
        assert_eq!(claim(0), Claim::Cell(0));
        fast_path.seal();
        fast_path.take(block - 1, false);
        fast_path.open();
        assert_eq!(claim(0), Claim::Ask, "the block is spent");
        assert_eq!(claim(block), Claim::Cell(0));
    }

    #[test]
    fn tasks_that_drivers_run_are_part_of_the_tasks() {
        let fast_path = FastPath::default();
        fast_path.publish(2);
        fast_path.take(1, true);
        assert_eq!(fast_path.tasks(), (1, 1));
        fast_path.begin_driven(1);
        assert_eq!(fast_path.tasks(), (1, 2));
        fast_path.end_locked();
        assert_eq!(fast_path.tasks(), (1, 1));
    }
}
