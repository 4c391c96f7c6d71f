//! A lane: one subscription, and one pull of it at a time.
//!
//! A pull is lost when its server goes down, so it has a short expiry, the server sends heartbeats while it is open,
//! and two that are missing mean that it is asked again.

use std::time::Duration;

use async_nats::jetstream::context::ConsumerInfoErrorKind;
use async_nats::{Message as Raw, StatusCode, Subscriber};
use futures_util::StreamExt;
use serde::Serialize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::{sleep, timeout};

use super::JetStream;
use super::settle::delivery;
use crate::error::ConsumeError;
use crate::source::Event;

/// How long a lane waits after a pull that the server refused.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a lane waits for the last messages when it closes.
const LAST_MESSAGES: Duration = Duration::from_secs(1);

pub(super) struct Lane {
    pub(super) source: JetStream,
    pub(super) number: usize,
    pub(super) consumer: String,
    pub(super) expiry: Duration,
    pub(super) events: UnboundedSender<(usize, Event)>,
    pub(super) inbox: String,
    pub(super) messages: Subscriber,
    /// The number of the pull, which ends the subject that the server answers to.
    pub(super) pull: u64,
}

#[derive(Serialize)]
struct Request {
    batch: usize,
    /// In nanoseconds, as all times.
    expires: u128,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_heartbeat: Option<u128>,
}

/// What became of a pull.
enum End {
    Over,
    Closed,
}

/// What a message from the server means for a pull.
enum Status {
    Message,
    Alive,
    Over,
    /// The server refused it, or knows nothing of it any more; perhaps the consumer is not there.
    Refused,
    Failed(ConsumeError),
}

impl Lane {
    pub(super) async fn run(mut self, mut asked: UnboundedReceiver<usize>) {
        loop {
            tokio::select! {
                biased;
                count = asked.recv() => {
                    let Some(count) = count else { break };
                    match self.pull(count, &mut asked).await {
                        End::Over => self.report(Event::Ended),
                        End::Closed => break,
                    }
                }
                // A message that a lost pull had asked for.
                Some(message) = self.messages.next() => self.pass_on(message),
            }
        }
        self.close().await;
    }

    async fn pull(&mut self, count: usize, asked: &mut UnboundedReceiver<usize>) -> End {
        let heartbeat = self.heartbeat();
        let patience = heartbeat.map_or(self.expiry + Duration::from_secs(1), |beat| 2 * beat);
        self.pull += 1;
        let reply = format!("{}.{}", self.inbox, self.pull);
        self.request(count, heartbeat, &reply).await;
        let mut left = count;
        while left > 0 {
            let message = tokio::select! {
                biased;
                _ = asked.recv() => return End::Closed,
                message = timeout(patience, self.messages.next()) => message,
            };
            let status = match message {
                Err(_) => Status::Refused,
                Ok(None) => Status::Failed(ConsumeError::Disconnected),
                Ok(Some(message)) => {
                    let status = self.status(&message, &reply);
                    if matches!(status, Status::Message) {
                        left -= 1;
                        self.pass_on(message);
                    }
                    status
                }
            };
            if let Some(end) = self.react(status, asked).await {
                return end;
            }
        }
        End::Over
    }

    /// Whether the pull has ended. A lane that failed waits to be closed.
    async fn react(&self, status: Status, asked: &mut UnboundedReceiver<usize>) -> Option<End> {
        let failure = match status {
            Status::Message | Status::Alive => return None,
            Status::Over => return Some(End::Over),
            Status::Failed(error) => Some(error),
            Status::Refused => self.missing().await,
        };
        match failure {
            Some(error) => {
                self.report(Event::Failed(error));
                asked.recv().await;
                Some(End::Closed)
            }
            None => tokio::select! {
                _ = asked.recv() => Some(End::Closed),
                () = sleep(PAUSE) => Some(End::Over),
            },
        }
    }

    /// The server accepts a heartbeat of half the expiry at most.
    fn heartbeat(&self) -> Option<Duration> {
        let beat = (self.expiry / 3).min(Duration::from_secs(1));
        (beat >= Duration::from_millis(100)).then_some(beat)
    }

    async fn request(&self, batch: usize, heartbeat: Option<Duration>, reply: &str) {
        let expires = self.expiry.as_nanos();
        let request =
            Request { batch, expires, idle_heartbeat: heartbeat.map(|beat| beat.as_nanos()) };
        let subject =
            format!("$JS.API.CONSUMER.MSG.NEXT.{}.{}", self.source.stream(), self.consumer);
        let payload = serde_json::to_vec(&request).unwrap_or_default();
        // If it cannot be sent, no heartbeat comes.
        let client = &self.source.shared.client;
        drop(client.publish_with_reply(subject, reply.to_owned(), payload.into()).await);
    }

    fn status(&self, message: &Raw, reply: &str) -> Status {
        let Some(status) = message.status else { return Status::Message };
        if message.subject.as_str() != reply {
            return Status::Alive; // It is about an earlier pull.
        }
        let description = message.description.as_deref().unwrap_or_default();
        match status {
            StatusCode::IDLE_HEARTBEAT => Status::Alive,
            StatusCode::TIMEOUT | StatusCode::NOT_FOUND => Status::Over,
            StatusCode::REQUEST_TERMINATED if description.contains("Batch Completed") => {
                Status::Over
            }
            _ => Status::Refused,
        }
    }

    /// Whether the consumer is not there any more. If the server does not answer, it may be.
    async fn missing(&self) -> Option<ConsumeError> {
        let context = &self.source.shared.context;
        let stream = context.get_stream_no_info(self.source.stream()).await.ok()?;
        match stream.consumer_info(&self.consumer).await.err()?.kind() {
            ConsumerInfoErrorKind::NotFound => Some(ConsumeError::ConsumerDeleted),
            ConsumerInfoErrorKind::StreamNotFound => Some(ConsumeError::StreamDeleted),
            _ => None,
        }
    }

    fn pass_on(&self, message: Raw) {
        if let Some(delivery) = delivery(message) {
            self.report(Event::Message(delivery));
        }
    }

    /// Ends the subscription, and passes on what the server had sent already.
    async fn close(mut self) {
        let rest = async {
            if self.messages.drain().await.is_ok() {
                while let Some(message) = self.messages.next().await {
                    self.pass_on(message);
                }
            }
        };
        drop(timeout(LAST_MESSAGES, rest).await);
        self.report(Event::Closed);
    }

    fn report(&self, event: Event) {
        // If the consumer is gone, its messages are delivered again when their time is over.
        drop(self.events.send((self.number, event)));
    }
}
