//! Messages that no process has answered: the server gave them up, and they become dead letters here.
//!
//! A process that dies of a message each time never gets to write its dead letter. The server stops at the limit of deliveries
//! and makes a note, which is kept in the stream `<name>-lost`. Each consumer reads these notes. A note may be lost itself, so
//! each consumer also looks for such messages, when it starts and now and then.

use std::time::Duration;

use async_nats::jetstream::consumer::pull::Config;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer};
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use futures_util::StreamExt;
use serde::Deserialize;
use tokio::task::JoinHandle;

use super::JetStream;
use crate::dead::Letter;
use crate::error::ConsumeError;
use crate::message::Message;
use crate::monitor::{Counters, count};
use crate::source::Unconfirmed;

/// How long a message that was acknowledged may stay in the stream: the server removes it a moment later. Far more than the
/// milliseconds that it takes, because such a message would become a dead letter by mistake.
const REMOVAL: Duration = Duration::from_secs(1);

/// How long until the next look for messages without a note. They are rare, and a look costs the server two requests.
const SCAN: Duration = Duration::from_secs(600);

/// Reads the notes until it is dropped.
#[derive(Debug)]
pub(crate) struct Sweeper {
    task: JoinHandle<()>,
}

/// What a note says.
#[derive(Deserialize)]
struct Note {
    stream_seq: u64,
    deliveries: u64,
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Sweeper {
    pub(super) async fn start(
        source: &JetStream,
        consumer: &str,
        counters: &Counters,
    ) -> Result<Self, ConsumeError> {
        let setup = |error: String| ConsumeError::Setup(error);
        let config = Config {
            durable_name: Some("sweeper".to_owned()),
            ack_policy: AckPolicy::Explicit,
            ..Config::default()
        };
        let context = &source.shared.context;
        let notes = context.create_consumer_on_stream(config, source.lost_stream()).await;
        let notes: PullConsumer = notes.map_err(|error| setup(error.to_string()))?;
        let jobs = context.get_stream_no_info(source.stream()).await;
        let jobs = jobs.map_err(|error| setup(error.to_string()))?;
        let consumers = source.consumer_names(consumer);
        let sweep = Sweep { source: source.clone(), jobs, counters: counters.clone() };
        // Before this consumer asks for messages: one that is worked on hides those that were given up after it.
        let mut lost = sweep.find(&consumers).await;
        let task = tokio::spawn(async move {
            let scan = async {
                loop {
                    let buried = match lost {
                        Ok(lost) => sweep.bury_all(lost).await,
                        Err(error) => Err(error),
                    };
                    tokio::time::sleep(if buried.is_ok() { SCAN } else { REMOVAL }).await;
                    lost = sweep.find(&consumers).await;
                }
            };
            let read = async {
                loop {
                    drop(sweep.read(&notes).await);
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            };
            tokio::join!(scan, read);
        });
        Ok(Sweeper { task })
    }
}

/// A message that no consumer will deliver.
struct Lost {
    sequence: u64,
    deliveries: u64,
}

struct Sweep {
    source: JetStream,
    jobs: Stream<()>,
    counters: Counters,
}

impl Sweep {
    /// Handles the notes of one pull.
    async fn read(&self, notes: &PullConsumer) -> Result<(), async_nats::Error> {
        let pull = notes.batch().max_messages(16).expires(Duration::from_secs(10));
        let mut batch = pull.messages().await?;
        while let Some(note) = batch.next().await {
            let note = note?;
            if let Ok(Note { stream_seq, deliveries }) = serde_json::from_slice(&note.payload) {
                let reason = format!("none of {deliveries} deliveries was answered");
                let buried = self.bury(stream_seq, deliveries, &reason).await;
                buried.map_err(|_| "the dead letter was not confirmed")?;
            }
            note.double_ack().await?;
        }
        Ok(())
    }

    /// Looks for messages that are in the stream, and that a consumer has done with: all that it has delivered if none of them
    /// is unacknowledged, and otherwise those before the first that is. One that is acknowledged is removed, so those that
    /// are left were given up.
    async fn find(&self, consumers: &[String]) -> Result<Vec<Lost>, async_nats::Error> {
        let mut lost = Vec::new();
        for (number, name) in consumers.iter().enumerate() {
            let info = self.jobs.consumer_info(name).await?;
            let done = if info.num_ack_pending == 0 { info.delivered } else { info.ack_floor };
            let done = done.stream_sequence;
            let deliveries = u64::try_from(info.config.max_deliver).unwrap_or(0);
            let partition = (self.source.shared.partitions > 0).then_some(number);
            let subject = self.source.job_subject(partition);
            let mut next = 1;
            while let Some(sequence) = self.first_from(&subject, next).await?
                && sequence <= done
            {
                lost.push(Lost { sequence, deliveries });
                next = sequence + 1;
            }
        }
        Ok(lost)
    }

    async fn bury_all(&self, lost: Vec<Lost>) -> Result<(), async_nats::Error> {
        if !lost.is_empty() {
            tokio::time::sleep(REMOVAL).await;
        }
        for Lost { sequence, deliveries } in lost {
            let buried = self.bury(sequence, deliveries, "the server delivers it no more").await;
            buried.map_err(|_| "the dead letter was not confirmed")?;
        }
        Ok(())
    }

    /// The first message of a subject from this number on.
    async fn first_from(&self, subject: &str, from: u64) -> Result<Option<u64>, async_nats::Error> {
        match self.jobs.get_first_raw_message_by_subject(subject, from).await {
            Ok(message) => Ok(Some(message.sequence)),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves a message to the dead letters, if it is there.
    async fn bury(&self, sequence: u64, deliveries: u64, reason: &str) -> Result<(), Unconfirmed> {
        let raw = match self.jobs.get_raw_message(sequence).await {
            Ok(raw) => raw,
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => return Ok(()),
            Err(_) => return Err(Unconfirmed),
        };
        let message = Message {
            payload: raw.payload,
            headers: raw.headers,
            subject: raw.subject.to_string(),
            sequence,
            attempt: deliveries,
            published: raw.time.into(),
        };
        self.source.bury(&Letter::new(&message, reason, None)).await?;
        if self.jobs.delete_message(sequence).await.map_err(|_| Unconfirmed)? {
            count(&self.counters.dead);
        }
        Ok(())
    }
}
