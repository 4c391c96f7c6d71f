//! The home of a cell, in one word: a `OnceLock` takes two, and there are as many cells as futures.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::engine::executor::run_queue::RunQueue;

/// A list that is set once, and held from then on. Not set if it is null; otherwise it came from an `Arc`,
/// which it owns.
pub(super) struct Home(AtomicPtr<RunQueue>);

impl Home {
    pub(super) const fn new() -> Self {
        Home(AtomicPtr::new(ptr::null_mut()))
    }

    /// Sets it, unless it is set.
    pub(super) fn set(&self, run_queue: &Arc<RunQueue>) {
        if self.get().is_some() {
            return;
        }
        let own = Arc::into_raw(Arc::clone(run_queue)).cast_mut();
        // Release: pairs with the Acquire in `get`.
        let set =
            self.0.compare_exchange(ptr::null_mut(), own, Ordering::Release, Ordering::Relaxed);
        if set.is_err() {
            // SAFETY: it came from an `Arc` just now, and is no other thread's.
            drop(unsafe { Arc::from_raw(own) });
        }
    }

    #[inline]
    pub(super) fn get(&self) -> Option<&RunQueue> {
        let run_queue = self.0.load(Ordering::Acquire);
        // SAFETY: if it is set it stays so, and what it owns is there for as long as this.
        unsafe { run_queue.as_ref() }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let run_queue = *self.0.get_mut();
        if !run_queue.is_null() {
            // SAFETY: it came from an `Arc`, and this is its end.
            drop(unsafe { Arc::from_raw(run_queue) });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::engine::executor::run_queue::Executor;

    #[test]
    fn it_is_set_once_and_holds_what_it_was_set_to() {
        let executor = Executor::new(2);
        let (first, second) = (executor.run_queue(0), executor.run_queue(1));
        let counts = || (Arc::strong_count(first), Arc::strong_count(second));
        let (home, before) = (Home::new(), counts());
        assert!(home.get().is_none());
        home.set(first);
        home.set(second);
        assert!(home.get().is_some_and(|run_queue| ptr::eq(run_queue, &raw const **first)));
        assert_eq!(counts(), (before.0 + 1, before.1));
        drop(home);
        assert_eq!(counts(), before);
    }

    #[test]
    fn of_two_that_set_it_one_wins() {
        let rounds = if cfg!(miri) { 5 } else { 200 };
        for _ in 0..rounds {
            let (executor, home) = (Executor::new(2), Home::new());
            std::thread::scope(|scope| {
                for number in 0..2 {
                    let (home, run_queue) = (&home, executor.run_queue(number));
                    scope.spawn(move || home.set(run_queue));
                }
            });
            let number = home.get().expect("both have set it").number();
            let held = [0, 1].map(|number| Arc::strong_count(executor.run_queue(number)));
            assert_eq!(held[number], held[1 - number] + 1);
        }
    }
}
