//! The page: all results as one HTML file with plots, which needs nothing from elsewhere.

mod plot;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::heat::{Heat, Outcome};
use crate::report;
use crate::surroundings;
use crate::workloads::Role;

const STYLE: &str = include_str!("style.css");

/// Where the page goes when nobody says: beside the build, in `race/report.html`.
pub(crate) fn usual_place() -> PathBuf {
    let program = std::env::current_exe().ok();
    let target = program.as_deref().and_then(Path::parent).and_then(Path::parent);
    target.unwrap_or(Path::new("target")).join("race").join("report.html")
}

/// Writes the page, with the folders it needs.
pub(crate) fn write(heats: &[Heat], place: &Path) -> io::Result<()> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(place, html(heats))
}

fn html(heats: &[Heat]) -> String {
    let sections: String = heats.iter().map(section).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
        <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
        <meta name=\"color-scheme\" content=\"light dark\">\n\
        <title>race: formic beside its peers</title>\n<style>\n{STYLE}</style>\n</head>\n\
        <body>\n<h1>formic beside its peers</h1>\n{}{}{sections}</body>\n</html>\n",
        facts(heats),
        summary(heats),
    )
}

/// What somebody needs to know who wants to judge or to repeat it.
fn facts(heats: &[Heat]) -> String {
    let allocator = heats
        .first()
        .map_or("system".to_owned(), |heat| heat.scenario.params.allocator.to_string());
    let facts = [
        ("Date", surroundings::date()),
        ("Machine", surroundings::machine()),
        ("Compiler", surroundings::compiler()),
        ("Allocator", format!("{allocator}, for all contenders")),
        ("Versions", surroundings::versions().join(", ")),
    ];
    let rows = facts.iter().map(|(name, fact)| {
        format!("<tr><th scope=\"row\">{name}</th><td>{}</td></tr>\n", escaped(fact))
    });
    format!(
        "<table class=\"facts\">\n{}</table>\n<p>Each contender ran in a process of its own, in \
        interleaved rounds, the first of which was thrown away. Bars are medians, the thin lines \
        reach from the least to the greatest. Shorter is better; a bar whose figure has an arrow is cut \
        off.</p>\n{}",
        rows.collect::<String>(),
        legend(),
    )
}

/// What the colours of the bars mean.
fn legend() -> String {
    let items = [Role::Formic, Role::Variant, Role::Peer, Role::Beside].map(|role| {
        let plotters::style::RGBColor(red, green, blue) = plot::colour(role);
        let meaning = match role {
            Role::Formic => "formic",
            Role::Variant => "formic, used in another way",
            Role::Peer => "a peer",
            Role::Beside => "shown beside, not compared",
        };
        format!("<span><i style=\"background: rgb({red}, {green}, {blue})\"></i>{meaning}</span>\n")
    });
    format!("<p class=\"legend\">\n{}</p>\n", items.concat())
}

fn summary(heats: &[Heat]) -> String {
    let lines = heats.iter().flat_map(report::sentences);
    let items = lines.map(|line| format!("<li>{}</li>\n", escaped(line.trim_end())));
    format!("<ul>\n{}</ul>\n", items.collect::<String>())
}

fn section(heat: &Heat) -> String {
    format!(
        "<section>\n<h2>{}</h2>\n<p>{}</p>\n{}\n<details>\n<summary>Figures and \
        settings</summary>\n{}{}</details>\n</section>\n",
        escaped(&report::title(heat)),
        escaped(heat.scenario.workload.about),
        plot::svg(heat),
        figures(heat),
        settings(heat),
    )
}

fn figures(heat: &Heat) -> String {
    let rows = report::rows(heat);
    let lines = rows.iter().enumerate().map(|(number, row)| {
        let tag = if number == 0 { "th" } else { "td" };
        let cells = row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    });
    format!("<div class=\"wide\"><table>\n{}</table></div>\n", lines.collect::<String>())
}

fn settings(heat: &Heat) -> String {
    let rows = heat.outcomes.iter().map(|Outcome { entry, .. }| {
        let role = match entry.role {
            Role::Formic => "compared to the fastest peer",
            Role::Variant => "formic in another way, not compared",
            Role::Peer => "peer",
            Role::Beside => "shown beside, not compared",
        };
        let (name, settings) = (escaped(entry.name), escaped(entry.settings));
        format!("<tr><td>{name}</td><td>{settings}</td><td>{role}</td></tr>\n")
    });
    format!(
        "<table class=\"settings\">\n<tr><th>contender</th><th>settings</th><th></th></tr>\n{}\
        </table>\n",
        rows.collect::<String>()
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use crate::heat::tests::{heat, times};

    #[test]
    fn the_page_says_how_the_figures_were_made() {
        let page = html(&[heat("formic,rayon,crossbeam", 1, times)]);
        for word in [
            &surroundings::date(),
            "rayon 1.",
            "system, for all contenders",
            "formic has 2.0 times the speed",
            "ThreadPool with num_threads(workers)",
            "prefers-color-scheme: dark",
            "<svg role=\"img\"",
        ] {
            assert!(page.contains(word), "{word} is missing");
        }
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        let page = html(&[heat("formic,rayon,crossbeam", 1, times)]);
        for outside in ["http:", "https:", "//", "src=", "<link", "<script", "@import", "url("] {
            assert!(!page.contains(outside), "{outside} is there");
        }
    }

    #[test]
    fn a_failure_stands_on_the_page_as_text() {
        let failed = heat("formic,rayon", 1, |name| match name {
            "formic" => Err(Failure::new("<b>no room</b> & \"more\"")),
            name => times(name),
        });
        let page = html(&[failed]);
        assert!(page.contains("formic failed: &lt;b&gt;no room&lt;/b&gt; &amp; &quot;more&quot;"));
        assert!(!page.contains("<b>"));
    }

    #[test]
    fn without_results_there_is_still_a_page() {
        let failed = heat("formic", 1, |_| Err(Failure::new("it hung")));
        assert!(html(&[failed]).ends_with("</html>\n"));
        assert!(html(&[]).ends_with("</html>\n"));
    }
}
