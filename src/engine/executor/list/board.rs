//! The board: the lists of all drivers of a pool.

use std::sync::Arc;

use super::others::{ALL, EACH, ONE, Others};
use super::{Inbox, List, Runnable, State};
#[cfg(feature = "tokio")]
use crate::engine::executor::remains::Remains;
use crate::engine::sync::atomic::{AtomicBool, Ordering};
use crate::engine::sync::{Mutex, Padded, lock};

/// The lists of all drivers of a pool.
pub(crate) struct Board {
    lists: Vec<Arc<List>>,
    pub(super) others: Arc<Others>,
    /// There is a lookout.
    pub(in crate::engine) watched: AtomicBool,
}

impl Board {
    /// For drivers that share the threads and timers of a runtime.
    pub(crate) fn new(drivers: usize) -> Self {
        Board::with(drivers, Others::default())
    }

    /// For drivers each of which has a thread and timers of its own.
    #[cfg(any(feature = "tokio", test))]
    pub(crate) fn apart(drivers: usize) -> Self {
        Board::with(drivers, Others { apart: true, ..Others::default() })
    }

    fn with(drivers: usize, others: Others) -> Self {
        let others = Arc::new(others);
        let list = |number| {
            let state = Padded(Mutex::new(State::default()));
            let inbox = Padded(Mutex::new(Inbox::default()));
            let (called, awaits) = (AtomicBool::new(false), AtomicBool::new(false));
            let (tempo, others) = (Padded::default(), Arc::clone(&others));
            Arc::new(List { number, state, inbox, called, awaits, tempo, others })
        };
        let lists: Vec<Arc<List>> = (0..drivers).map(list).collect();
        others.lists.get_or_init(|| lists.iter().map(Arc::downgrade).collect());
        Board { lists, others, watched: AtomicBool::new(false) }
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

    /// Whether each driver has a thread and timers of its own.
    pub(crate) fn is_apart(&self) -> bool {
        self.others.apart
    }

    /// Whether one driver is to do it all, or each its own. Otherwise everybody helps.
    pub(crate) fn is_one(&self) -> bool {
        self.others.who.load(Ordering::Relaxed) != ALL
    }

    /// Has one driver do it all from now on, or each its own; or has everybody help again.
    pub(crate) fn set_one(&self, one: bool) {
        let who = match (one, self.is_apart()) {
            (false, _) => ALL,
            (true, false) => ONE,
            (true, true) => EACH,
        };
        self.others.who.store(who, Ordering::Relaxed);
        if one {
            return;
        }
        // First the word, then a look at every list, under its lock: whoever makes something ready or goes to
        // sleep after that helps itself, and whoever has done so before is seen.
        let ready: Vec<_> = self.lists.iter().filter(|list| list.has_ready()).collect();
        ready.iter().for_each(|list| list.wake_or_call());
    }

    /// Wakes a driver that sleeps, whether or not there is something to poll. The runtime wakes a thread for the
    /// driver, and that thread attends to timers and sockets afterwards.
    pub(crate) fn wake_one(&self) {
        self.others.call_one();
    }

    /// Whether a driver is alone with its timers: one is to be enough, or there is only one, or each has its own.
    pub(crate) fn is_for_one(&self) -> bool {
        self.lists.len() == 1 || self.is_apart() || self.others.is_for_one()
    }

    /// What is left of ended futures.
    #[cfg(feature = "tokio")]
    pub(crate) fn remains(&self) -> &Remains {
        &self.others.remains
    }

    pub(crate) fn lists(&self) -> &[Arc<List>] {
        &self.lists
    }

    /// Whether a driver is up.
    pub(crate) fn is_up(&self) -> bool {
        self.others.up.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn has_ready(&self) -> bool {
        self.lists.iter().any(|list| list.has_ready())
    }

    /// Takes a ready cell off the list of another driver than `number`.
    pub(crate) fn steal(&self, number: usize) -> Option<Arc<dyn Runnable>> {
        let count = self.lists.len();
        (1..count).find_map(|step| self.lists[(number + step) % count].next(None))
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // A cell holds its list, and the lists hold what is left of cells: neither would ever go. No driver
        // is left that could bring more.
        self.others.remains.free();
    }
}
