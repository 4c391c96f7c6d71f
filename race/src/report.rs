//! The report in words: a table for each heat, then a sentence for each.

use crate::counts;
use crate::heat::{Comparison, Heat, Outcome};
use crate::statistics::Figures;
use crate::yardstick::Yardstick;

/// All tables, then all sentences.
pub(crate) fn text(heats: &[Heat]) -> String {
    let tables: Vec<String> = heats.iter().map(table).collect();
    let sentences: String = heats.iter().flat_map(sentences).collect();
    let settings = match heats {
        [heat] => settings(heat),
        _ => String::new(),
    };
    format!("{}\n{settings}{sentences}", tables.join("\n"))
}

/// How each contender is set up. The tour leaves it to its report, where there is room.
fn settings(heat: &Heat) -> String {
    let rows = heat.outcomes.iter().map(|outcome| {
        let entry = outcome.entry;
        vec![entry.name.to_owned(), entry.settings.to_owned()]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let width = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
    let lines = rows.iter().map(|row| format!("  {:<width$}  {}\n", row[0], row[1]));
    format!("{}\nSettings\n{}\n", heat.scenario.workload.about, lines.collect::<String>())
}

fn table(heat: &Heat) -> String {
    format!("{}\n{}", title(heat), aligned(&rows(heat)))
}

/// The headings, then a row for each contender: the fastest first, those without a result last.
pub(crate) fn rows(heat: &Heat) -> Vec<Vec<String>> {
    let mut outcomes: Vec<&Outcome> = heat.outcomes.iter().collect();
    outcomes.sort_by(|one, other| median(one).total_cmp(&median(other)));
    let fastest_peer = heat.fastest_peer().map(|(_, median)| median);
    let yardstick = &heat.scenario.workload.yardstick;
    let mut rows = vec![headings(yardstick)];
    rows.extend(outcomes.iter().map(|outcome| row(outcome, yardstick, fastest_peer)));
    if has_counts(heat) {
        rows[0].extend(counts::ALL.map(|count| count.heading.to_owned()));
        for (row, outcome) in rows[1..].iter_mut().zip(outcomes) {
            row.extend(outcome.result.iter().flat_map(counts_of));
        }
    }
    rows
}

/// Whether race was asked to count.
fn has_counts(heat: &Heat) -> bool {
    let mut figures = heat.outcomes.iter().flat_map(|outcome| &outcome.result);
    figures.any(|figures| !figures.counts.is_empty())
}

/// A cell for each count, for as many tasks as its heading says.
fn counts_of(figures: &Figures) -> impl Iterator<Item = String> {
    counts::ALL.iter().map(|count| {
        let value = figures.counts.iter().find(|(key, _)| *key == count.key);
        value.map_or("-".to_owned(), |(_, value)| number(value * count.per_tasks))
    })
}

fn median(outcome: &Outcome) -> f64 {
    let figures = outcome.result.as_ref();
    figures.map_or(f64::INFINITY, |figures| figures.decisive.median)
}

pub(crate) fn title(heat: &Heat) -> String {
    let scenario = &heat.scenario;
    let (tasks, rounds) = (scenario.params.tasks, scenario.rounds);
    let plural = if rounds == 1 { "" } else { "s" };
    format!("{scenario}: {tasks} tasks, median of {rounds} round{plural}")
}

fn headings(yardstick: &Yardstick) -> Vec<String> {
    let common = ["contender", yardstick.heading, "min", "max"].into_iter();
    let own = yardstick.beside().map(|column| column.heading);
    let costs = ["CPU ns/task", "peak MB"].into_iter().filter(|_| yardstick.per_task);
    common.chain(own).chain(costs).chain(["ratio"]).map(str::to_owned).collect()
}

fn row(outcome: &Outcome, yardstick: &Yardstick, fastest_peer: Option<f64>) -> Vec<String> {
    let mut cells = vec![outcome.entry.name.to_owned()];
    match &outcome.result {
        Ok(figures) => cells.extend(cells_of(figures, yardstick, fastest_peer)),
        Err(_) => cells.push("failed".to_owned()),
    }
    cells
}

fn cells_of(figures: &Figures, yardstick: &Yardstick, fastest_peer: Option<f64>) -> Vec<String> {
    let spread = &figures.decisive;
    let ratio = fastest_peer.map(|peer| spread.median / peer).filter(|ratio| ratio.is_finite());
    let mut cells = [spread.median, spread.min, spread.max].map(number).to_vec();
    cells.extend(yardstick.beside().map(|column| {
        let value = figures.more.iter().find(|(key, _)| *key == column.key);
        value.map_or("-".to_owned(), |(_, value)| number(*value))
    }));
    if yardstick.per_task {
        cells.push(number(figures.cpu_ns_per_task));
        cells.push(figures.peak_mb.map_or("-".to_owned(), number));
    }
    cells.push(ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")));
    cells
}

/// One digit after the point where it says something, and more where there is nothing else.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 2.0 => format!("{value:.3}"),
        size if size < 1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// The first column to the left, the figures to the right, each as wide as its widest cell.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
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

/// The same as a table of Markdown.
pub(crate) fn markdown(rows: &[Vec<String>]) -> String {
    let line = |row: &Vec<String>| format!("| {} |\n", row.join(" | "));
    let below = |head: &Vec<String>| format!("|{}\n", "---|".repeat(head.len()));
    let head = rows.iter().take(1).map(|row| line(row) + &below(row));
    head.chain(rows.iter().skip(1).map(line)).collect()
}

/// How formic did, and who failed.
pub(crate) fn sentences(heat: &Heat) -> Vec<String> {
    let scenario = &heat.scenario;
    let comparison = heat.comparison().map(|found| in_words(found, &scenario.workload.yardstick));
    let failures = heat.outcomes.iter().filter_map(|outcome| {
        let failure = outcome.result.as_ref().err()?;
        Some(format!("{} failed: {failure}", outcome.entry.name))
    });
    let sentences = comparison.into_iter().chain(failures);
    sentences.map(|sentence| format!("{scenario}: {sentence}\n")).collect()
}

/// A ratio of times turned over is one of speeds, which is easier to picture. What is no time is
/// told by both figures, as a ratio of two that are next to nothing says nothing.
fn in_words(comparison: Comparison, yardstick: &Yardstick) -> String {
    let Comparison { formic, fastest_peer, own, theirs, ratio } = comparison;
    let Yardstick { noun, heading, .. } = yardstick;
    if *noun != "time" {
        let (own, theirs) = (number(own), number(theirs));
        return format!(
            "{noun} ({heading}): {formic} {own}, the best other, {fastest_peer}, {theirs}"
        );
    }
    if ratio < 1.0 {
        let speed = 1.0 / ratio;
        return format!(
            "{formic} has {speed:.1} times the speed of the fastest other pool, {fastest_peer}"
        );
    }
    format!("{formic} takes {ratio:.2} times the time of the fastest other pool, {fastest_peer}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use crate::heat::tests::{heat, times};

    #[test]
    fn a_table_a_sentence_and_the_settings_stand_for_a_heat() {
        let heat = heat("formic,formic-unbounded,rayon,crossbeam", 1, times);
        let expected = "\
tiny, 2 workers: 1 tasks, median of 1 round
  contender         ns/task    min    max  CPU ns/task  peak MB  ratio
  formic-unbounded     50.0   50.0   50.0        100.0      4.1   0.25
  formic              100.0  100.0  100.0        200.0      4.1   0.50
  crossbeam           200.0  200.0  200.0        400.0      4.1   1.00
  rayon               400.0  400.0  400.0        800.0      4.1   2.00
";
        assert_eq!(table(&heat), expected);
        assert_eq!(
            sentences(&heat),
            [
                "tiny, 2 workers: formic has 2.0 times the speed of the fastest other pool, crossbeam\n"
            ]
        );
        let text = text(&[heat]);
        assert!(text.starts_with(expected), "{text}");
        assert!(
            text.contains("\n  rayon             ThreadPool with num_threads(workers)\n"),
            "{text}"
        );
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
