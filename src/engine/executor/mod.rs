//! Workers that are drivers: each polls many futures.
//!
//! The [`Executor`] holds what the drivers of a pool share: their run queues, which of them sleep, and the rule by which
//! they help each other.

pub(crate) mod cell;
pub(crate) mod driver;
pub(crate) mod run_queue;
pub(crate) mod watchdog;

use std::mem::replace;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::task::Waker;
use std::time::Duration;

use self::cell::Runnable;
use self::run_queue::{DeferredFrees, RunQueue};
use crate::engine::scheduler::task_times::clipped_mean;
use crate::engine::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::engine::sync::{Mutex, Padded, lock};

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

/// What a driver is doing.
#[derive(Default)]
enum DriverState {
    /// There is none.
    #[default]
    Gone,
    /// It is in its turn, or will be.
    Up,
    /// It is woken by this when something is ready.
    Asleep(Waker),
}

/// No driver was woken to look.
const NONE: usize = usize::MAX;

/// Polls that take less than this, in the mean, are short: a few times what a wake and its locks cost.
const SHORT_NANOS: u32 = 4_000;
/// What a driver tells of its work, on which the poll policy depends.
#[derive(Debug, Default)]
pub(crate) struct PollStats {
    polls: AtomicU64,
    /// How long a poll takes with all that belongs to it, in the mean; zero if that is unknown.
    nanos: AtomicU32,
}

/// See the module's first lines.
pub(crate) struct Executor {
    threads: DriverThreads,
    /// One, or one for each driver.
    run_queues: Vec<RunQueue>,
    drivers: Padded<Mutex<Vec<DriverState>>>,
    /// How many drivers sleep: written under the lock of the drivers.
    asleep: AtomicUsize,
    /// The driver that was woken last to look for something ready, until it has looked: written under that lock.
    notified: AtomicUsize,
    /// One driver polls what is ready in a run queue. Otherwise each driver polls whatever is ready.
    single: AtomicBool,
    pub(in crate::engine) poll_stats: Vec<Padded<PollStats>>,
    pub(crate) deferred_frees: Padded<DeferredFrees>,
    /// There is a watchdog.
    pub(in crate::engine) watched: AtomicBool,
}

