//! Workers that are drivers: each polls many futures.
//!
//! The [`Executor`] holds what the drivers of a pool share: their run queues, and the rule by which they help each other.

pub(crate) mod cell;
mod deferred_frees;
pub(crate) mod drive;
pub(crate) mod driver;
pub(crate) mod run_queue;
pub(crate) mod watchdog;
#[cfg(feature = "tokio")]
pub(crate) mod watched;

use std::sync::Arc;
use std::task::Waker;

use self::cell::Runnable;
use self::deferred_frees::DeferredFrees;
use self::run_queue::{Rise, RunQueue};
use self::watchdog::PollStats;
use crate::engine::sync::Padded;
use crate::engine::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

/// Where the drivers of a pool run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriverThreads {
    /// On the threads of a runtime, whose timers they share. They share one run queue.
    Shared,
    /// Each on a thread of its own, with timers of its own. Each has a run queue.
    Own,
}

/// A run queue as its cells know it. Each driver has one, so that drivers do not write each other's count of references;
/// and the count lies on a cache line of its own, because submitters that free cells write it.
#[repr(align(128))]
pub(crate) struct Owner {
    pub(crate) executor: Arc<Executor>,
    /// The number of the run queue.
    pub(crate) run_queue: usize,
}

impl Owner {
    /// The run queue of this driver.
    pub(crate) fn of(executor: &Arc<Executor>, driver: usize) -> Arc<Self> {
        let executor = Arc::clone(executor);
        Arc::new(Owner { run_queue: executor.run_queue_of(driver), executor })
    }
}

/// Who polls what is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PollPolicy {
    /// Any driver. Where there is no watchdog, this is how it is.
    Shared,
    /// One driver that is up, of those that share a run queue.
    Single,
    /// Each driver what is on its own run queue.
    Partitioned,
}

/// See the module's first lines.
pub(crate) struct Executor {
    threads: DriverThreads,
    /// One, or one for each driver.
    run_queues: Vec<RunQueue>,
    pub(in crate::engine) poll_stats: Vec<Padded<PollStats>>,
    /// Drivers that sleep. Only a hint: written under the lock of a driver's run queue.
    asleep: AtomicUsize,
    /// A [`PollPolicy`].
    policy: AtomicU8,
    pub(crate) deferred_frees: Padded<DeferredFrees>,
    /// There is a watchdog.
    pub(in crate::engine) watched: AtomicBool,
}

impl Executor {
    pub(crate) fn new(drivers: usize, threads: DriverThreads) -> Arc<Self> {
        let each = match threads {
            DriverThreads::Shared => drivers,
            DriverThreads::Own => 1,
        };
        Arc::new(Executor {
            threads,
            run_queues: (0..drivers / each).map(|_| RunQueue::new(each)).collect(),
            poll_stats: (0..drivers).map(|_| Padded::default()).collect(),
            asleep: AtomicUsize::new(0),
            policy: AtomicU8::new(PollPolicy::Shared as u8),
            deferred_frees: Padded::default(),
            watched: AtomicBool::new(false),
        })
    }

    pub(crate) fn drivers(&self) -> usize {
        self.poll_stats.len()
    }

    /// The number of the run queue of this driver.
    pub(crate) fn run_queue_of(&self, driver: usize) -> usize {
        driver % self.run_queues.len()
    }

    pub(crate) fn run_queues(&self) -> &[RunQueue] {
        &self.run_queues
    }

    /// Whether each driver has a thread of its own, and thus a run queue.
    pub(crate) fn is_apart(&self) -> bool {
        self.threads == DriverThreads::Own
    }

    #[inline]
    pub(crate) fn policy(&self) -> PollPolicy {
        match self.policy.load(Ordering::Relaxed) {
            0 => PollPolicy::Shared,
            1 => PollPolicy::Single,
            _ => PollPolicy::Partitioned,
        }
    }

    /// From now on every driver polls what is ready, or as few as share no lock.
    pub(crate) fn set_shared(&self, shared: bool) {
        let policy = match (shared, self.is_apart()) {
            (true, _) => PollPolicy::Shared,
            (false, false) => PollPolicy::Single,
            (false, true) => PollPolicy::Partitioned,
        };
        self.policy.store(policy as u8, Ordering::Relaxed);
        if shared {
            // First the word, then a look at each run queue, under its locks: see the README.
            for (number, run_queue) in self.run_queues.iter().enumerate() {
                if run_queue.is_busy() {
                    let waker = run_queue.notify(self).or_else(|| self.helper(number));
                    waker.into_iter().for_each(Waker::wake);
                }
            }
        }
    }

