//! The progress bar: on standard error, and only where that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::phase::Tally;
use crate::plan::Plan;

const TEMPLATE: &str = "[{bar:30}] {pos}/{len} s {wide_msg}";

/// A bar over the time that was asked for.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar at its beginning.
    pub(crate) fn over(time: Duration) -> Self {
        let bar = ProgressBar::new(time.as_secs());
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self(bar)
    }

    /// Shows which phase begins, and what was done before it.
    pub(crate) fn announce(&self, plan: &Plan, done: Tally, elapsed: Duration) {
        self.0.set_position(elapsed.as_secs());
        self.0.set_message(format!("phase {}: {:?}, {} tasks", plan.number, plan.kind, done.tasks));
    }

    /// Takes the bar off the screen.
    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
