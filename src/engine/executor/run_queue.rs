//! A run queue: futures, which of them are ready, and the drivers that poll them.
//!
//! The thread that wakes a future puts it into the wake queue, and learns under the same lock whether a driver sleeps. A
//! driver that finds nothing ready exchanges its empty queue for the wake queue: those who wake and those who poll
//! seldom meet at a lock.

mod wakes;

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use self::wakes::Wakes;
use super::{Executor, Owner};
use crate::engine::executor::cell::Runnable;
use crate::engine::sync::{Mutex, Padded, lock};

/// The most cells for which an empty run queue keeps room: 24 bytes each.
const KEPT_CELLS: usize = 1024;

/// See the module's first lines.
pub(crate) struct RunQueue {
    /// Locked before the wakes, if both are.
    state: Padded<Mutex<Cells>>,
    wakes: Padded<Mutex<Wakes>>,
}

#[derive(Default)]
struct Cells {
    /// Everything that has begun and has not ended.
    cells: Vec<Option<Arc<dyn Runnable>>>,
    vacant: Vec<u32>,
    ready: VecDeque<u32>,
}

impl RunQueue {
    pub(super) fn new(drivers: usize) -> Self {
        RunQueue { state: Padded::default(), wakes: Padded(Mutex::new(Wakes::new(drivers))) }
    }

    /// Puts in new cells. Those that were ready before are polled before them.
    #[must_use]
    pub(super) fn add(
        &self,
        executor: &Executor,
        owner: &Arc<Owner>,
        cells: &mut Vec<Arc<dyn Runnable>>,
    ) -> Option<Waker> {
        let mut state = lock(&self.state);
        state.ready.append(&mut lock(&self.wakes).woken);
        for cell in cells.drain(..) {
            let index = state.vacant.pop().unwrap_or_else(|| {
                state.cells.push(None);
                (state.cells.len() - 1) as u32
            });
            cell.header().settle(owner, index);
            state.cells[index as usize] = Some(cell);
            state.ready.push_back(index);
        }
        let several = state.ready.len() > 1;
        drop(state);
        // The driver that adds them polls the first one itself.
        if several { self.notify(executor) } else { None }
    }

    #[must_use]
    pub(super) fn push_ready(&self, executor: &Executor, index: u32) -> Option<Waker> {
        let mut wakes = lock(&self.wakes);
        wakes.woken.push_back(index);
        wakes.notify(executor)
    }

    #[must_use]
    pub(super) fn notify(&self, executor: &Executor) -> Option<Waker> {
        lock(&self.wakes).notify(executor)
    }

    pub(crate) fn has_ready(&self) -> bool {
        let state = lock(&self.state);
        !state.ready.is_empty() || !lock(&self.wakes).woken.is_empty()
    }

    /// Whether a driver is up, or should be.
    pub(crate) fn is_busy(&self) -> bool {
        self.has_ready() || lock(&self.wakes).up() > 0
    }

    /// Whether several drivers are up.
    pub(super) fn is_crowded(&self) -> bool {
        lock(&self.wakes).up() > 1
    }

    /// Takes the next ready cell.
    pub(super) fn next(&self) -> Option<Arc<dyn Runnable>> {
        let mut state = lock(&self.state);
        if state.ready.is_empty() {
            std::mem::swap(&mut state.ready, &mut lock(&self.wakes).woken);
        }
        loop {
            let index = state.ready.pop_front()?;
            // One that has left meanwhile is passed over.
            if let Some(Some(cell)) = state.cells.get(index as usize) {
                return Some(Arc::clone(cell));
            }
        }
    }

    /// A notified driver has looked for something ready. If it has found something, another one is notified in its
    /// place: there may be more, and what this one polls may take long.
    #[must_use]
    pub(super) fn stop_searching(
        &self,
        executor: &Executor,
        driver: usize,
        found: bool,
    ) -> Option<Waker> {
        let mut wakes = lock(&self.wakes);
        wakes.stop_searching(driver);
        if found { wakes.notify(executor) } else { None }
    }

    /// Cells that have ended leave. The place of one may be another's, if its driver was lost meanwhile: the thread that
    /// has lost it gives it up, so it is not used again.
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
            } else {
                cell.header().set_lost();
            }
        }
    }

    /// A driver is up, and is woken by this waker when it sleeps.
    pub(super) fn rise(&self, executor: &Executor, driver: usize, waker: &Waker) -> Rise {
        let mut wakes = lock(&self.wakes);
        let notified = wakes.wake_up(executor, driver);
        let old = wakes.introduce(driver, waker);
        drop(wakes);
        Rise { notified, unknown: old.is_some() }
    }

    /// A driver was about to sleep, and goes on.
    pub(super) fn stay_up(&self, executor: &Executor, driver: usize) {
        lock(&self.wakes).wake_up(executor, driver);
    }

    /// Lets a driver sleep, unless something is ready that no other driver looks after.
    pub(super) fn sleep(&self, executor: &Executor, driver: usize) -> bool {
        let mut state = lock(&self.state);
        let mut wakes = lock(&self.wakes);
        let is_empty = state.ready.is_empty() && wakes.woken.is_empty();
        if !is_empty && !wakes.one_is_enough(executor, 2) {
            return false;
        }
        wakes.fall_asleep(executor, driver);
        drop(wakes);
        let surplus = state.shrink();
        drop(state);
        drop(surplus);
        true
    }

    /// A driver is gone. If it was notified, another one is in its place.
    #[must_use]
    pub(super) fn leave(&self, executor: &Executor, driver: usize) -> Option<Waker> {
        let mut wakes = lock(&self.wakes);
        let (old, notified) = wakes.forget(executor, driver);
        let next = if notified { wakes.notify(executor) } else { None };
        drop(wakes);
        drop(old);
        next
    }

    /// Takes everything out: a driver was lost, and with it all that its runtime ran.
    pub(super) fn take_all(&self) -> Vec<Arc<dyn Runnable>> {
        let mut state = lock(&self.state);
        let left = std::mem::take(&mut *state);
        lock(&self.wakes).woken.clear();
        drop(state);
        left.cells.into_iter().flatten().collect()
    }

    pub(super) fn cells(&self) -> Vec<Arc<dyn Runnable>> {
        lock(&self.state).cells.iter().flatten().cloned().collect()
    }
}

/// What a driver learns at the beginning of its turn.
pub(crate) struct Rise {
    /// It was woken to look for something ready.
    pub(crate) notified: bool,
    /// It was not known that it is woken in this way.
    pub(crate) unknown: bool,
}

impl Cells {
    /// An empty run queue need not be as long as it has been. What comes back is dropped after the lock.
    #[must_use]
    fn shrink(&mut self) -> Option<Cells> {
        let surplus = self.cells.len() > KEPT_CELLS && self.cells.len() == self.vacant.len();
        surplus.then(|| std::mem::take(self))
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
