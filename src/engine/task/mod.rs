//! A task: what is called, its state, its handle, and how it ends.

pub(crate) mod closure;
pub(crate) mod handle;
pub(crate) mod join;
pub(crate) mod run;
pub(crate) mod queue_entry;
