//! The check of all settings. What cannot be is an error, and nothing is changed in silence.

use std::time::Duration;

use super::{Builder, Workers};
use crate::engine::{Limits, Settings};
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
            let problem = format!("{workers} is above the capacity {most}");
            return Err(BuildError::of("prestart", problem));
        }
        if self.keep_alive == Some(Duration::ZERO) {
            return Err(BuildError::of("keep_alive", "0 seconds leave no worker to be reused"));
        }
        let growth = self.growth.check(self.queue)?;
        check_thread(&self.name, self.stack_size)?;
        if self.preallocate {
            check_preallocate(self.queue, self.unlimited)?;
        }
        let limits = Limits {
            capacity,
            minimum,
            queue: self.queue.unwrap_or(usize::MAX),
            waiters: self.waiters,
            keep_alive: self.keep_alive,
            growth,
            preallocate: self.preallocate,
        };
        Ok(Settings {
            limits,
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
        return Err(BuildError::of("workers", "0 workers cannot run anything"));
    }
    if minimum > capacity {
        let problem = format!("the minimum {minimum} is above the capacity {capacity}");
        return Err(BuildError::of("workers", problem));
    }
    if capacity > limit {
        return Err(BuildError::of("workers", format!("{capacity} is above the limit of {limit}")));
    }
    Ok(())
}

fn check_thread(name: &str, stack_size: Option<usize>) -> Result<(), BuildError> {
    if name.contains('\0') {
        return Err(BuildError::of("name", format!("{name:?} contains a NUL byte")));
    }
    match stack_size {
        Some(bytes) if bytes < LEAST_STACK => {
            let problem = format!("{bytes} bytes are below the minimum of {LEAST_STACK}");
            Err(BuildError::of("stack_size", problem))
        }
        _ => Ok(()),
    }
}

pub(crate) fn check_preallocate(queue: Option<usize>, unlimited: bool) -> Result<(), BuildError> {
    let unbounded = match queue {
        _ if unlimited => "unlimited",
        None => "queue_unbounded",
        Some(queue) if queue > LONGEST_RESERVED => {
            let problem = format!("a queue of {queue} is above the limit of {LONGEST_RESERVED}");
            return Err(BuildError::of("preallocate", problem));
        }
        Some(_) => return Ok(()),
    };
    Err(BuildError::of("preallocate", format!("`{unbounded}` has no bound")))
}
