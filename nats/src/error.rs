//! Errors: one type for each act.

use std::error::Error;
use std::fmt;
use std::io;

use formic::Refused;

/// Why a job was not published.
///
/// # Examples
///
/// ```
/// use formic_nats::{Job, Memory, PublishError};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let jobs = Memory::builder().max_messages(1).build().jobs();
/// jobs.publish(Job::new("first")).await?;
/// let error = jobs.publish(Job::new("second")).await.unwrap_err();
/// assert!(matches!(error, PublishError::Full));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum PublishError {
    /// The value has no JSON form.
    Encode(serde_json::Error),
    /// The header with this name cannot be sent.
    Header(String),
    /// The job is larger than the source takes. A part of the server's limit is kept for the headers of a dead
    /// letter, so that each job that was stored can also be moved there.
    TooLarge {
        /// The size of the payload and the headers, in bytes.
        size: usize,
        /// The largest size that is accepted, in bytes.
        max: usize,
    },
    /// The stream has reached its limit of messages or bytes.
    Full,
    /// The stream does not exist, or `JetStream` does not answer.
    NoStream,
    /// The stream cannot delay a job: the server is older than 2.12, or the stream has a limit of messages or bytes.
    DelayUnsupported,
    /// The job has a key, and the source has no partitions.
    NoPartitions,
    /// The server did not confirm the job in time. It may be stored: publish it again with the same
    /// [id](crate::Job::id).
    Unconfirmed,
    /// The server refused the job, for this reason.
    Refused(String),
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PublishError::Encode(_) => f.write_str("the job has no JSON form"),
            PublishError::Header(name) => write!(f, "the header {name:?} cannot be sent"),
            PublishError::TooLarge { size, max } => {
                write!(f, "the job has {size} bytes, and {max} are accepted")
            }
            PublishError::Full => f.write_str("the stream is full"),
            PublishError::NoStream => f.write_str("the stream does not exist or does not answer"),
            PublishError::DelayUnsupported => f.write_str("the stream cannot delay a job"),
            PublishError::NoPartitions => {
                f.write_str("the job has a key, and the source has no partitions")
            }
            PublishError::Unconfirmed => f.write_str("the server did not confirm the job in time"),
            PublishError::Refused(reason) => write!(f, "the server refused the job: {reason}"),
        }
    }
}

impl Error for PublishError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            PublishError::Encode(error) => Some(error),
            _ => None,
        }
    }
}

/// Why there is no connection to the stream.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// No server answered.
    Connect(String),
    /// The stream is not there and could not be made; also if the server runs without `JetStream`.
    Stream(String),
    /// The stream was made with another number of partitions. Jobs in a partition that no consumer asks for would
    /// wait for ever.
    Partitions {
        /// The number of partitions of the stream.
        stream: usize,
        /// The number that [`partitions`](crate::JetStreamBuilder::partitions) was given.
        asked: usize,
    },
    /// The thread of the connection was not started.
    Thread(io::Error),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectError::Connect(reason) => write!(f, "no connection to the server: {reason}"),
            ConnectError::Stream(reason) => write!(f, "the stream could not be opened: {reason}"),
            ConnectError::Partitions { stream, asked } => {
                write!(f, "the stream has {stream} partitions, and {asked} were asked for")
            }
            ConnectError::Thread(_) => f.write_str("the thread of the connection was not started"),
        }
    }
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ConnectError::Thread(error) => Some(error),
            _ => None,
        }
    }
}

/// Why a consumer ended without having been told to.
///
/// # Examples
///
/// ```
/// use formic::{FnPool, Refused};
/// use formic_nats::{ConsumeError, Consumer, Memory};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let pool = FnPool::new(1, |_: u32| ());
/// pool.close();
/// let error = Consumer::new(pool, &Memory::new()).run().await.unwrap_err();
/// assert!(matches!(error, ConsumeError::Pool(Refused::Closed)));
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ConsumeError {
    /// The consumer was deleted on the server while it was in use.
    ConsumerDeleted,
    /// The stream was deleted on the server.
    StreamDeleted,
    /// The server does not accept the consumer, for this reason.
    Setup(String),
    /// The pool takes no work.
    Pool(Refused),
    /// The thread of the consumer was not started.
    Thread(io::Error),
    /// The connection was closed for good.
    Disconnected,
}

impl fmt::Display for ConsumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConsumeError::ConsumerDeleted => f.write_str("the consumer was deleted on the server"),
            ConsumeError::StreamDeleted => f.write_str("the stream was deleted on the server"),
            ConsumeError::Setup(reason) => {
                write!(f, "the server does not accept the consumer: {reason}")
            }
            ConsumeError::Pool(reason) => write!(f, "the pool takes no work: {reason}"),
            ConsumeError::Thread(_) => f.write_str("the thread of the consumer was not started"),
            ConsumeError::Disconnected => f.write_str("the connection was closed for good"),
        }
    }
}

impl Error for ConsumeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ConsumeError::Thread(error) => Some(error),
            _ => None,
        }
    }
}

/// Why a figure or a dead letter could not be had from the source.
#[derive(Debug)]
#[non_exhaustive]
pub enum AskError {
    /// The server did not answer in time, or is not connected.
    NoAnswer(String),
    /// A dead letter could not be published again.
    Publish(PublishError),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::NoAnswer(reason) => write!(f, "the source did not answer: {reason}"),
            AskError::Publish(_) => f.write_str("a dead letter could not be published again"),
        }
    }
}

impl Error for AskError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            AskError::Publish(error) => Some(error),
            AskError::NoAnswer(_) => None,
        }
    }
}
