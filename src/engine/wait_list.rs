//! A list in order of arrival, out of which any entry can be removed in logarithmic time.

use std::collections::BTreeMap;
use std::mem::take;

/// Names an entry. Keys are given out in order of arrival and never twice.
pub(crate) type Key = u64;

/// See the module's first lines.
#[derive(Debug)]
pub(crate) struct WaitList<T> {
    entries: BTreeMap<Key, T>,
    next: Key,
}

impl<T> Default for WaitList<T> {
    fn default() -> Self {
        WaitList { entries: BTreeMap::new(), next: 0 }
    }
}

impl<T> WaitList<T> {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn first(&self) -> Option<&T> {
        Some(self.entries.first_key_value()?.1)
    }

    /// The key of the entry that [`push`](WaitList::push) adds next.
    pub(crate) fn next_key(&self) -> Key {
        self.next
    }

    pub(crate) fn push(&mut self, entry: T) -> Key {
        let key = self.next;
        self.next += 1;
        self.entries.insert(key, entry);
        key
    }

    pub(crate) fn pop_first(&mut self) -> Option<T> {
        Some(self.entries.pop_first()?.1)
    }

    /// Removes an entry. None if it has been removed or popped.
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        self.entries.remove(&key)
    }

    /// All entries in order of arrival. The list is empty afterwards.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        take(&mut self.entries).into_values()
    }

    /// All entries in order of arrival.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.values()
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
}
