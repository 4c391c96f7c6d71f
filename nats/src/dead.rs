//! Dead letters: messages that no further attempt is made for.

use std::time::SystemTime;

use async_nats::{HeaderMap, HeaderValue};
use bytes::Bytes;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::error::AskError;
use crate::message::{ID, Message};
use crate::source::Source;

pub(crate) const REASON: &str = "Formic-Dead-Reason";
pub(crate) const ATTEMPTS: &str = "Formic-Dead-Attempts";
pub(crate) const FIRST_SEEN: &str = "Formic-Dead-First-Seen";
pub(crate) const PANICKED_AT: &str = "Formic-Dead-Panicked-At";
pub(crate) const SUBJECT: &str = "Formic-Dead-Subject";
/// The id that the job had: that of a dead letter is another.
pub(crate) const OLD_ID: &str = "Formic-Dead-Id";

/// The most characters of a reason that are kept.
const MAX_REASON: usize = 1024;

/// A message on its way to the dead letters.
#[derive(Clone, Debug)]
pub(crate) struct Letter {
    pub(crate) headers: HeaderMap,
    pub(crate) payload: Bytes,
    pub(crate) sequence: u64,
}

impl Letter {
    pub(crate) fn new(message: &Message, reason: &str, panicked_at: Option<String>) -> Self {
        let mut headers = without(&message.headers, &[ID]);
        headers.insert(REASON, one_line(reason));
        headers.insert(ATTEMPTS, one_line(&message.attempt.to_string()));
        headers.insert(FIRST_SEEN, one_line(&rfc3339(message.published)));
        headers.insert(SUBJECT, one_line(&message.subject));
        if let Some(line) = panicked_at {
            headers.insert(PANICKED_AT, one_line(&line));
        }
        if let Some(id) = message.id() {
            headers.insert(OLD_ID, one_line(id));
        }
        Letter { headers, payload: message.payload.clone(), sequence: message.sequence }
    }
}

/// A message that no further attempt is made for, as [`Dead::list`] shows it.
#[derive(Clone, Debug)]
pub struct DeadLetter {
    pub(crate) headers: HeaderMap,
    pub(crate) payload: Bytes,
    pub(crate) sequence: u64,
}

impl DeadLetter {
    /// The number of the letter among the dead letters.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The payload of the message.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The first value of a header. The headers of the message are kept.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(HeaderValue::as_str)
    }

    /// Why the last attempt failed.
    pub fn reason(&self) -> &str {
        self.header(REASON).unwrap_or_default()
    }

    /// The number of attempts.
    pub fn attempts(&self) -> u64 {
        self.header(ATTEMPTS).and_then(|attempts| attempts.parse().ok()).unwrap_or(0)
    }

    /// When the message was published, in the form of RFC 3339.
    pub fn first_seen(&self) -> &str {
        self.header(FIRST_SEEN).unwrap_or_default()
    }

    /// The file and line of the panic, if the last attempt ended by one.
    pub fn panicked_at(&self) -> Option<&str> {
        self.header(PANICKED_AT)
    }

    /// The headers of the message that this was.
    pub(crate) fn old_headers(&self) -> HeaderMap {
        without(&self.headers, &[ID, REASON, ATTEMPTS, FIRST_SEEN, PANICKED_AT, SUBJECT, OLD_ID])
    }
}

/// The dead letters of a source.
///
/// # Examples
///
/// ```
/// use formic::FnPool;
/// use formic_nats::{Consumer, Job, Memory};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let source = Memory::new();
/// source.jobs().send("not a number").await?;
/// let pool = FnPool::new(1, |_: u32| ());
/// Consumer::new(pool, &source).run_until(source.empty()).await?;
///
/// let dead = source.dead();
/// let letters = dead.list(10).await?;
/// assert!(letters[0].reason().starts_with("the payload does not decode"));
/// assert_eq!(dead.replay(10).await?, 1); // after a fix, say
/// assert_eq!((dead.len().await?, source.len()), (0, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "DLQ")]
pub struct Dead {
    source: Source,
}

impl Dead {
    /// The dead letters of this source.
    pub fn new(source: impl Into<Source>) -> Self {
        Dead { source: source.into() }
    }

    /// The number of dead letters.
    ///
    /// # Errors
    ///
    /// [`AskError::NoAnswer`] if the server does not answer.
    #[allow(clippy::len_without_is_empty, reason = "each costs a request")]
    pub async fn len(&self) -> Result<u64, AskError> {
        self.source.dead_len().await
    }

    /// The oldest dead letters, up to `most`.
    ///
    /// # Errors
    ///
    /// [`AskError::NoAnswer`] if the server does not answer.
    pub async fn list(&self, most: usize) -> Result<Vec<DeadLetter>, AskError> {
        self.source.dead_list(most).await
    }

    /// Publishes the oldest dead letters again, up to `most`, and returns how many. Their attempts start from one.
    ///
    /// # Errors
    ///
    /// [`AskError`]. The letters before it were published again.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, a part of the letters was published again. One of them may be among the dead letters
    /// still; replayed within the time in which the source remembers ids, it is not stored twice.
    #[doc(alias = "retry")]
    #[doc(alias = "requeue")]
    pub async fn replay(&self, most: usize) -> Result<u64, AskError> {
        let mut replayed = 0;
        for letter in self.list(most).await? {
            self.source.dead_replay(&letter).await?;
            replayed += 1;
        }
        Ok(replayed)
    }
}

fn without(headers: &HeaderMap, names: &[&str]) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for (name, values) in headers.iter() {
        if names.iter().all(|other| !name.to_string().eq_ignore_ascii_case(other)) {
            for value in values {
                kept.append(name.clone(), value.clone());
            }
        }
    }
    kept
}

/// A text as the value of a header: one line, not too long.
fn one_line(text: &str) -> HeaderValue {
    let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let line: String = visible.take(MAX_REASON).collect();
    line.parse().unwrap_or_default()
}

pub(crate) fn rfc3339(time: SystemTime) -> String {
    OffsetDateTime::from(time).format(&Rfc3339).unwrap_or_default()
}
