//! The command as its users meet it: the binary, its output and its exit codes.

#[cfg(target_os = "linux")]
use std::io::Read;
use std::process::{Command, Output, Stdio};
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use serde_json::Value;

const SMALL: [&str; 4] = ["--tasks", "1000", "--rounds", "1"];

#[test]
fn every_workload_prints_a_line_for_each_contender_and_then_the_ratio() {
    for (line, figures) in [
        ("tiny --tasks 1000", &[] as &[&str]),
        ("bounded --tasks 1000 --queue 16", &[]),
        ("producers --tasks 1000 --producers 3", &[]),
        ("nested --tasks 1000", &[]),
        ("round-trip --tasks 1000", &["mean_ns", "p50_ns", "p99_ns", "p999_ns"]),
        ("burst --tasks 20 --workers 20", &["wall_ms"]),
        ("burst --tasks 20 --workers 20 --start warm", &["wall_ms"]),
        ("cpu --tasks 100", &["wall_ms", "efficiency"]),
        ("idle --workers 4 --window-ms 50", &["cpu_us_5s", "kb_per_worker", "wakeups_5s"]),
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let common = if arguments[0] == "bounded" {
            ["--rounds", "1", "--only", "formic,crossbeam,rayon+gate", "--json"]
        } else {
            ["--rounds", "1", "--only", "formic,rayon,threadpool", "--json"]
        };
        let lines = json_lines(&arguments, &common);
        assert_eq!(lines.len(), 4, "{line}");
        each_has_its_figures(&lines, arguments[0], figures);
    }
}

#[test]
fn workloads_of_futures_print_a_line_for_each_contender() {
    for (line, figures) in [
        ("sleep --tasks 200 --workers 50", &["wall_ms"] as &[&str]),
        ("sleep --tasks 200 --workers 50 --runtime current-thread", &["wall_ms"]),
        ("sleep-pull --tasks 200 --workers 50", &["wall_ms"]),
        ("lateness --tasks 200 --workers 200", &["p50_us", "p99_us"]),
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let lines = json_lines(&arguments, &["--rounds", "1", "--json"]);
        let (_, contenders) = lines.split_last().expect("lines");
        assert!(contenders.len() > 2, "{line}");
        for line in contenders {
            for figure in figures {
                assert!(line[figure].as_f64().expect(figure) > 0.0, "{line}");
            }
        }
    }
}

#[test]
fn the_params_of_a_line_are_those_of_the_run() {
    let bounded = ["bounded", "--tasks", "100", "--workers", "3", "--queue", "16", "--json"];
    let lines = json_lines(&bounded, &["--rounds", "1", "--only", "formic"]);
    assert_eq!(lines[0]["params"]["tasks"], 100);
    assert_eq!(lines[0]["params"]["workers"], 3);
    assert_eq!(lines[0]["params"]["queue"], 16);
    assert_eq!(lines[0]["params"]["allocator"], "system");
    let producers = ["producers", "--tasks", "100", "--producers", "7", "--json"];
    let lines = json_lines(&producers, &["--rounds", "1", "--only", "formic"]);
    assert_eq!(lines[0]["params"]["producers"], 7);
    assert_eq!(lines[0]["params"]["queue"], Value::Null);
}

#[test]
fn another_allocator_serves_all_contenders() {
    let tiny = ["tiny", "--tasks", "1000", "--allocator", "mimalloc", "--json"];
    let lines = json_lines(&tiny, &["--rounds", "1"]);
    let (_, contenders) = lines.split_last().expect("lines");
    for line in contenders {
        assert_eq!(line["params"]["allocator"], "mimalloc");
        assert!(line["failed"].is_null(), "{line}");
    }
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
    assert!(last.starts_with("tiny, 2 workers: formic "), "{last}");
    let complaints = String::from_utf8(output.stderr).expect("text");
    assert!(!complaints.contains('\u{1b}'), "{complaints:?}");
}

#[test]
fn a_report_with_plots_is_written_and_needs_nothing_from_elsewhere() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("a-new-folder");
    let place = folder.join("report.html");
    std::fs::remove_dir_all(&folder).ok();
    let report = ["tiny", "--only", "formic,rayon", "--report"];
    let output =
        race(&report, &[place.to_str().expect("a path"), "--rounds", "1", "--tasks", "1000"]);
    assert!(output.status.success());
    let page = std::fs::read_to_string(&place).expect("a report");
    for word in ["<svg", "<style>", "prefers-color-scheme", "rayon 1.", "num_threads(workers)"] {
        assert!(page.contains(word), "{word} is missing");
    }
    for outside in ["http:", "https:", "src=", "<link", "<script", "url("] {
        assert!(!page.contains(outside), "{outside} is there");
    }
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("report.html"), "{text}");
}

