//! A CPU quota, as containers have one: a control group of race's own, which the contenders enter.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{self, Child, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use clap::Args;

use crate::allocator::Allocator;
use crate::child;
use crate::failure::Failure;

/// What Docker and Kubernetes set, and the kernel's default.
const PERIOD_US: u64 = 100_000;

/// How often, and how long in all, the removal of a group is tried while a contender in it still ends.
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);
const REMOVAL_TRIES: usize = 500;

/// A control group with a CPU quota. It is removed when this is dropped, or when this process ends.
#[derive(Debug)]
pub(super) struct QuotaGroup {
    place: PathBuf,
    /// A process that removes the group when its standard input closes.
    remover: Child,
}

/// What the remover is told.
#[derive(Args, Debug)]
pub(crate) struct RemoveOrder {
    place: PathBuf,
}

/// A control group in which another one can be created, and which files set a quota there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Parent {
    place: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// `cpu.cfs_quota_us` and `cpu.cfs_period_us`.
    One,
    /// `cpu.max`.
    Two,
}

impl QuotaGroup {
    /// Creates a group whose processes get `percent` percent of one core together.
    pub(super) fn create(percent: u32) -> Result<Self, Failure> {
        let mut complaints = Vec::new();
        for parent in parents() {
            match parent.create(percent) {
                Ok(place) => return Self::removed_by_a_process(place),
                Err(complaint) => complaints.push(complaint),
            }
        }
        if complaints.is_empty() {
            complaints.push("no control group with the controller cpu is mounted".to_owned());
        }
        Err(Failure::new(format!("the CPU quota cannot be set here: {}", complaints.join("; "))))
    }

    pub(super) fn place(&self) -> String {
        self.place.display().to_string()
    }

    fn removed_by_a_process(place: PathBuf) -> Result<Self, Failure> {
        match start_remover(&place) {
            Ok(remover) => Ok(Self { place, remover }),
            Err(failure) => {
                fs::remove_dir(&place).ok();
                Err(failure)
            }
        }
    }
}

impl Drop for QuotaGroup {
    fn drop(&mut self) {
        drop(self.remover.stdin.take());
        self.remover.wait().ok();
    }
}

fn start_remover(place: &Path) -> Result<Child, Failure> {
    let mut command = child::this_program(Allocator::System)?;
    command.arg("remove-group").arg(place);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(Failure::new)
}

/// The remover's side. Ctrl-C reaches it as well, and must not end it before its work is done.
pub(crate) fn remove_at_the_end(order: &RemoveOrder) -> ExitCode {
    ctrlc::set_handler(|| ()).ok();
    io::stdin().lock().read_to_end(&mut Vec::new()).ok();
    for _ in 0..REMOVAL_TRIES {
        match fs::remove_dir(&order.place) {
            // The contender in it has not ended yet.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
            Err(_) => return ExitCode::FAILURE,
            Ok(()) => return ExitCode::SUCCESS,
        }
        thread::sleep(REMOVAL_PAUSE);
    }
    ExitCode::FAILURE
}

/// Moves this process into the group at `place`.
pub(crate) fn enter(place: &Path) -> Result<(), Failure> {
    set(place, "cgroup.procs", "0").map_err(Failure::new)
}

impl Parent {
    /// Creates a group and sets its quota, or says what was in the way.
    fn create(&self, percent: u32) -> Result<PathBuf, String> {
        self.check_controller()?;
        let place = self.place.join(format!("race-{}", process::id()));
        fs::create_dir(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        self.version.set_quota(&place, percent).inspect_err(|_| {
            fs::remove_dir(&place).ok();
        })?;
        Ok(place)
    }

    /// In version 2 a group says which controllers its children have. Race uses what is there and enables
    /// none, because that would outlast it.
    fn check_controller(&self) -> Result<(), String> {
        if self.version == Version::One {
            return Ok(());
        }
        let file = self.place.join("cgroup.subtree_control");
        let controllers = fs::read_to_string(&file).unwrap_or_default();
        if controllers.split_whitespace().any(|controller| controller == "cpu") {
            return Ok(());
        }
        Err(format!("the controller cpu is not enabled in {}", file.display()))
    }
}

impl Version {
    fn set_quota(self, place: &Path, percent: u32) -> Result<(), String> {
        let quota = u64::from(percent) * PERIOD_US / 100;
        match self {
            Self::One => {
                set(place, "cpu.cfs_period_us", &PERIOD_US.to_string())?;
                set(place, "cpu.cfs_quota_us", &quota.to_string())
            }
            Self::Two => set(place, "cpu.max", &format!("{quota} {PERIOD_US}")),
        }
    }
}

fn set(place: &Path, file: &str, value: &str) -> Result<(), String> {
    let file = place.join(file);
    fs::write(&file, value).map_err(|error| format!("{}: {error}", file.display()))
}

/// The groups in which race may create one: its own, and in version 2 also the one above, because there a group
/// that has processes usually cannot have children with a controller.
fn parents() -> Vec<Parent> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    parents_in(&mounts, &groups)
}

