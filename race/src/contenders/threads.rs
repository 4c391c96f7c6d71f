//! No pool at all: a thread for each task.

use std::thread::Builder;

use super::{Contender, Refused};
use crate::failure::Failure;
use crate::workloads::Params;

/// `std::thread::spawn` for each task, with no limit but the system's.
#[derive(Debug)]
pub(crate) struct ThreadPerTask;

impl ThreadPerTask {
    pub(crate) const SETTINGS: &str = "std::thread, one for each task, no limit";

    pub(crate) fn unlimited(_: &Params) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Contender for ThreadPerTask {
    #[inline]
    fn submit(&self, task: impl FnOnce() + Send + 'static) -> Result<(), Refused> {
        Builder::new().spawn(task).map(drop).map_err(|_| Refused)
    }

    fn shut_down(self) -> Result<(), Failure> {
        Ok(())
    }
}
