//! Errors: one small type per act, and what was refused comes back inside.

mod ends;
mod panic;
mod semaphore;
mod settings;
mod shards;
mod submit;
mod task;

pub use ends::{ReopenError, StillRunning};
#[cfg(not(loom))]
pub(crate) use panic::install as install_panic_hook;
pub use panic::{PanicLocation, TaskPanic};
pub use semaphore::AcquireError;
pub use settings::{BuildError, PrestartError, ResizeError};
pub use shards::{NoSuchShard, ShardErrors};
pub use submit::{CallError, Refused, SubmitError};
pub use task::JoinError;