fn parents_in(mounts: &str, groups: &str) -> Vec<Parent> {
    let mut parents = Vec::new();
    for mount in mounts.lines().filter_map(Mount::read) {
        let Some(group) = own_group(groups, mount.version) else {
            continue;
        };
        let place = mount.place_of(group);
        let above = place.parent().filter(|above| above.starts_with(&mount.point));
        let above = above.filter(|_| mount.version == Version::Two).map(Path::to_owned);
        let places = [Some(place), above].into_iter().flatten();
        parents.extend(places.map(|place| Parent { place, version: mount.version }));
    }
    parents
}

/// Where the control groups with the controller cpu are mounted.
#[derive(Debug)]
struct Mount {
    /// The group that is seen at the mount point.
    root: PathBuf,
    point: PathBuf,
    version: Version,
}

impl Mount {
    /// Reads a line of `mountinfo`: ids, root, mount point, options, `-`, type, source, more options.
    fn read(line: &str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (place.next()?.into(), place.next()?.into());
        let mut kind = kind.split(' ');
        let version = match kind.next()? {
            "cgroup2" => Version::Two,
            "cgroup" if kind.nth(1)?.split(',').any(|option| option == "cpu") => Version::One,
            _ => return None,
        };
        Some(Self { root, point, version })
    }

    /// Where a group is found, which `/proc/self/cgroup` names from the root of the hierarchy.
    fn place_of(&self, group: &str) -> PathBuf {
        match Path::new(group).strip_prefix(&self.root) {
            Ok(below) if below.as_os_str().is_empty() => self.point.clone(),
            Ok(below) => self.point.join(below),
            Err(_) => self.point.clone(),
        }
    }
}

/// The group of this process, from lines such as `1:cpu,cpuacct:/a/b` and `0::/a/b`.
fn own_group(groups: &str, version: Version) -> Option<&str> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, group) = (fields.next()?, fields.next()?, fields.next()?);
        let is_it = match version {
            Version::One => controllers.split(',').any(|controller| controller == "cpu"),
            Version::Two => number == "0" && controllers.is_empty(),
        };
        is_it.then_some(group)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION_1: &str = "\
30 24 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw
31 30 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
";
    const VERSION_2: &str = "26 25 0:23 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
    const CONTAINER: &str = "26 25 0:23 /box/7 /sys/fs/cgroup ro - cgroup2 cgroup rw\n";

    #[test]
    fn in_version_1_a_group_is_created_in_the_own_one() {
        let parents = parents_in(VERSION_1, "4:cpuset:/\n3:cpu,cpuacct:/a/b\n0::/c\n");
        assert_eq!(parents, [parent("/sys/fs/cgroup/cpu,cpuacct/a/b", Version::One)]);
    }

    #[test]
    fn in_version_2_a_group_is_created_in_the_own_one_or_beside_it() {
        let parents = parents_in(VERSION_2, "0::/user.slice/app.slice\n");
        let own = parent("/sys/fs/cgroup/user.slice/app.slice", Version::Two);
        assert_eq!(parents, [own, parent("/sys/fs/cgroup/user.slice", Version::Two)]);
    }

    #[test]
    fn nothing_is_created_above_the_mount_point() {
        let here = [parent("/sys/fs/cgroup", Version::Two)];
        assert_eq!(parents_in(VERSION_2, "0::/\n"), here);
        assert_eq!(parents_in(CONTAINER, "0::/box/7\n"), here);
        assert_eq!(parents_in(CONTAINER, "0::/\n"), here);
        assert_eq!(parents_in("", "0::/\n"), []);
    }

    #[test]
    fn the_quota_is_a_share_of_each_period() {
        let place = folder("the_quota_is_a_share_of_each_period");
        Version::One.set_quota(&place, 50).expect("a folder");
        assert_eq!(read(&place, "cpu.cfs_quota_us"), "50000");
        assert_eq!(read(&place, "cpu.cfs_period_us"), "100000");
        Version::Two.set_quota(&place, 150).expect("a folder");
        assert_eq!(read(&place, "cpu.max"), "150000 100000");
        fs::remove_dir_all(place).expect("it is ours");
    }

    #[test]
    fn a_controller_that_is_not_enabled_is_told_and_nothing_is_created() {
        let place = folder("a_controller_that_is_not_enabled");
        let parent = Parent { place: place.clone(), version: Version::Two };
        let complaint = parent.create(50).expect_err("there is no such file");
        assert!(complaint.contains("cgroup.subtree_control"), "{complaint}");
        fs::write(place.join("cgroup.subtree_control"), "memory pids").expect("a folder");
        assert!(parent.create(50).is_err());
        assert_eq!(fs::read_dir(&place).expect("a folder").count(), 1);
        fs::write(place.join("cgroup.subtree_control"), "cpu memory").expect("a folder");
        let group = parent.create(50).expect("the controller is enabled");
        assert_eq!(read(&group, "cpu.max"), "50000 100000");
        fs::remove_dir_all(place).expect("it is ours");
    }

    fn parent(place: &str, version: Version) -> Parent {
        Parent { place: place.into(), version }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("race-{}-{name}", process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    fn read(place: &Path, file: &str) -> String {
        fs::read_to_string(place.join(file)).expect("a file")
    }
}
