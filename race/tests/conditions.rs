//! Busy machines, few cores and quotas as users of the command meet them.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const LONG: [&str; 7] = ["tiny", "--tasks", "100000000", "--only", "crossbeam", "--rounds", "1"];

#[test]
fn conditions_are_in_the_params_of_every_line_and_in_the_title() {
    let small = ["tiny", "--tasks", "1000", "--rounds", "1", "--only", "formic,rayon"];
    let conditions = ["--busy", "2", "--cores", "1"];
    let output = race(&small, &[&conditions[..], &["--json"]].concat());
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text.lines().count(), 3, "{text}");
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect(line);
        assert_eq!(line["params"]["busy"], 2, "{line}");
        assert_eq!(line["params"]["cores"], 1, "{line}");
        assert_eq!(line["params"]["quota_percent"], Value::Null, "{line}");
        assert!(line["failed"].is_null(), "{line}");
    }
    let output = race(&small, &conditions);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.starts_with("tiny, 2 workers, 2 busy processes, 1 core: 1000 tasks"), "{text}");
}

#[test]
fn busy_processes_run_beside_the_contender_and_end_with_race() {
    let race = start(&["--busy", "2", "--cores", "1"]);
    let busy = eventually(|| Some(children(&race, "compute")).filter(|busy| busy.len() == 2));
    let contender = eventually(|| children(&race, "run-one").pop());
    for process in busy.iter().chain([&contender]) {
        assert_eq!(allowed_cores(process), 1);
    }
    // A signal that race cannot handle, so that only its end can end them.
    end(race, "-KILL");
    eventually(|| busy.iter().chain([&contender]).all(|process| is_gone(process)).then_some(()));
}

#[test]
fn ctrl_c_ends_the_busy_processes() {
    let race = start(&["--busy", "2"]);
    let busy = eventually(|| Some(children(&race, "compute")).filter(|busy| busy.len() == 2));
    end(race, "-INT");
    eventually(|| busy.iter().all(|process| is_gone(process)).then_some(()));
}

/// Where control groups cannot be created, race says so and measures nothing.
#[test]
fn a_quota_holds_or_is_refused_with_the_reason() {
    let output = race(
        &["tiny", "--tasks", "1000", "--rounds", "1"],
        &["--only", "formic,rayon", "--quota", "50"],
    );
    let text = String::from_utf8(output.stdout).expect("text");
    let complaint = String::from_utf8(output.stderr).expect("text");
    if output.status.success() {
        assert!(text.starts_with("tiny, 2 workers, quota 50%: 1000 tasks"), "{text}");
    } else {
        assert_eq!(text, "");
        assert!(complaint.contains("the CPU quota cannot be set here: "), "{complaint}");
    }
}

#[test]
fn a_group_with_a_quota_is_gone_after_race_was_killed() {
    let mut race = start(&["--quota", "50"]);
    let group = eventually(|| match race.try_wait().expect("it is a child of ours") {
        // There is no quota here; the test above sees to the reason.
        Some(_) => Some(None),
        None => children(&race, "run-one").pop().and_then(|child| group_of(&child)).map(Some),
    });
    let Some(group) = group else {
        return;
    };
    assert!(group.is_dir());
    end(race, "-KILL");
    eventually(|| (!group.exists()).then_some(()));
}

fn race(arguments: &[&str], more: &[&str]) -> Output {
    command().args(arguments).args(more).output().expect("race starts")
}

/// A race that takes too long to come to its end.
fn start(conditions: &[&str]) -> Child {
    command().args(LONG).args(conditions).stdout(Stdio::null()).spawn().expect("race starts")
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_race"));
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

fn end(mut race: Child, signal: &str) {
    let kill = Command::new("kill").args([signal, &race.id().to_string()]).status();
    assert!(kill.expect("kill runs").success());
    race.wait().expect("race ends");
}

/// The children of race that were started with this command.
fn children(race: &Child, command: &str) -> Vec<String> {
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", race.id()));
    let children = children.unwrap_or_default();
    let has_it = |process: &&str| {
        let line = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
        line.split('\0').nth(1) == Some(command)
    };
    children.split_whitespace().filter(has_it).map(str::to_owned).collect()
}

/// How many cores a process may use, once it has confined itself.
fn allowed_cores(process: &str) -> usize {
    eventually(|| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        list.trim().parse::<usize>().ok().map(|_| 1)
    })
}

/// The control group that race created, once the process is in it.
fn group_of(process: &str) -> Option<std::path::PathBuf> {
    let line = fs::read_to_string(format!("/proc/{process}/cmdline")).ok()?;
    let place = line.split('\0').skip_while(|argument| *argument != "--group").nth(1)?;
    let inside = fs::read_to_string(format!("{place}/cgroup.procs")).ok()?;
    inside.lines().any(|inside| inside == process).then(|| place.into())
}

/// Whether a process is there no more, or only waits for its parent to take note of its end.
fn is_gone(process: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status"));
    status.map_or(true, |status| status.contains("State:\tZ"))
}

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
