//! A job to publish.

use std::str::FromStr;
use std::time::Duration;

use async_nats::{HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;
use serde::Serialize;

use crate::error::PublishError;
use crate::message::{ID, KEY, TRACE_PARENT};
use crate::verdict::LONGEST;

/// A job to publish: a payload, and what the source is to know about it.
///
/// # Examples
///
/// ```
/// use formic_nats::{Job, Memory};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let jobs = Memory::new().jobs();
/// let job = || Job::new("invoice 7").id("invoice-7");
/// assert!(!jobs.publish(job()).await?.is_duplicate());
/// assert!(jobs.publish(job()).await?.is_duplicate()); // stored once
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a job does nothing until it is published"]
pub struct Job {
    pub(crate) payload: Bytes,
    headers: Vec<(String, String)>,
    pub(crate) delay: Option<Duration>,
}

impl Job {
    /// A job with this payload.
    pub fn new(payload: impl Into<Bytes>) -> Self {
        Job { payload: payload.into(), headers: Vec::new(), delay: None }
    }

    /// A job whose payload is `value` as JSON, which is what [`Consumer::new`](crate::Consumer::new) decodes.
    ///
    /// # Errors
    ///
    /// [`PublishError::Encode`] if the value has no JSON form.
    ///
    /// # Examples
    ///
    /// ```
    /// let job = formic_nats::Job::json(&["resize", "cat.jpg"])?.key("cat.jpg");
    /// # drop(job);
    /// # Ok::<(), formic_nats::PublishError>(())
    /// ```
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, PublishError> {
        serde_json::to_vec(value).map(Job::new).map_err(PublishError::Encode)
    }

    /// The id of the job. A second job with the same id is not stored while the source remembers the first: for two
    /// minutes unless the source was told otherwise.
    #[doc(alias = "Nats-Msg-Id")]
    #[doc(alias = "dedupe")]
    pub fn id(self, id: impl Into<String>) -> Self {
        self.header(ID, id)
    }

    /// The key of the job: jobs of one key are handled one after another, in the order in which they were published.
    /// Needs a source with partitions.
    #[doc(alias = "partition_key")]
    pub fn key(self, key: impl Into<String>) -> Self {
        self.header(KEY, key)
    }

    /// The trace that the job belongs to: the value of the header `traceparent` of W3C Trace Context.
    #[doc(alias = "traceparent")]
    pub fn trace(self, parent: impl Into<String>) -> Self {
        self.header(TRACE_PARENT, parent)
    }

    /// Delivers the job after this time, not before. `JetStream` can do that from version 2.12 of
    /// the server, in a stream without limits. A time above one hundred years is cut to that.
    #[doc(alias = "schedule")]
    #[doc(alias = "perform_in")]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = Some(delay.min(LONGEST));
        self
    }

    /// A header. The name has visible ASCII characters without a colon, the value is one line.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn key_of(&self) -> Option<&str> {
        self.headers.iter().find(|(name, _)| name == KEY).map(|(_, value)| value.as_str())
    }

    pub(crate) fn id_of(&self) -> Option<&str> {
        self.headers.iter().find(|(name, _)| name == ID).map(|(_, value)| value.as_str())
    }

    /// The headers as the source stores them.
    pub(crate) fn header_map(&self) -> Result<HeaderMap, PublishError> {
        let mut map = HeaderMap::new();
        for (name, value) in &self.headers {
            let bad = || PublishError::Header(name.clone());
            let (name, value) = (HeaderName::from_str(name), HeaderValue::from_str(value));
            map.insert(name.map_err(|_| bad())?, value.map_err(|_| bad())?);
        }
        Ok(map)
    }
}

/// The partition of a key, the same in every process.
pub(crate) fn partition(key: &str, partitions: usize) -> usize {
    // FNV-1a: the hash of the standard library may change with its version.
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    usize::try_from(hash % partitions as u64).unwrap_or(0)
}
