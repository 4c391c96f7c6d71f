//! The report in words: a table for each heat, then a sentence for each.

use crate::heat::{Comparison, Heat, Outcome};
use crate::statistics::Figures;

const HEADINGS: [&str; 7] =
    ["contender", "ns/task", "min", "max", "CPU ns/task", "peak MB", "to fastest peer"];

/// All tables, then all sentences.
pub(crate) fn text(heats: &[Heat]) -> String {
    let tables: Vec<String> = heats.iter().map(table).collect();
    let sentences: String = heats.iter().flat_map(sentences).collect();
    format!("{}\n{sentences}", tables.join("\n"))
}

/// The fastest first, those without a result last.
fn table(heat: &Heat) -> String {
    let mut outcomes: Vec<&Outcome> = heat.outcomes.iter().collect();
    outcomes.sort_by(|one, other| median(one).total_cmp(&median(other)));
    let fastest_peer = heat.fastest_peer().map(|(_, median)| median);
    let mut rows = vec![HEADINGS.map(str::to_owned).to_vec()];
    rows.extend(outcomes.iter().map(|outcome| row(outcome, fastest_peer)));
    format!("{}\n{}", title(heat), aligned(&rows))
}

fn median(outcome: &Outcome) -> f64 {
    let figures = outcome.result.as_ref();
    figures.map_or(f64::INFINITY, |figures| figures.ns_per_task.median)
}

fn title(heat: &Heat) -> String {
    let scenario = &heat.scenario;
    let (tasks, rounds) = (scenario.params.tasks, scenario.rounds);
    let plural = if rounds == 1 { "" } else { "s" };
    format!("{scenario}: {tasks} tasks, median of {rounds} round{plural}")
}

fn row(outcome: &Outcome, fastest_peer: Option<f64>) -> Vec<String> {
    let mut cells = vec![outcome.entry.name.to_owned()];
    match &outcome.result {
        Ok(figures) => cells.extend(cells_of(figures, fastest_peer)),
        Err(_) => cells.push("failed".to_owned()),
    }
    cells
}

fn cells_of(figures: &Figures, fastest_peer: Option<f64>) -> [String; 6] {
    let spread = &figures.ns_per_task;
    let ratio = fastest_peer.map(|peer| spread.median / peer);
    [
        format!("{:.1}", spread.median),
        format!("{:.1}", spread.min),
        format!("{:.1}", spread.max),
        format!("{:.1}", figures.cpu_ns_per_task),
        figures.peak_mb.map_or("-".to_owned(), |mb| format!("{mb:.1}")),
        ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
    ]
}

/// The first column to the left, the figures to the right, each as wide as its widest cell.
fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(String::len).max().unwrap_or(0)
    };
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate().map(|(column, cell)| match column {
            0 => format!("  {cell:<0$}", width(0)),
            _ => format!("  {cell:>0$}", width(column)),
        });
        cells.collect::<String>() + "\n"
    };
    rows.iter().map(line).collect()
}

/// How formic did, and who failed.
fn sentences(heat: &Heat) -> Vec<String> {
    let scenario = &heat.scenario;
    let comparison = heat.comparison().map(in_words);
    let failures = heat.outcomes.iter().filter_map(|outcome| {
        let failure = outcome.result.as_ref().err()?;
        Some(format!("{} failed: {failure}", outcome.entry.name))
    });
    let sentences = comparison.into_iter().chain(failures);
    sentences.map(|sentence| format!("{scenario}: {sentence}\n")).collect()
}

fn in_words(comparison: Comparison) -> String {
    let Comparison { formic, fastest_peer, ratio } = comparison;
    let share = if ratio < 1.0 { "of" } else { "times" };
    format!("{formic} takes {ratio:.2} {share} the time of the fastest other pool, {fastest_peer}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use crate::heat::tests::{heat, times};

    #[test]
    fn a_table_and_a_sentence_stand_for_a_heat() {
        let heat = heat("formic,formic-unbounded,rayon,crossbeam", 1, times);
        let expected = "\
tiny, 2 workers: 1 tasks, median of 1 round
  contender         ns/task    min    max  CPU ns/task  peak MB  to fastest peer
  formic-unbounded     50.0   50.0   50.0        100.0      4.1             0.25
  formic              100.0  100.0  100.0        200.0      4.1             0.50
  crossbeam           200.0  200.0  200.0        400.0      4.1             1.00
  rayon               400.0  400.0  400.0        800.0      4.1             2.00

tiny, 2 workers: formic takes 0.50 of the time of the fastest other pool, crossbeam
";
        assert_eq!(text(&[heat]), expected);
    }

    #[test]
    fn a_slower_formic_takes_times_the_time() {
        let heat = heat("formic,rayon", 1, |name| Ok(if name == "formic" { 300 } else { 200 }));
        assert_eq!(
            sentences(&heat),
            [
                "tiny, 2 workers: formic takes 1.50 times the time of the fastest other pool, rayon\n"
            ]
        );
    }

    #[test]
    fn a_failure_is_told_by_name_and_stands_last() {
        let heat = heat("formic,rayon,crossbeam", 1, |name| match name {
            "formic" => Err(Failure::new("stopped after 120 seconds")),
            name => times(name),
        });
        let text = text(&[heat]);
        assert!(text.contains("\n  formic      failed\n\n"), "{text}");
        assert!(text.ends_with("tiny, 2 workers: formic failed: stopped after 120 seconds\n"));
    }
}
