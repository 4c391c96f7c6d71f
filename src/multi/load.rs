//! The load: how much a pool has to do, read without its lock.
//!
//! A `Multi` that chooses between pools reads the load of several, for each task. To ask each one's lock
//! would make them wait for each other, and that is what several pools are there to avoid.

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

impl Load {
    /// Of a pool with so many tasks, and so many places for them: none if it is closed.
    pub(crate) fn new((tasks, places): (usize, usize)) -> Self {
        let standing = match places {
            0 => Standing::Closed,
            places if tasks >= places => Standing::Full,
            _ => Standing::Room,
        };
        Load { standing, tasks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_with_room_is_less_loaded_than_a_full_or_closed_one() {
        let (roomy, full, closed) = (Load::new((2, 3)), Load::new((2, 2)), Load::new((1, 0)));
        assert_eq!(roomy.standing, Standing::Room);
        assert_eq!(full.standing, Standing::Full);
        assert_eq!(closed.standing, Standing::Closed);
        assert!(roomy < full && full < closed && Load::new((1, 3)) < roomy);
    }
}
