//! The pace: how long tasks take, and how long it pays to look around.
//!
//! To wake a thread costs as much as hundreds of small tasks. So the crew keeps an eye on how
//! long tasks take: while they are short, a few workers share them over the lane and nobody else
//! is woken; otherwise every task gets a worker of its own as soon as one can be had.

use std::time::Duration;

/// Below this, tasks are short.
const SHORT: u64 = 2_000;
/// Below this, one worker is faster than two.
const TINY: u64 = 150;
/// Above this, they are no longer. Far from [`SHORT`], so that the pace does not waver.
const LONG: u64 = 8_000;
/// A backlog that keeps one worker busy for longer than this is worth another worker.
const BACKLOG: Duration = Duration::from_micros(100);

const LOOK_LEAST: Duration = Duration::from_micros(2);
const LOOK_FIRST: Duration = Duration::from_micros(10);
const LOOK_MOST: Duration = Duration::from_micros(50);

/// What the crew knows about its tasks. All times are in nanoseconds.
#[derive(Debug)]
pub(crate) struct Pace {
    /// A running mean of the time per task; `None` until the first task has ended.
    mean: Option<u64>,
    short: bool,
    look: Duration,
    trial: Trial,
}

/// When it is next tried out whether small tasks go faster with fewer workers.
#[derive(Debug)]
struct Trial {
    /// How often it is asked until then.
    left: u32,
    pause: u32,
}

impl Default for Trial {
    fn default() -> Self {
        Trial { left: Trial::SHORTEST, pause: Trial::SHORTEST }
    }
}

impl Trial {
    const SHORTEST: u32 = 16;
    const LONGEST: u32 = 4096;

    fn is_due(&mut self) -> bool {
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        self.pause = (2 * self.pause).min(Self::LONGEST);
        self.left = self.pause;
        true
    }
}

impl Pace {
    pub(crate) fn new() -> Self {
        Pace { mean: None, short: false, look: LOOK_FIRST, trial: Trial::default() }
    }

    /// Notes that `tasks` tasks took `nanos` together.
    pub(crate) fn note(&mut self, tasks: u64, nanos: u64) {
        if tasks == 0 {
            return;
        }
        let sample = nanos / tasks;
        let mean = match self.mean {
            None => sample,
            Some(mean) if sample <= mean => (mean + sample) / 2,
            // A thread that lost its core for a while looks like a slow task, so one slow sample
            // counts for at most eight times the mean.
            Some(mean) => (3 * mean + sample.min(8 * mean.max(1))) / 4,
        };
        self.mean = Some(mean);
        if mean < TINY {
            self.trial = Trial::default();
        }
        self.short = if self.short { mean < LONG } else { mean < SHORT };
    }

    /// Notes that tasks stand in the line and none was taken for a while: somebody is stuck.
    pub(crate) fn stalled(&mut self) {
        self.mean = Some(LONG);
        self.short = false;
    }

    pub(crate) fn is_short(&self) -> bool {
        self.short
    }

    /// Whether a worker should let the others go on without it, to find out whether they are faster
    /// then. Each time they are not, the next trial is further away.
    pub(crate) fn tries_without(&mut self) -> bool {
        let promising = self.mean.is_some_and(|mean| mean < 4 * TINY);
        promising && self.trial.is_due()
    }

    /// How many workers are of use on `cores` cores while tasks are short. The smallest ones take less
    /// time than two workers lose by getting into each other's way.
    pub(crate) fn useful(&self, cores: usize) -> usize {
        if self.mean.is_some_and(|mean| mean < TINY) { 1 } else { cores }
    }

    /// Whether `queued` tasks are worth another worker although they are short.
    pub(crate) fn is_behind(&self, queued: usize) -> bool {
        self.expect(queued) > BACKLOG
    }

    /// How long `tasks` tasks are expected to take one worker.
    pub(crate) fn expect(&self, tasks: usize) -> Duration {
        Duration::from_nanos(self.mean.unwrap_or(LONG).saturating_mul(tasks as u64))
    }

    /// How long a worker without work looks around before it goes idle.
    pub(crate) fn look(&self) -> Duration {
        if cfg!(loom) { Duration::ZERO } else { self.look }
    }

