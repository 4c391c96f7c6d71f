//! A plot: a bar for each contender, the median its length, with the spread across its end.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::heat::{Heat, Outcome};
use crate::report::number;
use crate::statistics::Spread;
use crate::workloads::Role;

const WIDTH: i32 = 760;
const ROW: i32 = 26;
const BAR: i32 = 16;
const NAMES: i32 = 150;
/// Room to the right of the longest bar, for its figure.
const FIGURES: i32 = 110;
const TEXT: i32 = 16;

/// Stands for the colour of text; the style sheet puts in the one that can be read.
const INK: RGBColor = RGBColor(1, 2, 3);
const FORMIC: RGBColor = RGBColor(217, 84, 30);
const VARIANT: RGBColor = RGBColor(226, 150, 112);
const PEER: RGBColor = RGBColor(92, 122, 153);
const BESIDE: RGBColor = RGBColor(150, 150, 146);

/// A bar longer than so many times the median of all is cut, for the others to be seen.
const CUT: f64 = 3.0;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The plot as an element for the page; nothing when nobody has a result.
pub(super) fn svg(heat: &Heat) -> String {
    let mut bars: Vec<(&Outcome, Spread)> = heat.outcomes.iter().filter_map(with_spread).collect();
    bars.sort_by(|(_, one), (_, other)| one.median.total_cmp(&other.median));
    let Some(end) = axis_end(&bars) else {
        return String::new();
    };
    let mut text = String::new();
    let height = ROW * bars.len() as i32;
    let area = SVGBackend::with_string(&mut text, (WIDTH as u32, height as u32));
    let area = area.into_drawing_area();
    let unit = heat.scenario.workload.yardstick.heading;
    for (row, (outcome, spread)) in bars.iter().enumerate() {
        // Drawing into a string does not fail.
        draw(&area, row as i32 * ROW, outcome, spread, end, unit).ok();
    }
    area.present().ok();
    drop(area);
    for_the_page(&text, &format!("{}, in {unit}", heat.scenario))
}

fn with_spread(outcome: &Outcome) -> Option<(&Outcome, Spread)> {
    let figures = outcome.result.as_ref().ok()?;
    Some((outcome, figures.decisive))
}

/// The value at which the longest bar ends.
fn axis_end(bars: &[(&Outcome, Spread)]) -> Option<f64> {
    let medians = Spread::of(bars.iter().map(|(_, spread)| spread.median))?;
    Some(medians.max.min(CUT * medians.median).max(f64::MIN_POSITIVE))
}

fn draw(
    area: &Area<'_>,
    top: i32,
    outcome: &Outcome,
    spread: &Spread,
    end: f64,
    unit: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    let room = f64::from(WIDTH - NAMES - FIGURES);
    let place = |value: f64| NAMES + ((value / end).min(1.0) * room) as i32;
    let (middle, right) = (top + ROW / 2, place(spread.median));
    let is_cut = spread.median > end;

    let name = text_style(HPos::Right);
    area.draw(&Text::new(outcome.entry.name.to_owned(), (NAMES - 8, middle), name))?;
    let corners = [(NAMES, middle - BAR / 2), (right, middle + BAR / 2)];
    area.draw(&Rectangle::new(corners, colour(outcome.entry.role).filled()))?;
    let whisker = vec![(place(spread.min), middle), (place(spread.max), middle)];
    area.draw(&PathElement::new(whisker, INK.stroke_width(1)))?;
    let (figure, arrow) = (number(spread.median), if is_cut { " →" } else { "" });
    let beside = right.max(place(spread.max)) + 6;
    let figure = format!("{figure} {}{arrow}", unit.split(' ').next_back().unwrap_or(unit));
    area.draw(&Text::new(figure, (beside, middle), text_style(HPos::Left)))?;
    Ok(())
}

fn text_style(side: HPos) -> TextStyle<'static> {
    let style = ("system-ui, sans-serif", TEXT).into_font().color(&INK);
    style.pos(Pos::new(side, VPos::Center))
}

pub(super) fn colour(role: Role) -> RGBColor {
    match role {
        Role::Formic => FORMIC,
        Role::Variant => VARIANT,
        Role::Peer => PEER,
        Role::Beside => BESIDE,
    }
}

/// Inside a page the namespace is known, and a reader who cannot see gets a name.
fn for_the_page(svg: &str, name: &str) -> String {
    let from = svg.find("<svg").unwrap_or(0);
    let name = super::escaped(name);
    svg[from..].replace(" xmlns=\"http://www.w3.org/2000/svg\"", "").replacen(
        "<svg",
        &format!("<svg role=\"img\" aria-label=\"{name}\""),
        1,
    )
}
