//! Jobs into the stream.

use std::collections::VecDeque;
use std::future::IntoFuture;
use std::time::SystemTime;

use async_nats::HeaderMap;
use async_nats::jetstream::context::{PublishAckFuture, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{self, ErrorCode};
use std::error::Error;

use super::JetStream;
use crate::dead::{rfc3339, wire_len};
use crate::error::PublishError;
use crate::job::{Job, partition};
use crate::jobs::Published;

/// The bytes of the server's limit that are kept for headers: those of a dead letter are added to those of its job.
const HEADERS: usize = 8 << 10;

/// The most jobs of one call that are not confirmed yet.
const WINDOW: usize = 256;

impl JetStream {
    pub(crate) async fn publish(&self, job: Job) -> Result<Published, PublishError> {
        let source = self.clone();
        self.io()
            .run(async move {
                let sent = source.send(&job).await?;
                confirmed(sent).await
            })
            .await
    }

    pub(crate) async fn publish_all(
        &self,
        mut jobs: impl Iterator<Item = Job> + Send,
    ) -> Result<u64, PublishError> {
        let mut stored = 0;
        loop {
            let batch: Vec<Job> = jobs.by_ref().take(16 * WINDOW).collect();
            if batch.is_empty() {
                return Ok(stored);
            }
            let source = self.clone();
            stored += self.io().run(async move { source.publish_batch(&batch).await }).await?;
        }
    }

    async fn publish_batch(&self, jobs: &[Job]) -> Result<u64, PublishError> {
        let (mut stored, mut open) = (0, VecDeque::with_capacity(WINDOW));
        for job in jobs {
            if open.len() == WINDOW
                && let Some(first) = open.pop_front()
            {
                stored += u64::from(!confirmed(first).await?.duplicate);
            }
            open.push_back(self.send(job).await?);
        }
        for sent in open {
            stored += u64::from(!confirmed(sent).await?.duplicate);
        }
        Ok(stored)
    }

    async fn send(&self, job: &Job) -> Result<PublishAckFuture, PublishError> {
        let mut headers = job.header_map()?;
        let max = self.shared.client.max_payload().saturating_sub(HEADERS);
        let size = job.payload.len() + wire_len(&headers);
        if size > max {
            return Err(PublishError::TooLarge { size, max });
        }
        let mut subject = self.job_subject(self.partition_of(job)?);
        if let Some(delay) = job.delay {
            if !self.shared.can_delay {
                return Err(PublishError::DelayUnsupported);
            }
            headers.insert("Nats-Schedule", format!("@at {}", rfc3339(SystemTime::now() + delay)));
            headers.insert("Nats-Schedule-Target", subject);
            // The server keeps one message of a subject on its schedule.
            subject = format!("{}.later.{:032x}", self.stream(), fastrand::u128(..));
        }
        self.send_to(subject, headers, job.payload.clone()).await
    }

    pub(super) async fn send_to(
        &self,
        subject: String,
        headers: HeaderMap,
        payload: bytes::Bytes,
    ) -> Result<PublishAckFuture, PublishError> {
        let message = PublishMessage::build().payload(payload).headers(headers);
        self.shared.context.send_publish(subject, message).await.map_err(|error| refusal(&error))
    }

    /// The partition of a job, if there are partitions. A job without a key may be in any.
    fn partition_of(&self, job: &Job) -> Result<Option<usize>, PublishError> {
        match (job.key_of(), self.shared.partitions) {
            (None, 0) => Ok(None),
            (Some(_), 0) => Err(PublishError::NoPartitions),
            (Some(key), partitions) => Ok(Some(partition(key, partitions))),
            (None, partitions) => Ok(Some(fastrand::usize(..partitions))),
        }
    }
}

pub(super) async fn confirmed(sent: PublishAckFuture) -> Result<Published, PublishError> {
    match sent.into_future().await {
        Ok(ack) => Ok(Published { sequence: ack.sequence, duplicate: ack.duplicate }),
        Err(error) => Err(refusal(&error)),
    }
}

fn refusal(error: &jetstream::context::PublishError) -> PublishError {
    let answer = error.source().and_then(|source| source.downcast_ref::<jetstream::Error>());
    match (error.kind(), answer.map(jetstream::Error::error_code)) {
        (PublishErrorKind::StreamNotFound, _) => PublishError::NoStream,
        (PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe, _) => PublishError::Unconfirmed,
        (_, Some(ErrorCode::STREAM_STORE_FAILED | ErrorCode::STORAGE_RESOURCES_EXCEEDED)) => {
            PublishError::Full
        }
        (_, Some(ErrorCode::STREAM_NOT_FOUND)) => PublishError::NoStream,
        _ => PublishError::Refused(error.to_string()),
    }
}
