//! A lane: one subscription, and one pull of it at a time.
//!
//! A pull is lost when its server goes down, so it has a short expiry, the server sends heartbeats while it is open,
//! and two that are missing mean that it is asked again. The server may have the old one still. So the new pull has a new
//! subscription, and the old one ends: the server drops a pull that no subscription is there for.

use std::time::Duration;

use async_nats::jetstream::context::ConsumerInfoErrorKind;
use async_nats::{Message as Raw, StatusCode};
use serde::Serialize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::{sleep, timeout};

use super::JetStream;
use super::inbox::Inbox;
use super::settle::delivery;
use crate::error::ConsumeError;
use crate::source::{Delivery, Event};

/// How long a lane waits after a pull that the server refused.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Lane {
    pub(super) source: JetStream,
    pub(super) number: usize,
    pub(super) consumer: String,
    pub(super) expiry: Duration,
    pub(super) events: UnboundedSender<(usize, Event)>,
    pub(super) inbox: Inbox,
    /// The number of the pull, which ends the subject that the server answers to.
    pub(super) pull: u64,
    /// The messages that the pull still asks for.
    pub(super) left: usize,
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
                // A message that comes after the end of its pull.
                Some(message) = self.inbox.next() => self.pass_on(message, Event::Late),
            }
        }
        let (number, events) = (self.number, self.events);
        let pass_on = |message| {
            if let Some(delivery) = delivery(message) {
                drop(events.send((number, Event::Message(delivery))));
            }
        };
        self.inbox.end(self.left, pass_on).await;
        drop(events.send((number, Event::Closed)));
    }

    async fn pull(&mut self, count: usize, asked: &mut UnboundedReceiver<usize>) -> End {
        let heartbeat = self.heartbeat();
        let patience = heartbeat.map_or(self.expiry + Duration::from_secs(1), |beat| 2 * beat);
        self.pull += 1;
        let reply = self.inbox.subject(self.pull);
        self.left = count;
        self.request(count, heartbeat, &reply).await;
        while self.left > 0 {
            let message = tokio::select! {
                biased;
                _ = asked.recv(), if self.source.knows_what_it_delivered() => return End::Closed,
                message = timeout(patience, self.inbox.next()) => message,
            };
            let status = match message {
                Err(_) => self.give_up().await,
                Ok(None) => Status::Failed(ConsumeError::Disconnected),
                Ok(Some(message)) => {
                    let status = self.status(&message, &reply);
                    if matches!(status, Status::Message) {
                        self.left -= 1;
                        self.pass_on(message, Event::Message);
                    }
                    status
                }
            };
            if let Some(end) = self.react(status, asked).await {
                if matches!(end, End::Over) {
                    self.left = 0;
                }
                return end;
            }
        }
        End::Over
    }

    /// Gives up a pull that no sign of life comes of.
    async fn give_up(&mut self) -> Status {
        let Ok(inbox) = Inbox::new(&self.source.shared.client).await else {
            return Status::Failed(ConsumeError::Disconnected);
        };
        let old = std::mem::replace(&mut self.inbox, inbox);
        let (number, events, left) = (self.number, self.events.clone(), self.left);
        drop(tokio::spawn(old.end(left, move |message| {
            if let Some(delivery) = delivery(message) {
                drop(events.send((number, Event::Late(delivery))));
            }
        })));
        Status::Refused
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

    fn pass_on(&self, message: Raw, event: fn(Delivery) -> Event) {
        if let Some(delivery) = delivery(message) {
            self.report(event(delivery));
        }
    }

    fn report(&self, event: Event) {
        // If the consumer is gone, its messages are delivered again when their time is over.
        drop(self.events.send((self.number, event)));
    }
}
