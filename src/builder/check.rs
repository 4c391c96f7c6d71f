//! The check of all settings. What cannot be is an error, and nothing is changed in silence.

use std::time::Duration;

use super::{Builder, Workers};
use crate::engine::Settings;
use crate::error::BuildError;

/// What the operating systems ask for at least. Less would be raised in silence.
const LEAST_STACK: usize = 16 * 1024;
const LONGEST_RESERVED: usize = 1 << 22;

impl<P> Builder<P> {
    pub(super) fn check(self, limit: usize) -> Result<Settings, BuildError> {
        let Workers { minimum, capacity } = self.workers;
        if !self.unlimited {
            check_workers(minimum, capacity, limit)?;
        }
        let capacity = if self.unlimited { usize::MAX } else { capacity };
        let (workers, most) = (self.prestart, capacity.min(limit));
        if workers > most {
            return Err(BuildError::Prestart { workers, capacity: most });
        }
        if self.keep_alive == Some(Duration::ZERO) {
            return Err(BuildError::KeepAlive);
        }
        let growth = self.growth.check(self.queue)?;
        check_thread(&self.name, self.stack_size)?;
        if self.preallocate {
            check_preallocate(self.queue, self.unlimited)?;
        }
        Ok(Settings {
            capacity,
            minimum,
            queue: self.queue.unwrap_or(usize::MAX),
            waiters: self.waiters,
            keep_alive: self.keep_alive,
            growth,
            preallocate: self.preallocate,
            name: self.name.into(),
            stack_size: self.stack_size,
            hooks: self.hooks,
            #[cfg(test)]
            faults: None,
        })
    }
}

fn check_workers(minimum: usize, capacity: usize, limit: usize) -> Result<(), BuildError> {
    if capacity == 0 && minimum == 0 {
        return Err(BuildError::NoWorkers);
    }
    if minimum > capacity {
        return Err(BuildError::Workers { minimum, capacity });
    }
    if capacity > limit {
        return Err(BuildError::TooManyWorkers { workers: capacity, limit });
    }
    Ok(())
}

fn check_thread(name: &str, stack_size: Option<usize>) -> Result<(), BuildError> {
    if name.contains('\0') {
        return Err(BuildError::Name(name.to_owned()));
    }
    match stack_size {
        Some(bytes) if bytes < LEAST_STACK => {
            Err(BuildError::StackSize { bytes, least: LEAST_STACK })
        }
        _ => Ok(()),
    }
}

fn check_preallocate(queue: Option<usize>, unlimited: bool) -> Result<(), BuildError> {
    if unlimited {
        return Err(BuildError::Preallocate { unbounded: "unlimited" });
    }
    match queue {
        None => Err(BuildError::Preallocate { unbounded: "queue_unbounded" }),
        Some(queue) if queue > LONGEST_RESERVED => {
            Err(BuildError::TooLong { queue, limit: LONGEST_RESERVED })
        }
        Some(_) => Ok(()),
    }
}
