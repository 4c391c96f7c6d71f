//! What becomes of a message.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use formic::JoinError;

use super::{Decode, Settings};
use crate::dead::Letter;
use crate::message::Message;
use crate::source::{Settle, Source, Token};
use crate::verdict::{Answer, LONGEST, Verdict};

/// How a message left the consumer, for the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Done,
    Retried,
    Dead,
    /// It had not started, or was cancelled.
    Returned,
}

impl Fate {
    /// Whether the source delivers the message again.
    pub(super) fn is_again(self) -> bool {
        matches!(self, Fate::Retried | Fate::Returned)
    }
}

/// The longest time between two tries to have an answer confirmed.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The argument, or the letter that the message becomes: it does not decode, or has no attempt left.
pub(super) fn argument<T>(
    message: &Message,
    decode: &Decode<T>,
    settings: &Settings,
) -> Result<T, Letter> {
    if message.attempt > settings.attempts {
        let reason = format!("none of {} attempts was answered", settings.attempts);
        return Err(Letter::new(message, &reason, None));
    }
    let decoded = catch_unwind(AssertUnwindSafe(|| decode(message)));
    let decoded = decoded.unwrap_or_else(|_| Err("the decoder panicked".to_owned()));
    decoded.map_err(|error| {
        Letter::new(message, &format!("the payload does not decode: {error}"), None)
    })
}

/// What becomes of a message whose handler has ended.
pub(super) fn judge<R: Answer>(
    message: &Message,
    outcome: Result<R, JoinError>,
    settings: &Settings,
) -> (Fate, Settle) {
    let (verdict, panicked_at) = match outcome {
        Ok(answer) => (verdict(answer), None),
        Err(JoinError::Panicked(panic)) => {
            let line = panic.panicked_at().map(ToString::to_string);
            (Verdict::Retry(format!("the handler panicked: {}", panic.message())), line)
        }
        // It was cancelled: by the end of the consumer, or by a `discard` of the pool.
        Err(_) => return (Fate::Returned, Settle::Again(Duration::ZERO)),
    };
    let is_last = message.attempt >= settings.attempts;
    match verdict {
        Verdict::Done => (Fate::Done, Settle::Done),
        Verdict::Retry(_) if !is_last => {
            (Fate::Retried, Settle::Again(settings.backoff.delay(message.attempt)))
        }
        Verdict::RetryAfter(_, delay) if !is_last => {
            (Fate::Retried, Settle::Again(delay.min(LONGEST)))
        }
        Verdict::Retry(reason) | Verdict::RetryAfter(reason, _) | Verdict::Dead(reason) => {
            (Fate::Dead, Settle::Bury(Box::new(Letter::new(message, &reason, panicked_at))))
        }
    }
}

/// What the answer says. Its methods are a user's, and may panic.
fn verdict<R: Answer>(answer: R) -> Verdict {
    let verdict = catch_unwind(AssertUnwindSafe(|| answer.verdict()));
    verdict.unwrap_or_else(|_| Verdict::Retry("the answer of the handler panicked".to_owned()))
}

/// Answers until the source has confirmed it.
pub(super) async fn settle(source: Source, token: Token, settle: Arc<Settle>) {
    let mut pause = Duration::from_millis(50);
    while source.settle(token.clone(), &settle).await.is_err() {
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}
