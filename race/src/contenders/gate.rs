//! The gate: what one writes by hand to give a bound to a pool that has none.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::{Contender, Refused};
use crate::failure::Failure;
use crate::workloads::Params;

/// A fixed number of permits. A task holds one from before it is submitted until it has run.
#[derive(Debug)]
struct Gate {
    permits: Mutex<Permits>,
    freed: Condvar,
}

#[derive(Debug)]
struct Permits {
    free: usize,
    /// Those who wait and whom nobody has woken yet.
    waiting: usize,
}

impl Gate {
    fn new(free: usize) -> Self {
        let permits = Mutex::new(Permits { free, waiting: 0 });
        let freed = Condvar::new();
        Self { permits, freed }
    }

    fn enter(&self) {
        let mut permits = self.lock();
        while permits.free == 0 {
            permits.waiting += 1;
            let woken = self.freed.wait(permits);
            permits = woken.unwrap_or_else(PoisonError::into_inner);
        }
        permits.free -= 1;
    }

    /// Wakes each of the waiting once only: a wake-up is a system call, needed or not.
    fn leave(&self) {
        let mut permits = self.lock();
        permits.free += 1;
        let someone_waits = permits.waiting > 0;
        permits.waiting = permits.waiting.saturating_sub(1);
        drop(permits);
        if someone_waits {
            self.freed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Permits> {
        self.permits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pool behind a gate.
#[derive(Debug)]
pub(crate) struct Gated<C> {
    pool: C,
    gate: &'static Gate,
}

impl<C: Contender> Gated<C> {
    pub(crate) const SETTINGS: &str = "behind a gate of a mutex and a condition variable, with as \
        many permits as queue and workers together, and no wake-up when nobody waits";

    /// Puts a gate before the pool that `build` makes.
    ///
    /// The bound of a queue counts the tasks that wait, a permit also those that run: hence
    /// one permit more for each worker.
    pub(crate) fn around(
        build: impl FnOnce(&Params) -> Result<C, Failure>,
        params: &Params,
    ) -> Result<Self, Failure> {
        let gate = Gate::new(params.bound()? + params.workers);
        let pool = build(params)?;
        // Leaked, so that a task holds a plain reference and counts none.
        let gate = Box::leak(Box::new(gate));
        Ok(Self { pool, gate })
    }
}

impl<C: Contender> Contender for Gated<C> {
    #[inline]
    fn submit(&self, task: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
        let gate = self.gate;
        gate.enter();
        self.pool.submit(move || {
            task();
            gate.leave();
        })
    }

    fn shut_down(self) -> Result<(), Failure> {
        self.pool.shut_down()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn a_full_gate_holds_the_next_until_one_leaves() {
        let gate: &'static Gate = Box::leak(Box::new(Gate::new(1)));
        gate.enter();
        let (entered, entries) = mpsc::channel();
        let second = thread::spawn(move || {
            gate.enter();
            entered.send(()).expect("the test listens");
        });
        while gate.lock().waiting == 0 {
            thread::yield_now();
        }
        assert!(entries.try_recv().is_err());
        gate.leave();
        second.join().expect("the second enters");
        assert!(entries.try_recv().is_ok());
    }
}
