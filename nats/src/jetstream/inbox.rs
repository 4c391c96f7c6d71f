//! The subscription of a lane, and its end without a loss.
//!
//! A message that is on its way while a subscription ends would be dropped by the client, and would wait for `ack_wait`. So the
//! subscription ends after an exact number of messages, on both sides:
//!
//! 1. The client tells the server a number above all that can be on its way.
//! 2. The client publishes to the subscription itself until that number is reached.
//! 3. The server delivers up to that number. It knows that a later message was not delivered, and delivers it to
//!    another process at once.
//!
//! A server before 2.10 does not know that. There a subscription ends only when its pull is over, and the server has nothing
//! more to send to it.

use async_nats::connection::State;
use async_nats::{Client, Message, SubscribeError, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::timeout;

use super::REQUEST;

/// Heartbeats, the end of a pull and other words of the server that may be on their way; each is counted as a message.
const WORDS: u64 = 64;

pub(super) struct Inbox {
    client: Client,
    name: String,
    messages: Subscriber,
    received: u64,
}

impl Inbox {
    pub(super) async fn new(client: &Client) -> Result<Self, SubscribeError> {
        let name = client.new_inbox();
        let messages = client.subscribe(format!("{name}.*")).await?;
        Ok(Inbox { client: client.clone(), name, messages, received: 0 })
    }

    /// The subject of a pull.
    pub(super) fn subject(&self, pull: u64) -> String {
        format!("{}.{pull}", self.name)
    }

    /// The next message. None if the connection was closed for good. Dropped while it waits, it loses none.
    pub(super) async fn next(&mut self) -> Option<Message> {
        let message = self.messages.next().await?;
        self.received += 1;
        Some(message)
    }

    /// Ends the subscription, and passes on what the server had sent: up to `left` messages of a pull.
    pub(super) async fn end(mut self, left: usize, mut pass_on: impl FnMut(Message)) {
        if self.client.connection_state() != State::Connected {
            return; // No message is on its way.
        }
        let last = left as u64 + WORDS;
        let rest = async {
            let until = self.received + last;
            if self.messages.unsubscribe_after(until).await.is_err() {
                return;
            }
            let subject = format!("{}.end", self.name);
            let mut sent = 0;
            loop {
                tokio::select! {
                    biased;
                    message = self.messages.next() => match message {
                        Some(message) => pass_on(message),
                        None => return,
                    },
                    result = self.client.publish(subject.clone(), Bytes::new()), if sent < last => {
                        if result.is_err() {
                            return;
                        }
                        sent += 1;
                    }
                }
            }
        };
        drop(timeout(REQUEST, rest).await);
    }
}
