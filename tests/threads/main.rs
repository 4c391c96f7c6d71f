//! What pools of threads promise, one module for each subject. The tests run side by side in one process: what
//! concerns all of it (its memory, its panic hook) is tested in a process of its own, and threads are counted by
//! names that only one test uses.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../common/mod.rs"]
mod common;

mod admission;
mod batch;
mod batch_kinds;
mod batch_results;
mod batch_spawner;
mod breaks;
mod cancel;
mod cancel_all;
mod contained;
mod drain;
mod dropped_handles;
mod ends_from_inside;
mod fair;
mod fn_pool;
mod growth;
mod handles;
mod idle;
mod inside;
mod lent_places;
mod limits;
mod map;
mod nested;
mod panics;
mod permits;
mod places;
mod reopen;
mod resize;
mod retirement;
mod scope;
mod semaphore;
mod settings;
mod stats;
#[cfg(feature = "tower")]
mod tower;
mod take_queued;
mod unready;
mod waiting;
mod worker_state;
mod workers;
