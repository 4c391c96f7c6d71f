//! Dead letters: messages that no further attempt is made for.

use std::time::SystemTime;

use async_nats::{HeaderMap, HeaderValue};
use bytes::Bytes;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::error::AskError;
use crate::message::Message;
use crate::source::Source;

/// How the names of the headers below begin.
const OURS: &str = "Formic-Dead-";
pub(crate) const REASON: &str = "Formic-Dead-Reason";
pub(crate) const ATTEMPTS: &str = "Formic-Dead-Attempts";
pub(crate) const FIRST_SEEN: &str = "Formic-Dead-First-Seen";
pub(crate) const PANICKED_AT: &str = "Formic-Dead-Panicked-At";
pub(crate) const SUBJECT: &str = "Formic-Dead-Subject";
/// The size of the payload, if a part of it was cut off.
pub(crate) const CUT_FROM: &str = "Formic-Dead-Cut-From";
/// The id that the job had: that of a dead letter is another.
pub(crate) const OLD_ID: &str = "Formic-Dead-Id";

/// The most bytes of a text that are kept in a header.
const MAX_TEXT: usize = 1024;

/// Headers that are orders to the server, such as an id or a time. Those of a job are not meant for its letter.
const ORDERS: &str = "nats-";

/// A message on its way to the dead letters.
#[derive(Clone, Debug)]
pub(crate) struct Letter {
    pub(crate) headers: HeaderMap,
    pub(crate) payload: Bytes,
    pub(crate) sequence: u64,
    pub(crate) published: SystemTime,
}

impl Letter {
    pub(crate) fn new(message: &Message, reason: &str, panicked_at: Option<String>) -> Self {
        let mut headers = without(&message.headers, &[]);
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
        let (payload, sequence) = (message.payload.clone(), message.sequence);
        Letter { headers, payload, sequence, published: message.published }
    }

    /// Cuts the letter to this size. What the last attempt said is kept in any case: the payload is cut first, and then the
    /// headers of the job go.
    pub(crate) fn cut_to(&mut self, max: usize) {
        let size = self.payload.len();
        if wire_len(&self.headers) + size <= max {
            return;
        }
        self.headers.insert(CUT_FROM, size.to_string());
        if wire_len(&self.headers) > max {
            let ours = self.headers.iter().filter(|(name, _)| name.to_string().starts_with(OURS));
            self.headers = ours
                .flat_map(|(name, values)| values.iter().map(|value| (name.clone(), value.clone())))
                .collect();
        }
        self.payload.truncate(max.saturating_sub(wire_len(&self.headers)));
    }
}

/// A message that no further attempt is made for, as [`Dead::list`] shows it.
#[derive(Clone, Debug)]
pub struct DeadLetter {
    pub(crate) headers: HeaderMap,
    pub(crate) payload: Bytes,
    pub(crate) sequence: u64,
    pub(crate) stored: SystemTime,
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

    /// The size of the payload in bytes, if only a part of it is kept: a letter has more headers than its message, and the
    /// server has a limit for both together. Such a letter is not replayed.
    #[doc(alias = "truncated")]
    pub fn cut_from(&self) -> Option<usize> {
        self.header(CUT_FROM).and_then(|size| size.parse().ok())
    }

    /// The headers of the message that this was.
    pub(crate) fn old_headers(&self) -> HeaderMap {
        without(
            &self.headers,
            &[REASON, ATTEMPTS, FIRST_SEEN, PANICKED_AT, SUBJECT, OLD_ID, CUT_FROM],
        )
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

    /// Publishes the oldest dead letters again, up to `most`, and returns how many. Their attempts start from one. A letter whose
    /// payload was [cut](DeadLetter::cut_from) stays.
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
        let letters = self.list(most).await?;
        for letter in letters.iter().filter(|letter| letter.cut_from().is_none()) {
            self.source.dead_replay(letter).await?;
            replayed += 1;
        }
        Ok(replayed)
    }
}

/// The headers without those of these names, and without orders to the server.
fn without(headers: &HeaderMap, names: &[&str]) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for (name, values) in headers.iter() {
        let text = name.to_string();
        let is_order = text.to_ascii_lowercase().starts_with(ORDERS);
        if !is_order && names.iter().all(|other| !text.eq_ignore_ascii_case(other)) {
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
    let mut line = String::new();
    for c in visible {
        if line.len() + c.len_utf8() > MAX_TEXT {
            break;
        }
        line.push(c);
    }
    line.parse().unwrap_or_default()
}

/// The bytes of these headers on the wire: the server counts them as a part of the payload.
pub(crate) fn wire_len(headers: &HeaderMap) -> usize {
    /// The version before the headers, and the empty line behind them.
    const FRAME: usize = "NATS/1.0\r\n\r\n".len();
    /// What is around a name and a value.
    const LINE: usize = ": \r\n".len();
    if headers.is_empty() {
        return 0;
    }
    let lines = headers.iter().flat_map(|(name, values)| {
        let name = name.to_string().len();
        values.iter().map(move |value| name + value.as_str().len() + LINE)
    });
    FRAME + lines.sum::<usize>()
}

pub(crate) fn rfc3339(time: SystemTime) -> String {
    OffsetDateTime::from(time).format(&Rfc3339).unwrap_or_default()
}

/// The time as a part of an id.
pub(crate) fn nanoseconds(time: SystemTime) -> u128 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(payload: usize, headers: &[(&str, &str)]) -> Letter {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, *value);
        }
        let message = Message {
            payload: vec![b'x'; payload].into(),
            headers: map,
            subject: "jobs.job".to_owned(),
            sequence: 1,
            attempt: 1,
            published: SystemTime::UNIX_EPOCH,
        };
        Letter::new(&message, &"ü".repeat(2000), None)
    }

    #[test]
    fn a_letter_is_cut_to_the_limit_and_not_below() {
        let mut kept = letter(1000, &[("Colour", "red")]);
        let size = wire_len(&kept.headers) + 1000;
        kept.cut_to(size);
        assert_eq!((kept.payload.len(), kept.headers.get(CUT_FROM)), (1000, None));
        for max in [size - 1, size - 500] {
            let mut cut = letter(1000, &[("Colour", "red")]);
            cut.cut_to(max);
            assert_eq!(wire_len(&cut.headers) + cut.payload.len(), max);
            assert_eq!(cut.headers.get(CUT_FROM).unwrap().as_str(), "1000");
        }
    }

    #[test]
    fn headers_of_a_job_that_are_too_many_go_and_the_reason_stays() {
        let mut cut = letter(10, &[("Note", &"n".repeat(5000))]);
        cut.cut_to(2000);
        assert!(cut.headers.get("Note").is_none() && cut.headers.get(REASON).is_some());
        assert!(wire_len(&cut.headers) + cut.payload.len() <= 2000);
    }
}
