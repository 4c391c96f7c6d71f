//! A message as a consumer gets it.

use std::time::SystemTime;

use async_nats::HeaderMap;
use bytes::Bytes;

/// The header with the key of a job.
pub(crate) const KEY: &str = "Formic-Key";
/// The header by which the server recognises a job that was published twice.
pub(crate) const ID: &str = "Nats-Msg-Id";
/// The header with the trace that a job belongs to, in the form of W3C Trace Context.
pub(crate) const TRACE_PARENT: &str = "traceparent";

/// A message as a consumer gets it: the payload, the headers, and how often it was delivered.
///
/// A decoder turns it into the argument of the handler; see [`Consumer::with_decoder`](crate::Consumer::with_decoder).
/// A clone shares the payload.
///
/// # Examples
///
/// ```
/// use formic::FnPool;
/// use formic_nats::{Consumer, Job, Memory, Message};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let source = Memory::new();
/// source.jobs().publish(Job::new("hello").id("greeting-1")).await?;
///
/// let (sender, receiver) = std::sync::mpsc::channel();
/// let pool = FnPool::new(1, move |message: Message| sender.send(message).is_ok());
/// let consumer = Consumer::with_decoder(pool, &source, |message| Ok::<_, String>(message.clone()));
/// consumer.run_until(source.empty()).await?;
///
/// let message = receiver.recv()?;
/// assert_eq!((message.payload(), message.id(), message.attempt()), (&b"hello"[..], Some("greeting-1"), 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Message {
    pub(crate) payload: Bytes,
    pub(crate) headers: HeaderMap,
    pub(crate) subject: String,
    pub(crate) sequence: u64,
    pub(crate) attempt: u64,
    pub(crate) published: SystemTime,
}

impl Message {
    /// The payload, as it was published.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(async_nats::HeaderValue::as_str)
    }

    /// The id that the publisher gave the job: what an idempotent handler stores with its result.
    #[doc(alias = "Nats-Msg-Id")]
    #[doc(alias = "idempotency_key")]
    pub fn id(&self) -> Option<&str> {
        self.header(ID)
    }

    /// The key of the job. Jobs of one key are handled one after another.
    pub fn key(&self) -> Option<&str> {
        self.header(KEY)
    }

    /// The trace that the job belongs to, as the publisher gave it to [`Job::trace`](crate::Job::trace).
    #[doc(alias = "traceparent")]
    pub fn trace(&self) -> Option<&str> {
        self.header(TRACE_PARENT)
    }

    /// The number of deliveries, this one included, as the source counts them: 1 for the first. The count goes on in
    /// another process.
    #[doc(alias = "num_delivered")]
    pub fn attempt(&self) -> u64 {
        self.attempt
    }

    /// The number of the message in its stream.
    #[doc(alias = "stream_sequence")]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// When the source stored the message.
    pub fn published(&self) -> SystemTime {
        self.published
    }
}
