//! A driver's run queue: its futures, and which of them are ready to be polled.
//!
//! The thread that wakes a future puts it into its run queue's wake queue and wakes the driver, if it sleeps. If the
//! driver is up it may be busy with a future that takes its time, so another driver that sleeps is
//! woken to help, one at a time: any driver may poll any future. The thread that finds nothing in the queue
//! empties the wake queue into it, so that those who wake and those who poll seldom meet at a lock.
//!
//! When polls are so short that drivers would only get into each other's way, one of them is enough: see
//! [`watchdog`](crate::engine::executor::watchdog). Then the others sleep, whatever is ready, and the thread that is up serves
//! all run queues.

mod executor;
mod others;
mod ready;
mod state;

use std::sync::Arc;
use std::task::Waker;

use crate::engine::context::Lender;
use crate::engine::executor::cell::Runnable;
use crate::engine::executor::watchdog::PollStats;
use crate::engine::sync::atomic::{AtomicBool, Ordering};
use crate::engine::sync::{Mutex, MutexGuard, Padded, lock};
use crate::engine::waits::Waits;

pub(crate) use self::executor::Executor;
use self::others::ExecutorState;
use self::state::State;

/// See the module's first lines.
pub(crate) struct RunQueue {
    number: usize,
    /// Locked before the wake queue, if both are.
    state: Padded<Mutex<State>>,
    wake_queue: Padded<Mutex<WakeQueue>>,
    /// The driver was woken to help and has not found anything yet.
    called: AtomicBool,
    /// A cell may have polled a handle.
    awaits: AtomicBool,
    pub(in crate::engine) poll_stats: Padded<PollStats>,
    others: Arc<ExecutorState>,
}

#[derive(Default)]
struct WakeQueue {
    /// Ready, and not in the queue yet.
    woken: Vec<u32>,
    asleep: bool,
    /// There is a driver, and it does not sleep.
    up: bool,
    waker: Option<Waker>,
}

impl RunQueue {
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// The driver is up, and is woken by this waker when it sleeps.
    /// True if that is news.
    pub(crate) fn rise(&self, waker: &Waker) -> bool {
        let mut wake_queue = lock(&self.wake_queue);
        self.wake_up(&mut wake_queue);
        self.set_up(&mut wake_queue, true);
        // `will_wake` may deny that a waker is the clone of another. Two with the same data are of the
        // same runtime task, because the one that is kept keeps it alive.
        let is_same = |kept: &Waker| kept.data() == waker.data() || kept.will_wake(waker);
        if wake_queue.waker.as_ref().is_some_and(is_same) {
            return false;
        }
        let old = wake_queue.waker.replace(waker.clone());
        drop(wake_queue);
        drop(old);
        true
    }

    /// For a new driver. What its forerunner left behind is over, and may have been woken since.
    pub(crate) fn clear(&self) {
        drop(self.take_state());
    }

    /// Puts new cells into the run queue; they are ready.
    pub(crate) fn add(self: &Arc<Self>, cells: &mut Vec<Arc<dyn Runnable>>) {
        let mut state = lock(&self.state);
        // Those that were woken before these came are polled before them.
        self.empty_wake_queue(&mut state);
        for cell in cells.drain(..) {
            let index = match state.vacant.pop() {
                Some(index) => index,
                None => {
                    state.cells.push(None);
                    (state.cells.len() - 1) as u32
                }
            };
            cell.header().settle(self, index);
            state.cells[index as usize] = Some(cell);
            state.ready.push(index);
        }
        let several = state.ready.len() > 1;
        drop(state);
        if several {
            self.others.call_one();
        }
    }

    /// A cell is ready.
    pub(crate) fn push_ready(&self, index: u32) {
        let mut wake_queue = lock(&self.wake_queue);
        wake_queue.woken.push(index);
        // The thread that is up then looks here before it sleeps. Read under the lock under which it will look.
        if !self.others.is_one_enough() && (wake_queue.asleep || self.others.may_be_called()) {
            self.wake_or_call_with(wake_queue);
        }
    }

    /// Has a thread poll what is ready.
    pub(in crate::engine) fn wake_or_call(&self) {
        self.wake_or_call_with(lock(&self.wake_queue));
    }

    /// Wakes the driver if it sleeps, or calls another one to help.
    fn wake_or_call_with(&self, mut wake_queue: MutexGuard<'_, WakeQueue>) {
        let waker = if self.wake_up(&mut wake_queue) { wake_queue.waker.clone() } else { None };
        drop(wake_queue);
        match waker {
            Some(waker) => waker.wake(),
            None => self.others.call_one(),
        }
    }

