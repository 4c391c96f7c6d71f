//! Containing a panic of a user's code that no handle can carry.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls something of a user's that has no handle to carry its panic. Rust has printed it.
pub(crate) fn contain(call: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(call)) {
        drop_payload(payload);
    }
}

/// Drops a payload. If that panics too, the new payload is given up instead of being dropped,
/// because it may do the same for ever.
fn drop_payload(payload: Box<dyn Any + Send>) {
    if let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(next);
    }
}
