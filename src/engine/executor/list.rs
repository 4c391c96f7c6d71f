//! A driver's list: its futures, and which of them are ready to be polled.
//!
//! Whoever wakes a future puts it into its list's inbox and wakes the driver, if it sleeps. If the
//! driver is up it may be busy with a future that takes its time, so another driver that sleeps is
//! woken to help, one at a time: any driver may poll any future. Whoever finds nothing in the queue
//! empties the inbox into it, so that those who wake and those who poll seldom meet at a lock.
//!
//! When polls are so short that drivers would only get into each other's way, one of them is enough: see
//! [`lookout`](crate::engine::executor::lookout). Then the others sleep, whatever is ready, and whoever is up serves
//! all lists.

mod board;
mod others;
mod ready;
mod state;

use std::sync::Arc;
use std::task::Waker;

use crate::engine::executor::cell::Runnable;
use crate::engine::executor::lookout::Tempo;
use crate::engine::scheduler::lend::Lender;
use crate::engine::sync::atomic::{AtomicBool, Ordering};
use crate::engine::sync::{Mutex, MutexGuard, Padded, lock};
use crate::engine::task::waits::Waits;

pub(crate) use self::board::Board;
use self::others::Others;
use self::state::State;

/// See the module's first lines.
pub(crate) struct List {
    number: usize,
    /// Locked before the inbox, if both are.
    state: Padded<Mutex<State>>,
    inbox: Padded<Mutex<Inbox>>,
    /// The driver was woken to help and has not found anything yet.
    called: AtomicBool,
    /// A cell may have polled a handle.
    awaits: AtomicBool,
    pub(in crate::engine) tempo: Padded<Tempo>,
    others: Arc<Others>,
}

#[derive(Default)]
struct Inbox {
    /// Ready, and not in the queue yet.
    woken: Vec<u32>,
    asleep: bool,
    /// There is a driver, and it does not sleep.
    up: bool,
    waker: Option<Waker>,
}

impl List {
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// The driver is up, and is woken by this waker when it sleeps.
    /// True if that is news.
    pub(crate) fn rise(&self, waker: &Waker) -> bool {
        let mut inbox = lock(&self.inbox);
        self.wake_up(&mut inbox);
        self.set_up(&mut inbox, true);
        // `will_wake` may deny that a waker is the clone of another. Two with the same data are of the
        // same runtime task, because the one that is kept keeps it alive.
        let is_same = |kept: &Waker| kept.data() == waker.data() || kept.will_wake(waker);
        if inbox.waker.as_ref().is_some_and(is_same) {
            return false;
        }
        let old = inbox.waker.replace(waker.clone());
        drop(inbox);
        drop(old);
        true
    }

    /// For a new driver. What its forerunner left behind is over, and may have been woken since.
    pub(crate) fn clear(&self) {
        drop(self.take_state());
    }

    /// Puts new cells into the list; they are ready.
    pub(crate) fn add(self: &Arc<Self>, cells: &mut Vec<Arc<dyn Runnable>>) {
        let mut state = lock(&self.state);
        // Those that were woken before these came are polled before them.
        self.empty_inbox(&mut state);
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
        let mut inbox = lock(&self.inbox);
        inbox.woken.push(index);
        // Whoever is up then looks here before it sleeps. Read under the lock under which it will look.
        if !self.others.is_one_enough() && (inbox.asleep || self.others.may_be_called()) {
            self.wake_or_call_with(inbox);
        }
    }

    /// Has somebody poll what is ready.
    pub(in crate::engine) fn wake_or_call(&self) {
        self.wake_or_call_with(lock(&self.inbox));
    }

