//! A list in order of arrival, out of which any entry can be removed in logarithmic time.
//!
//! An entry that is removed leaves an empty slot. Empty slots at either end are dropped at once, and the
//! others when they are more than half of the list, so a removal costs a binary search and, on average, a
//! constant number of moves.

use std::collections::VecDeque;

/// Names an entry. Keys are given out in order of arrival and never twice.
pub(crate) type Key = u64;

/// See the module's first lines. The first and the last slot are never empty.
#[derive(Debug)]
pub(crate) struct WaitList<T> {
    slots: VecDeque<(Key, Option<T>)>,
    empty: usize,
    next: Key,
}

impl<T> Default for WaitList<T> {
    fn default() -> Self {
        WaitList { slots: VecDeque::new(), empty: 0, next: 0 }
    }
}

impl<T> WaitList<T> {
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.empty
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(crate) fn first(&self) -> Option<&T> {
        self.slots.front()?.1.as_ref()
    }

    /// The key of the entry that [`push`](WaitList::push) adds next.
    pub(crate) fn next_key(&self) -> Key {
        self.next
    }

    pub(crate) fn push(&mut self, entry: T) -> Key {
        let key = self.next;
        self.next += 1;
        self.slots.push_back((key, Some(entry)));
        key
    }

    pub(crate) fn pop_first(&mut self) -> Option<T> {
        let (_, entry) = self.slots.pop_front()?;
        self.trim();
        entry
    }

    /// Removes an entry. None if it has been removed or popped.
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let slot = self.slots.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        let entry = self.slots[slot].1.take()?;
        self.empty += 1;
        self.trim();
        if self.empty > self.slots.len() / 2 {
            self.slots.retain(|(_, entry)| entry.is_some());
            self.empty = 0;
        }
        Some(entry)
    }

    /// All entries in order of arrival. The list is empty afterwards.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.empty = 0;
        std::mem::take(&mut self.slots).into_iter().filter_map(|(_, entry)| entry)
    }

    /// All entries in order of arrival.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|(_, entry)| entry.as_ref())
    }

    /// Drops the empty slots at both ends.
    fn trim(&mut self) {
        while self.slots.front().is_some_and(|(_, entry)| entry.is_none()) {
            self.slots.pop_front();
            self.empty -= 1;
        }
        while self.slots.back().is_some_and(|(_, entry)| entry.is_none()) {
            self.slots.pop_back();
            self.empty -= 1;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn list(entries: u64) -> WaitList<u64> {
        let mut list = WaitList::default();
        (0..entries).for_each(|entry| assert_eq!(list.push(entry), entry));
        list
    }

    #[test]
    fn entries_leave_in_order_of_arrival_or_by_their_key() {
        let mut list = list(6);
        assert_eq!((list.remove(3), list.remove(0)), (Some(3), Some(0)));
        assert_eq!((list.remove(3), list.remove(9)), (None, None), "they are not there");
        assert_eq!((list.len(), list.first()), (4, Some(&1)));
        assert_eq!(list.iter().copied().collect::<Vec<_>>(), [1, 2, 4, 5]);
        assert_eq!(list.pop_first(), Some(1));
        assert_eq!(list.push(6), 6, "a key is never used again");
        assert_eq!(list.take_all().collect::<Vec<_>>(), [2, 4, 5, 6]);
        assert_eq!((list.len(), list.is_empty(), list.pop_first()), (0, true, None));
    }

    #[test]
    fn empty_slots_never_outnumber_entries() {
        for order in [|key: u64| key, |key| 999 - key, |key| key * 7 % 1000] {
            let mut list = list(1000);
            for removed in 0..1000 {
                assert_eq!(list.remove(order(removed)), Some(order(removed)));
                assert_eq!(list.len(), 999 - removed as usize);
                assert!(list.slots.len() <= 2 * list.len(), "{} slots", list.slots.len());
            }
        }
    }

    #[test]
    fn a_first_entry_that_stays_does_not_make_the_list_grow() {
        let mut list = list(1);
        let mut last = list.push(0);
        for _ in 0..10_000 {
            let next = list.push(0);
            assert_eq!(list.remove(last), Some(0));
            last = next;
            assert!(list.slots.len() <= 5);
        }
    }
}
