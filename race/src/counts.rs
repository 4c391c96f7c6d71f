//! What a run did beside its work: context switches and, in a build that counts, what formic's engine did.

use std::collections::BTreeMap;

use nix::sys::resource::{UsageWho, getrusage};

use crate::measure::{nanoseconds, thread_cpu_time};
use crate::workloads::Role;

/// How to make and use a build that counts.
pub(crate) const BUILD: &str =
    "RUSTFLAGS=\"--cfg formic_count\" CARGO_TARGET_DIR=target/count cargo run --release --";

/// Whether this is such a build.
pub(crate) const IS_COUNTED: bool = cfg!(formic_count);

/// Totals by their keys.
pub(crate) type Counts = BTreeMap<String, u64>;

/// A count: its key in a sample and in JSON, and its head in a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count {
    pub(crate) key: &'static str,
    pub(crate) heading: &'static str,
    /// A table shows the figure for this many tasks: most figures for one task are small.
    pub(crate) per_tasks: f64,
    /// Whether it is told of formic only, whose engine counts it.
    of_the_engine: bool,
}

pub(crate) const ALL: [Count; 8] = [
    Count::of_the_engine("locks", "locks/1000"),
    Count::of_the_engine("contended", "contended/1000"),
    Count { per_tasks: 1.0, ..Count::of_the_engine("held_ns", "held ns/task") },
    Count::of_the_engine("writes", "RMW/1000"),
    Count::of_the_engine("wakes", "wakes/1000"),
    Count::of_the_process("voluntary_switches", "voluntary/1000"),
    Count::of_the_process("involuntary_switches", "involuntary/1000"),
    Count { per_tasks: 1.0, ..Count::of_the_process("caller_cpu_ns", "caller CPU ns/task") },
];

impl Count {
    const fn of_the_engine(key: &'static str, heading: &'static str) -> Self {
        Self { key, heading, per_tasks: 1000.0, of_the_engine: true }
    }

    const fn of_the_process(key: &'static str, heading: &'static str) -> Self {
        Self { key, heading, per_tasks: 1000.0, of_the_engine: false }
    }
}

/// The totals of this process so far; the time of the calling thread is among them.
pub(crate) fn now() -> Counts {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok();
    let voluntary = usage.map_or(0, |usage| usage.voluntary_context_switches());
    let involuntary = usage.map_or(0, |usage| usage.involuntary_context_switches());
    let of_the_process = [
        ("voluntary_switches", u64::try_from(voluntary).unwrap_or(0)),
        ("involuntary_switches", u64::try_from(involuntary).unwrap_or(0)),
        ("caller_cpu_ns", nanoseconds(thread_cpu_time())),
    ];
    let all = of_the_process.into_iter().chain(of_the_engine());
    all.map(|(key, count)| (key.to_owned(), count)).collect()
}

#[cfg(formic_count)]
fn of_the_engine() -> impl Iterator<Item = (&'static str, u64)> {
    let formic::Counts { locks, contended, held_ns, writes, wakes } = formic::counts();
    [
        ("locks", locks),
        ("contended", contended),
        ("held_ns", held_ns),
        ("writes", writes),
        ("wakes", wakes),
    ]
    .into_iter()
}

#[cfg(not(formic_count))]
fn of_the_engine() -> impl Iterator<Item = (&'static str, u64)> {
    std::iter::empty()
}

/// What was added between two readings.
pub(crate) fn between(before: &Counts, after: Counts) -> Counts {
    let added = |(key, count): (String, u64)| {
        let added = count.saturating_sub(before.get(&key).copied().unwrap_or(0));
        (key, added)
    };
    after.into_iter().map(added).collect()
}

/// Leaves only what says something about a contender of this role: peers do not use formic's engine.
pub(crate) fn retain_for(role: Role, counts: &mut Counts) {
    let is_formic = matches!(role, Role::Formic | Role::Variant);
    let others = ALL.iter().filter(|count| count.of_the_engine && !is_formic);
    for count in others {
        counts.remove(count.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_has_a_column() {
        for key in now().keys() {
            assert!(ALL.iter().any(|count| count.key == key), "{key}");
        }
    }

    #[test]
    fn a_thread_that_sleeps_switches_voluntarily() {
        let before = now();
        std::thread::sleep(std::time::Duration::from_millis(1));
        let counts = between(&before, now());
        assert!(counts["voluntary_switches"] > 0, "{counts:?}");
    }

    #[test]
    fn a_peer_has_no_counts_of_the_engine() {
        let all = || ALL.iter().map(|count| (count.key.to_owned(), 1)).collect::<Counts>();
        let (mut peer, mut formic) = (all(), all());
        retain_for(Role::Peer, &mut peer);
        retain_for(Role::Variant, &mut formic);
        assert_eq!(peer.len(), 3);
        assert_eq!(formic, all());
    }
}
