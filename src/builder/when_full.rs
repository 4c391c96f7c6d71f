//! What becomes of a task for which there is no place.

/// What [`Pool::submit`](crate::Pool::submit) does when there is no place for the task.
///
/// # Examples
///
/// ```
/// use formic::{Pool, Refused, WhenFull};
///
/// let pool = Pool::builder().workers(1).queue(0).when_full(WhenFull::CallerRuns).build()?;
/// let permit = pool.admit()?; // the only place is taken
/// let here = std::thread::current().id();
/// let ran_on = pool.spawn(move || std::thread::current().id())?;
/// assert_eq!(ran_on.join()?, here);
///
/// let error = pool.try_submit(|| ()).unwrap_err(); // whatever the policy, this never waits
/// assert_eq!(error.reason(), Refused::Full);
/// # drop(permit);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhenFull {
    /// Waits for a place, in order of arrival.
    #[default]
    Wait,
    /// Refuses the task with [`Refused::Full`](crate::Refused::Full).
    #[doc(alias = "Nonblocking")]
    #[doc(alias = "AbortPolicy")]
    Refuse,
    /// Runs the task on the submitting thread, which so is kept from submitting more.
    #[doc(alias = "CallerRunsPolicy")]
    CallerRuns,
}
