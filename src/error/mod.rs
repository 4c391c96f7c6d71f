//! Errors: one small type per act, and what was refused comes back inside.

mod any;
mod build;
mod ends;
mod exclusive;
mod for_each;
mod panic;
mod semaphore;
mod settings;
mod shards;
mod submit;
mod task;

pub use any::Error;
pub use build::BuildError;
pub(crate) use ends::Cause;
pub use ends::{ReopenError, StillRunning};
pub(crate) use exclusive::Exclusive;
pub(crate) use for_each::Failures;
pub use for_each::{BatchError, ForEachError, TaskError};
#[cfg(not(loom))]
pub(crate) use panic::install as install_panic_hook;
pub use panic::{PanicLocation, TaskPanic};
pub use semaphore::AcquireError;
pub use settings::{PrestartError, ResizeError};
pub use shards::{NoSuchShard, ShardErrors};
pub use submit::{CallError, Refused, SubmitError};
pub use task::JoinError;