    /// Wakes the driver if it sleeps, or calls another one to help.
    fn wake_or_call_with(&self, mut inbox: MutexGuard<'_, Inbox>) {
        let waker = if self.wake_up(&mut inbox) { inbox.waker.clone() } else { None };
        drop(inbox);
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
            self.empty_inbox(&mut state);
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

    fn empty_inbox(&self, state: &mut State) {
        let mut inbox = lock(&self.inbox);
        if !inbox.woken.is_empty() {
            state.ready.take_all(&mut inbox.woken);
        }
    }

    pub(crate) fn has_ready(&self) -> bool {
        let state = lock(&self.state);
        !state.ready.is_empty() || !lock(&self.inbox).woken.is_empty()
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
    /// every list before it sleeps.
    pub(crate) fn step_back(&self, board: &Board) -> bool {
        let mut inbox = lock(&self.inbox);
        inbox.asleep = true;
        let left = self.set_up(&mut inbox, false);
        drop(inbox);
        let called = self.called.swap(false, Ordering::Relaxed);
        self.others.sleeping.fetch_add(1, Ordering::Relaxed);
        self.others.searching.store(false, Ordering::Relaxed);
        // Of two that step back at once, the second one finds nobody up, and looks.
        let relies = left > 0 && self.is_for_one();
        relies || self.stay_asleep(called, board.lists().iter())
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

    /// Whether one driver is to poll what is on all lists.
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

    /// Lets the driver sleep, unless something is ready on any list. It looks at the others' lists
    /// after it is known to sleep: what comes there later finds it sleeping and wakes it.
    pub(crate) fn sleep(&self, board: &Board) -> bool {
        let mut state = lock(&self.state);
        let mut inbox = lock(&self.inbox);
        if !state.ready.is_empty() || !inbox.woken.is_empty() {
            return false;
        }
        inbox.asleep = true;
        self.set_up(&mut inbox, false);
        // Under the lock that whoever has everybody help takes after it has said so, and before it calls them:
        // it sees this, or it is heard below.
        self.others.sleeping.fetch_add(1, Ordering::Relaxed);
        let called = self.called.swap(false, Ordering::Relaxed);
        let is_empty = state.cells.len() == state.vacant.len();
        // An empty list need not be as long as it has been.
        if is_empty && state.cells.len() > 1024 {
            let (cells, vacant) =
                (std::mem::take(&mut state.cells), std::mem::take(&mut state.vacant));
            (state.ready, inbox.woken) = Default::default();
            drop((inbox, state));
            drop((cells, vacant));
        } else {
            drop((inbox, state));
        }
        if is_empty {
            self.others.remains.free_some();
        }
        self.others.searching.store(false, Ordering::Relaxed);
        if self.is_each_for_itself() {
            return true;
        }
        self.stay_asleep(called, board.lists().iter().filter(|list| list.number != self.number))
    }

    /// The driver is known to sleep. Wakes it again if something is ready on one of these lists.
    fn stay_asleep<'a>(
        &self,
        called: bool,
        mut lists: impl Iterator<Item = &'a Arc<List>>,
    ) -> bool {
        if !lists.any(|list| list.has_ready()) {
            return true;
        }
        let woken = !self.wake_up(&mut lock(&self.inbox));
        if called && !woken {
            // Somebody may have relied on this one to search.
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
            // Acquire: pairs with the Release of whoever called nobody because this one searched, and
            // knew who sleeps.
            self.others.searching.swap(false, Ordering::Acquire);
            self.others.call_one();
        }
    }

    /// The driver has left.
    pub(crate) fn leave(&self) {
        self.stop_searching();
        self.set_up(&mut lock(&self.inbox), false);
    }

    /// Takes everything out of the list, because its driver is gone.
    pub(crate) fn take_all(&self) -> Vec<Arc<dyn Runnable>> {
        let left = self.take_state();
        self.stop_searching();
        left.cells.into_iter().flatten().collect()
    }

    fn take_state(&self) -> State {
        let mut state = lock(&self.state);
        let mut inbox = lock(&self.inbox);
        self.wake_up(&mut inbox);
        self.set_up(&mut inbox, false);
        let (left, old) = (std::mem::take(&mut *state), std::mem::take(&mut *inbox));
        drop((inbox, state));
        drop(old);
        left
    }

    /// True if the driver slept.
    fn wake_up(&self, inbox: &mut Inbox) -> bool {
        let slept = std::mem::replace(&mut inbox.asleep, false);
        if slept {
            self.others.sleeping.fetch_sub(1, Ordering::Relaxed);
            self.set_up(inbox, true);
        }
        slept
    }

    /// The driver is up, or is not; it says how many are.
    fn set_up(&self, inbox: &mut Inbox, up: bool) -> usize {
        let others = &self.others.up;
        match (std::mem::replace(&mut inbox.up, up), up) {
            (false, true) => others.fetch_add(1, Ordering::Relaxed) + 1,
            (true, false) => others.fetch_sub(1, Ordering::Relaxed) - 1,
            _ => others.load(Ordering::Relaxed),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
