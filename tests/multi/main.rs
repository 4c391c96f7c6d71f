//! Several pools, used as one: of threads, of futures, and how they end.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../common/mod.rs"]
mod common;

#[cfg(feature = "tokio")]
mod calls;
mod ends;
#[cfg(feature = "tokio")]
mod futures;
mod threads;
