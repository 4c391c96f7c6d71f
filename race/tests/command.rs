//! The command as its users meet it: the binary, its output and its exit codes.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

const SMALL: [&str; 4] = ["--tasks", "1000", "--rounds", "1"];

#[test]
fn tiny_prints_a_line_for_every_contender_and_then_the_ratio() {
    let lines = json_lines(&["tiny", "--json"]);
    assert_eq!(
        contenders(&lines),
        ["formic", "formic-unbounded", "rusty_pool", "rayon", "threadpool", "crossbeam",]
    );
    each_has_its_figures(&lines, "tiny", &Value::Null);
}

#[test]
fn bounded_prints_a_line_for_every_contender_and_then_the_ratio() {
    let lines = json_lines(&["bounded", "--queue", "16", "--json"]);
    assert_eq!(
        contenders(&lines),
        ["formic", "crossbeam", "sync_channel", "rayon+gate", "threadpool+gate",]
    );
    each_has_its_figures(&lines, "bounded", &Value::from(16));
}

#[test]
fn a_table_without_control_characters_comes_through_a_pipe() {
    let output = race(&["tiny", "--only", "formic,rayon"], &SMALL);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    let is_plain = |character: char| character == '\n' || !character.is_control();
    assert!(text.chars().all(is_plain), "{text:?}");
    assert!(text.contains("tiny, 2 workers: 1000 tasks, median of 1 round\n"));
    let last = text.lines().last().expect("a sentence");
    assert!(last.starts_with("tiny, 2 workers: formic takes "), "{last}");
    let complaints = String::from_utf8(output.stderr).expect("text");
    assert!(!complaints.contains('\u{1b}'), "{complaints:?}");
}

#[test]
fn a_bad_value_is_explained_with_exit_code_2() {
    for (arguments, word) in [
        (["tiny", "--tasks", "0"], "--tasks"),
        (["tiny", "--workers", "0"], "--workers"),
        (["tiny", "--rounds", "0"], "--rounds"),
        (["bounded", "--queue", "0"], "--queue"),
        (["tiny", "--only", "goroutines"], "goroutines"),
    ] {
        let output = race(&arguments, &[]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(complaint.contains(word), "{complaint}");
    }
}

#[test]
fn a_run_that_cannot_be_made_fails() {
    let order = ["run-one", "bounded", "formic"];
    // A bounded run without a bound.
    let output = race(&order, &["--tasks", "1", "--workers", "1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
}

#[test]
fn a_child_ends_with_its_parent() {
    let order = ["run-one", "bounded", "crossbeam", "--leashed"];
    let sizes = ["--tasks", "100000000", "--workers", "1", "--queue", "8"];
    // Standard input is at its end at once, as it is when the parent has died.
    let output = race(&order, &sizes);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
}

fn race(arguments: &[&str], more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_race"))
        .args(arguments)
        .args(more)
        .stdin(Stdio::null())
        .output()
        .expect("race starts")
}

fn json_lines(arguments: &[&str]) -> Vec<Value> {
    let output = race(arguments, &SMALL);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text.lines();
    lines.map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// The names in all lines but the last, which is the comparison.
fn contenders(lines: &[Value]) -> Vec<&str> {
    let names = lines.iter().map_while(|line| line["contender"].as_str());
    names.collect()
}

fn each_has_its_figures(lines: &[Value], workload: &str, queue: &Value) {
    let (comparison, contenders) = lines.split_last().expect("lines");
    for line in contenders {
        assert_eq!(line["workload"], workload);
        assert_eq!(line["params"]["tasks"], 1000);
        assert_eq!(line["params"]["workers"], 2);
        assert_eq!(&line["params"]["queue"], queue);
        assert_eq!(line["rounds"], 1);
        for figure in ["ns_per_task", "ns_min", "ns_max", "cpu_ns_per_task"] {
            assert!(line[figure].as_f64().expect(figure) > 0.0, "{line}");
        }
        let peak = line["peak_mb"].as_f64().unwrap_or(1.0);
        assert!(peak > 0.1, "{line}");
    }
    assert_eq!(comparison["workload"], workload);
    assert_eq!(comparison["formic"], "formic");
    assert!(comparison["fastest_peer"].is_string());
    assert!(comparison["ratio"].as_f64().expect("a ratio") > 0.0);
}
