//! Answers that are not sent yet.
//!
//! A pull goes before the answers of the messages whose places it fills: the places wait for the pull, and nothing waits for
//! the answers. A server that reads 64 answers while it serves a pull takes twice as long for the pull. So the answers are held
//! until the source has served each pull, which the first message of the pull shows. An empty source shows nothing: there
//! the answers are held for a moment.

use std::time::Duration;

use futures_util::future::{Abortable, BoxFuture};
use tokio::time::{Instant, sleep_until};

/// How long an answer is held at most: the shortest time that the timer knows. A source that takes longer gets the
/// answers while it serves the pull. Four milliseconds kept no more places busy.
const MOMENT: Duration = Duration::from_millis(1);

/// An answer on its way, until it is confirmed.
pub(super) type Sending = Abortable<BoxFuture<'static, u64>>;

#[derive(Default)]
pub(super) struct Unsent {
    answers: Vec<Sending>,
    /// When the first of them was given.
    since: Option<Instant>,
}

impl Unsent {
    pub(super) fn push(&mut self, answer: Sending) {
        self.since.get_or_insert_with(Instant::now);
        self.answers.push(answer);
    }

    /// Is ready when there are answers to send: at once, or in a moment if they are held.
    pub(super) fn due(&self, is_held: bool) -> impl Future<Output = ()> + use<> {
        let since = self.since;
        async move {
            match since {
                Some(since) if is_held => sleep_until(since + MOMENT).await,
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }

    pub(super) fn take(&mut self) -> Vec<Sending> {
        self.since = None;
        std::mem::take(&mut self.answers)
    }
}

#[cfg(test)]
mod tests {
    use super::Unsent;
    use futures_util::future::{AbortHandle, Abortable, FutureExt, ready};

    fn one() -> Unsent {
        let mut unsent = Unsent::default();
        let (_, registration) = AbortHandle::new_pair();
        unsent.push(Abortable::new(Box::pin(ready(1)), registration));
        unsent
    }

    #[tokio::test]
    async fn answers_are_sent_at_once_if_no_pull_is_to_be_served_first() {
        assert!(one().due(false).now_or_never().is_some());
        assert!(Unsent::default().due(false).now_or_never().is_none());
    }

    #[tokio::test]
    async fn answers_that_are_held_are_due_although_no_pull_is_served() {
        let mut unsent = one();
        unsent.due(true).await;
        assert_eq!(unsent.take().len(), 1);
        assert!(unsent.due(false).now_or_never().is_none());
    }
}
