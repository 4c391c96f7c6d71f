//! The table of faults: in words, and as lines of JSON.

use std::iter;

use serde::Serialize;

use super::Fault;
use super::finding::{Seen, in_short, in_words, is_clean};
use crate::failure::Failure;
use crate::report;
use crate::surroundings;

/// One fault, with the peer that is known for it and with formic.
#[derive(Debug)]
pub(crate) struct Row {
    pub(super) fault: &'static Fault,
    pub(super) peer: Seen,
    pub(super) formic: Seen,
}

impl Row {
    /// Whether formic came to the end of the program without the fault.
    pub(crate) fn formic_is_clean(&self) -> bool {
        is_clean(&self.formic)
    }

    /// The command that repeats this row.
    fn command(&self) -> String {
        format!("cargo run --release -- faults --only {}", self.fault.name)
    }
}

/// A block for each row, because its sentences are too long to stand side by side, and a table of the
/// counts.
pub(crate) fn text(rows: &[Row]) -> String {
    let blocks: String = rows.iter().map(block).collect();
    let headings = ["fault", "peer", "seen with the peer", "seen with formic"].map(str::to_owned);
    let counts = rows.iter().map(|row| {
        let name = row.fault.name.to_owned();
        vec![name, with_version(row.fault.peer), in_short(&row.peer), in_short(&row.formic)]
    });
    let table: Vec<Vec<String>> = iter::once(headings.to_vec()).chain(counts).collect();
    blocks + &report::aligned(&table)
}

fn block(row: &Row) -> String {
    let fault = row.fault;
    let lines = [
        ("expected".to_owned(), fault.expected.to_owned()),
        (with_version(fault.peer), in_words(fault, &row.peer)),
        (with_version("formic"), in_words(fault, &row.formic)),
        ("repeat by".to_owned(), row.command()),
    ];
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines: String =
        lines.iter().map(|(name, value)| format!("  {name:<width$}  {value}\n")).collect();
    format!("{}: {}\n{lines}\n", fault.name, fault.about)
}

fn with_version(name: &str) -> String {
    format!("{name} {}", surroundings::version(name))
}

/// A line of JSON for each row.
pub(crate) fn json(rows: &[Row]) -> String {
    rows.iter().map(|row| json_line(row) + "\n").collect()
}

#[derive(Serialize)]
struct Line {
    fault: &'static str,
    about: &'static str,
    expected: &'static str,
    peer: Side,
    formic: Side,
    command: String,
}

/// What was seen with one pool. The counts are null if the program did not end well.
#[derive(Serialize)]
struct Side {
    name: &'static str,
    version: &'static str,
    checks: Option<u64>,
    faults: Option<u64>,
    most_at_once: Option<u64>,
    hung_after_seconds: Option<f64>,
    in_words: String,
}

fn json_line(row: &Row) -> String {
    let fault = row.fault;
    let line = Line {
        fault: fault.name,
        about: fault.about,
        expected: fault.expected,
        peer: side(fault, fault.peer, &row.peer),
        formic: side(fault, "formic", &row.formic),
        command: row.command(),
    };
    // Only maps with keys that are no strings fail here, and there are none.
    serde_json::to_string(&line).expect("a struct is always JSON")
}

fn side(fault: &Fault, name: &'static str, seen: &Seen) -> Side {
    let finding = seen.as_ref().ok();
    let hung_after_seconds = match seen {
        Err(Failure::Hung(limit)) => Some(limit.as_secs_f64()),
        _ => None,
    };
    Side {
        name,
        version: surroundings::version(name),
        checks: finding.map(|finding| finding.checks),
        faults: finding.map(|finding| finding.faults),
        most_at_once: finding.and_then(|finding| finding.most),
        hung_after_seconds,
        in_words: in_words(fault, seen),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{ALL, Finding};
    use super::*;

    #[test]
    fn a_row_tells_the_counts_of_both() {
        let row = row(Ok(found(3)), Ok(found(0)));
        let text = text(&[row]);
        assert!(text.contains("  3 of 20 joins returned before the task had run\n"), "{text}");
        assert!(text.contains("  not seen in 20 joins\n"), "{text}");
        assert!(text.contains("  cargo run --release -- faults --only early-join\n"), "{text}");
        assert!(text.ends_with("  3 of 20           0 of 20\n"), "{text}");
    }

    #[test]
    fn a_hang_is_told_as_a_hang_and_is_not_clean() {
        let hung = Err(Failure::Hung(Duration::from_secs(30)));
        let row = row(Ok(found(0)), hung);
        assert!(!row.formic_is_clean());
        let line: serde_json::Value = serde_json::from_str(&json_line(&row)).expect("JSON");
        assert_eq!(line["formic"]["hung_after_seconds"], 30.0);
        assert_eq!(line["formic"]["in_words"], "hung: stopped after 30 seconds");
        assert_eq!(line["peer"]["faults"], 0);
    }

    fn found(faults: u64) -> Finding {
        Finding { checks: 20, faults, most: None }
    }

    fn row(peer: Seen, formic: Seen) -> Row {
        Row { fault: ALL[0], peer, formic }
    }
}