impl Executor {
    pub(crate) fn new(drivers: usize, threads: DriverThreads) -> Arc<Self> {
        let run_queues = match threads {
            DriverThreads::Shared => 1,
            DriverThreads::Own => drivers,
        };
        Arc::new(Executor {
            threads,
            run_queues: (0..run_queues).map(|_| RunQueue::default()).collect(),
            drivers: Padded(Mutex::new((0..drivers).map(|_| DriverState::Gone).collect())),
            asleep: AtomicUsize::new(0),
            notified: AtomicUsize::new(NONE),
            single: AtomicBool::new(false),
            poll_stats: (0..drivers).map(|_| Padded::default()).collect(),
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

    fn own(&self, driver: usize) -> &RunQueue {
        &self.run_queues[self.run_queue_of(driver)]
    }

    /// The run queues that a driver polls, its own first, or last.
    fn within_reach(&self, driver: usize, own_last: bool) -> impl Iterator<Item = &RunQueue> {
        let (own, all) = (self.run_queue_of(driver), self.run_queues.len());
        let (first, count) =
            if self.is_single() { (own, 1) } else { (own + usize::from(own_last), all) };
        (first..first + count).map(move |number| &self.run_queues[number % all])
    }

    /// Whether each driver has a thread of its own, and thus a run queue.
    pub(crate) fn is_apart(&self) -> bool {
        self.threads == DriverThreads::Own
    }

    /// Whether the policy is Single: see the README.
    #[inline]
    pub(crate) fn is_single(&self) -> bool {
        self.single.load(Ordering::Relaxed)
    }

    /// From now on one driver polls what is ready in a run queue, or each polls whatever is ready.
    pub(crate) fn set_single(&self, single: bool) {
        self.single.store(single, Ordering::Relaxed);
        if !single {
            // First the word: a driver that goes to sleep reads it after that or is found here. See the README.
            self.notify(0);
        }
    }

    /// Whether a driver sleeps that would help.
    pub(crate) fn others_sleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed) > 0 && !self.is_single()
    }

    /// Whether a driver is to sleep, because another one is up and one is enough.
    pub(crate) fn is_spare(&self, driver: usize) -> bool {
        self.is_single() && self.own(driver).up() > 1
    }

    /// Puts new cells into a run queue. They are ready.
    pub(crate) fn add(&self, owner: &Arc<Owner>, cells: &mut Vec<Arc<dyn Runnable>>) {
        // The driver that adds them polls the first one itself.
        if self.run_queues[owner.run_queue].add(owner, cells) > 1 {
            self.call(owner.run_queue);
        }
    }

    /// A cell is ready.
    pub(crate) fn push_ready(&self, number: usize, index: u32) {
        self.run_queues[number].push_ready(index);
        self.call(number);
    }

    /// Whether some driver will look at this run queue.
    fn is_attended(&self, number: usize) -> bool {
        if self.is_single() {
            self.run_queues[number].up() > 0
        } else {
            self.notified.load(Ordering::Relaxed) != NONE
        }
    }

    /// Something is ready in this run queue: wakes a driver that sleeps, if one has to look. The counts are read without a
    /// lock: see the README.
    fn call(&self, number: usize) {
        if self.asleep.load(Ordering::Relaxed) > 0 && !self.is_attended(number) {
            self.notify(number);
        }
    }

    /// Wakes a driver that sleeps to look at this run queue: its own one, if that sleeps.
    #[cold]
    fn notify(&self, number: usize) {
        let mut drivers = lock(&self.drivers);
        if self.is_attended(number) {
            return;
        }
        let asleep = |driver: &usize| matches!(drivers[*driver], DriverState::Asleep(_));
        let mut asleep = (0..drivers.len()).filter(asleep).peekable();
        let helper = asleep.peek().copied().filter(|_| !self.is_single());
        let own = asleep.find(|driver| self.run_queue_of(*driver) == number);
        let Some(driver) = own.or(helper) else { return };
        let was = self.set_state(&mut drivers, driver, DriverState::Up);
        self.notified.store(driver, Ordering::Relaxed);
        drop(drivers);
        if let DriverState::Asleep(waker) = was {
            waker.wake();
        }
    }

    /// Says what a driver is doing. Returns what it did before.
    fn set_state(
        &self,
        drivers: &mut [DriverState],
        driver: usize,
        state: DriverState,
    ) -> DriverState {
        let was = replace(&mut drivers[driver], state);
        let change = |count: &AtomicUsize, counts: fn(&DriverState) -> bool| match (
            counts(&was),
            counts(&drivers[driver]),
        ) {
            (false, true) => _ = count.fetch_add(1, Ordering::Relaxed),
            (true, false) => _ = count.fetch_sub(1, Ordering::Relaxed),
            _ => {}
        };
        change(&self.own(driver).up, |state| matches!(state, DriverState::Up));
        change(&self.asleep, |state| matches!(state, DriverState::Asleep(_)));
        was
    }

    /// A driver is up. If it was notified, it is until it has looked.
    pub(crate) fn rise(&self, driver: usize) {
        let was = self.set_state(&mut lock(&self.drivers), driver, DriverState::Up);
        drop(was);
    }

    /// A driver that has looked for something ready, or need not, says what it does now. True if it was notified.
    fn settle(&self, driver: usize, state: DriverState) -> bool {
        let mut drivers = lock(&self.drivers);
        let was = self.set_state(&mut drivers, driver, state);
        let notified = self.is_notified(driver);
        if notified {
            self.notified.store(NONE, Ordering::Relaxed);
        }
        drop(drivers);
        drop(was);
        notified
    }

    /// Whether this driver was woken to look for something ready, and has not done so. For that driver, or under the lock.
    #[inline]
    fn is_notified(&self, driver: usize) -> bool {
        self.notified.load(Ordering::Relaxed) == driver
    }

    /// A driver leaves. If it was notified, another one is in its place.
    pub(crate) fn leave(&self, driver: usize) {
        if self.settle(driver, DriverState::Gone) {
            self.call(self.run_queue_of(driver));
        }
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

    /// Takes a ready cell for this driver, off its own run queue first or last. If it was notified and has found one, another
    /// driver is notified in its place, because there may be more, and what this one polls may take long.
    #[inline]
    pub(crate) fn next(&self, driver: usize, own_last: bool) -> Option<Arc<dyn Runnable>> {
        let next = self.within_reach(driver, own_last).find_map(RunQueue::next);
        if self.is_notified(driver) && self.settle(driver, DriverState::Up) && next.is_some() {
            self.call(self.run_queue_of(driver));
        }
        next
    }

    /// A driver sleeps, until this wakes it. False if something is ready that no other driver looks after: then it has to
    /// rise again.
    pub(crate) fn sleep(&self, driver: usize, waker: &Waker) -> bool {
        self.settle(driver, DriverState::Asleep(waker.clone()));
        // It is known to sleep: a thread that puts something into a run queue after this look finds it.
        let is_left = self.is_single() && self.own(driver).up() > 0;
        if !is_left && self.within_reach(driver, false).any(RunQueue::has_ready) {
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

impl PollStats {
    /// Counts a poll, and returns how many there were. For its driver only, as `note`.
    pub(crate) fn count(&self) -> u64 {
        let polls = self.polls() + 1;
        self.polls.store(polls, Ordering::Relaxed);
        polls
    }

    pub(crate) fn polls(&self) -> u64 {
        self.polls.load(Ordering::Relaxed)
    }

    /// Records that `polls` polls took `time`.
    pub(crate) fn note(&self, polls: u64, time: Duration) {
        let sample = (time.as_nanos() / u128::from(polls.max(1))).clamp(1, u128::from(u32::MAX));
        let mean = u64::from(self.nanos.load(Ordering::Relaxed));
        let mean = clipped_mean((mean > 0).then_some(mean), sample as u64);
        self.nanos.store(mean as u32, Ordering::Relaxed);
    }

    /// Whether polls are known to be short.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        (1..SHORT_NANOS).contains(&self.nanos.load(Ordering::Relaxed))
    }
}
