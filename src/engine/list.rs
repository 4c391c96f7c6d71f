//! A driver's list: its futures, and which of them are ready to be polled.
//!
//! Whoever wakes a future puts it into its list's queue and wakes the driver, if it sleeps. If the
//! driver is up it may be busy with a future that takes its time, so another driver that sleeps is
//! woken to help, one at a time: any driver may poll any future.

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
    state: Padded<Mutex<State>>,
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
            let called = AtomicBool::new(false);
            Arc::new(List { number, state, called, others: Arc::clone(&others) })
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
        let mut state = lock(&self.state);
        self.wake_up(&mut state);
        if state.waker.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            return false;
        }
        let old = state.waker.replace(waker.clone());
        drop(state);
        drop(old);
        true
    }

    /// For a new driver. What its forerunner left behind is over, and may have been woken since.
    pub(crate) fn clear(&self) {
        let mut state = lock(&self.state);
        self.wake_up(&mut state);
        let old = std::mem::take(&mut *state);
        drop(state);
        drop(old);
    }

    /// Puts new cells into the list; they are ready.
    pub(crate) fn add(self: &Arc<Self>, cells: &mut Vec<Arc<dyn Runnable>>) {
        let mut state = lock(&self.state);
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
        let mut state = lock(&self.state);
        state.ready.push_back(index);
        let waker = if self.wake_up(&mut state) { state.waker.clone() } else { None };
        drop(state);
        match waker {
            Some(waker) => waker.wake(),
            None => self.others.call_one(),
        }
    }

    /// Takes the next ready cell out of the queue. `ended` is one that has ended before, and leaves.
    pub(crate) fn next(&self, ended: Option<u32>) -> Option<Arc<dyn Runnable>> {
        let mut state = lock(&self.state);
        let gone = ended.and_then(|index| state.remove(index));
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
        if !state.ready.is_empty() {
            return false;
        }
        state.asleep = true;
        let called = self.called.swap(false, Ordering::Relaxed);
        // An empty list need not be as long as it has been.
        if state.cells.len() == state.vacant.len() && state.cells.len() > 1024 {
            let (cells, vacant) =
                (std::mem::take(&mut state.cells), std::mem::take(&mut state.vacant));
            state.ready = VecDeque::new();
            drop(state);
            drop((cells, vacant));
        } else {
            drop(state);
        }
        self.others.sleeping.fetch_add(1, Ordering::Relaxed);
        self.others.searching.store(false, Ordering::Relaxed);
        let others = board.lists.iter().filter(|list| list.number != self.number);
        if others.into_iter().all(|list| lock(&list.state).ready.is_empty()) {
            return true;
        }
        let woken = !self.wake_up(&mut lock(&self.state));
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
        let mut state = lock(&self.state);
        self.wake_up(&mut state);
        let left = std::mem::take(&mut *state);
        drop(state);
        self.stop_searching();
        left.cells.into_iter().flatten().collect()
    }

    /// True if the driver slept.
    fn wake_up(&self, state: &mut State) -> bool {
        let slept = std::mem::replace(&mut state.asleep, false);
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
            let mut state = lock(&list.state);
            if list.wake_up(&mut state) {
                list.called.store(true, Ordering::Relaxed);
                let waker = state.waker.clone();
                drop(state);
                if let Some(waker) = waker {
                    waker.wake();
                }
                return;
            }
        }
        self.searching.store(false, Ordering::Relaxed);
    }
}
