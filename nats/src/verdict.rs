//! What a handler says about its message, and how long a failed message waits.

use std::fmt::Display;
use std::time::Duration;

/// The longest time of any setting, one hundred years: the end of such a time is within what the clocks of the standard
/// library and the server's count of nanoseconds can hold.
pub(crate) const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// What becomes of a message. Most handlers return a `Result` instead; see [`Answer`].
///
/// # Examples
///
/// ```
/// use formic_nats::{Answer, Verdict};
///
/// fn handle(code: u16) -> Verdict {
///     match code {
///         200 => Verdict::Done,
///         429 => Verdict::RetryAfter("asked to wait".into(), std::time::Duration::from_secs(60)),
///         404 => Verdict::Dead("no such account".into()), // a retry would not help
///         code => Verdict::Retry(format!("status {code}")),
///     }
/// }
/// assert_eq!(handle(200).verdict(), Verdict::Done);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The job is done: the message is acknowledged.
    Done,
    /// The job failed, for this reason. It is delivered again after the back-off, or becomes a dead letter if this was
    /// the last attempt.
    Retry(String),
    /// As `Retry`, after this time instead of the back-off.
    RetryAfter(String, Duration),
    /// The job failed for good: it becomes a dead letter now.
    Dead(String),
}

/// A type that a handler may return: `()`, `bool` (false: retry), a [`Verdict`], or a `Result` of one of them, whose error is the
/// reason for a retry.
///
/// # Examples
///
/// ```
/// use formic_nats::{Answer, Verdict};
///
/// assert_eq!(().verdict(), Verdict::Done);
/// assert_eq!(Err::<(), _>("disk full").verdict(), Verdict::Retry("disk full".into()));
/// ```
pub trait Answer: Send + 'static {
    /// What becomes of the message.
    fn verdict(self) -> Verdict;
}

impl Answer for () {
    fn verdict(self) -> Verdict {
        Verdict::Done
    }
}

impl Answer for bool {
    fn verdict(self) -> Verdict {
        if self { Verdict::Done } else { Verdict::Retry("the handler returned false".to_owned()) }
    }
}

impl Answer for Verdict {
    fn verdict(self) -> Verdict {
        self
    }
}

impl<A: Answer, E: Display + Send + 'static> Answer for Result<A, E> {
    fn verdict(self) -> Verdict {
        match self {
            Ok(answer) => answer.verdict(),
            Err(error) => Verdict::Retry(error.to_string()),
        }
    }
}

/// How long a failed message waits: twice as long after each attempt, with jitter, up to a limit.
///
/// # Examples
///
/// ```
/// use formic_nats::Backoff;
/// use std::time::Duration;
///
/// let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
/// for (attempt, most) in [(1, 1), (2, 2), (3, 4), (20, 60)] {
///     let delay = backoff.delay(attempt);
///     assert!(delay <= Duration::from_secs(most) && 2 * delay >= Duration::from_secs(most));
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    most: Duration,
}

impl Backoff {
    /// Waits for up to `first` after the first attempt, and never longer than `most`.
    pub fn new(first: Duration, most: Duration) -> Self {
        Backoff { first, most: most.min(LONGEST) }
    }

    /// The time to wait after this attempt: at random between one half of it and all of it, so that messages that
    /// failed together do not come back together.
    pub fn delay(&self, attempt: u64) -> Duration {
        let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(u32::MAX).min(31);
        let whole = self.first.saturating_mul(1_u32 << doublings).min(self.most);
        whole.mul_f64(fastrand::f64().mul_add(0.5, 0.5))
    }
}

impl Default for Backoff {
    /// One second at first, ten minutes at most.
    fn default() -> Self {
        Backoff::new(Duration::from_secs(1), Duration::from_secs(600))
    }
}
