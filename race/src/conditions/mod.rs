//! The conditions of a run: other processes that compute, fewer cores, a CPU quota.
//!
//! They are the same for every contender of a scenario. The parent starts the other processes and creates
//! the control group once for all rounds; each child confines itself before it starts a thread.

mod affinity;
mod busy;
mod quota;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use serde::Serialize;

use crate::failure::Failure;

use self::affinity::allowed_cores;
pub(crate) use self::affinity::confine;
use self::busy::BusyProcesses;
pub(crate) use self::busy::compute;
use self::quota::QuotaGroup;
pub(crate) use self::quota::{RemoveOrder, enter, remove_at_the_end};

/// What the machine is made to be while contenders are measured.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Conditions {
    /// How many other processes compute while the contenders are measured
    #[arg(long, global = true, value_name = "N", default_value_t = 0,
        value_parser = RangedU64ValueParser::<usize>::new().range(0..=1000))]
    pub(crate) busy: usize,

    /// How many cores the contenders and the other processes may use: the first N that race may use
    #[arg(long, global = true, value_name = "N",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=1024))]
    pub(crate) cores: Option<usize>,

    /// How much processor time the contenders may use, in percent of one core, as in a container
    #[arg(long = "quota", global = true, value_name = "PERCENT",
        value_parser = RangedU64ValueParser::<u32>::new().range(1..=100_000))]
    pub(crate) quota_percent: Option<u32>,
}

/// Conditions that hold until this is dropped.
#[derive(Debug)]
pub(crate) struct Imposed {
    cores: Option<usize>,
    busy: BusyProcesses,
    quota: Option<QuotaGroup>,
}

impl Conditions {
    /// A machine as it is.
    pub(crate) const NONE: Self = Self { busy: 0, cores: None, quota_percent: None };

    /// An error if `--cores` asks for more than there are.
    pub(crate) fn check_cores(&self) -> Result<(), String> {
        let Some(wanted) = self.cores else {
            return Ok(());
        };
        match allowed_cores() {
            Ok(allowed) if wanted <= allowed.len() => Ok(()),
            Ok(allowed) => Err(format!("--cores {wanted}: race may use {} here", allowed.len())),
            Err(failure) => Err(format!("--cores {wanted}: {failure}")),
        }
    }

    /// An error if the quota cannot be set on this system.
    pub(crate) fn check_quota(&self) -> Result<(), Failure> {
        self.quota_percent.map_or(Ok(()), |percent| QuotaGroup::create(percent).map(drop))
    }

    /// Starts the other processes and creates the control group.
    pub(crate) fn impose(&self) -> Result<Imposed, Failure> {
        let quota = self.quota_percent.map(QuotaGroup::create).transpose()?;
        let busy = BusyProcesses::start(self.busy, self.cores)?;
        Ok(Imposed { cores: self.cores, busy, quota })
    }

    /// For a title: `2 busy processes`, `1 core`, `quota 50%`.
    pub(crate) fn in_words(&self) -> impl Iterator<Item = String> {
        let plural = |number: usize, one: &str, many: &str| match number {
            1 => format!("1 {one}"),
            _ => format!("{number} {many}"),
        };
        let busy = Some(self.busy).filter(|number| *number > 0);
        [
            busy.map(|number| plural(number, "busy process", "busy processes")),
            self.cores.map(|number| plural(number, "core", "cores")),
            self.quota_percent.map(|percent| format!("quota {percent}%")),
        ]
        .into_iter()
        .flatten()
    }
}

impl Imposed {
    /// The arguments by which a child confines itself.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let cores = self.cores.map(|cores| ["--cores".to_owned(), cores.to_string()]);
        let group = self.quota.as_ref().map(|group| ["--group".to_owned(), group.place()]);
        [cores, group].into_iter().flatten().flatten().collect()
    }

    /// An error if one of the other processes has ended: what is measured then would not count.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        self.busy.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_told_in_words() {
        let words = |conditions: Conditions| conditions.in_words().collect::<Vec<_>>().join(", ");
        assert_eq!(words(Conditions::NONE), "");
        let one = Conditions { busy: 1, cores: Some(1), quota_percent: None };
        assert_eq!(words(one), "1 busy process, 1 core");
        let more = Conditions { busy: 4, cores: Some(2), quota_percent: Some(150) };
        assert_eq!(words(more), "4 busy processes, 2 cores, quota 150%");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn more_cores_than_there_are_cannot_be_had() {
        let of = |cores| Conditions { cores: Some(cores), ..Conditions::NONE };
        assert_eq!(of(1).check_cores(), Ok(()));
        let complaint = of(1024).check_cores().expect_err("no machine of ours has so many");
        assert!(complaint.starts_with("--cores 1024: race may use "), "{complaint}");
    }
}
