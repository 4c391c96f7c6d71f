//! Everything at once, at random, each test for as long as `FORMIC_STRESS_SECONDS` says.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../common/mod.rs"]
mod common;

#[cfg(feature = "tokio")]
mod futures;
mod multi;
mod semaphore;
mod threads;
