//! `JetStream`: messages in a stream of a NATS server.

mod build; // settings, connection, streams
mod publish; // jobs into the stream
mod lane; // pulls
mod inbox; // their subscription
mod open; // consumers on the server
mod settle; // answers, beats and dead letters
mod letters; // dead letters
mod sweep; // messages that no process has answered

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::Context;

pub use self::build::JetStreamBuilder;
pub(crate) use self::sweep::Sweeper;
use crate::dead::Dead;
use crate::error::ConnectError;
use crate::io::Io;
use crate::jobs::Jobs;

/// How long a request to the server may take.
const REQUEST: Duration = Duration::from_secs(5);

/// A source on a NATS server: a stream `<name>` with the jobs, which are deleted when they are done, and a stream
/// `<name>-dead` with the dead letters, whose subject is `<name>.dead`. A clone is the same source, with the same connection.
///
/// The connection has a thread of its own, which no handler can hold up. It reconnects by itself.
///
/// # Examples
///
/// ```no_run
/// use formic::FnPool;
/// use formic_nats::{Consumer, JetStream};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let source = JetStream::connect("nats://127.0.0.1:4222", "thumbnails").await?;
/// source.jobs().send("cat.jpg").await?;
///
/// let pool = FnPool::new(8, |path: String| std::fs::copy(&path, format!("{path}.small")));
/// # let pool = FnPool::new(8, |_: String| ());
/// let summary = Consumer::new(pool, &source).run_until(formic_nats::terminated()).await?;
/// assert!(summary.is_clean());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct JetStream {
    shared: Arc<Shared>,
}

struct Shared {
    context: Context,
    client: Client,
    io: Io,
    stream: String,
    partitions: usize,
    /// Whether the stream delays messages.
    can_delay: bool,
}

impl JetStream {
    /// Connects to a server, and makes the streams if they are not there.
    ///
    /// # Errors
    ///
    /// [`ConnectError`]. The first connection is not tried again.
    pub async fn connect(url: &str, stream: &str) -> Result<Self, ConnectError> {
        JetStream::builder(stream).connect(url).await
    }

    /// Every setting of the stream, one by one; then `connect(url)`.
    pub fn builder(stream: impl Into<String>) -> JetStreamBuilder {
        JetStreamBuilder::new(stream.into())
    }

    /// The publish side of this source.
    #[must_use]
    pub fn jobs(&self) -> Jobs {
        Jobs::new(self)
    }

    /// The dead letters of this source.
    #[must_use]
    pub fn dead(&self) -> Dead {
        Dead::new(self)
    }

    /// Is ready when no message is left in the stream, delayed ones included. Asks the server five times a second. For any
    /// executor; borrows nothing.
    pub fn empty(&self) -> impl Future<Output = ()> + Send + use<> {
        let source = self.clone();
        async move {
            let io = source.io().clone();
            io.watch(async move {
                while source.messages_in(source.stream()).await.is_none_or(|messages| messages > 0)
                {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            })
            .await;
        }
    }

    /// The version of the server that is connected.
    #[must_use]
    pub fn server_version(&self) -> String {
        self.shared.client.server_info().version
    }

    pub(crate) fn io(&self) -> &Io {
        &self.shared.io
    }

    /// Whether a message that the server sends to a subscription which has just ended is delivered again at once. A server before
    /// 2.10 does not notice, and the message waits for `ack_wait`.
    fn knows_what_it_delivered(&self) -> bool {
        self.shared.client.is_server_compatible(2, 10, 0)
    }

    fn stream(&self) -> &str {
        &self.shared.stream
    }

    fn dead_stream(&self) -> String {
        format!("{}-dead", self.shared.stream)
    }

    fn dead_subject(&self) -> String {
        format!("{}.dead", self.shared.stream)
    }

    /// The stream of the notes that the server makes when it gives up a message.
    fn lost_stream(&self) -> String {
        format!("{}-lost", self.shared.stream)
    }

    /// The subject of the jobs; of one partition, if there are partitions.
    fn job_subject(&self, partition: Option<usize>) -> String {
        match partition {
            Some(partition) => format!("{}.job.{partition}", self.shared.stream),
            None => format!("{}.job", self.shared.stream),
        }
    }

    /// The number of messages in a stream, if the server tells it.
    async fn messages_in(&self, stream: &str) -> Option<u64> {
        let stream = self.shared.context.get_stream_no_info(stream).await.ok()?;
        stream.get_info().await.ok().map(|info| info.state.messages)
    }
}

impl fmt::Debug for JetStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JetStream").field("stream", &self.shared.stream).finish_non_exhaustive()
    }
}
