//! The stopwatch: wall time, processor time and the peak of memory of this process.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::counts::{self, Counts};

/// What one run of one contender cost; the line a child process prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// From before the first submit until the last task has run.
    pub(crate) wall_ns: u64,
    /// User and system time of all threads in the same span.
    pub(crate) cpu_ns: u64,
    /// The most resident memory so far; absent where the system does not tell.
    pub(crate) peak_kb: Option<u64>,
    /// What only this workload tells, by the keys of its columns.
    #[serde(default)]
    pub(crate) more: BTreeMap<String, f64>,
    /// What happened in the same span, if that was asked for.
    #[serde(default)]
    pub(crate) counts: Counts,
}

impl Sample {
    /// The same with one more figure.
    pub(crate) fn with(mut self, key: &'static str, value: f64) -> Self {
        self.more.insert(key.to_owned(), value);
        self
    }
}

/// A running clock.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    counts: Counts,
    cpu: Duration,
    wall: Instant,
}

impl Stopwatch {
    /// Starts the clock; the wall clock is read last, so that it covers nothing of this.
    pub(crate) fn start() -> Self {
        let counts = counts::now();
        let cpu = process_cpu_time();
        let wall = Instant::now();
        Self { counts, cpu, wall }
    }

    /// Stops the clock; the wall clock is read first, for the same reason.
    pub(crate) fn stop(self) -> Sample {
        let wall = self.wall.elapsed();
        let cpu = process_cpu_time().saturating_sub(self.cpu);
        let counts = counts::between(&self.counts, counts::now());
        Sample {
            wall_ns: nanoseconds(wall),
            cpu_ns: nanoseconds(cpu),
            peak_kb: peak_resident_kb(),
            more: BTreeMap::new(),
            counts,
        }
    }
}

/// What the other threads of this process did while this one slept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    pub(crate) cpu: Duration,
    /// How often a thread got a core.
    pub(crate) wakeups: u64,
}

impl Rest {
    /// Sleeps for `window` and looks at the others before and after.
    pub(crate) fn over(window: Duration) -> Self {
        let wakeups = switches_of_others();
        let cpu = cpu_time_of_others();
        thread::sleep(window);
        let cpu = cpu_time_of_others().saturating_sub(cpu);
        Self { cpu, wakeups: switches_of_others().saturating_sub(wakeups) }
    }

    /// How many threads this process has.
    pub(crate) fn threads() -> usize {
        fs::read_dir("/proc/self/task").into_iter().flatten().count()
    }

    /// The memory this process holds now.
    pub(crate) fn resident_kb() -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        number_in(&status, "VmRSS:").unwrap_or(0)
    }
}

fn cpu_time_of_others() -> Duration {
    process_cpu_time().saturating_sub(thread_cpu_time())
}

/// User and system time of this thread.
pub(crate) fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// How often threads other than this one were given a core.
///
/// A thread that has ended takes its count along, so this is for windows in which none does.
fn switches_of_others() -> u64 {
    let own = fs::read_link("/proc/thread-self").unwrap_or_default();
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let others = threads.filter(|thread| Some(&*thread.file_name()) != own.file_name());
    let switches = others.map(|thread| {
        let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let voluntary = number_in(&status, "voluntary_ctxt_switches:").unwrap_or(0);
        let forced = number_in(&status, "nonvoluntary_ctxt_switches:").unwrap_or(0);
        voluntary + forced
    });
    switches.sum()
}

/// User and system time of all threads of this process, to the nanosecond where the kernel keeps it so.
fn process_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

pub(crate) fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// `VmHWM` rather than `ru_maxrss`: the latter starts from the parent's size, this one from zero.
fn peak_resident_kb() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    number_in(&status, "VmHWM:")
}

/// The number after `name` at the start of a line.
fn number_in(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_from_its_line() {
        assert_eq!(number_in("VmPeak:\t 9 kB\nVmHWM:\t    5120 kB\n", "VmHWM:"), Some(5120));
        assert_eq!(number_in("VmPeak:\t 9 kB\n", "VmHWM:"), None);
    }

    #[test]
    fn a_busy_span_costs_wall_time_and_processor_time() {
        let stopwatch = Stopwatch::start();
        let begin = process_cpu_time();
        while process_cpu_time() == begin {}
        let sample = stopwatch.stop();
        assert!(sample.wall_ns > 0);
        assert!(sample.cpu_ns > 0);
    }
}