    /// Notes whether looking around led to a task.
    pub(crate) fn looked(&mut self, found: bool) {
        let next = if found { self.look * 2 } else { self.look / 2 };
        self.look = next.clamp(LOOK_LEAST, LOOK_MOST);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn tasks_count_as_long_until_they_prove_short() {
        let mut pace = Pace::new();
        assert!(!pace.is_short());
        pace.note(32, 32 * 50);
        assert!(pace.is_short());
    }

    #[test]
    fn one_lost_time_slice_does_not_change_the_pace() {
        let mut pace = Pace::new();
        pace.note(32, 32 * 50);
        pace.note(32, 4_000_000);
        assert!(pace.is_short());
    }

    #[test]
    fn tasks_that_stay_slow_change_the_pace() {
        let mut pace = Pace::new();
        pace.note(32, 32 * 50);
        for _ in 0..10 {
            pace.note(1, 1_000_000);
        }
        assert!(!pace.is_short());
    }

    #[test]
    fn the_smallest_tasks_get_one_worker() {
        let mut pace = Pace::new();
        pace.note(64, 64 * 40);
        assert_eq!(pace.useful(8), 1);
        (0..10).for_each(|_| pace.note(64, 64 * 500));
        assert_eq!(pace.useful(8), 8);
    }

    #[test]
    fn small_tasks_are_tried_with_fewer_workers_ever_more_seldom() {
        let mut pace = Pace::new();
        pace.note(64, 64 * 300);
        let mut until_next = || (1..100_000).find(|_| pace.tries_without());
        let pauses: Vec<_> = (0..10).map_while(|_| until_next()).collect();
        assert_eq!(pauses, [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 4096]);
    }

    #[test]
    fn tasks_of_some_length_are_not_tried_with_fewer_workers() {
        let mut pace = Pace::new();
        pace.note(64, 64 * 1_000);
        assert!((0..10_000).all(|_| !pace.tries_without()));
    }

    #[test]
    fn looking_in_vain_makes_workers_look_less() {
        let mut pace = Pace::new();
        (0..20).for_each(|_| pace.looked(false));
        assert_eq!(pace.look(), LOOK_LEAST);
        (0..20).for_each(|_| pace.looked(true));
        assert_eq!(pace.look(), LOOK_MOST);
    }

    /// A pace that has seen one task, of so many nanoseconds.
    fn pace_of(nanos: u64) -> Pace {
        let mut pace = Pace::new();
        pace.note(1, nanos);
        pace
    }

    #[test]
    fn fast_samples_count_more_than_slow_ones() {
        let mut pace = pace_of(1_000);
        pace.note(1, 500);
        assert_eq!(pace.mean, Some(750), "a half");
        let mut pace = pace_of(1_000);
        pace.note(1, 2_000);
        assert_eq!(pace.mean, Some(1_250), "a quarter");
        pace.note(1, 1_000_000);
        assert_eq!(pace.mean, Some(3_437), "a quarter, of at most eight times the mean");
    }

    #[test]
    fn what_lies_on_a_mark_is_above_it() {
        assert!(pace_of(SHORT - 1).is_short() && !pace_of(SHORT).is_short());
        assert_eq!((pace_of(TINY - 1).useful(8), pace_of(TINY).useful(8)), (1, 8));
        let tries = |nanos| {
            let mut pace = pace_of(nanos);
            (0..Trial::SHORTEST).any(|_| pace.tries_without())
        };
        assert!(tries(4 * TINY - 1) && !tries(4 * TINY));
        let stays_short = |mean: u64| {
            let mut pace = pace_of(SHORT - 1);
            pace.note(1, 1_000_000);
            let before = pace.mean.expect("tasks were noted");
            pace.note(1, 4 * mean - 3 * before);
            assert_eq!(pace.mean, Some(mean));
            pace.is_short()
        };
        assert!(stays_short(LONG - 1) && !stays_short(LONG));
    }

    #[test]
    fn a_backlog_of_short_tasks_is_worth_another_worker() {
        let pace = pace_of(1_000);
        assert!(!pace.is_behind(100) && pace.is_behind(101));
    }

    #[test]
    fn tiny_tasks_have_the_trials_begin_anew() {
        let mut pace = pace_of(300);
        let until_next = |pace: &mut Pace| (1..1_000).find(|_| pace.tries_without());
        assert_eq!((until_next(&mut pace), until_next(&mut pace)), (Some(16), Some(32)));
        pace.note(1, 0);
        assert_eq!(pace.mean, Some(TINY));
        assert_eq!(until_next(&mut pace), Some(64), "on the mark is not tiny");
        pace.note(1, TINY - 2);
        assert_eq!(until_next(&mut pace), Some(16));
    }
}
