//! A driver's list: its futures, and which of them are ready to be polled.
//!
//! Whoever wakes a future puts it into its list's inbox and wakes the driver, if it sleeps. If the
//! driver is up it may be busy with a future that takes its time, so another driver that sleeps is
//! woken to help, one at a time: any driver may poll any future. Whoever finds nothing in the queue
//! empties the inbox into it, so that those who wake and those who poll seldom meet at a lock.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock, Weak};
use std::task::Waker;

use super::cell::Runnable;
use super::seat::Seat;
use super::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use super::sync::{Mutex, Padded, lock};

/// See the module's first lines.
pub(crate) struct List {
    number: usize,
    /// Locked before the inbox, if both are.
    state: Padded<Mutex<State>>,
    inbox: Padded<Mutex<Inbox>>,
    /// The driver was woken to help and has not found anything yet.
    called: AtomicBool,
    others: Arc<Others>,
}

#[derive(Default)]
struct State {
    /// Everything the driver has begun with and that has not ended.
    cells: Vec<Option<Arc<dyn Runnable>>>,
    vacant: Vec<u32>,
    ready: VecDeque<u32>,
    /// The seats of those that have taken others in.
    seats: HashMap<u32, Arc<Seat>>,
    /// Empty: what the inbox gets for what is taken out of it.
    spare: Vec<u32>,
}

#[derive(Default)]
struct Inbox {
    /// Ready, and not in the queue yet.
    woken: Vec<u32>,
    asleep: bool,
    waker: Option<Waker>,
}

/// What the lists of a pool have in common.
#[derive(Default)]
struct Others {
    lists: OnceLock<Vec<Weak<List>>>,
    sleeping: AtomicUsize,
    /// A driver was woken to help and has not found anything yet.
    searching: AtomicBool,
}

/// The lists of all drivers of a pool.
pub(crate) struct Board {
    lists: Vec<Arc<List>>,
}

impl Board {
    pub(crate) fn new(drivers: usize) -> Self {
        let others = Arc::new(Others::default());
        let list = |number| {
            let state = Padded(Mutex::new(State::default()));
            let inbox = Padded(Mutex::new(Inbox::default()));
            let called = AtomicBool::new(false);
            Arc::new(List { number, state, inbox, called, others: Arc::clone(&others) })
        };
        let lists: Vec<Arc<List>> = (0..drivers).map(list).collect();
        others.lists.get_or_init(|| lists.iter().map(Arc::downgrade).collect());
        Board { lists }
    }

    pub(crate) fn drivers(&self) -> usize {
        self.lists.len()
    }

    pub(crate) fn list(&self, number: usize) -> &Arc<List> {
        &self.lists[number]
    }

    /// Wakes every future.
    pub(crate) fn wake_all(&self) {
        for list in &self.lists {
            let cells: Vec<_> = lock(&list.state).cells.iter().flatten().cloned().collect();
            cells.iter().for_each(|cell| cell.header().wake());
        }
    }

    /// Takes a ready cell off the list of another driver than `number`.
    pub(crate) fn steal(&self, number: usize) -> Option<Arc<dyn Runnable>> {
        let count = self.lists.len();
        (1..count).find_map(|step| self.lists[(number + step) % count].next(None))
    }
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
        if inbox.waker.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
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
            state.ready.push_back(index);
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
            let Some(index) = state.ready.pop_front() else { break None };
            // One that has left meanwhile is passed over.
            if let Some(Some(cell)) = state.cells.get(index as usize) {
                break Some(Arc::clone(cell));
            }
        };
        drop(state);
        if let Some(gone) = gone {
            gone.put_away();
        }
        next
    }

    fn empty_inbox(&self, state: &mut State) {
        let mut inbox = lock(&self.inbox);
        if inbox.woken.is_empty() {
            return;
        }
        std::mem::swap(&mut inbox.woken, &mut state.spare);
        drop(inbox);
        state.ready.extend(state.spare.drain(..));
    }

    fn has_ready(&self) -> bool {
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
            gone.put_away();
        }
    }

    /// Whether another driver sleeps.
    pub(crate) fn others_sleep(&self) -> bool {
        self.others.sleeping.load(Ordering::Relaxed) > 0
    }

    /// The seat of a cell.
    pub(crate) fn seat(&self, index: u32) -> Arc<Seat> {
        Arc::clone(lock(&self.state).seats.entry(index).or_default())
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
        let called = self.called.swap(false, Ordering::Relaxed);
        // An empty list need not be as long as it has been.
        if state.cells.len() == state.vacant.len() && state.cells.len() > 1024 {
            let (cells, vacant) =
                (std::mem::take(&mut state.cells), std::mem::take(&mut state.vacant));
            (state.ready, state.spare, inbox.woken) = Default::default();
            drop((inbox, state));
            drop((cells, vacant));
        } else {
            drop((inbox, state));
        }
        self.others.sleeping.fetch_add(1, Ordering::Relaxed);
        self.others.searching.store(false, Ordering::Relaxed);
        let others = board.lists.iter().filter(|list| list.number != self.number);
        if !others.into_iter().any(|list| list.has_ready()) {
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
        }
        slept
    }
}

impl State {
    #[must_use]
    fn remove(&mut self, index: u32) -> Option<Arc<dyn Runnable>> {
        let cell = self.cells[index as usize].take();
        if cell.is_some() {
            self.vacant.push(index);
            if !self.seats.is_empty() {
                self.seats.remove(&index);
            }
        }
        cell
    }
}

impl Others {
    /// Wakes a driver that sleeps, unless one that was woken still searches.
    fn call_one(&self) {
        if self.sleeping.load(Ordering::Relaxed) == 0
            // Release: pairs with the Acquire of the one that searches.
            || self.searching.swap(true, Ordering::Release)
        {
            return;
        }
        let lists = self.lists.get().into_iter().flatten().filter_map(Weak::upgrade);
        for list in lists {
            let mut inbox = lock(&list.inbox);
            if list.wake_up(&mut inbox) {
                list.called.store(true, Ordering::Relaxed);
                let waker = inbox.waker.clone();
                drop(inbox);
                if let Some(waker) = waker {
                    waker.wake();
                }
                return;
            }
        }
        self.searching.store(false, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
