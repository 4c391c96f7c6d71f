//! For tests of what there is once in a process: such a test runs itself again, alone.

use std::process::{Command, Stdio};
use std::time::Instant;

use super::PATIENCE;

/// Says to a process which test it was started for.
const TEST: &str = "FORMIC_OWN_PROCESS";

/// Runs the test with this path (`module::name`) in a process of its own, where it must succeed. False in that
/// process.
#[track_caller]
pub fn in_its_own_process(test: &str) -> bool {
    if std::env::var(TEST).is_ok_and(|alone| alone == test) {
        return false;
    }
    let program = std::env::current_exe().expect("this program has a path");
    let mut child = Command::new(program)
        .args(["--exact", test])
        .env(TEST, test)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be started again");
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().expect("it is our child").is_none() {
        if Instant::now() > deadline {
            child.kill().expect("it is our child");
            panic!("{test} hangs");
        }
        std::thread::yield_now();
    }
    let output = child.wait_with_output().expect("it is our child");
    assert!(output.status.success(), "{test}: {output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 passed"), "there is no test of this name: {said}");
    true
}
