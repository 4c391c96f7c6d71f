//! Growth: when a pool starts and retires workers between its minimum and its capacity.

use crate::engine::ByLoad;
use crate::error::BuildError;

/// When a pool starts workers, and when it lets them go: see [`Builder::growth`].
///
/// [`Builder::growth`]: crate::Builder::growth
///
/// # Examples
///
/// ```
/// use formic::{Growth, Pool};
///
/// assert_eq!(Growth::default(), Growth::Eager);
/// let growth = Growth::by_load(2, 0.5, 0.1);
/// let pool = Pool::builder().workers(8).queue(100).growth(growth).build()?;
/// assert_eq!(pool.workers(), 0);
/// # Ok::<(), formic::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Growth {
    /// A worker for each task, up to the capacity: a task never waits while a worker is idle or may
    /// still be started. Idle workers go after [`keep_alive`](crate::Builder::keep_alive).
    #[default]
    Eager,
    /// Workers by how full the queue is, made by [`Growth::by_load`]. The *load* is the number of queued
    /// tasks divided by the length of the [`queue`](crate::Builder::queue).
    ///
    /// - A pool without a worker starts one, for the first task. To begin with more, give it a
    ///   minimum: `workers(4..=32)`.
    /// - When a task comes in and the load is above `grow_at`, `step` workers are started, up to the
    ///   capacity. No worker is started while another one is idle, and a task does not count if a worker
    ///   is on its way to take it: so a burst starts no more workers than it needs to bring the load
    ///   down.
    /// - When a worker has ended its task, or a run of short ones, and the load is below `shrink_at`,
    ///   `step` workers retire, down to the minimum, or to one: that worker first, then idle ones,
    ///   then those who end a task next. What is still to go stays if the load has risen again.
    /// - [`keep_alive`](crate::Builder::keep_alive) holds as well, also for the last worker.
    ///
    /// Nothing ticks: a pool in which nothing happens does not change. A `shrink_at` of `0.0` leaves
    /// it to `keep_alive` to let workers go, and a `grow_at` of `1.0` starts no second worker.
    ///
    /// A queued task may so **wait behind one that blocks** although more workers could be started,
    /// for as long as the load stays low. This is for many tasks of about the same kind. Tasks that
    /// wait for each other, other than by joining, need [`Growth::Eager`].
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Growth, Pool};
    ///
    /// let pool = Pool::builder()
    ///     .workers(2..=8)
    ///     .queue(100)
    ///     .growth(Growth::by_load(2, 0.5, 0.1))
    ///     .build()?;
    /// for _ in 0..20 {
    ///     pool.submit(|| ())?;
    /// }
    /// assert_eq!(pool.workers(), 2); // twenty in a queue of a hundred are not much
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "expansionCoefficient")]
    #[doc(alias = "reduceCoefficient")]
    #[doc(alias = "elastic")]
    #[non_exhaustive]
    ByLoad {
        /// How many workers are started, or retire, at once.
        #[doc(alias = "stepLength")]
        step: usize,
        /// Above this load the pool grows; from `0.0` to `1.0`.
        grow_at: f64,
        /// Below this load it shrinks; less than `grow_at`.
        shrink_at: f64,
    },
}

impl Growth {
    /// Growth by load, [`Growth::ByLoad`]: `step` workers are started above the load `grow_at`, and retire below
    /// the load `shrink_at`. [`build`](crate::Builder::build) refuses a step of 0, a load outside of `0.0..=1.0`,
    /// and a `shrink_at` that is not below `grow_at`.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Growth, Pool};
    ///
    /// let growth = Growth::by_load(2, 0.5, 0.1);
    /// assert!(matches!(growth, Growth::ByLoad { step: 2, .. }));
    /// assert!(Pool::builder().growth(growth).build().is_ok());
    /// assert!(Pool::builder().growth(Growth::by_load(0, 0.5, 0.1)).build().is_err());
    /// ```
    #[must_use]
    pub const fn by_load(step: usize, grow_at: f64, shrink_at: f64) -> Self {
        Growth::ByLoad { step, grow_at, shrink_at }
    }

    /// What the engine is told, for a queue that can be measured.
    pub(crate) fn check(self, queue: Option<usize>) -> Result<Option<ByLoad>, BuildError> {
        let Growth::ByLoad { step, grow_at, shrink_at } = self else {
            return Ok(None);
        };
        let refuse = |problem: String| Err(BuildError::of("growth", problem));
        if step == 0 {
            return refuse("a step of 0 changes nothing".to_owned());
        }
        for (mark, load) in [("grow_at", grow_at), ("shrink_at", shrink_at)] {
            // NaN is in no range.
            if !(0.0..=1.0).contains(&load) {
                return refuse(format!("{mark} is {load}, which is not from 0.0 to 1.0"));
            }
        }
        if shrink_at >= grow_at {
            return refuse(format!("shrink_at {shrink_at} is not below grow_at {grow_at}"));
        }
        match queue {
            None => refuse("a queue without a bound has no load".to_owned()),
            Some(0) => refuse("a queue of 0 has no load".to_owned()),
            Some(_) => Ok(Some(ByLoad { step, grow_at, shrink_at })),
        }
    }
}
