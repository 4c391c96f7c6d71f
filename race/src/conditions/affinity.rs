//! The cores that a process may run on.

use crate::failure::Failure;

/// The numbers of the cores that this thread may use, in ascending order.
#[cfg(target_os = "linux")]
pub(crate) fn allowed_cores() -> Result<Vec<usize>, Failure> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let set = sched_getaffinity(None).map_err(Failure::new)?;
    Ok((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect())
}

/// Confines this thread, and every thread that it starts from now on, to the first `count` cores that it may
/// use.
///
/// The standard library counts only these cores then, so pools do as well.
#[cfg(target_os = "linux")]
pub(crate) fn confine(count: usize) -> Result<(), Failure> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    let mut set = CpuSet::new();
    allowed_cores()?.into_iter().take(count).for_each(|core| set.set(core));
    sched_setaffinity(None, &set).map_err(Failure::new)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn allowed_cores() -> Result<Vec<usize>, Failure> {
    Err(Failure::new("race sets the cores of a process on Linux only"))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn confine(_: usize) -> Result<(), Failure> {
    allowed_cores().map(drop)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_confined_thread_sees_as_many_cores_as_it_may_use() {
        let seen = thread::spawn(|| {
            confine(1).expect("one core is always there");
            let own = thread::available_parallelism().map(usize::from);
            let inherited = thread::spawn(|| thread::available_parallelism().map(usize::from));
            (own.ok(), inherited.join().ok().and_then(Result::ok))
        });
        assert_eq!(seen.join().expect("no panic"), (Some(1), Some(1)));
    }

    #[test]
    fn the_first_allowed_cores_are_taken() {
        let all = allowed_cores().expect("Linux tells");
        let kept = thread::spawn(|| {
            confine(1).expect("one core is always there");
            allowed_cores().expect("Linux tells")
        });
        assert_eq!(kept.join().expect("no panic"), all[..1]);
    }
}
