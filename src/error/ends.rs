//! Ends that did not come, and pools that could not be opened again.

use std::error::Error;
use std::fmt;
use std::io;

/// What was left when a wait for the end was over: its time was up, or it was called from a task
/// of the same pool and would have waited for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StillRunning {
    pub(crate) running: usize,
    pub(crate) queued: usize,
    pub(crate) permits: usize,
    pub(crate) from_inside: bool,
}

impl StillRunning {
    /// Tasks that were running.
    pub fn running(&self) -> usize {
        self.running
    }

    /// Tasks that had not been started.
    pub fn queued(&self) -> usize {
        self.queued
    }

    /// Permits that were held and neither used nor dropped.
    pub fn permits(&self) -> usize {
        self.permits
    }

    /// Whether the call came from a task of the same pool, and so was refused.
    pub fn from_inside(&self) -> bool {
        self.from_inside
    }
}

impl fmt::Display for StillRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from_inside {
            f.write_str("a task cannot wait for its own pool to end: ")?;
        }
        let StillRunning { running, queued, permits, .. } = self;
        write!(f, "{running} tasks run, {queued} are queued, {permits} permits are held")
    }
}

impl Error for StillRunning {}

/// Why a pool could not be opened again.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReopenError {
    /// It is open.
    Open,
    /// It has been closed, but not everything has ended yet: `drain` it first.
    StillRunning(StillRunning),
    /// It is open again, but a thread for its minimum could not be started.
    Thread(io::Error),
}

impl fmt::Display for ReopenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReopenError::Open => f.write_str("reopen: the pool is open"),
            ReopenError::StillRunning(left) => write!(f, "reopen: drain the pool first: {left}"),
            ReopenError::Thread(error) => {
                write!(f, "the pool is open, but a worker could not be started: {error}")
            }
        }
    }
}

impl Error for ReopenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ReopenError::Thread(error) => Some(error),
            ReopenError::StillRunning(left) => Some(left),
            ReopenError::Open => None,
        }
    }
}
