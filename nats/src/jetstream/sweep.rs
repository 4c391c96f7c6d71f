//! Messages that no process has answered: the server gave them up, and they become dead letters here.
//!
//! A process that dies of a message each time never gets to write its dead letter. The server stops at the limit of deliveries
//! and makes a note, which is kept in the stream `<name>-lost`. Each consumer reads these notes.

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
        let (source, counters) = (source.clone(), counters.clone());
        let task = tokio::spawn(async move {
            loop {
                drop(read(&source, &notes, &jobs, &counters).await);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        Ok(Sweeper { task })
    }
}

/// Handles the notes of one pull.
async fn read(
    source: &JetStream,
    notes: &PullConsumer,
    jobs: &Stream<()>,
    counters: &Counters,
) -> Result<(), async_nats::Error> {
    let pull = notes.batch().max_messages(16).expires(Duration::from_secs(10));
    let mut batch = pull.messages().await?;
    while let Some(note) = batch.next().await {
        let note = note?;
        if let Ok(Note { stream_seq, deliveries }) = serde_json::from_slice(&note.payload) {
            let buried = bury(source, jobs, stream_seq, deliveries).await;
            if buried.map_err(|_| "the dead letter was not confirmed")? {
                count(&counters.dead);
            }
        }
        note.double_ack().await?;
    }
    Ok(())
}

/// Moves a message to the dead letters; false if it is gone already.
async fn bury(
    source: &JetStream,
    jobs: &Stream<()>,
    sequence: u64,
    deliveries: u64,
) -> Result<bool, Unconfirmed> {
    let raw = match jobs.get_raw_message(sequence).await {
        Ok(raw) => raw,
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => return Ok(false),
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
    let reason = format!("none of {deliveries} deliveries was answered");
    source.bury(&Letter::new(&message, &reason, None)).await?;
    jobs.delete_message(sequence).await.map_err(|_| Unconfirmed)
}
