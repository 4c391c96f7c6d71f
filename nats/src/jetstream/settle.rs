//! Answers to deliveries: acknowledgements, retries, dead letters, beats.

use std::time::{Duration, SystemTime};

use async_nats::connection::State;
use async_nats::{Message as Raw, Request, Subject};
use bytes::Bytes;

use super::JetStream;
use super::publish::confirmed;
use crate::dead::{Letter, nanoseconds};
use crate::message::{ID, Message};
use crate::source::{Delivery, Settle, Token, Unconfirmed};

/// How long the server may take to confirm an answer, before it is sent again.
const CONFIRMATION: Duration = Duration::from_secs(2);

impl JetStream {
    pub(crate) async fn settle(&self, reply: Subject, settle: &Settle) -> Result<(), Unconfirmed> {
        let answer = match settle {
            Settle::Done => Bytes::from_static(b"+ACK"),
            // Without a delay the server has it for the next pull, and needs no timer for that.
            Settle::Again(Duration::ZERO) => Bytes::from_static(b"-NAK"),
            Settle::Again(delay) => format!("-NAK {{\"delay\": {}}}", delay.as_nanos()).into(),
            Settle::Bury(letter) => return self.bury(letter).await,
            Settle::Buried => Bytes::from_static(b"+TERM"),
        };
        let request = Request::new().payload(answer).timeout(Some(CONFIRMATION));
        match self.shared.client.send_request(reply, request).await {
            Ok(_) => Ok(()),
            Err(_) => Err(Unconfirmed),
        }
    }

    /// Publishes a dead letter. Its id is that of the message, so that it is stored once. The time is a part of it, because the
    /// numbers of a stream that is made again start again.
    pub(super) async fn bury(&self, letter: &Letter) -> Result<(), Unconfirmed> {
        let mut letter = letter.clone();
        let (sequence, time) = (letter.sequence, nanoseconds(letter.published));
        let id = format!("dead-{}-{sequence}-{time}", self.stream());
        letter.cut_to(self.shared.client.max_payload().saturating_sub(ID.len() + id.len() + 4));
        letter.headers.insert(ID, id);
        let sent = self.send_to(self.dead_subject(), letter.headers, letter.payload).await;
        let sent = sent.map_err(|_| Unconfirmed)?;
        confirmed(sent).await.map(drop).map_err(|_| Unconfirmed)
    }

    pub(crate) async fn beat(&self, reply: Subject) {
        let client = &self.shared.client;
        // Without a connection they would pile up, and mean nothing later.
        if client.connection_state() == State::Connected {
            drop(client.publish(reply, Bytes::from_static(b"+WPI")).await);
        }
    }
}

/// A message of a pull. None if it is not from a consumer.
pub(super) fn delivery(raw: Raw) -> Option<Delivery> {
    let reply = raw.reply?;
    let (attempt, sequence, published) = parse(&reply)?;
    let message = Message {
        payload: raw.payload,
        headers: raw.headers.unwrap_or_default(),
        subject: raw.subject.to_string(),
        sequence,
        attempt,
        published,
    };
    Some(Delivery { message, token: Token::JetStream(reply) })
}

/// The delivery count, the number in the stream and the time of a message, which are in the subject of its answer:
/// `$JS.ACK.<stream>.<consumer>.<count>.<number>.<number in the consumer>.<nanoseconds>.<pending>`, with a domain and an
/// account before the stream in the longer form.
fn parse(reply: &str) -> Option<(u64, u64, SystemTime)> {
    let tokens: Vec<&str> = reply.split('.').collect();
    let count = match tokens.len() {
        9 => 4,
        11.. => 6,
        _ => return None,
    };
    let nanoseconds = Duration::from_nanos(tokens[count + 3].parse().ok()?);
    let published = SystemTime::UNIX_EPOCH + nanoseconds;
    Some((tokens[count].parse().ok()?, tokens[count + 1].parse().ok()?, published))
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::time::{Duration, SystemTime};

    #[test]
    fn both_forms_of_an_answers_subject_are_read() {
        let published = SystemTime::UNIX_EPOCH + Duration::from_nanos(99);
        let short = "$JS.ACK.jobs.workers.3.17.20.99.5";
        assert_eq!(parse(short), Some((3, 17, published)));
        let long = "$JS.ACK.hub.account.jobs.workers.3.17.20.99.5.token";
        assert_eq!(parse(long), Some((3, 17, published)));
        assert_eq!(parse("_INBOX.1.2"), None);
    }
}
