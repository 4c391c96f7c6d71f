//! The outcomes of a batch as a stream.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::Batch;
use crate::error::JoinError;

/// A batch that is read as a stream. It is a type of its own because a batch is an iterator, and the methods of the
/// two have the same names.
struct Outcomes<T, P>(Batch<T, P>);

// Nothing in a batch is pinned.
impl<T, P> Unpin for Outcomes<T, P> {}

impl<T: Send + 'static, P> Batch<T, P> {
    /// The outcomes in order of completion, as a stream for any executor. It ends as the batch does. Dropped, the
    /// batch is dropped with it.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures_util::StreamExt;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncPool::new(100);
    /// let mut batch = pool.batch();
    /// for number in 1..=3 {
    ///     batch.spawn(async move { number * number }).await?;
    /// }
    /// let mut outcomes = batch.into_stream();
    /// let mut sum = 0;
    /// while let Some(outcome) = outcomes.next().await {
    ///     sum += outcome?;
    /// }
    /// assert_eq!(sum, 14);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "Stream")]
    #[doc(alias = "FuturesUnordered")]
    pub fn into_stream(self) -> impl Stream<Item = Result<T, JoinError>> + Unpin + use<T, P> {
        Outcomes(self)
    }
}

impl<T: Send + 'static, P> Stream for Outcomes<T, P> {
    type Item = Result<T, JoinError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.0.outcomes.poll_next(context);
        polled.map(|next| next.map(|(_, outcome)| outcome))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.outcomes.size_hint()
    }
}
