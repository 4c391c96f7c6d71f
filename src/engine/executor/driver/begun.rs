//! Whether a driver has begun to work.

use std::sync::Arc;

use crate::engine::sync::atomic::{AtomicU8, Ordering};

/// Whether a driver has begun to work. One that is dropped before is told to the thread that started it, who
/// may hold the engine's lock.
#[derive(Clone)]
pub(crate) struct Begun(Arc<AtomicU8>);

const STARTING: u8 = 0;
const STARTED: u8 = 1;
const DROPPED: u8 = 2;

impl Default for Begun {
    fn default() -> Self {
        Begun(Arc::new(AtomicU8::new(STARTING)))
    }
}

impl Begun {
    /// The thread that started the driver relies on it from now on. False if it is no more.
    #[must_use]
    pub(crate) fn rely(&self) -> bool {
        let was = self.0.compare_exchange(STARTING, STARTED, Ordering::AcqRel, Ordering::Acquire);
        was != Err(DROPPED)
    }

    pub(super) fn drop_unnoticed(&self) -> bool {
        self.0.compare_exchange(STARTING, DROPPED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}
