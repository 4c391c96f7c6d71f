//! How many pullers a pull starts at a time.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The size of the first group, and of the next one after a puller has found no item.
const FIRST: usize = 2;
/// The largest group. Each group is twice as large as the one before it, up to this size.
const MOST: usize = 64;
/// After the pool had no place for all of them, it is not asked again for so many items.
const PAUSE: usize = 32;

/// How many pullers are started next. A hint, because several pullers may ask at once.
#[derive(Debug)]
pub(super) struct RampUp {
    size: AtomicUsize,
    pause: AtomicUsize,
}

impl RampUp {
    pub(super) fn new() -> Self {
        RampUp { size: AtomicUsize::new(FIRST), pause: AtomicUsize::new(0) }
    }

    /// Has `begin` begin with so many pullers, unless it is too early. It says how many there was room for.
    pub(super) fn begin(&self, begin: impl FnOnce(usize) -> usize) {
        let pause = self.pause.load(Ordering::Relaxed);
        if pause > 0 {
            self.pause.store(pause - 1, Ordering::Relaxed);
            return;
        }
        let size = self.size.load(Ordering::Relaxed);
        // Before any of them finds that there is nothing.
        self.size.store((2 * size).min(MOST), Ordering::Relaxed);
        if begin(size) < size {
            self.pause.store(PAUSE, Ordering::Relaxed);
        }
    }

    /// A puller has found no item, so there may be too many of them.
    pub(super) fn shrink(&self) {
        self.size.store(FIRST, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// What is started, where there is room for `room`.
    fn begun(ramp_up: &RampUp, room: usize) -> Option<usize> {
        let mut begun = None;
        ramp_up.begin(|size| {
            begun = Some(size.min(room));
            size.min(room)
        });
        begun
    }

    #[test]
    fn each_batch_is_twice_the_last_one_until_a_puller_finds_nothing() {
        let ramp_up = RampUp::new();
        let sizes = || (0..7).filter_map(|_| begun(&ramp_up, usize::MAX)).collect::<Vec<_>>();
        assert_eq!(sizes(), [2, 4, 8, 16, 32, 64, 64]);
        ramp_up.shrink();
        assert_eq!(sizes(), [2, 4, 8, 16, 32, 64, 64]);
    }

    #[test]
    fn a_pool_without_room_is_not_asked_again_at_once() {
        let ramp_up = RampUp::new();
        assert_eq!(begun(&ramp_up, 1), Some(1));
        assert!((0..PAUSE).all(|_| begun(&ramp_up, 9).is_none()));
        assert_eq!(begun(&ramp_up, 9), Some(4));
    }
}
