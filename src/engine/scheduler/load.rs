//! The load: how much a pool has to do, read without the lock.
//!
//! A `Multi` that chooses between pools reads the load of several, for each task. To ask each one's lock
//! would make them wait for each other, and that is what several pools are there to avoid.

use crate::engine::queue::fast_path::FastPath;
use crate::engine::{Engine, Work};

/// Whether a task would find a place, as far as can be seen without the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    Room,
    Full,
    Closed,
}

/// How much a pool has to do. The lesser load is the better choice: a pool with room before a full
/// one, a closed one last, and among equals the one with fewer tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Load {
    pub(crate) standing: Standing,
    /// Queued and running. Tasks that were cancelled count until their turn comes, and permits do
    /// not count: only the lock knows of them.
    pub(crate) tasks: usize,
}

impl FastPath {
    fn load(&self) -> Load {
        // First the tally: what is published later only adds to what was taken before.
        let tally = self.tally();
        let tasks = tally.queued(self.published()) + tally.busy() + self.driven();
        let standing = match self.places() {
            0 => Standing::Closed,
            places if tasks >= places => Standing::Full,
            _ => Standing::Room,
        };
        Load { standing, tasks }
    }
}

#[cfg(feature = "tokio")]
impl<W: Work> Engine<W> {
    /// Whether the pool is closed, as far as can be seen without the lock.
    pub(crate) fn is_shut(&self) -> bool {
        self.fast_path.places() == 0
    }

    /// Whether more than `tasks` may run, as far as can be seen without the lock.
    pub(crate) fn may_run_more_than(&self, tasks: usize) -> bool {
        !self.is_shut() && tasks < self.fast_path.capacity()
    }

    /// Whether the pool is full and more than `tasks` are queued, as far as can be seen without the
    /// lock.
    pub(crate) fn has_queued_more_than(&self, tasks: usize) -> bool {
        let queued = self.fast_path.tally().queued(self.fast_path.published());
        queued > tasks && !self.may_run_more_than(self.fast_path.driven())
    }
}

impl<W: Work> Engine<W> {
    pub(crate) fn load(&self) -> Load {
        self.fast_path.load()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_pool_with_room_is_less_loaded_than_a_full_or_closed_one() {
        let fast_path = FastPath::new();
        assert_eq!(fast_path.load().standing, Standing::Closed);
        fast_path.set_places(3);
        fast_path.publish(2);
        fast_path.take(1, true);
        let roomy = fast_path.load();
        assert_eq!(roomy, Load { standing: Standing::Room, tasks: 2 });
        fast_path.set_places(2);
        let full = fast_path.load();
        assert_eq!(full, Load { standing: Standing::Full, tasks: 2 });
        fast_path.end_locked();
        fast_path.set_places(0);
        let closed = fast_path.load();
        assert_eq!(closed, Load { standing: Standing::Closed, tasks: 1 });
        assert!(roomy < full && full < closed);
    }

    #[test]
    fn tasks_that_drivers_run_are_part_of_the_load() {
        let fast_path = FastPath::new();
        fast_path.set_places(3);
        fast_path.publish(1);
        fast_path.begin_driven(1);
        assert_eq!(fast_path.load(), Load { standing: Standing::Room, tasks: 2 });
        fast_path.begin_driven(1);
        assert_eq!(fast_path.load(), Load { standing: Standing::Full, tasks: 3 });
    }
}
