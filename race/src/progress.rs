//! The progress bar: on standard error, and only where that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

const TEMPLATE: &str = "[{bar:30}] {pos}/{len} {wide_msg}";

/// A bar over all child processes of a command.
#[derive(Clone, Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar at its beginning.
    ///
    /// It is drawn between two runs and never during one, which it would disturb.
    pub(crate) fn over(runs: usize) -> Self {
        let bar = ProgressBar::new(runs as u64);
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self(bar)
    }

    /// Shows what runs now.
    pub(crate) fn announce(&self, run: String) {
        self.0.set_message(run);
    }

    /// One run is over.
    pub(crate) fn advance(&self) {
        self.0.inc(1);
    }

    /// Takes the bar off the screen, to make room for the results.
    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
