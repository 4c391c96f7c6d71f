//! A heat: one scenario run in interleaved rounds, and what came of it.

use crate::failure::Failure;
use crate::measure::Sample;
use crate::scenario::Scenario;
use crate::statistics::Figures;
use crate::workloads::{Entry, Role};

/// A scenario and the results of all who took part.
#[derive(Debug)]
pub(crate) struct Heat {
    pub(crate) scenario: Scenario,
    pub(crate) outcomes: Vec<Outcome>,
}

/// One contender's figures, or why there are none.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) entry: &'static Entry,
    pub(crate) result: Result<Figures, Failure>,
}

/// Formic beside the fastest of its peers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) formic: &'static str,
    pub(crate) fastest_peer: &'static str,
    /// The two medians.
    pub(crate) own: f64,
    pub(crate) theirs: f64,
    /// Formic's median divided by that of the peer: less is better.
    pub(crate) ratio: f64,
}

/// A contender on its way through the rounds.
struct Lane {
    entry: &'static Entry,
    result: Result<Vec<Sample>, Failure>,
}

impl Heat {
    /// Runs all rounds; `sample` runs one contender once.
    ///
    /// Each round runs every contender once, beginning with the next one each time: whatever
    /// else the machine does for a while falls upon all of them alike.
    pub(crate) fn run(
        scenario: Scenario,
        mut sample: impl FnMut(&Scenario, &'static Entry) -> Result<Sample, Failure>,
    ) -> Self {
        let mut lanes: Vec<Lane> = scenario.entries.iter().map(|e| Lane::new(e)).collect();
        for round in 0..=scenario.rounds {
            for position in 0..lanes.len() {
                let turn = (round + position) % lanes.len();
                lanes[turn].take(round, |entry| sample(&scenario, entry));
            }
        }
        let outcomes = lanes.into_iter().map(|lane| lane.outcome(&scenario)).collect();
        Self { scenario, outcomes }
    }

    /// Whether every contender came to the end.
    pub(crate) fn is_complete(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.result.is_ok())
    }

    /// The peer with the least median.
    pub(crate) fn fastest_peer(&self) -> Option<(&'static str, f64)> {
        self.medians(Role::Peer).min_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    /// Formic beside that peer; nothing when one of the two has no result.
    pub(crate) fn comparison(&self) -> Option<Comparison> {
        let (formic, own) = self.medians(Role::Formic).next()?;
        let (fastest_peer, theirs) = self.fastest_peer()?;
        // Two that cost nothing are alike.
        let ratio = if own == theirs { 1.0 } else { own / theirs };
        Some(Comparison { formic, fastest_peer, own, theirs, ratio })
    }

    fn medians(&self, role: Role) -> impl Iterator<Item = (&'static str, f64)> {
        let of_role = self.outcomes.iter().filter(move |o| o.entry.role == role);
        of_role.filter_map(|outcome| {
            let figures = outcome.result.as_ref().ok()?;
            Some((outcome.entry.name, figures.decisive.median))
        })
    }
}

impl Lane {
    fn new(entry: &'static Entry) -> Self {
        let result = Ok(Vec::new());
        Self { entry, result }
    }

    /// Takes part in a round. Who has failed once is out: it may have hung, and would hang again.
    fn take(&mut self, round: usize, run: impl FnOnce(&'static Entry) -> Result<Sample, Failure>) {
        let Ok(samples) = &mut self.result else {
            return;
        };
        match run(self.entry) {
            // The first round warms up the machine: files in the cache, clocks at speed.
            Ok(_) if round == 0 => {}
            Ok(sample) => samples.push(sample),
            Err(failure) => self.result = Err(failure),
        }
    }

    fn outcome(self, scenario: &Scenario) -> Outcome {
        let entry = self.entry;
        let (tasks, yardstick) = (scenario.params.tasks, &scenario.workload.yardstick);
        let result = self.result.and_then(|samples| {
            let figures = Figures::of(&samples, tasks, yardstick);
            figures.ok_or_else(|| Failure::new("no round was measured"))
        });
        Outcome { entry, result }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::workloads::{Params, tiny};

    #[test]
    fn rounds_are_interleaved_and_begin_with_another_each_time() {
        let mut order = Vec::new();
        heat("formic,rusty_pool,rayon", 2, |name| {
            order.push(name);
            Ok(1)
        });
        let (f, p, r) = ("formic", "rusty_pool", "rayon");
        assert_eq!(order, [f, p, r, p, r, f, r, f, p]);
    }

    #[test]
    fn the_first_round_does_not_count() {
        let mut runs = 0;
        let heat = heat("formic", 3, |_| {
            runs += 1;
            Ok(if runs == 1 { 1_000_000 } else { runs })
        });
        let figures = heat.outcomes[0].result.as_ref().expect("figures");
        assert_eq!(figures.rounds, 3);
        assert_eq!(figures.ns_per_task.max, 4.0);
    }

    #[test]
    fn a_failed_contender_is_out_and_the_rest_goes_on() {
        let mut tries = 0;
        let heat = heat("formic,rusty_pool,rayon", 3, |name| match name {
            "rusty_pool" => {
                tries += 1;
                Err(Failure::new("it hung"))
            }
            _ => Ok(5),
        });
        assert_eq!(tries, 1);
        assert!(!heat.is_complete());
        assert_eq!(heat.outcomes[1].result, Err(Failure::new("it hung")));
        let comparison = heat.comparison().expect("rayon is left");
        assert_eq!(comparison.fastest_peer, "rayon");
    }

    #[test]
    fn formic_is_compared_to_the_fastest_peer_and_not_to_its_variants() {
        let comparison = heat("formic,formic-unbounded,rayon,crossbeam", 1, times);
        let comparison = comparison.comparison().expect("all have run");
        assert_eq!(comparison.formic, "formic");
        assert_eq!(comparison.fastest_peer, "crossbeam");
        assert_eq!(comparison.ratio, 0.5);
    }

    #[test]
    fn without_formic_there_is_no_comparison() {
        assert_eq!(heat("rayon,crossbeam", 1, times).comparison(), None);
        assert_eq!(heat("formic", 1, times).comparison(), None);
    }

    /// Round times to test with: formic takes half the time of crossbeam.
    pub(crate) fn times(name: &'static str) -> Result<u64, Failure> {
        match name {
            "formic" => Ok(100),
            "formic-unbounded" => Ok(50),
            "crossbeam" => Ok(200),
            _ => Ok(400),
        }
    }

    /// A heat of tiny with one task, whose rounds take what `wall_ns` says.
    pub(crate) fn heat(
        only: &str,
        rounds: usize,
        mut wall_ns: impl FnMut(&'static str) -> Result<u64, Failure>,
    ) -> Heat {
        let params = Params::of(1, 2);
        let mut scenario = Scenario::with_all(&tiny::WORKLOAD, params, rounds);
        let names: Vec<String> = only.split(',').map(String::from).collect();
        scenario.keep_only(&names).expect("known names");
        Heat::run(scenario, |_, entry| {
            wall_ns(entry.name).map(|wall_ns| Sample {
                wall_ns,
                cpu_ns: 2 * wall_ns,
                peak_kb: Some(4000),
                ..Sample::default()
            })
        })
    }
}
