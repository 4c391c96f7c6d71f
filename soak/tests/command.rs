//! The command as its users meet it: a short run that comes out clean, and its exit codes.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn soak(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_soak"));
    command.args(arguments).stdin(Stdio::null());
    command.output().expect("the binary can be started")
}

#[test]
fn every_kind_of_pool_stands_a_short_soak() {
    let output = soak(&["--seconds", "2", "--json"]);
    let text = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{complaints}");
    let last = text.lines().last().expect("a last line");
    let report: Value = serde_json::from_str(last).expect("a JSON object");
    assert!(report["phases"].as_u64() >= Some(1), "{report}");
    assert!(report["ran"].as_u64() > Some(0), "{report}");
    let first = text.lines().next().expect("a first line");
    assert_eq!(first, format!("seed {}", report["seed"]));
}

#[test]
fn a_phase_can_be_repeated_alone() {
    let plan = |phase| {
        let output = soak(&["--seconds", "0", "--seed", "1", "--phase", phase, "--plans"]);
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let first = plan("6");
    assert!(first.starts_with("Plan { number: 6, kind: "), "{first}");
    assert_eq!(first, plan("6"));
    assert_ne!(first, plan("7"));
}

#[test]
fn a_bad_argument_is_explained_with_exit_code_2() {
    for arguments in [&["--seconds", "soon"][..], &["--phase", "1"]] {
        assert_eq!(soak(arguments).status.code(), Some(2), "{arguments:?}");
    }
}
