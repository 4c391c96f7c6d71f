//! Other processes that compute, as on a machine that does something else as well.

use std::hint::black_box;
use std::process::{Child, ExitCode, Stdio};

use super::confine;
use crate::allocator::Allocator;
use crate::child;
use crate::failure::Failure;
use crate::run_one;

/// Processes that compute until this is dropped, or until this process ends.
#[derive(Debug)]
pub(super) struct BusyProcesses(Vec<Child>);

impl BusyProcesses {
    /// Starts `count` processes, on the first `cores` cores if a number is given.
    pub(super) fn start(count: usize, cores: Option<usize>) -> Result<Self, Failure> {
        let mut processes = Self(Vec::with_capacity(count));
        for _ in 0..count {
            processes.0.push(start_one(cores)?);
        }
        Ok(processes)
    }

    /// An error if one of the processes has ended.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        for process in &mut self.0 {
            if let Some(status) = process.try_wait().map_err(Failure::new)? {
                return Err(Failure::new(format!("a busy process has ended: {status}")));
            }
        }
        Ok(())
    }
}

/// Also after an error, when some of the processes could not be started.
impl Drop for BusyProcesses {
    fn drop(&mut self) {
        for process in &mut self.0 {
            // A process that has ended already needs no end.
            process.kill().ok();
        }
        for process in &mut self.0 {
            process.wait().ok();
        }
    }
}

/// This program once more. Standard input tells it when this process ends, however that comes.
fn start_one(cores: Option<usize>) -> Result<Child, Failure> {
    let mut command = child::this_program(Allocator::System)?;
    command.arg("compute").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(cores) = cores {
        command.args(["--cores", &cores.to_string()]);
    }
    command.spawn().map_err(Failure::new)
}

/// The process's side: computes on one thread until the parent has ended.
pub(crate) fn compute(cores: Option<usize>) -> ExitCode {
    if let Err(failure) = cores.map_or(Ok(()), confine) {
        eprintln!("{failure}");
        return ExitCode::FAILURE;
    }
    run_one::end_with_the_parent();
    let mut value = 1u64;
    loop {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
        black_box(value);
    }
}
