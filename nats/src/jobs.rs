//! The publish side.

use serde::Serialize;

use crate::error::PublishError;
use crate::job::Job;
use crate::source::Source;

/// Publishes jobs. A clone publishes to the same source. No thread has to be in a runtime to await its futures.
///
/// # Examples
///
/// ```
/// use formic_nats::{Jobs, Memory};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let source = Memory::new();
/// let jobs: Jobs = source.jobs();
/// jobs.send(&"cat.jpg").await?;
/// assert_eq!(source.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "publisher")]
pub struct Jobs {
    source: Source,
}

/// A job that the source has stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Published {
    pub(crate) sequence: u64,
    pub(crate) duplicate: bool,
}

impl Published {
    /// The number of the message in its stream; of a duplicate, the number of the first.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Whether the source had a job with this [id](Job::id), and did not store this one.
    pub fn is_duplicate(&self) -> bool {
        self.duplicate
    }
}

impl Jobs {
    /// Publishes to this source.
    pub fn new(source: impl Into<Source>) -> Self {
        Jobs { source: source.into() }
    }

    /// Publishes a job. Ready when the source has confirmed that it is stored.
    ///
    /// # Errors
    ///
    /// [`PublishError`]; only after [`PublishError::Unconfirmed`] may the job be stored all the same.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, the job may be stored or not.
    pub async fn publish(&self, job: Job) -> Result<Published, PublishError> {
        self.source.publish(job).await
    }

    /// Publishes `value` as JSON. As [`publish`](Jobs::publish) of [`Job::json`].
    ///
    /// # Errors
    ///
    /// As [`publish`](Jobs::publish), and [`PublishError::Encode`].
    ///
    /// # Cancel safety
    ///
    /// As [`publish`](Jobs::publish).
    pub async fn send<T: Serialize + ?Sized>(&self, value: &T) -> Result<Published, PublishError> {
        self.publish(Job::json(value)?).await
    }

    /// Publishes many jobs, with up to 256 of them unconfirmed at a time, and returns how many the source has stored.
    /// Jobs with the same key keep their order.
    ///
    /// # Errors
    ///
    /// The first [`PublishError`]. Some of the jobs may be stored: give them [ids](Job::id) to publish all of them again.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, some of the jobs are stored.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic_nats::{Job, Memory};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let source = Memory::new();
    /// let jobs = (0..1000).map(|number| Job::new(number.to_string()));
    /// assert_eq!(source.jobs().publish_all(jobs).await?, 1000);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn publish_all(
        &self,
        jobs: impl IntoIterator<Item = Job, IntoIter: Send> + Send,
    ) -> Result<u64, PublishError> {
        match &self.source {
            Source::Memory(memory) => {
                let mut stored = 0;
                for job in jobs {
                    stored += u64::from(!memory.publish(&job)?.duplicate);
                }
                Ok(stored)
            }
            Source::JetStream(stream) => stream.publish_all(jobs.into_iter()).await,
        }
    }
}
