//! A pool of workers: bounded, elastic, fair, safe under panic, resizable, drainable, and fast.

mod builder;
mod engine;
mod error;
mod pool;
mod stats;

pub use builder::{Builder, WhenFull, Workers};
pub use error::{
    BuildError, PrestartError, Refused, ReopenError, ResizeError, StillRunning, SubmitError,
    TaskPanic,
};
pub use pool::{Permit, Pool};
pub use stats::Stats;

/// The README's program is a test, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
