//! Random sequences of steps on every kind of pool, and on semaphores, compared step by step with a reference
//! model. `FORMIC_CASES` sets the number of cases of each test.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../common/mod.rs"]
mod common;

#[cfg(feature = "tokio")]
mod async_fn_pool;
#[cfg(feature = "tokio")]
mod async_pool;
#[cfg(feature = "tokio")]
mod executors;
mod flag;
mod fn_pool;
mod kind;
#[cfg_attr(not(feature = "tokio"), allow(dead_code, reason = "pools of futures use the rest"))]
mod model;
mod multi;
mod pool;
mod runner;
mod semaphore;
mod system;
mod task;
