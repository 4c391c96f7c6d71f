//! Ctrl-C: the bar leaves the screen, and the race ends at once.

use std::process;

use crate::progress::Progress;

/// What a shell expects of a program that was ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// From now on Ctrl-C ends the race cleanly.
///
/// The running child is on a leash, standard input, which breaks when this process ends; so it
/// ends as well, also when the signal was sent to the parent alone.
pub(crate) fn heed(progress: &Progress) {
    let progress = progress.clone();
    let handler = move || {
        progress.finish();
        eprintln!("race: interrupted");
        process::exit(INTERRUPTED);
    };
    // Without a handler Ctrl-C still ends the race, but may leave a bar behind.
    if let Err(error) = ctrlc::set_handler(handler) {
        eprintln!("race: Ctrl-C will not tidy up: {error}");
    }
}
