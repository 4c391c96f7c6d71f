//! The home of a cell, in one word: a `OnceLock` takes two, and there are as many cells as futures.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::engine::executor::list::List;

/// A list that is set once, and held from then on. Not set if it is null; otherwise it came from an `Arc`,
/// which it owns.
pub(super) struct Home(AtomicPtr<List>);

impl Home {
    pub(super) const fn new() -> Self {
        Home(AtomicPtr::new(ptr::null_mut()))
    }

    /// Sets it, unless it is set.
    pub(super) fn set(&self, list: &Arc<List>) {
        if self.get().is_some() {
            return;
        }
        let own = Arc::into_raw(Arc::clone(list)).cast_mut();
        // Release: pairs with the Acquire in `get`.
        let set =
            self.0.compare_exchange(ptr::null_mut(), own, Ordering::Release, Ordering::Relaxed);
        if set.is_err() {
            // SAFETY: it came from an `Arc` just now, and is nobody else's.
            drop(unsafe { Arc::from_raw(own) });
        }
    }

    #[inline]
    pub(super) fn get(&self) -> Option<&List> {
        let list = self.0.load(Ordering::Acquire);
        // SAFETY: if it is set it stays so, and what it owns is there for as long as this.
        unsafe { list.as_ref() }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let list = *self.0.get_mut();
        if !list.is_null() {
            // SAFETY: it came from an `Arc`, and this is its end.
            drop(unsafe { Arc::from_raw(list) });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::engine::executor::list::Board;

    #[test]
    fn it_is_set_once_and_holds_what_it_was_set_to() {
        let board = Board::new(2);
        let (first, second) = (board.list(0), board.list(1));
        let counts = || (Arc::strong_count(first), Arc::strong_count(second));
        let (home, before) = (Home::new(), counts());
        assert!(home.get().is_none());
        home.set(first);
        home.set(second);
        assert!(home.get().is_some_and(|list| ptr::eq(list, &raw const **first)));
        assert_eq!(counts(), (before.0 + 1, before.1));
        drop(home);
        assert_eq!(counts(), before);
    }

    #[test]
    fn of_two_that_set_it_one_wins() {
        let rounds = if cfg!(miri) { 5 } else { 200 };
        for _ in 0..rounds {
            let (board, home) = (Board::new(2), Home::new());
            std::thread::scope(|scope| {
                for number in 0..2 {
                    let (home, list) = (&home, board.list(number));
                    scope.spawn(move || home.set(list));
                }
            });
            let number = home.get().expect("both have set it").number();
            let held = [0, 1].map(|number| Arc::strong_count(board.list(number)));
            assert_eq!(held[number], held[1 - number] + 1);
        }
    }
}
