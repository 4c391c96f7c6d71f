//! Which futures were woken, and which drivers of a run queue sleep.

use std::collections::VecDeque;
use std::task::Waker;

use crate::engine::executor::{Executor, PollPolicy};
use crate::engine::sync::atomic::Ordering;

/// See the module's first lines.
pub(super) struct Wakes {
    /// Ready, and not in the queue of ready ones yet.
    pub(super) woken: VecDeque<u32>,
    drivers: Vec<Slot>,
    /// How many drivers are up or notified, and how many sleep.
    up: usize,
    asleep: usize,
    /// One of them is notified.
    searching: bool,
}

#[derive(Default)]
struct Slot {
    driver: DriverState,
    waker: Option<Waker>,
}

/// What a driver is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DriverState {
    /// There is none.
    #[default]
    Gone,
    /// It is in its turn, or will be.
    Up,
    /// It was woken, and has not looked for something ready since.
    Notified,
    /// It is woken when something is ready.
    Asleep,
}

impl Wakes {
    pub(super) fn new(drivers: usize) -> Self {
        let drivers = (0..drivers).map(|_| Slot::default()).collect();
        Wakes { woken: VecDeque::new(), drivers, up: 0, asleep: 0, searching: false }
    }

    pub(super) fn up(&self) -> usize {
        self.up
    }

    /// A driver's place here. A driver with a run queue of its own has the only one.
    fn slot(&mut self, driver: usize) -> &mut Slot {
        let drivers = self.drivers.len();
        &mut self.drivers[driver % drivers]
    }

    /// Whether one driver polls all of it, and at least so many are up.
    pub(super) fn one_is_enough(&self, executor: &Executor, up: usize) -> bool {
        self.up >= up && executor.policy() == PollPolicy::Single
    }

    /// A driver that sleeps, to be woken, unless one was notified that has not looked since, or one is enough.
    #[must_use]
    pub(super) fn notify(&mut self, executor: &Executor) -> Option<Waker> {
        if self.asleep == 0 || self.searching || self.one_is_enough(executor, 1) {
            return None;
        }
        let slot = self.drivers.iter_mut().find(|slot| slot.driver == DriverState::Asleep)?;
        slot.driver = DriverState::Notified;
        let waker = slot.waker.clone();
        self.searching = true;
        self.count_up(executor);
        waker
    }

    fn count_up(&mut self, executor: &Executor) {
        self.up += 1;
        self.asleep -= 1;
        executor.asleep.fetch_sub(1, Ordering::Relaxed);
    }

    /// A driver is up. True if it was notified: it stays so until it has looked.
    pub(super) fn wake_up(&mut self, executor: &Executor, driver: usize) -> bool {
        let slot = self.slot(driver);
        match slot.driver {
            DriverState::Up => {}
            DriverState::Notified => return true,
            DriverState::Gone => {
                slot.driver = DriverState::Up;
                self.up += 1;
            }
            DriverState::Asleep => {
                slot.driver = DriverState::Up;
                self.count_up(executor);
            }
        }
        false
    }

    /// A driver is woken by this waker when it sleeps. The one that it replaces, if it is another.
    pub(super) fn introduce(&mut self, driver: usize, waker: &Waker) -> Option<Option<Waker>> {
        let slot = self.slot(driver);
        // `will_wake` may deny that a waker is the clone of another. Two with the same data are of the
        // same runtime task, because the one that is kept keeps it alive.
        let is_same = |kept: &Waker| kept.data() == waker.data() || kept.will_wake(waker);
        if slot.waker.as_ref().is_some_and(is_same) {
            return None;
        }
        Some(slot.waker.replace(waker.clone()))
    }

    /// A driver has looked for something ready, if it was notified.
    pub(super) fn stop_searching(&mut self, driver: usize) -> bool {
        let slot = self.slot(driver);
        let notified = slot.driver == DriverState::Notified;
        if notified {
            slot.driver = DriverState::Up;
            self.searching = false;
        }
        notified
    }

    /// A driver sleeps. It was up.
    pub(super) fn fall_asleep(&mut self, executor: &Executor, driver: usize) {
        self.stop_searching(driver);
        self.slot(driver).driver = DriverState::Asleep;
        self.up -= 1;
        self.asleep += 1;
        executor.asleep.fetch_add(1, Ordering::Relaxed);
    }

    /// A driver is gone. Its waker, and whether it was notified.
    pub(super) fn forget(&mut self, executor: &Executor, driver: usize) -> (Option<Waker>, bool) {
        self.wake_up(executor, driver);
        let notified = self.stop_searching(driver);
        self.up -= 1;
        (std::mem::take(self.slot(driver)).waker, notified)
    }
}
