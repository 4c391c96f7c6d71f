//! `race faults` as its users meet it, in its short form: every row is there, and formic is clean.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

const ROWS: [(&str, &str); 5] = [
    ("early-join", "rusty_pool"),
    ("stranded-rusty-pool", "rusty_pool"),
    ("stranded-threadfin", "threadfin"),
    ("over-cap", "threadpool"),
    ("panic", "futures"),
];

#[test]
fn each_fault_has_a_line_and_formic_shows_none() {
    let output = faults(&["--short", "--json"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(0), "{text}");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!(lines.len(), ROWS.len());
    for (line, (fault, peer)) in lines.iter().zip(ROWS) {
        assert_eq!((&line["fault"], &line["peer"]["name"]), (&fault.into(), &peer.into()));
        assert_eq!(line["formic"]["faults"], 0, "{line}");
        assert!(line["formic"]["checks"].as_u64().expect("a count") > 0, "{line}");
        // Whether the fault of a peer shows in so short a time is a matter of luck.
        assert!(line["peer"]["in_words"].is_string(), "{line}");
        assert!(line["peer"]["version"].as_str().expect("a version").contains('.'), "{line}");
    }
}

#[test]
fn a_row_can_be_repeated_alone() {
    let output = faults(&["--short", "--only", "over-cap"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(0), "{text}");
    for line in ["over-cap: ", "  expected ", "  threadpool 1.", "  formic ", "  repeat by "] {
        assert!(text.lines().any(|there| there.starts_with(line)), "{line:?} is not in {text}");
    }
    assert!(text.contains("cargo run --release -- faults --only over-cap\n"), "{text}");
    assert!(!text.contains("early-join"), "{text}");
}

#[test]
fn an_unknown_fault_is_told_with_those_that_exist() {
    let output = faults(&["--only", "stage-fright"]);
    assert_eq!(output.status.code(), Some(2));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("no fault 'stage-fright'"), "{complaint}");
    assert!(complaint.contains("early-join"), "{complaint}");
}

fn faults(arguments: &[&str]) -> Output {
    let mut race = Command::new(env!("CARGO_BIN_EXE_race"));
    race.arg("faults").args(arguments).stdin(Stdio::null()).output().expect("race starts")
}
