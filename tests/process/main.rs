//! What there is once in a process: the global pool, the panic hook, the limits of the operating system.
//!
//! The tests of [`panic_lines`] share this process, and need a panic hook that is set before the first pool is
//! made. All others run in a process of their own, which is this test binary again, and make no pool here.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../common/mod.rs"]
mod common;

mod global;
mod global_built;
mod global_race;
mod outside;
mod panic_lines;