    fn is_helping(&self) -> bool {
        self.is_apart() && self.policy() == PollPolicy::Shared
    }

    /// Whether a driver sleeps that would help.
    pub(crate) fn others_sleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed) > 0 && self.policy() == PollPolicy::Shared
    }

    /// Whether a driver is to sleep, because another one is up and one is enough.
    pub(crate) fn is_spare(&self, driver: usize) -> bool {
        self.policy() == PollPolicy::Single && self.own(driver).is_crowded()
    }

    /// Puts new cells into a run queue. They are ready.
    pub(crate) fn add(&self, owner: &Arc<Owner>, cells: &mut Vec<Arc<dyn Runnable>>) {
        let waker = self.run_queues[owner.run_queue].add(self, owner, cells);
        self.call(owner.run_queue, waker);
    }

    /// A cell is ready.
    pub(crate) fn push_ready(&self, number: usize, index: u32) {
        let waker = self.run_queues[number].push_ready(self, index);
        self.call(number, waker);
    }

    /// Wakes a driver of this run queue, or one that sleeps elsewhere and is to help.
    fn call(&self, number: usize, waker: Option<Waker>) {
        let may_help = || self.is_helping() && self.asleep.load(Ordering::Relaxed) > 0;
        let waker = waker.or_else(|| if may_help() { self.helper(number) } else { None });
        waker.into_iter().for_each(Waker::wake);
    }

    /// A driver that sleeps and has another run queue.
    #[cold]
    fn helper(&self, number: usize) -> Option<Waker> {
        self.others(number).find_map(|run_queue| run_queue.notify(self))
    }

    fn others(&self, number: usize) -> impl Iterator<Item = &RunQueue> {
        let (before, rest) = self.run_queues.split_at(number);
        rest[1..].iter().chain(before)
    }

    /// A driver is up, and is woken by this waker when it sleeps.
    pub(crate) fn rise(&self, driver: usize, waker: &Waker) -> Rise {
        self.own(driver).rise(self, driver, waker)
    }

    /// A driver has left.
    pub(crate) fn leave(&self, driver: usize) {
        let waker = self.own(driver).leave(self, driver);
        waker.into_iter().for_each(Waker::wake);
        self.deferred_frees.free();
    }

    /// A driver was lost, and with it the futures of its run queue.
    pub(crate) fn lose(&self, driver: usize) -> Vec<Arc<dyn Runnable>> {
        self.leave(driver);
        self.own(driver).take_all()
    }

    /// Cells that have ended leave their run queues.
    pub(crate) fn remove(&self, ended: &mut Vec<Arc<dyn Runnable>>) {
        let number = |cell: &Arc<dyn Runnable>| cell.header().owner().map_or(0, |it| it.run_queue);
        for cells in ended.chunk_by(|one, next| number(one) == number(next)) {
            self.run_queues[number(&cells[0])].remove(cells);
        }
        self.deferred_frees.keep(ended.drain(..).filter_map(Runnable::put_away));
    }

    fn own(&self, driver: usize) -> &RunQueue {
        &self.run_queues[self.run_queue_of(driver)]
    }

    /// Takes a ready cell for this driver. `notified` says that the driver was woken to look for one.
    #[inline]
    pub(crate) fn next(&self, driver: usize, notified: &mut bool) -> Option<Arc<dyn Runnable>> {
        let next = self.own(driver).next().or_else(|| self.steal(driver));
        if std::mem::take(notified) {
            let waker = self.own(driver).stop_searching(self, driver, next.is_some());
            if next.is_some() {
                self.call(self.run_queue_of(driver), waker);
            }
        }
        next
    }

    /// Takes a ready cell off another run queue, where drivers help each other.
    pub(crate) fn steal(&self, driver: usize) -> Option<Arc<dyn Runnable>> {
        if !self.is_helping() {
            return None;
        }
        self.others(self.run_queue_of(driver)).find_map(RunQueue::next)
    }

    /// Lets a driver sleep, unless something is ready.
    pub(crate) fn sleep(&self, driver: usize) -> bool {
        let number = self.run_queue_of(driver);
        let own = &self.run_queues[number];
        if !own.sleep(self, driver) {
            return false;
        }
        // It is known to sleep: what is put elsewhere after this look finds it.
        if self.is_helping() && self.others(number).any(RunQueue::has_ready) {
            own.stay_up(self, driver);
            return false;
        }
        self.deferred_frees.free_some();
        true
    }

    /// Wakes every future.
    pub(crate) fn wake_all(&self) {
        let cells: Vec<_> = self.run_queues.iter().flat_map(RunQueue::cells).collect();
        cells.iter().for_each(|cell| cell.header().wake());
    }
}