    /// Takes the next ready cell out of the queue. `ended` is one that has ended before, and leaves.
    pub(crate) fn next(&self, ended: Option<u32>) -> Option<Arc<dyn Runnable>> {
        let mut state = lock(&self.state);
        let gone = ended.and_then(|index| state.remove(index));
        if state.ready.is_empty() {
            self.empty_wake_queue(&mut state);
        }
        let next = loop {
            let Some(index) = state.ready.take() else { break None };
            // One that has left meanwhile is passed over.
            if let Some(Some(cell)) = state.cells.get(index as usize) {
                break Some(Arc::clone(cell));
            }
        };
        drop(state);
        if let Some(gone) = gone {
            self.others.put_away(gone);
        }
        next
    }

    /// One that has ended leaves.
    pub(crate) fn retire(&self, index: u32) {
        let gone = lock(&self.state).remove(index);
        if let Some(gone) = gone {
            self.others.put_away(gone);
        }
    }

    fn empty_wake_queue(&self, state: &mut State) {
        let mut wake_queue = lock(&self.wake_queue);
        if !wake_queue.woken.is_empty() {
            state.ready.take_all(&mut wake_queue.woken);
        }
    }

    pub(crate) fn has_ready(&self) -> bool {
        let state = lock(&self.state);
        !state.ready.is_empty() || !lock(&self.wake_queue).woken.is_empty()
    }

    /// A cell has ended, and leaves. Its place may be another's, if the driver was lost meanwhile.
    pub(crate) fn remove(&self, cell: &Arc<dyn Runnable>) {
        let index = cell.header().index();
        let mut state = lock(&self.state);
        let is_there = matches!(state.cells.get(index as usize),
            Some(Some(other)) if std::ptr::addr_eq(Arc::as_ptr(other), Arc::as_ptr(cell)));
        let gone = if is_there { state.remove(index) } else { None };
        drop(state);
        if let Some(gone) = gone {
            self.others.put_away(gone);
        }
    }

    /// Whether another driver sleeps that might have to help.
    pub(crate) fn others_sleep(&self) -> bool {
        self.others.sleeping.load(Ordering::Relaxed) > 0
            && self.others.who.load(Ordering::Relaxed) == others::ALL
    }

    /// Whether this driver should sleep because another one is up, and one is enough. The first one goes on.
    pub(crate) fn is_spare(&self) -> bool {
        self.is_for_one() && self.others.up.load(Ordering::Relaxed) > 1 && self.number > 0
    }

    /// Lets the driver sleep although something may be ready, if another one is up: that one looks at
    /// every run queue before it sleeps.
    pub(crate) fn step_back(&self, executor: &Executor) -> bool {
        let mut wake_queue = lock(&self.wake_queue);
        wake_queue.asleep = true;
        let left = self.set_up(&mut wake_queue, false);
        drop(wake_queue);
        let called = self.called.swap(false, Ordering::Relaxed);
        self.others.sleeping.fetch_add(1, Ordering::Relaxed);
        self.others.searching.store(false, Ordering::Relaxed);
        // Of two that step back at once, the second one finds no thread up, and looks.
        let relies = left > 0 && self.is_for_one();
        relies || self.stay_asleep(called, executor.run_queues().iter())
    }

    /// What a cell waits for, which is a task of this pool.
    pub(crate) fn waits(&self, index: u32, pool: &Arc<dyn Lender>) -> Arc<Waits> {
        let mut state = lock(&self.state);
        self.awaits.store(true, Ordering::Relaxed);
        Arc::clone(state.waits.entry(index).or_insert_with(|| Waits::new(Arc::clone(pool))))
    }

    /// What a cell waits for, if it has polled a handle. Only for the thread that polls it.
    pub(crate) fn known_waits(&self, index: u32) -> Option<Arc<Waits>> {
        let state = lock(&self.state);
        self.awaits.store(!state.waits.is_empty(), Ordering::Relaxed);
        state.waits.get(&index).cloned()
    }

    /// Whether one driver is to poll what is on all run queues.
    #[inline]
    pub(crate) fn is_for_one(&self) -> bool {
        self.others.is_for_one()
    }

    /// Whether its driver polls what is here, and nothing else.
    #[inline]
    pub(crate) fn is_each_for_itself(&self) -> bool {
        self.others.is_each_for_itself()
    }

    /// Whether a cell may have polled a handle. The thread that polls a cell knows of that cell.
    #[inline]
    pub(crate) fn awaits(&self) -> bool {
        self.awaits.load(Ordering::Relaxed)
    }

