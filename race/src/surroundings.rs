//! The surroundings of a run: machine, compiler, versions and date, for the report.

use std::fs;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// The versions that the race was built with.
const LOCK: &str = include_str!("../../Cargo.lock");

/// The crates that do the work of the contenders.
const CRATES: [&str; 15] = [
    "formic",
    "async-channel",
    "async-executor",
    "async-io",
    "async-lock",
    "blocking",
    "crossbeam-channel",
    "futures-util",
    "mimalloc",
    "rayon",
    "rayon-core",
    "rusty_pool",
    "threadfin",
    "threadpool",
    "tokio",
];

/// Processor, cores and operating system.
pub(crate) fn machine() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "model name").then(|| value.trim().to_owned())
    });
    let model = model.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let system = rustix::system::uname();
    let (name, release) = (system.sysname().to_string_lossy(), system.release().to_string_lossy());
    let plural = if cores == 1 { "" } else { "s" };
    format!("{model}, {cores} core{plural}, {name} {release}")
}

/// The compiler, and whether it was asked for speed.
pub(crate) fn compiler() -> String {
    let build = if cfg!(debug_assertions) { "debug build" } else { "release build" };
    format!("{}, {build}", env!("RACE_COMPILER"))
}

/// `name version` of each crate that takes part.
pub(crate) fn versions() -> Vec<String> {
    CRATES.iter().map(|name| format!("{name} {}", version(name))).collect()
}

/// The version of a crate that the race was built with.
pub(crate) fn version(name: &str) -> &'static str {
    version_in(LOCK, name).unwrap_or("of unknown version")
}

fn version_in<'a>(lock: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = lock.split_once(&format!("\nname = \"{name}\"\nversion = \""))?;
    after.split('"').next()
}

/// Today in UTC, as year, month and day.
pub(crate) fn date() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date_of(now.as_secs() / 86_400)
}

/// The date of a day counted from 1 January 1970.
///
/// Counted from 1 March of the year 0 the leap day is the last of its year, and the months
/// repeat in groups of five.
fn date_of(day: u64) -> String {
    let day = day + 719_468;
    let era = day / 146_097;
    let day_of_era = day % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day_of_month:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        for (day, date) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_453, "2025-12-31"),
            (20_454, "2026-01-01"),
        ] {
            assert_eq!(date_of(day), date);
        }
    }

    #[test]
    fn every_crate_has_its_version() {
        for name in CRATES {
            assert!(version_in(LOCK, name).is_some(), "{name}");
        }
        assert_eq!(version_in(LOCK, "no-such-crate"), None);
    }
}
