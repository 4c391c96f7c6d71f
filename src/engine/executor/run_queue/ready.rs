//! Which cells of a run queue are ready, in the order in which they became so.

/// A queue that is filled at its end, mostly all at once, and is empty before that: so it lies in one
/// piece, and what comes next is found without a detour.
#[derive(Debug, Default)]
pub(super) struct Ready {
    indices: Vec<u32>,
    /// So many of them have been taken.
    taken: usize,
}

impl Ready {
    pub(super) fn is_empty(&self) -> bool {
        self.taken == self.indices.len()
    }

    pub(super) fn len(&self) -> usize {
        self.indices.len() - self.taken
    }

    #[inline]
    pub(super) fn take(&mut self) -> Option<u32> {
        let index = self.indices.get(self.taken).copied()?;
        self.taken += 1;
        Some(index)
    }

    pub(super) fn push(&mut self, index: u32) {
        self.make_room(1);
        self.indices.push(index);
    }

    /// Takes in all of these.
    pub(super) fn take_all(&mut self, woken: &mut Vec<u32>) {
        if self.is_empty() {
            // They change places, and nothing is copied.
            self.indices.clear();
            self.taken = 0;
            std::mem::swap(&mut self.indices, woken);
        } else {
            self.make_room(woken.len());
            self.indices.append(woken);
        }
    }

    /// Forgets what was taken, before it would need more memory for others.
    fn make_room(&mut self, others: usize) {
        if self.indices.capacity() - self.indices.len() < others && self.taken > 0 {
            self.indices.drain(..self.taken);
            self.taken = 0;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn rest(mut ready: Ready) -> Vec<u32> {
        std::iter::from_fn(|| ready.take()).collect()
    }

    #[test]
    fn they_are_taken_in_their_order() {
        let mut ready = Ready::default();
        assert!(ready.is_empty() && ready.take().is_none());
        let mut woken = vec![1, 2, 3];
        ready.take_all(&mut woken);
        assert!(woken.is_empty());
        assert_eq!((ready.take(), ready.len()), (Some(1), 2));
        ready.take_all(&mut vec![4, 5]);
        ready.push(6);
        assert_eq!(rest(ready), [2, 3, 4, 5, 6]);
    }

    #[test]
    fn an_empty_one_changes_places_with_what_comes() {
        let mut ready = Ready::default();
        let mut woken = Vec::with_capacity(100);
        woken.push(1);
        ready.take_all(&mut woken);
        assert_eq!(ready.take(), Some(1));
        assert!(ready.is_empty());
        woken.push(2);
        ready.take_all(&mut woken);
        assert!(woken.capacity() >= 100 && woken.is_empty(), "the memory comes back");
        assert_eq!(rest(ready), [2]);
    }

    #[test]
    fn one_that_is_never_empty_does_not_grow() {
        let mut ready = Ready::default();
        ready.push(0);
        for index in 1..1000 {
            ready.push(index);
            assert_eq!((ready.take(), ready.len()), (Some(index - 1), 1));
        }
        assert!(ready.indices.capacity() < 16, "{}", ready.indices.capacity());
    }
}
