//! A run queue: futures, and which of them are ready.
//!
//! The thread that wakes a future puts it into the wake queue. A driver that finds nothing ready exchanges its empty queue
//! for the wake queue: those who wake and those who poll seldom meet at a lock.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Owner;
use crate::engine::executor::cell::Runnable;
use crate::engine::sync::atomic::{AtomicUsize, Ordering};
use crate::engine::sync::{Mutex, Padded, lock};

/// The most cells for which an empty run queue keeps room: 24 bytes each.
const KEPT_CELLS: usize = 1024;

/// Fewer ended cells than this are not worth the lock: about as many as end in a stride.
const SOME_FREES: usize = 32;
/// The most ended cells that are kept while no thread submits: some 500 KiB of small futures.
const MOST_FREES: usize = 4096;

/// See the module's first lines.
#[derive(Default)]
pub(crate) struct RunQueue {
    /// Locked before the wake queue, if both are.
    state: Padded<Mutex<Cells>>,
    /// Ready, and not in the queue of ready ones yet.
    woken: Padded<Mutex<VecDeque<u32>>>,
    /// How many drivers that have this run queue are up or notified: written under the lock of the drivers.
    pub(super) up: AtomicUsize,
}

#[derive(Default)]
struct Cells {
    /// Everything that has begun and has not ended.
    cells: Vec<Option<Arc<dyn Runnable>>>,
    vacant: Vec<u32>,
    ready: VecDeque<u32>,
}

impl RunQueue {
    /// Puts in new cells. Those that were ready before are polled before them. Returns how many are ready then.
    pub(super) fn add(&self, owner: &Arc<Owner>, cells: &mut Vec<Arc<dyn Runnable>>) -> usize {
        let mut state = lock(&self.state);
        state.ready.append(&mut lock(&self.woken));
        for cell in cells.drain(..) {
            let index = state.vacant.pop().unwrap_or_else(|| {
                state.cells.push(None);
                (state.cells.len() - 1) as u32
            });
            cell.header().settle(owner, index);
            state.cells[index as usize] = Some(cell);
            state.ready.push_back(index);
        }
        state.ready.len()
    }

    pub(super) fn push_ready(&self, index: u32) {
        lock(&self.woken).push_back(index);
    }

    pub(crate) fn has_ready(&self) -> bool {
        let state = lock(&self.state);
        !state.ready.is_empty() || !lock(&self.woken).is_empty()
    }

    pub(crate) fn up(&self) -> usize {
        self.up.load(Ordering::Relaxed)
    }

    /// Takes the next ready cell.
    pub(super) fn next(&self) -> Option<Arc<dyn Runnable>> {
        let mut state = lock(&self.state);
        if state.ready.is_empty() {
            std::mem::swap(&mut state.ready, &mut lock(&self.woken));
        }
        loop {
            let index = state.ready.pop_front()?;
            // One that has left meanwhile is passed over.
            if let Some(Some(cell)) = state.cells.get(index as usize) {
                return Some(Arc::clone(cell));
            }
        }
    }

    /// Cells that have ended leave. The place of one may be another's, if its driver was lost meanwhile.
    pub(super) fn remove(&self, ended: &[Arc<dyn Runnable>]) {
        let mut state = lock(&self.state);
        for cell in ended {
            let index = cell.header().index();
            let is_there =
                |other: &Arc<_>| std::ptr::addr_eq(Arc::as_ptr(other), Arc::as_ptr(cell));
            if let Some(place) = state.cells.get_mut(index as usize)
                && place.as_ref().is_some_and(is_there)
            {
                *place = None;
                state.vacant.push(index);
            }
        }
        // An empty run queue need not be as long as it has been.
        if state.cells.len() > KEPT_CELLS && state.cells.len() == state.vacant.len() {
            *state = Cells::default();
        }
    }

    /// Takes everything out: a driver was lost, and with it all that its runtime ran.
    pub(super) fn take_all(&self) -> Vec<Arc<dyn Runnable>> {
        let mut state = lock(&self.state);
        let left = std::mem::take(&mut *state);
        lock(&self.woken).clear();
        drop(state);
        left.cells.into_iter().flatten().collect()
    }

    pub(super) fn cells(&self) -> Vec<Arc<dyn Runnable>> {
        lock(&self.state).cells.iter().flatten().cloned().collect()
    }
}

/// What is left of ended futures: the memory of their cells, which submitters free.
///
/// A submitter gets memory, and a driver, on another core, would free it. Allocators have to lock for that, and then the two
/// wait for each other in the middle of their work. So a driver leaves empty cells here, and the thread that submits the next
/// futures frees them: where it got them from.
#[derive(Default)]
pub(crate) struct DeferredFrees {
    cells: Mutex<Vec<Arc<dyn Runnable>>>,
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
        let surplus = cells.len() > MOST_FREES;
        drop(cells);
        if surplus {
            self.free();
        }
    }

    /// Frees what is there, if that is worth the lock.
    #[inline]
    pub(crate) fn free_some(&self) {
        if self.count.load(Ordering::Relaxed) >= SOME_FREES {
            self.free();
        }
    }

    /// Frees what is there.
    pub(crate) fn free(&self) {
        // A driver that had to make room would meet submitters in the allocator after all.
        let room = Vec::with_capacity(self.count.swap(0, Ordering::Relaxed));
        let freed = std::mem::replace(&mut *lock(&self.cells), room);
        // Without the lock, at which a driver may wait.
        drop(freed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
