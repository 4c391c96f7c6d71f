//! The task times: how long tasks take, and how long it pays to look around.
//!
//! To wake a thread costs as much as hundreds of small tasks. So the scheduler keeps an eye on how
//! long tasks take: while they are short, a few workers share them over the fast path and no other
//! is woken; otherwise every task gets a worker of its own as soon as one can be had.

/// Below this, tasks are short.
const SHORT: u64 = 2_000;
/// Below this, one worker is faster than two.
const TINY: u64 = 150;
/// Above this, they are no longer. Far from [`SHORT`], so that the task times does not waver.
const LONG: u64 = 8_000;
/// What one worker takes alone is measured anew after several have run so many tasks. It takes about a millisecond, and
/// so many short tasks take tens of them.
const TRUSTED: u64 = 1 << 16;

/// What the scheduler knows about its tasks. All times are in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct TaskTimes {
    /// A running mean of the time per task; `None` until the first task has ended.
    mean: Option<u64>,
    short: bool,
    /// The mean of tasks that one worker ran while no other ran any; `None` until that is known. Several workers
    /// wait for each other's cache lines, so what they take says nothing of what one would.
    alone: Option<u64>,
    /// How many tasks several workers have run since then.
    together: u64,
}

/// A running mean that follows faster tasks at once, and slower ones slowly.
pub(in crate::engine) fn clipped_mean(mean: Option<u64>, sample: u64) -> u64 {
    match mean {
        None => sample,
        Some(mean) if sample <= mean => (mean + sample) / 2,
        // A thread that lost its core for a while looks like slow tasks, so one slow sample counts for at most eight
        // times the mean.
        Some(mean) => (3 * mean + sample.min(8 * mean.max(1))) / 4,
    }
}

impl TaskTimes {
    /// Notes that `tasks` tasks took a worker `nanos`; `alone` says that no other worker ran any.
    pub(crate) fn note(&mut self, tasks: u64, nanos: u64, alone: bool) {
        if tasks == 0 {
            return;
        }
        let sample = nanos / tasks;
        let mean = clipped_mean(self.mean, sample);
        self.mean = Some(mean);
        self.short = if self.short { mean < LONG } else { mean < SHORT };
        self.note_alone(tasks, sample, alone);
    }

    fn note_alone(&mut self, tasks: u64, sample: u64, alone: bool) {
        if alone {
            (self.alone, self.together) = (Some(clipped_mean(self.alone, sample)), 0);
            return;
        }
        self.together += tasks;
        if self.together > TRUSTED {
            self.alone = None;
        }
    }

    /// Notes that tasks stand in the queue and none was taken for a while: a worker is stuck.
    pub(crate) fn stalled(&mut self) {
        self.mean = Some(LONG);
        self.short = false;
    }

    pub(crate) fn is_short(&self) -> bool {
        self.short
    }

    /// How many workers are of use on `cores` cores while tasks are short. The smallest ones take less
    /// time than two workers lose by getting into each other's way. One is, until it is known what that one takes.
    pub(crate) fn useful(&self, cores: usize) -> usize {
        if self.alone.is_none_or(|alone| alone < TINY) { 1 } else { cores }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn tasks_count_as_long_until_they_prove_short() {
        let mut task_times = TaskTimes::default();
        assert!(!task_times.is_short());
        task_times.note(32, 32 * 50, true);
        assert!(task_times.is_short());
    }

    #[test]
    fn one_lost_time_slice_does_not_change_the_task_times() {
        let mut task_times = TaskTimes::default();
        task_times.note(32, 32 * 50, true);
        task_times.note(32, 4_000_000, true);
        assert!(task_times.is_short());
    }

    #[test]
    fn tasks_that_stay_slow_change_the_task_times() {
        let mut task_times = TaskTimes::default();
        task_times.note(32, 32 * 50, true);
        for _ in 0..10 {
            task_times.note(1, 1_000_000, true);
        }
        assert!(!task_times.is_short());
    }

    #[test]
    fn the_smallest_tasks_get_one_worker() {
        let mut task_times = TaskTimes::default();
        task_times.note(64, 64 * 40, true);
        assert_eq!(task_times.useful(8), 1);
        (0..10).for_each(|_| task_times.note(64, 64 * 500, true));
        assert_eq!(task_times.useful(8), 8);
    }

    #[test]
    fn what_several_workers_take_says_nothing_of_one() {
        let mut task_times = TaskTimes::default();
        task_times.note(64, 64 * 300, false);
        assert_eq!(task_times.useful(8), 1, "it is not known yet what one takes");
        task_times.note(64, 64 * 300, true);
        assert_eq!(task_times.useful(8), 8);
        task_times.note(TRUSTED, TRUSTED * 300, false);
        assert_eq!(task_times.useful(8), 8);
        task_times.note(1, 300, false);
        assert_eq!(task_times.useful(8), 1, "one measures it anew");
    }

    /// A task times that has seen one task, of so many nanoseconds.
    fn task_times_of(nanos: u64) -> TaskTimes {
        let mut task_times = TaskTimes::default();
        task_times.note(1, nanos, true);
        task_times
    }

    #[test]
    fn fast_samples_count_more_than_slow_ones() {
        let mut task_times = task_times_of(1_000);
        task_times.note(1, 500, true);
        assert_eq!(task_times.mean, Some(750), "a half");
        let mut task_times = task_times_of(1_000);
        task_times.note(1, 2_000, true);
        assert_eq!(task_times.mean, Some(1_250), "a quarter");
        task_times.note(1, 1_000_000, true);
        assert_eq!(task_times.mean, Some(3_437), "a quarter, of at most eight times the mean");
    }

    #[test]
    fn what_lies_on_a_mark_is_above_it() {
        assert!(task_times_of(SHORT - 1).is_short() && !task_times_of(SHORT).is_short());
        assert_eq!((task_times_of(TINY - 1).useful(8), task_times_of(TINY).useful(8)), (1, 8));
        let stays_short = |mean: u64| {
            let mut task_times = task_times_of(SHORT - 1);
            task_times.note(1, 1_000_000, true);
            let before = task_times.mean.expect("tasks were noted");
            task_times.note(1, 4 * mean - 3 * before, true);
            assert_eq!(task_times.mean, Some(mean));
            task_times.is_short()
        };
        assert!(stays_short(LONG - 1) && !stays_short(LONG));
    }
}
