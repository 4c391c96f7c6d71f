//! Workers that are drivers: each polls many futures.

#[cfg(feature = "tokio")]
pub(crate) mod bare;
pub(crate) mod cell;
pub(crate) mod drive;
pub(crate) mod driver;
pub(crate) mod list;
pub(crate) mod lookout;
pub(crate) mod polling;
pub(crate) mod remains;
pub(crate) mod watched;
