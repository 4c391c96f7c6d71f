//! The settings of a stream, and the connection to it.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::context::{ContextBuilder, CreateStreamError};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy};
use async_nats::{Client, ConnectOptions};

use super::{JetStream, REQUEST, Shared};
use crate::error::ConnectError;
use crate::io::Io;

/// The most publications that are not confirmed yet.
const UNCONFIRMED: usize = 4096;

/// The settings of a [`JetStream`]. Those of the stream count when it is made: a stream that is there is used as it is.
///
/// # Examples
///
/// ```no_run
/// # #[tokio::main]
/// # async fn main() -> Result<(), formic_nats::ConnectError> {
/// let source = formic_nats::JetStream::builder("orders")
///     .partitions(16)
///     .replicas(3)
///     .max_bytes(1 << 30)
///     .connect("nats://127.0.0.1:4222")
///     .await?;
/// assert!(source.server_version().starts_with("2."));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a builder does nothing until it connects"]
pub struct JetStreamBuilder {
    stream: String,
    partitions: usize,
    replicas: usize,
    max_messages: i64,
    max_bytes: i64,
    dedupe_window: Duration,
}

impl JetStreamBuilder {
    pub(super) fn new(stream: String) -> Self {
        JetStreamBuilder {
            stream,
            partitions: 0,
            replicas: 1,
            max_messages: -1,
            max_bytes: -1,
            dedupe_window: Duration::from_secs(120),
        }
    }

    /// The number of partitions, for jobs with [keys](crate::Job::key). The jobs of one partition are handled one after another,
    /// in any of the processes; different partitions are handled at the same time. Each process gives the same number.
    /// With at most as many partitions as a process has places, a job never waits for its partition's turn to be asked
    /// for. None unless set: then jobs have no key.
    pub fn partitions(mut self, partitions: usize) -> Self {
        self.partitions = partitions;
        self
    }

    /// On how many servers of a cluster the messages are stored: 1 to 5.
    pub fn replicas(mut self, replicas: usize) -> Self {
        self.replicas = replicas;
        self
    }

    /// The most jobs in the stream; one more is refused with [`PublishError::Full`](crate::PublishError::Full). A
    /// stream with a limit cannot [delay](crate::Job::after) jobs.
    pub fn max_messages(mut self, messages: u32) -> Self {
        self.max_messages = i64::from(messages);
        self
    }

    /// The most bytes in the stream; a job above is refused with [`PublishError::Full`](crate::PublishError::Full). A
    /// stream with a limit cannot [delay](crate::Job::after) jobs.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self
    }

    /// How long the [id](crate::Job::id) of a job is remembered. Two minutes unless set.
    pub fn dedupe_window(mut self, time: Duration) -> Self {
        self.dedupe_window = time;
        self
    }

    /// Connects, and makes the streams if they are not there.
    ///
    /// # Errors
    ///
    /// [`ConnectError`]. The first connection is not tried again.
    pub async fn connect(self, url: &str) -> Result<JetStream, ConnectError> {
        self.connect_with(url, ConnectOptions::new()).await
    }

    /// As [`connect`](JetStreamBuilder::connect), with the options of async-nats: certificates, a user, a token.
    ///
    /// # Errors
    ///
    /// As [`connect`](JetStreamBuilder::connect).
    pub async fn connect_with(
        self,
        url: &str,
        options: ConnectOptions,
    ) -> Result<JetStream, ConnectError> {
        let io = Io::start().map_err(ConnectError::Thread)?;
        let (url, thread) = (url.to_owned(), io.clone());
        io.run(async move {
            let client = options.request_timeout(Some(REQUEST)).connect(url).await;
            let client = client.map_err(|error| ConnectError::Connect(error.to_string()))?;
            self.open(client, thread).await
        })
        .await
    }

    async fn open(self, client: Client, io: Io) -> Result<JetStream, ConnectError> {
        let context = ContextBuilder::new()
            .timeout(REQUEST)
            .max_ack_inflight(UNCONFIRMED)
            .backpressure_on_inflight(true)
            .build(client.clone());
        let (stream, partitions) = (self.stream.clone(), self.partitions);
        let failed = |error: CreateStreamError| ConnectError::Stream(error.to_string());
        let jobs = self.jobs(client.is_server_compatible(2, 12, 0));
        let jobs = context.get_or_create_stream(jobs).await.map_err(failed)?;
        // A stream that was there may have been made without it.
        let config = &jobs.cached_info().config;
        let can_delay = config.allow_message_schedules;
        if let Some(made) = partitions_of(&stream, &config.subjects).filter(|n| *n != partitions) {
            return Err(ConnectError::Partitions { stream: made, asked: partitions });
        }
        let shared = Shared { context, client, io, stream, partitions, can_delay };
        let source = JetStream { shared: Arc::new(shared) };
        for config in [self.dead(&source), self.lost(&source)] {
            source.shared.context.get_or_create_stream(config).await.map_err(failed)?;
        }
        Ok(source)
    }

    /// The jobs. One that is done is deleted. A stream that is full refuses the next job; such a stream cannot delay jobs.
    fn jobs(&self, server_can_delay: bool) -> Config {
        let name = &self.stream;
        let has_limit = self.max_messages >= 0 || self.max_bytes >= 0;
        let can_delay = server_can_delay && !has_limit;
        // One by one, so that another process can tell how many partitions there are.
        let mut subjects: Vec<String> = match self.partitions {
            0 => vec![format!("{name}.job")],
            partitions => (0..partitions).map(|number| format!("{name}.job.{number}")).collect(),
        };
        if can_delay {
            subjects.push(format!("{name}.later.*"));
        }
        Config {
            name: name.clone(),
            subjects,
            retention: RetentionPolicy::WorkQueue,
            discard: if has_limit { DiscardPolicy::New } else { DiscardPolicy::Old },
            max_messages: self.max_messages,
            max_bytes: self.max_bytes,
            num_replicas: self.replicas,
            duplicate_window: self.dedupe_window,
            allow_message_schedules: can_delay,
            ..Config::default()
        }
    }

    fn dead(&self, source: &JetStream) -> Config {
        Config {
            name: source.dead_stream(),
            subjects: vec![source.dead_subject()],
            num_replicas: self.replicas,
            duplicate_window: self.dedupe_window,
            ..Config::default()
        }
    }

    /// The notes of the server about messages that it gave up. They are stored, because a process that dies of a message
    /// does not hear the note.
    fn lost(&self, source: &JetStream) -> Config {
        Config {
            name: source.lost_stream(),
            subjects: vec![format!("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{}.*", self.stream)],
            retention: RetentionPolicy::WorkQueue,
            num_replicas: self.replicas,
            ..Config::default()
        }
    }
}

/// The number of partitions that a stream was made with, by its subjects. None if it was made by other means.
fn partitions_of(stream: &str, subjects: &[String]) -> Option<usize> {
    let jobs = format!("{stream}.job");
    if subjects.contains(&jobs) {
        return Some(0);
    }
    let number = |subject: &String| -> Option<usize> {
        subject.strip_prefix(&jobs)?.strip_prefix('.')?.parse().ok()
    };
    let partitions = subjects.iter().filter_map(number).count();
    (partitions > 0).then_some(partitions)
}
