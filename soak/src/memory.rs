//! Live heap bytes, and how many of them a phase may leave or add.
//!
//! The allocator counts what is allocated and not freed. The resident memory of the process would tell
//! less: the system's allocator keeps freed pages, so it does not come down after a phase.

use std::sync::atomic::{AtomicUsize, Ordering};

use peak_alloc::PeakAlloc;

use crate::books::Books;
use crate::plan::Kind;
use crate::watch::Watch;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// The live heap bytes that a phase may leave. Of 3,000 phases whose pool was gone, nearly all left
/// none, and the others up to 40 bytes: a message of another length, or a static that was set up. The
/// smallest pool that is not freed leaves about 36 KB. Without `--release`, the first phase with shards of
/// futures leaves 24 KB.
const LEFT: usize = 32 * 1024;

/// The global pool stays, with the blocks of its queue: up to 190 KB after 240 phases.
const LEFT_BY_GLOBAL: usize = 1024 * 1024;

/// The live heap bytes that all phases of a run may leave together, without those of the global pool.
/// 100 bytes for each phase exceed it within a run of four minutes.
const LEFT_BY_ALL: usize = 128 * 1024;

/// The live heap bytes that a stream may add, whatever the number of its items. A pool has two lists of
/// ended futures, each of up to 8,192 pointers, which stay allocated: 256 KiB. Blocks of queues that were
/// not needed before took up to 40 KB. A pool that kept a waker for each wait kept some hundred bytes for
/// each item, and phases have up to 26,000.
const ADDED: usize = 768 * 1024;

/// Live heap bytes now.
pub(crate) fn live() -> usize {
    HEAP.current_usage()
}

/// What the phases of a run have left on the heap.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    bytes: usize,
}

impl Leftovers {
    /// Compares the heap with that before the phase. Memory that another thread is about to free is
    /// waited for.
    pub(crate) fn check(&mut self, kind: Kind, before: usize, watch: &Watch, books: &Books) {
        let limit = if kind == Kind::Global { LEFT_BY_GLOBAL } else { LEFT };
        let left = || live().saturating_sub(before);
        watch.await_that(books, "the heap is what it was", || left() <= limit);
        if left() > limit {
            return books.fault(format!("{} heap bytes are left, {limit} may be", left()));
        }
        if kind != Kind::Global {
            self.bytes += left();
        }
        if self.bytes > LEFT_BY_ALL {
            books.fault(format!("all phases have left {} heap bytes", self.bytes));
        }
    }
}

/// How the heap grows with the number of items.
#[derive(Debug)]
pub(crate) struct Growth {
    before: usize,
    items: AtomicUsize,
}

impl Growth {
    /// Begins with the heap as it is now.
    pub(crate) fn begin() -> Self {
        Growth { before: live(), items: AtomicUsize::new(0) }
    }

    /// Counts items that have ended.
    pub(crate) fn note(&self, items: usize) {
        self.items.fetch_add(items, Ordering::Relaxed);
    }

    /// Compares the heap with what it was at the beginning.
    pub(crate) fn check(&self, books: &Books) {
        let added = live().saturating_sub(self.before);
        if added > ADDED {
            let items = self.items.load(Ordering::Relaxed);
            books.fault(format!("{items} items added {added} heap bytes, {ADDED} may be"));
        }
    }
}
