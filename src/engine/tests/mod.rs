//! Tests of what one thread decides alone, without loom.

mod decisions;
mod faults;
pub(crate) mod stubs;
mod unmanned;
