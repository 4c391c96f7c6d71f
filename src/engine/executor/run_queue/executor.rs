//! The executor: the run queues of all drivers of a pool.

use std::sync::Arc;

use super::others::{ALL, EACH, ExecutorState, ONE};
use super::{RunQueue, Runnable, State, WakeQueue};
#[cfg(feature = "tokio")]
use crate::engine::executor::deferred_frees::DeferredFrees;
use crate::engine::sync::atomic::{AtomicBool, Ordering};
use crate::engine::sync::{Mutex, Padded, lock};

/// The lists of all drivers of a pool.
pub(crate) struct Executor {
    run_queues: Vec<Arc<RunQueue>>,
    pub(super) others: Arc<ExecutorState>,
    /// There is a watchdog.
    pub(in crate::engine) watched: AtomicBool,
}

impl Executor {
    /// For drivers that share the threads and timers of a runtime.
    pub(crate) fn new(drivers: usize) -> Self {
        Executor::with(drivers, ExecutorState::default())
    }

    /// For drivers each of which has a thread and timers of its own.
    #[cfg(any(feature = "tokio", test))]
    pub(crate) fn apart(drivers: usize) -> Self {
        Executor::with(drivers, ExecutorState { apart: true, ..ExecutorState::default() })
    }

    fn with(drivers: usize, others: ExecutorState) -> Self {
        let others = Arc::new(others);
        let run_queue = |number| {
            let state = Padded(Mutex::new(State::default()));
            let wake_queue = Padded(Mutex::new(WakeQueue::default()));
            let (called, awaits) = (AtomicBool::new(false), AtomicBool::new(false));
            let (poll_stats, others) = (Padded::default(), Arc::clone(&others));
            Arc::new(RunQueue { number, state, wake_queue, called, awaits, poll_stats, others })
        };
        let run_queues: Vec<Arc<RunQueue>> = (0..drivers).map(run_queue).collect();
        others.run_queues.get_or_init(|| run_queues.iter().map(Arc::downgrade).collect());
        Executor { run_queues, others, watched: AtomicBool::new(false) }
    }

    pub(crate) fn drivers(&self) -> usize {
        self.run_queues.len()
    }

    pub(crate) fn run_queue(&self, number: usize) -> &Arc<RunQueue> {
        &self.run_queues[number]
    }

    /// Wakes every future.
    pub(crate) fn wake_all(&self) {
        for run_queue in &self.run_queues {
            let cells: Vec<_> = lock(&run_queue.state).cells.iter().flatten().cloned().collect();
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
        // First the word, then a look at every run queue, under its lock: the thread that makes something ready or goes to
        // sleep after that helps itself, and the thread that has done so before is seen.
        let ready: Vec<_> =
            self.run_queues.iter().filter(|run_queue| run_queue.has_ready()).collect();
        ready.iter().for_each(|run_queue| run_queue.wake_or_call());
    }

    /// Wakes a driver that sleeps, whether or not there is something to poll. The runtime wakes a thread for the
    /// driver, and that thread attends to timers and sockets afterwards.
    pub(crate) fn wake_one(&self) {
        self.others.call_one();
    }

    /// Whether a driver is alone with its timers: one is to be enough, or there is only one, or each has its own.
    pub(crate) fn is_for_one(&self) -> bool {
        self.run_queues.len() == 1 || self.is_apart() || self.others.is_for_one()
    }

    /// What is left of ended futures.
    #[cfg(feature = "tokio")]
    pub(crate) fn deferred_frees(&self) -> &DeferredFrees {
        &self.others.deferred_frees
    }

    pub(crate) fn run_queues(&self) -> &[Arc<RunQueue>] {
        &self.run_queues
    }

    /// Whether a driver is up.
    pub(crate) fn is_up(&self) -> bool {
        self.others.up.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn has_ready(&self) -> bool {
        self.run_queues.iter().any(|run_queue| run_queue.has_ready())
    }

    /// Takes a ready cell off the run queue of another driver than `number`.
    pub(crate) fn steal(&self, number: usize) -> Option<Arc<dyn Runnable>> {
        let count = self.run_queues.len();
        (1..count).find_map(|step| self.run_queues[(number + step) % count].next(None))
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // A cell holds its run queue, and the run queues hold what is left of cells: neither would ever go. No driver
        // is left that could bring more.
        self.others.deferred_frees.free();
    }
}
