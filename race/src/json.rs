//! The report for programs: a line of JSON for each contender, and one for the comparison.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::heat::{Heat, Outcome};
use crate::scenario::Scenario;
use crate::statistics::Figures;
use crate::workloads::Params;
use crate::yardstick::{Decides, Yardstick};

/// One contender.
#[derive(Serialize)]
struct ContenderLine {
    workload: &'static str,
    contender: &'static str,
    params: Params,
    #[serde(flatten)]
    result: ResultFields,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResultFields {
    Figures {
        rounds: usize,
        ns_per_task: f64,
        ns_min: f64,
        ns_max: f64,
        cpu_ns_per_task: f64,
        peak_mb: Option<f64>,
        #[serde(flatten)]
        more: Map<String, Value>,
        /// For one task; absent unless asked for.
        #[serde(skip_serializing_if = "Map::is_empty")]
        counts: Map<String, Value>,
    },
    Failed {
        failed: String,
    },
}

/// Formic beside the fastest peer. What compares them is null when one of them has no result.
#[derive(Serialize)]
struct ComparisonLine {
    workload: &'static str,
    params: Params,
    formic: Option<&'static str>,
    fastest_peer: Option<&'static str>,
    ratio: Option<f64>,
}

/// For each heat the lines of its contenders, and its comparison after them.
pub(crate) fn lines(heats: &[Heat]) -> String {
    heats.iter().flat_map(lines_of).collect()
}

fn lines_of(heat: &Heat) -> Vec<String> {
    let contenders = heat.outcomes.iter();
    let contenders = contenders.map(|outcome| line(&contender(&heat.scenario, outcome)));
    let comparison = line(&comparison(heat));
    contenders.chain([comparison]).collect()
}

fn contender(scenario: &Scenario, outcome: &Outcome) -> ContenderLine {
    let result = match &outcome.result {
        Ok(figures) => ResultFields::Figures {
            rounds: figures.rounds,
            ns_per_task: rounded(figures.ns_per_task.median, 2),
            ns_min: rounded(figures.ns_per_task.min, 2),
            ns_max: rounded(figures.ns_per_task.max, 2),
            cpu_ns_per_task: rounded(figures.cpu_ns_per_task, 2),
            peak_mb: figures.peak_mb.map(|mb| rounded(mb, 2)),
            more: more(&scenario.workload.yardstick, figures),
            counts: object(figures.counts.iter().copied(), 6),
        },
        Err(failure) => ResultFields::Failed { failed: failure.to_string() },
    };
    ContenderLine {
        workload: scenario.workload.name,
        contender: outcome.entry.name,
        params: scenario.params,
        result,
    }
}

fn comparison(heat: &Heat) -> ComparisonLine {
    let comparison = heat.comparison();
    ComparisonLine {
        workload: heat.scenario.workload.name,
        params: heat.scenario.params,
        formic: comparison.map(|comparison| comparison.formic),
        fastest_peer: comparison.map(|comparison| comparison.fastest_peer),
        ratio: comparison.map(|comparison| rounded(comparison.ratio, 4)),
    }
}

/// What only this workload tells.
fn more(yardstick: &Yardstick, figures: &Figures) -> Map<String, Value> {
    let wall_ms = match yardstick.decides {
        Decides::Wall => Some(("wall_ms", figures.decisive.median)),
        Decides::PerTask | Decides::Named(_) => None,
    };
    object(wall_ms.into_iter().chain(figures.more.iter().copied()), 4)
}

fn object(fields: impl Iterator<Item = (&'static str, f64)>, digits: i32) -> Map<String, Value> {
    fields.map(|(key, value)| (key.to_owned(), Value::from(rounded(value, digits)))).collect()
}

/// More digits would only pretend.
fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (value * scale).round() / scale
}

fn line(value: &impl Serialize) -> String {
    // Only maps with keys that are no strings fail here, and there are none.
    serde_json::to_string(value).expect("a struct is always JSON") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use crate::heat::tests::{heat, times};

    #[test]
    fn each_contender_has_a_line_and_the_comparison_is_last() {
        let heat = heat("formic,crossbeam", 2, times);
        let expected = [
            r#"{"workload":"tiny","contender":"formic","params":{"tasks":1,"workers":2,"queue":null,"allocator":"system","busy":0,"cores":null,"quota_percent":null},"rounds":2,"ns_per_task":100.0,"ns_min":100.0,"ns_max":100.0,"cpu_ns_per_task":200.0,"peak_mb":4.1}"#,
            r#"{"workload":"tiny","contender":"crossbeam","params":{"tasks":1,"workers":2,"queue":null,"allocator":"system","busy":0,"cores":null,"quota_percent":null},"rounds":2,"ns_per_task":200.0,"ns_min":200.0,"ns_max":200.0,"cpu_ns_per_task":400.0,"peak_mb":4.1}"#,
            r#"{"workload":"tiny","params":{"tasks":1,"workers":2,"queue":null,"allocator":"system","busy":0,"cores":null,"quota_percent":null},"formic":"formic","fastest_peer":"crossbeam","ratio":0.5}"#,
        ];
        assert_eq!(lines(&[heat]), expected.join("\n") + "\n");
    }

    #[test]
    fn a_failure_has_a_line_and_leaves_the_comparison_empty() {
        let heat = heat("formic,crossbeam", 1, |name| match name {
            "formic" => Err(Failure::new("it hung")),
            name => times(name),
        });
        let text = lines(&[heat]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            r#"{"workload":"tiny","contender":"formic","params":{"tasks":1,"workers":2,"queue":null,"allocator":"system","busy":0,"cores":null,"quota_percent":null},"failed":"it hung"}"#
        );
        assert_eq!(
            lines[2],
            r#"{"workload":"tiny","params":{"tasks":1,"workers":2,"queue":null,"allocator":"system","busy":0,"cores":null,"quota_percent":null},"formic":null,"fastest_peer":null,"ratio":null}"#
        );
    }
}
