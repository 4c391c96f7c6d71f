//! Where items come from: an iterator, or a stream.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

/// Items for [`AsyncPool::for_each`](crate::AsyncPool::for_each) and
/// [`AsyncPool::map`](crate::AsyncPool::map): everything that is [`IntoIterator`], and a stream by
/// [`from_stream`]. The pool pulls them, on whatever thread has a place free, so they are `Send` and
/// `'static`. It is sealed.
///
/// # Examples
///
/// ```
/// use formic::{AsyncPool, ForEachError, Source};
///
/// async fn check(pool: &AsyncPool, numbers: impl Source<Item = u32>) -> Result<(), ForEachError> {
///     pool.for_each(numbers, |number| async move { assert!(number < 10) }).await
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = AsyncPool::new(4);
/// check(&pool, 0..10).await?;
/// check(&pool, vec![1, 2, 3]).await?;
/// check(&pool, formic::from_stream(futures_util::stream::iter([7]))).await?;
/// assert!(check(&pool, [10]).await.is_err()); // it panicked
/// # Ok(())
/// # }
/// ```
pub trait Source: IntoItems {}

impl<T: IntoItems> Source for T {}

mod private {
    /// What a source is to the pool.
    pub trait IntoItems {
        type Item: Send + 'static;
        type Items: super::PollItems<Item = Self::Item>;

        fn into_items(self) -> Self::Items;
    }
}

pub(super) use self::private::IntoItems;

/// Gives out items, perhaps not at once.
pub trait PollItems: Send + 'static {
    type Item: Send + 'static;

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Self::Item>>;
}

impl<I> IntoItems for I
where
    I: IntoIterator,
    I::IntoIter: Send + 'static,
    I::Item: Send + 'static,
{
    type Item = I::Item;
    type Items = Iter<I::IntoIter>;

    fn into_items(self) -> Self::Items {
        Iter(self.into_iter())
    }
}

/// An iterator has its next item at once.
#[derive(Debug)]
pub struct Iter<I>(I);

impl<I> PollItems for Iter<I>
where
    I: Iterator + Send + 'static,
    I::Item: Send + 'static,
{
    type Item = I::Item;

    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<I::Item>> {
        Poll::Ready(self.0.next())
    }
}

/// A stream as a source of items: see [`from_stream`].
///
/// # Examples
///
/// ```
/// use formic::FromStream;
/// use futures_util::{StreamExt, stream};
///
/// # #[tokio::main]
/// # async fn main() {
/// let source: FromStream<_> = formic::from_stream(stream::iter(1..=3_u32));
/// let pool = formic::AsyncPool::new(2);
/// let doubled: Vec<u32> =
///     pool.map(source, |n| async move { 2 * n }).filter_map(|n| async { n.ok() }).collect().await;
/// assert_eq!(doubled, [2, 4, 6]);
/// # }
/// ```
#[derive(Debug)]
pub struct FromStream<S>(Pin<Box<S>>);

/// Makes a source of items of a stream.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = formic::AsyncPool::new(100);
/// let sum = Arc::new(AtomicU64::new(0));
/// let adding = Arc::clone(&sum);
/// let stream = futures_util::stream::iter(1..=4);
/// pool.for_each(formic::from_stream(stream), move |number| {
///     let adding = Arc::clone(&adding);
///     async move { drop(adding.fetch_add(number, Ordering::Relaxed)) }
/// })
/// .await?;
/// assert_eq!(sum.load(Ordering::Relaxed), 10);
/// # Ok(())
/// # }
/// ```
pub fn from_stream<S>(stream: S) -> FromStream<S>
where
    S: Stream + Send + 'static,
    S::Item: Send + 'static,
{
    FromStream(Box::pin(stream))
}

impl<S> IntoItems for FromStream<S>
where
    S: Stream + Send + 'static,
    S::Item: Send + 'static,
{
    type Item = S::Item;
    type Items = Self;

    fn into_items(self) -> Self {
        self
    }
}

impl<S> PollItems for FromStream<S>
where
    S: Stream + Send + 'static,
    S::Item: Send + 'static,
{
    type Item = S::Item;

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.0.as_mut().poll_next(context)
    }
}
