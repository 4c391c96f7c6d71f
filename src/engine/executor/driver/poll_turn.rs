//! A driver's turn: how long it has been at it, and when it looks up.

use std::time::{Duration, Instant};

use super::POLLS_PER_REFILL;
use crate::engine::executor::watchdog::PollStats;
use crate::engine::sync::now;

/// What a driver does in one turn. Every so many polls, which is a stride, it looks at the queue and at
/// the clock. Where polls are long it does so after each one.
pub(super) struct PollTurn {
    pub(super) since: Instant,
    /// As of the last stride.
    pub(super) now: Instant,
    pub(super) polls: usize,
    pub(super) stride: usize,
    /// The polls of this stride.
    pub(super) strode: usize,
}

impl PollTurn {
    pub(super) fn begin(stride: usize) -> Self {
        let now = now();
        PollTurn { since: now, now, polls: 0, stride, strode: 0 }
    }

    /// One more poll. True at the end of a stride.
    pub(super) fn has_polled(&mut self) -> bool {
        self.strode += 1;
        self.strode >= self.stride
    }

    /// At the end of a stride: whether the turn has taken long enough.
    pub(super) fn is_over(&mut self, poll_stats: &PollStats, turn: Duration) -> bool {
        self.now = now();
        let time = self.now - self.since;
        self.count(poll_stats);
        poll_stats.note(self.polls, time);
        let is_over = time >= turn;
        self.stride = match is_over {
            true => fits_into(turn, self.polls, time),
            false => (2 * self.stride).min(POLLS_PER_REFILL),
        };
        is_over
    }

    pub(super) fn count(&mut self, poll_stats: &PollStats) {
        poll_stats.count_polls(self.strode);
        self.polls += std::mem::take(&mut self.strode);
    }
}

/// How many polls fit into a turn if so many took that long: a stride should not be longer.
pub(super) fn fits_into(turn: Duration, polls: usize, time: Duration) -> usize {
    let fit = polls as u128 * turn.as_nanos() / time.as_nanos().max(1);
    usize::try_from(fit).unwrap_or(usize::MAX).clamp(1, POLLS_PER_REFILL)
}
