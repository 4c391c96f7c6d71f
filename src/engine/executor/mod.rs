//! Workers that are drivers: each polls many futures.

#[cfg(feature = "tokio")]
pub(crate) mod bare;
pub(crate) mod cell;
pub(crate) mod drive;
pub(crate) mod driver;
pub(crate) mod run_queue;
pub(crate) mod watchdog;
pub(crate) mod polling;
pub(crate) mod deferred_frees;
#[cfg(feature = "tokio")]
pub(crate) mod watched;
