//! The errors of the crate pass through `?` and say one fact each; and the small promises of its public types:
//! what can be cloned, split, shared between threads and carried over a panic.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../common/mod.rs"]
mod common;

mod anyhow_threads; // `?` on pools of threads, in functions that return `anyhow::Result`
#[cfg(feature = "tokio")]
mod anyhow_futures; // .. and on pools of futures
mod one_error; // every error becomes a `formic::Error`
mod messages; // what errors say, and their sources
#[cfg(feature = "tokio")]
mod messages_of_futures; // .. of pools of futures
#[cfg(feature = "tokio")]
mod settings; // what only one kind of pool can be told
mod control; // a second hand on a pool, and settings by default
mod permits; // parts of a semaphore's permit
mod auto_traits; // what is `Send`, `Sync`, `Unpin` and safe to carry over a panic
