//! The stopwatch: wall time, processor time and the peak of memory of this process.

use std::fs;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// What one run of one contender cost; the line a child process prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// From before the first submit until the last task has run.
    pub(crate) wall_ns: u64,
    /// User and system time of all threads in the same span.
    pub(crate) cpu_ns: u64,
    /// The most resident memory so far; absent where the system does not tell.
    pub(crate) peak_kb: Option<u64>,
}

/// A running clock.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    cpu: Duration,
    wall: Instant,
}

impl Stopwatch {
    /// Starts the clock; the wall clock is read last, so that it covers nothing of this.
    pub(crate) fn start() -> Self {
        let cpu = process_cpu_time();
        let wall = Instant::now();
        Self { cpu, wall }
    }

    /// Stops the clock; the wall clock is read first, for the same reason.
    pub(crate) fn stop(self) -> Sample {
        let wall = self.wall.elapsed();
        let cpu = process_cpu_time().saturating_sub(self.cpu);
        Sample { wall_ns: nanoseconds(wall), cpu_ns: nanoseconds(cpu), peak_kb: peak_resident_kb() }
    }
}

/// User and system time of all threads of this process, to the nanosecond where the kernel keeps it so.
fn process_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// `VmHWM` rather than `ru_maxrss`: the latter starts from the parent's size, this one from zero.
fn peak_resident_kb() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    peak_in(&status)
}

fn peak_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_from_its_line() {
        assert_eq!(peak_in("VmPeak:\t 9 kB\nVmHWM:\t    5120 kB\n"), Some(5120));
        assert_eq!(peak_in("VmPeak:\t 9 kB\n"), None);
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
