//! What pools of futures promise, one module for each subject. The tests run side by side in one process: what
//! concerns all of it (its panic hook) is tested in a process of its own.

#![cfg(feature = "tokio")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../common/mod.rs"]
mod common;

mod admission;
mod alone;
mod batch;
mod batch_kinds;
mod blocking;
mod borrows;
mod breaks;
mod cancel;
mod cancel_all;
mod ends;
mod fair;
mod lent_places;
mod limits;
mod watchdog;
mod map;
mod nested;
mod own_threads;
mod panics;
mod places;
mod pool;
mod pull;
mod pullers;
mod resize;
mod runtime_gone;
mod serving;
mod serving_ends;
mod take_queued;
mod time;
#[cfg(feature = "tower")]
mod tower;
mod two_pools;
mod waiting;