    /// The cell goes on with another task, which has polled no handle. Only for the thread that polls it.
    pub(crate) fn forget_waits(&self, index: u32) -> Option<Arc<Waits>> {
        let mut state = lock(&self.state);
        let waits = state.waits.remove(&index);
        self.awaits.store(!state.waits.is_empty(), Ordering::Relaxed);
        waits
    }

    /// Lets the driver sleep, unless something is ready on any run queue. It looks at the others' run queues
    /// after it is known to sleep: what comes there later finds it sleeping and wakes it.
    pub(crate) fn sleep(&self, executor: &Executor) -> bool {
        let mut state = lock(&self.state);
        let mut wake_queue = lock(&self.wake_queue);
        if !state.ready.is_empty() || !wake_queue.woken.is_empty() {
            return false;
        }
        wake_queue.asleep = true;
        self.set_up(&mut wake_queue, false);
        // Under the lock that the caller of all drivers takes after it has said so, and before it calls them:
        // it sees this, or it is heard below.
        self.others.sleeping.fetch_add(1, Ordering::Relaxed);
        let called = self.called.swap(false, Ordering::Relaxed);
        let is_empty = state.cells.len() == state.vacant.len();
        // An empty run queue need not be as long as it has been.
        if is_empty && state.cells.len() > 1024 {
            let (cells, vacant) =
                (std::mem::take(&mut state.cells), std::mem::take(&mut state.vacant));
            (state.ready, wake_queue.woken) = Default::default();
            drop((wake_queue, state));
            drop((cells, vacant));
        } else {
            drop((wake_queue, state));
        }
        if is_empty {
            self.others.deferred_frees.free_some();
        }
        self.others.searching.store(false, Ordering::Relaxed);
        if self.is_each_for_itself() {
            return true;
        }
        self.stay_asleep(
            called,
            executor.run_queues().iter().filter(|run_queue| run_queue.number != self.number),
        )
    }

    /// The driver is known to sleep. Wakes it again if something is ready on one of these lists.
    fn stay_asleep<'a>(
        &self,
        called: bool,
        mut run_queues: impl Iterator<Item = &'a Arc<RunQueue>>,
    ) -> bool {
        if !run_queues.any(|run_queue| run_queue.has_ready()) {
            return true;
        }
        let woken = !self.wake_up(&mut lock(&self.wake_queue));
        if called && !woken {
            // A thread may have relied on this one to search.
            self.others.call_one();
        }
        woken
    }

    /// The driver has found something to do, or leaves. If it was called to help, another one is called
    /// in its place: there may be more to do, and what this one does may take long.
    #[inline]
    pub(crate) fn stop_searching(&self) {
        if self.called.load(Ordering::Relaxed) {
            self.called.store(false, Ordering::Relaxed);
            // Acquire: pairs with the Release of the thread that called no thread because this one searched, and
            // knew who sleeps.
            self.others.searching.swap(false, Ordering::Acquire);
            self.others.call_one();
        }
    }

    /// The driver has left.
    pub(crate) fn leave(&self) {
        self.stop_searching();
        self.set_up(&mut lock(&self.wake_queue), false);
    }

    /// Takes everything out of the run queue, because its driver is gone.
    pub(crate) fn take_all(&self) -> Vec<Arc<dyn Runnable>> {
        let left = self.take_state();
        self.stop_searching();
        left.cells.into_iter().flatten().collect()
    }

    fn take_state(&self) -> State {
        let mut state = lock(&self.state);
        let mut wake_queue = lock(&self.wake_queue);
        self.wake_up(&mut wake_queue);
        self.set_up(&mut wake_queue, false);
        let (left, old) = (std::mem::take(&mut *state), std::mem::take(&mut *wake_queue));
        drop((wake_queue, state));
        drop(old);
        left
    }

    /// True if the driver slept.
    fn wake_up(&self, wake_queue: &mut WakeQueue) -> bool {
        let slept = std::mem::replace(&mut wake_queue.asleep, false);
        if slept {
            self.others.sleeping.fetch_sub(1, Ordering::Relaxed);
            self.set_up(wake_queue, true);
        }
        slept
    }

    /// The driver is up, or is not; it says how many are.
    fn set_up(&self, wake_queue: &mut WakeQueue, up: bool) -> usize {
        let others = &self.others.up;
        match (std::mem::replace(&mut wake_queue.up, up), up) {
            (false, true) => others.fetch_add(1, Ordering::Relaxed) + 1,
            (true, false) => others.fetch_sub(1, Ordering::Relaxed) - 1,
            _ => others.load(Ordering::Relaxed),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
