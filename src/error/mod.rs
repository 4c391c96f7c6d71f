//! Errors: one small type per act, and what was refused comes back inside.

mod ends;
mod semaphore;
mod settings;
mod shards;
mod submit;
mod task;

pub(crate) use ends::Cause;
pub use ends::{ReopenError, StillRunning};
pub use semaphore::AcquireError;
pub use settings::{BuildError, PrestartError, ResizeError};
pub use shards::{NoSuchShard, ShardErrors};
pub use submit::{CallError, Refused, SubmitError};
pub use task::{JoinError, TaskPanic};
