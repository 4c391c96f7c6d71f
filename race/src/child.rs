//! A contender in a process of its own: started, waited for, and stopped when it takes too long.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::allocator::{self, Allocator};
use crate::conditions::Imposed;
use crate::failure::Failure;
use crate::measure::Sample;
use crate::scenario::Scenario;
use crate::workloads::Entry;

const TIME_LIMIT: Duration = Duration::from_secs(120);

/// As much of a child's complaint as a line of the report can bear.
const COMPLAINT: usize = 300;

/// Runs `entry` once in a child process, under the conditions that hold.
pub(crate) fn sample(
    scenario: &Scenario,
    entry: &Entry,
    imposed: &mut Imposed,
) -> Result<Sample, Failure> {
    sample_by(None, scenario, entry, imposed)
}

/// The same by another build of race, if one is named.
pub(crate) fn sample_by(
    program: Option<&Path>,
    scenario: &Scenario,
    entry: &Entry,
    imposed: &mut Imposed,
) -> Result<Sample, Failure> {
    let command = command(program, scenario, entry, imposed)?;
    let sample = result_within(command, TIME_LIMIT)?;
    imposed.check()?;
    Ok(sample)
}

/// Runs a command to its end, which prints its result as a line of JSON.
pub(crate) fn result_within<T: DeserializeOwned>(
    command: Command,
    limit: Duration,
) -> Result<T, Failure> {
    let output = output_within(command, limit)?;
    let line = output.trim();
    serde_json::from_str(line).map_err(|_| Failure::new(format!("it printed no result: {line:?}")))
}

/// This program once more, or another one, with the order for one run.
fn command(
    program: Option<&Path>,
    scenario: &Scenario,
    entry: &Entry,
    imposed: &Imposed,
) -> Result<Command, Failure> {
    let params = &scenario.params;
    let mut command = match program {
        Some(program) => with_allocator(Command::new(program), params.allocator),
        None => this_program(params.allocator)?,
    };
    command
        .args(["run-one", scenario.workload.name, entry.name, "--leashed"])
        .args(params.arguments())
        .args(imposed.arguments());
    Ok(command)
}

/// This program once more, with its memory from `allocator`, and no arguments yet.
pub(crate) fn this_program(allocator: Allocator) -> Result<Command, Failure> {
    let command = Command::new(std::env::current_exe().map_err(Failure::new)?);
    Ok(with_allocator(command, allocator))
}

fn with_allocator(mut command: Command, allocator: Allocator) -> Command {
    command.env_remove(allocator::VARIABLE);
    if allocator == Allocator::Mimalloc {
        command.env(allocator::VARIABLE, "mimalloc");
    }
    command
}

/// What the command printed, if it ended well and in time.
///
/// Nothing is polled: this process sleeps until the child is done, and leaves it the machine.
fn output_within(mut command: Command, limit: Duration) -> Result<String, Failure> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Failure::new)?;
    // Held open to the end: by this the child knows that it is still wanted.
    let leash = child.stdin.take();
    let output = read_aside(child.stdout.take());
    let complaint = read_aside(child.stderr.take());
    let in_time = output.recv_timeout(limit);
    let status = end(&mut child, in_time.is_err())?;
    drop(leash);
    let Ok(output) = in_time else {
        return Err(Failure::Hung(limit));
    };
    if status.success() {
        return Ok(output);
    }
    Err(describe(status, &complaint.recv().unwrap_or_default()))
}

/// Reads a stream to its end on a thread of its own, and sends the text then.
fn read_aside(stream: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            // A broken stream ends like one that is complete; what it lacks shows in the result.
            stream.read_to_end(&mut bytes).ok();
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // Nobody listens any more when the time limit has passed.
        sender.send(text).ok();
    });
    receiver
}

/// Waits for the child, which is at its end already unless it is stopped here.
fn end(child: &mut Child, by_force: bool) -> Result<ExitStatus, Failure> {
    if by_force {
        // It may have ended by itself in this moment, which is as good.
        child.kill().ok();
    }
    child.wait().map_err(Failure::new)
}

fn describe(status: ExitStatus, complaint: &str) -> Failure {
    let words: Vec<&str> = complaint.split_whitespace().collect();
    let plain = words.join(" ").replace(char::is_control, "");
    let complaint: String = plain.chars().take(COMPLAINT).collect();
    if complaint.is_empty() {
        return Failure::new(status);
    }
    Failure::new(format!("{complaint} ({status})"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const GENEROUS: Duration = Duration::from_secs(60);

    #[test]
    fn what_a_child_prints_comes_back() {
        let output = output_within(shell("echo 17"), GENEROUS);
        assert_eq!(output, Ok("17\n".to_owned()));
    }

    #[test]
    fn a_failed_child_is_told_with_its_complaint() {
        let output = output_within(shell("echo 'no room' >&2; exit 3"), GENEROUS);
        let failure = output.expect_err("it failed").to_string();
        assert_eq!(failure, "no room (exit status: 3)");
    }

    #[test]
    fn a_child_that_hangs_is_stopped() {
        // `exec`, so that there is no grandchild to keep the streams open.
        let output = output_within(shell("exec sleep 600"), Duration::from_millis(20));
        let failure = output.expect_err("it hung").to_string();
        assert_eq!(failure, "stopped after 0.02 seconds");
    }

    #[test]
    fn a_program_that_does_not_exist_is_a_failure() {
        assert!(output_within(Command::new("/no/such/program"), GENEROUS).is_err());
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }
}
