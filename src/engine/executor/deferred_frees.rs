//! What is left of ended futures: the memory of their cells, which submitters free.
//!
//! A submitter gets memory, and a driver, on another core, would free it. Allocators have to lock for
//! that, and then the two wait for each other in the middle of their work. So a driver leaves empty
//! cells here, and the thread that submits the next futures frees them: where it got them from.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::engine::executor::cell::Runnable;
use crate::engine::sync::{Mutex, lock};

/// Fewer cells than this are not worth the lock: about as many as end in a stride.
const SOME: usize = 32;
/// The most cells that are kept while no thread submits: some 500 KiB of small futures.
const MOST: usize = 4096;

type Cells = Vec<Arc<dyn Runnable>>;

/// See the module's first lines.
#[derive(Default)]
pub(crate) struct DeferredFrees {
    cells: Mutex<Cells>,
    /// Room for others, while those are freed that lay in it. So a driver makes none.
    room: Mutex<Cells>,
    /// How many there are. Only a hint.
    count: AtomicUsize,
}

impl DeferredFrees {
    /// Keeps cells whose futures are gone.
    pub(super) fn keep(&self, gone: impl Iterator<Item = Arc<dyn Runnable>>) {
        if cfg!(loom) {
            return gone.for_each(drop);
        }
        let mut cells = lock(&self.cells);
        cells.extend(gone);
        self.count.store(cells.len(), Ordering::Relaxed);
        let surplus = cells.len() > MOST;
        drop(cells);
        if surplus {
            self.free();
        }
    }

    /// Frees what is there, if that is worth the lock.
    #[inline]
    pub(crate) fn free_some(&self) {
        if self.count.load(Ordering::Relaxed) >= SOME {
            self.free();
        }
    }

    /// Frees what is there.
    pub(crate) fn free(&self) {
        let room = std::mem::take(&mut *lock(&self.room));
        let mut cells = self.swap(room);
        cells.clear();
        // If others free at the same time, one of them keeps his.
        *lock(&self.room) = cells;
    }

    fn swap(&self, room: Cells) -> Cells {
        let mut cells = lock(&self.cells);
        self.count.store(0, Ordering::Relaxed);
        std::mem::replace(&mut *cells, room)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Weak;
    use std::task::Poll;

    use super::*;
    use crate::engine::tests::stubs::cell;

    fn kept(deferred_frees: &DeferredFrees, count: usize) -> Vec<Weak<dyn Runnable>> {
        let keep = |_| {
            let cell: Arc<dyn Runnable> = cell(|_| Poll::Ready(()));
            let weak = Arc::downgrade(&cell);
            deferred_frees.keep(std::iter::once(cell));
            weak
        };
        (0..count).map(keep).collect()
    }

    fn left(cells: &[Weak<dyn Runnable>]) -> usize {
        cells.iter().filter(|cell| cell.strong_count() > 0).count()
    }

    #[test]
    fn a_submitter_frees_what_is_worth_it() {
        let deferred_frees = DeferredFrees::default();
        let few = kept(&deferred_frees, SOME - 1);
        deferred_frees.free_some();
        assert_eq!(left(&few), SOME - 1);
        let more = kept(&deferred_frees, 1);
        deferred_frees.free_some();
        assert_eq!(left(&few) + left(&more), 0);
        assert!(lock(&deferred_frees.room).capacity() >= SOME, "the room for them is kept");
        deferred_frees.free();
        assert!(lock(&deferred_frees.cells).capacity() >= SOME, "and used again");
    }

    #[test]
    fn not_more_than_so_many_are_kept() {
        let deferred_frees = DeferredFrees::default();
        let cells = kept(&deferred_frees, MOST + 10);
        assert_eq!(left(&cells), 9);
        deferred_frees.free();
        assert_eq!(left(&cells), 0);
    }
}
