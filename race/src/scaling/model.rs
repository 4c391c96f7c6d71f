//! What measured costs predict for more cores: Amdahl's law, and the universal scalability law.
//!
//! Both are told for tasks that compute for a while, since with empty tasks the pool is all there is to
//! measure. Times are for one task, in nanoseconds.

use crate::report::{markdown, number};

const CORES: [u32; 5] = [8, 16, 32, 64, 128];
const TASKS_US: [u32; 3] = [1, 10, 100];

/// What was measured with empty tasks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// What one task needs of that which only one thread can have at a time.
    pub(super) serial_ns: f64,
    /// Wall time on one core.
    pub(super) one_core_ns: f64,
    /// Wall time on two cores.
    pub(super) two_cores_ns: f64,
}

impl Costs {
    /// Amdahl's law: the serial part stays, the rest is divided.
    fn amdahl_ns(&self, task_ns: f64, cores: u32) -> f64 {
        let rest = (task_ns + self.one_core_ns - self.serial_ns).max(0.0);
        self.serial_ns + rest / f64::from(cores)
    }

    /// What each further core adds to every task, by the step from one core to two.
    fn coherence_ns(&self) -> f64 {
        (self.two_cores_ns - self.amdahl_ns(0.0, 2)).max(0.0)
    }

    /// The universal scalability law: each core also adds to what the others pay.
    fn universal_ns(&self, task_ns: f64, cores: u32) -> f64 {
        self.amdahl_ns(task_ns, cores) + self.coherence_ns() * f64::from(cores - 1)
    }

    /// How many times faster than one core, by the two laws.
    fn speedups(&self, task_ns: f64, cores: u32) -> [f64; 2] {
        let alone = task_ns + self.one_core_ns;
        [self.amdahl_ns(task_ns, cores), self.universal_ns(task_ns, cores)].map(|time| alone / time)
    }

    /// The shortest task with which `cores` cores are used to nine tenths, by Amdahl's law.
    ///
    /// `(t + o) / (n * (s + (t + o - s) / n)) = 0.9`, solved for `t`.
    fn shortest_task_ns(&self, cores: u32) -> f64 {
        let total = 0.9 * self.serial_ns * f64::from(cores - 1) / 0.1;
        (total - self.one_core_ns).max(0.0)
    }
}

/// The measured costs, and the predictions.
pub(super) fn tables(costs: &[(&'static str, Costs)]) -> String {
    format!(
        "{}\n### Predicted: how many times faster than one core\n\n{}\n### Predicted: the shortest task \
        that uses nine tenths of the cores\n\n{}",
        measured(costs),
        speedups(costs),
        shortest(costs)
    )
}

fn measured(costs: &[(&'static str, Costs)]) -> String {
    let head = ["workload", "one core, ns", "two cores, ns", "serial, ns", "per further core, ns"];
    let rows = costs.iter().map(|(name, costs)| {
        let figures =
            [costs.one_core_ns, costs.two_cores_ns, costs.serial_ns, costs.coherence_ns()];
        [(*name).to_owned()].into_iter().chain(figures.map(number)).collect()
    });
    markdown(&[vec![head.map(str::to_owned).to_vec()], rows.collect()].concat())
}

fn speedups(costs: &[(&'static str, Costs)]) -> String {
    let cores = CORES.map(|cores| format!("{cores} cores"));
    let mut rows =
        vec![["workload".to_owned(), "task".to_owned()].into_iter().chain(cores).collect()];
    for (name, costs) in costs {
        for task in TASKS_US {
            let cells = CORES.map(|cores| {
                let [amdahl, universal] = costs.speedups(f64::from(task) * 1000.0, cores);
                format!("{amdahl:.1} / {universal:.1}")
            });
            let head = [(*name).to_owned(), format!("{task} µs")];
            rows.push(head.into_iter().chain(cells).collect());
        }
    }
    markdown(&rows)
}

fn shortest(costs: &[(&'static str, Costs)]) -> String {
    let cores = CORES.map(|cores| format!("{cores} cores"));
    let mut rows: Vec<Vec<String>> =
        vec![["workload".to_owned()].into_iter().chain(cores).collect()];
    for (name, costs) in costs {
        let cells = CORES.map(|cores| format!("{:.1} µs", costs.shortest_task_ns(cores) / 1000.0));
        rows.push([(*name).to_owned()].into_iter().chain(cells).collect());
    }
    markdown(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { serial_ns: 20.0, one_core_ns: 100.0, two_cores_ns: 70.0 };

    #[test]
    fn the_laws_agree_with_what_was_measured_on_one_core_and_on_two() {
        assert_eq!(COSTS.amdahl_ns(0.0, 1), 100.0);
        assert_eq!(COSTS.universal_ns(0.0, 1), 100.0);
        assert_eq!(COSTS.amdahl_ns(0.0, 2), 60.0);
        assert_eq!(COSTS.universal_ns(0.0, 2), 70.0);
    }

    #[test]
    fn no_number_of_cores_beats_the_serial_part() {
        let [amdahl, universal] = COSTS.speedups(900.0, 1_000_000);
        assert!(amdahl < 50.0 && amdahl > 49.9, "{amdahl}");
        assert!(universal < 1.0, "{universal}");
    }

    #[test]
    fn the_shortest_task_uses_nine_tenths_of_the_cores() {
        for cores in CORES {
            let task = COSTS.shortest_task_ns(cores);
            let [amdahl, _] = COSTS.speedups(task, cores);
            let efficiency = amdahl / f64::from(cores);
            assert!((efficiency - 0.9).abs() < 1e-9, "{cores}: {efficiency}");
        }
    }

    #[test]
    fn two_cores_that_are_faster_than_expected_cost_nothing_more() {
        let costs = Costs { two_cores_ns: 10.0, ..COSTS };
        assert_eq!(costs.coherence_ns(), 0.0);
    }
}
