//! What the command line accepts and what it refuses.

use super::*;
use crate::workloads::Role;

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn no_arguments_ask_for_the_tour() {
    let tour = scenarios("").expect("the tour");
    let names: Vec<String> = tour.iter().map(ToString::to_string).collect();
    assert_eq!(names[0], "sleep, 50000 at once, two-threads", "the headline");
    for name in [
        "tiny, 2 workers",
        "tiny, 64 workers",
        "bounded, 2 workers, queue 1024",
        "bounded, 2 workers, queue 64",
        "producers, 2 workers, 16 producers",
        "burst, 1000 workers, cold",
        "burst, 1000 workers, warm",
        "idle, 64 workers",
        #[cfg(target_os = "linux")]
        "round-trip, 2 workers, 1 core",
    ] {
        assert!(names.iter().any(|there| there == name), "{name} is not in {names:?}");
    }
}

#[test]
fn only_keeps_the_named_contenders_in_the_usual_order() {
    let scenarios = scenarios("tiny --only rayon,formic").expect("two contenders");
    let names: Vec<&str> = scenarios[0].entries.iter().map(|e| e.name).collect();
    assert_eq!(names, ["formic", "rayon"]);
}

#[test]
fn an_unknown_contender_is_told_with_those_that_exist() {
    let error = scenarios("tiny --only formic,goroutines").expect_err("no such contender");
    assert_eq!(error.exit_code(), 2);
    let message = error.to_string();
    assert!(message.contains("no contender 'goroutines' in tiny"));
    assert!(message.contains("rusty_pool"));
}

#[test]
fn a_value_out_of_range_is_refused() {
    for line in [
        "tiny --tasks 0",
        "tiny --tasks 100000001",
        "tiny --tasks many",
        "tiny --workers 0",
        "tiny --rounds 0",
        "bounded --queue 0",
        "bounded --only rusty_pool",
        "tiny --only=",
        "tiny --queue 4",
        "tiny --workers 10001",
        "producers --producers 0",
        "burst --start lukewarm",
        "tiny --allocator none",
        "tiny --busy few",
        "tiny --busy 1001",
        "tiny --cores 0",
        "tiny --cores 1024",
        "tiny --quota 0",
        "giant",
    ] {
        let error = scenarios(line).expect_err(line);
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

#[test]
fn faults_are_chosen_by_name_and_have_no_page() {
    let chosen = |line: &str| {
        let arguments = ["race", "faults"].into_iter().chain(line.split_whitespace());
        let cli = Cli::try_parse_from(arguments)?;
        match &cli.command {
            Some(Command::Faults(options)) => cli.faults(options),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(chosen("").expect("all faults").len(), 5);
    assert_eq!(chosen("--only panic,early-join").expect("two faults").len(), 2);
    for line in [
        "--only stage-fright",
        "--only=",
        "--report there.html",
        "--tasks 7",
        "--busy 2",
        "--cores 1",
    ] {
        assert_eq!(chosen(line).expect_err(line).exit_code(), 2, "{line}");
    }
}

#[test]
fn jobs_has_rounds_and_no_conditions() {
    let check = |line: &str| {
        let arguments = ["race", "jobs"].into_iter().chain(line.split_whitespace());
        Cli::try_parse_from(arguments)?.check_jobs()
    };
    check("--rounds 7").expect("rounds");
    for line in ["--rounds 0", "--busy 2", "--cores 1", "--json", "--report there.html"] {
        assert_eq!(check(line).expect_err(line).exit_code(), 2, "{line}");
    }
}

fn scenarios(line: &str) -> Result<Vec<Scenario>, clap::Error> {
    let arguments = ["race"].into_iter().chain(line.split_whitespace());
    Cli::try_parse_from(arguments)?.scenarios()
}

#[test]
fn the_tour_has_a_page_and_a_workload_only_if_asked() {
    let page = |line: &str| {
        let arguments = ["race"].into_iter().chain(line.split_whitespace());
        Cli::try_parse_from(arguments).expect("a command line").page()
    };
    assert!(page("").expect("a place").ends_with("race/report.html"));
    assert_eq!(page("tiny"), None);
    assert_eq!(page("tiny --report there.html"), Some(PathBuf::from("there.html")));
}

#[cfg(target_os = "linux")]
#[test]
fn the_conditions_are_part_of_every_scenario() {
    let conditions = Conditions { busy: 3, cores: Some(1), quota_percent: Some(50) };
    for line in ["", "tiny", "sleep", "idle"] {
        let scenarios = scenarios(&format!("{line} --busy 3 --cores 1 --quota 50"));
        for scenario in scenarios.expect("a command line") {
            assert_eq!(scenario.params.conditions, conditions, "{scenario}");
        }
    }
}

#[test]
fn the_tour_shows_three_workloads_on_a_busy_machine() {
    let tour = scenarios("").expect("the tour");
    let busy = tour.iter().filter(|stop| stop.params.conditions.busy > 0);
    let names: Vec<&str> = busy.map(|stop| stop.workload.name).collect();
    assert_eq!(names, ["tiny", "bounded", "round-trip"]);
    for stop in tour.iter().filter(|stop| stop.params.conditions != Conditions::NONE) {
        assert!(stop.entries.iter().any(|entry| entry.role == Role::Formic), "{stop}");
        assert!(stop.entries.iter().any(|entry| entry.role == Role::Peer), "{stop}");
    }
}

#[test]
fn the_allocator_is_part_of_every_scenario() {
    let tour = scenarios("--allocator mimalloc").expect("the tour");
    assert!(tour.iter().all(|stop| stop.params.allocator == Allocator::Mimalloc));
}
