//! Whether a driver has begun to work.

use std::sync::Arc;

use crate::engine::sync::atomic::{AtomicU8, Ordering};

/// Whether a driver has begun to work. One that is dropped before is told to the thread that started it, which
/// may hold the engine's lock.
#[derive(Clone)]
pub(crate) struct Begun(Arc<AtomicU8>);

#[derive(Clone, Copy)]
#[repr(u8)]
enum Beginning {
    Starting,
    Started,
    Dropped,
}

impl Default for Begun {
    fn default() -> Self {
        Begun(Arc::new(AtomicU8::new(Beginning::Starting as u8)))
    }
}

impl Begun {
    /// The thread that started the driver relies on it from now on. False if it is no more.
    #[must_use]
    pub(crate) fn rely(&self) -> bool {
        self.leave_starting(Beginning::Started) != Err(Beginning::Dropped as u8)
    }

    pub(super) fn drop_unnoticed(&self) -> bool {
        self.leave_starting(Beginning::Dropped).is_ok()
    }

    fn leave_starting(&self, to: Beginning) -> Result<u8, u8> {
        let from = Beginning::Starting as u8;
        self.0.compare_exchange(from, to as u8, Ordering::AcqRel, Ordering::Acquire)
    }
}
