//! What tasks cost in memory. The allocations of the whole process are counted, so the tests take turns.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/counting.rs"]
mod counting;

#[cfg(feature = "tokio")]
mod futures;
#[cfg(feature = "tokio")]
mod memory;
mod threads;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lets one test of this binary run at a time.
fn take_turns() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
