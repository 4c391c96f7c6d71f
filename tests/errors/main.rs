//! Errors: they pass through `?`, say one fact each, and are as shareable as every other type of the crate.

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