#[test]
fn a_report_that_cannot_be_written_is_a_failure() {
    let report = ["tiny", "--only", "formic", "--report", "/dev/null/report.html"];
    let output = race(&report, &SMALL);
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("the report could not be written"), "{complaint}");
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_the_race_and_its_child() {
    let mut race = Command::new(env!("CARGO_BIN_EXE_race"))
        .args(["tiny", "--tasks", "100000000", "--only", "formic", "--rounds", "1"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("race starts");
    let children = format!("/proc/{0}/task/{0}/children", race.id());
    let child = eventually(|| {
        let children = std::fs::read_to_string(&children).ok()?;
        Some(children.split_whitespace().next()?.to_owned())
    });
    // Only to the parent, so that nothing but the parent can end the child.
    let race_id = race.id().to_string();
    let kill = Command::new("kill").args(["-INT", &race_id]).status().expect("kill runs");
    assert!(kill.success());
    let status = race.wait().expect("race ends");
    assert_eq!(status.code(), Some(130));
    eventually(|| is_gone(&child).then_some(()));
    let mut complaint = String::new();
    let mut stderr = race.stderr.take().expect("it is piped");
    stderr.read_to_string(&mut complaint).expect("text");
    assert!(complaint.ends_with("race: interrupted\n"), "{complaint:?}");
    assert!(!complaint.contains('\u{1b}'), "{complaint:?}");
}

/// Whether a process is there no more, or only waits for somebody to take note of its end.
#[cfg(target_os = "linux")]
fn is_gone(process: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"));
    status.map_or(true, |status| status.contains("State:\tZ"))
}

#[cfg(target_os = "linux")]
fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "it did not come about in a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
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

#[cfg(not(formic_count))]
#[test]
fn an_ordinary_build_says_how_to_make_one_that_counts() {
    for arguments in [&["tiny", "--count"] as &[&str], &["scaling", "--timed-by", "race"]] {
        let output = race(arguments, &[]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(complaint.contains("RUSTFLAGS=\"--cfg formic_count\""), "{complaint}");
    }
}

#[cfg(formic_count)]
#[test]
fn a_build_that_counts_tells_what_each_task_cost() {
    let tiny = ["tiny", "--tasks", "1000", "--only", "formic,rayon", "--count", "--json"];
    let lines = json_lines(&tiny, &["--rounds", "1"]);
    let (formic, rayon) = (&lines[0]["counts"], &lines[1]["counts"]);
    for count in ["locks", "contended", "held_ns", "writes", "wakes"] {
        assert!(formic[count].is_number(), "{count}: {formic}");
        assert!(rayon[count].is_null(), "{count}: {rayon}");
    }
    for count in ["voluntary_switches", "involuntary_switches"] {
        assert!(formic[count].is_number() && rayon[count].is_number(), "{count}");
    }
    assert!(formic["locks"].as_f64().expect("a number") > 0.0, "{formic}");
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
fn jobs_without_a_server_says_so_before_anything_is_built() {
    let output = Command::new(env!("CARGO_BIN_EXE_race"))
        .arg("jobs")
        .env("NATS_SERVER", "/nowhere/nats-server")
        .env("CARGO", "/nowhere/cargo")
        .output()
        .expect("race starts");
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("NATS_SERVER names /nowhere/nats-server"), "{complaint}");
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

fn json_lines(arguments: &[&str], more: &[&str]) -> Vec<Value> {
    let output = race(arguments, more);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaint}");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text.lines();
    lines.map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn each_has_its_figures(lines: &[Value], workload: &str, own: &[&str]) {
    let (comparison, contenders) = lines.split_last().expect("lines");
    for line in contenders {
        assert_eq!(line["workload"], workload);
        assert!(line["contender"].is_string(), "{line}");
        assert_eq!(line["rounds"], 1, "{line}");
        for figure in ["ns_per_task", "ns_min", "ns_max", "cpu_ns_per_task"] {
            assert!(line[figure].as_f64().expect(figure) > 0.0, "{line}");
        }
        for figure in own {
            assert!(line[figure].as_f64().expect(figure) >= 0.0, "{line}");
        }
        let peak = line["peak_mb"].as_f64().unwrap_or(1.0);
        assert!(peak > 0.1, "{line}");
    }
    assert_eq!(comparison["workload"], workload);
    assert_eq!(comparison["formic"], "formic");
    assert!(comparison["fastest_peer"].is_string());
    assert!(comparison["ratio"].is_number() || workload == "idle", "{comparison}");
}
