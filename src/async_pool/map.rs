//! `for_each`, `map` and their `try_` forms: a source of items through an `AsyncPool`, which pulls them.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::stream::FusedStream;

use super::AsyncPool;
use super::pull::Pull;
use super::results::{AllOrError, FailuresOnly, ResultBuffer};
use super::run_pull::run;
use super::source::Source;
use crate::error::{ForEachError, JoinError, TaskError};
use crate::map::Unordered;

impl AsyncPool {
    /// Runs a future for each item, as many at once as the pool has places, and is ready when all of them
    /// have ended. The pool pulls: it takes an item from the source when there is a place for it, so nothing
    /// is queued, and an endless source is no problem. It waits for a place whatever
    /// [`Builder::when_full`](crate::Builder::when_full) says. Each [queued](crate::Builder::queue) task of
    /// another submitter gets a place when its turn comes. While it waits for an item it keeps one place, and
    /// gives that up only when the item has ended: so a stream that has no items for long should not have a
    /// pool of one place.
    ///
    /// It serves where one would use `buffer_unordered`, on all cores. To [`stats`](crate::Control::stats)
    /// each place that is used counts as one task, however many items it takes, and it may count as busy for
    /// a moment after this is ready. Dropped, it cancels what runs and takes no more items.
    ///
    /// # Errors
    ///
    /// [`ForEachError`]: items panicked, or the pool was closed before the end of the source. A panic costs
    /// one item: the others run.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it cancels what runs and takes no more items. Items that were taken are lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncPool::new(1000);
    /// let sum = Arc::new(AtomicU64::new(0));
    /// let total = Arc::clone(&sum);
    /// pool.for_each(0..10_000_u64, move |number| {
    ///     let total = Arc::clone(&total);
    ///     async move {
    ///         tokio::task::yield_now().await;
    ///         total.fetch_add(number, Ordering::Relaxed);
    ///     }
    /// })
    /// .await?;
    /// assert_eq!(sum.load(Ordering::Relaxed), 49_995_000);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    #[doc(alias = "for_each_concurrent")]
    #[doc(alias = "buffer_unordered")]
    pub fn for_each<I, F, Fut>(
        &self,
        items: I,
        function: F,
    ) -> impl Future<Output = Result<(), ForEachError>> + Send + 'static + use<I, F, Fut>
    where
        I: Source,
        F: Fn(I::Item) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let work = (items.into_items(), function, FailuresOnly::new(self.engine().hooks()));
        let pull = Pull::new(self.engine(), work, Location::caller());
        let pool = self.clone();
        async move {
            run(pool, Arc::clone(&pull)).await.map_err(ForEachError::Refused)?;
            let mut failures = pull.sink.take();
            pull.cut_off().into_iter().for_each(|reason| failures.note(reason));
            failures.check()
        }
    }

    /// Runs a future for each item, as [`for_each`](AsyncPool::for_each) does, and collects their values in
    /// the order of the items. After the first error, panic or cancelled item it takes no more items, and
    /// waits for those that run.
    ///
    /// # Errors
    ///
    /// [`TaskError`]: the failure of the lowest index, with that index.
    ///
    /// # Cancel safety
    ///
    /// As [`for_each`](AsyncPool::for_each).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncPool::new(100);
    /// let numbers = pool.try_map(["1", "2"], |text| async move { text.parse::<u32>() }).await?;
    /// assert_eq!(numbers, [1, 2]);
    ///
    /// let failed = pool.try_map(["1", "two"], |text| async move { text.parse::<u32>() }).await;
    /// assert_eq!(failed.unwrap_err().index(), 1);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    #[doc(alias = "errgroup")]
    #[doc(alias = "try_join_all")]
    pub fn try_map<I, F, Fut, V, E>(
        &self,
        items: I,
        function: F,
    ) -> impl Future<Output = Result<Vec<V>, TaskError<E>>> + Send + 'static + use<I, F, Fut, V, E>
    where
        I: Source,
        F: Fn(I::Item) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<V, E>> + Send + 'static,
        V: Send + 'static,
        E: Send + 'static,
    {
        let work = (items.into_items(), function, AllOrError::new(self.engine().hooks()));
        let pull = Pull::new(self.engine(), work, Location::caller());
        let pool = self.clone();
        async move {
            let refused = run(pool, Arc::clone(&pull)).await.err().map(JoinError::Refused);
            pull.sink.take(refused.or_else(|| pull.cut_off()))
        }
    }

    /// As [`try_map`](AsyncPool::try_map), for futures without a value.
    ///
    /// # Errors
    ///
    /// [`TaskError`]: the failure of the lowest index, with that index.
    ///
    /// # Cancel safety
    ///
    /// As [`for_each`](AsyncPool::for_each).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() {
    /// let pool = formic::AsyncPool::new(100);
    /// let failed = pool.try_for_each(0..10, |n| async move { if n < 7 { Ok(()) } else { Err(n) } });
    /// assert_eq!(failed.await.unwrap_err().into_error(), Some(7));
    /// # }
    /// ```
    #[track_caller]
    #[doc(alias = "try_for_each_concurrent")]
    pub fn try_for_each<I, F, Fut, E>(
        &self,
        items: I,
        function: F,
    ) -> impl Future<Output = Result<(), TaskError<E>>> + Send + 'static + use<I, F, Fut, E>
    where
        I: Source,
        F: Fn(I::Item) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Send + 'static,
    {
        // A vector of units needs no memory, whatever its length.
        let all = self.try_map(items, function);
        async move { all.await.map(drop) }
    }

    /// Runs a future for each item, as [`for_each`](AsyncPool::for_each) does, and yields their results:
    /// in the order of the items, or as they come with [`unordered`](AsyncMap::unordered). It pulls an item
    /// when there is a place for it and fewer than [`window`](AsyncMap::window) items are in flight.
    ///
    /// An item is an error if its future panicked or was cancelled; the others go on. If the pool is closed
    /// before the end of the source, the results of all items that were taken come first, then one last
    /// `Err(JoinError::Refused(Refused::Closed))`, and then the stream ends.
    ///
    /// Dropped early, the stream cancels what runs and takes no more items.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures_util::StreamExt;
    ///
    /// # #[tokio::main]
    /// # async fn main() {
    /// let pool = formic::AsyncPool::new(100);
    /// let squares = pool.map(1.., |number: u64| async move { number * number });
    /// let squares: Vec<u64> = squares.filter_map(|result| async { result.ok() }).take(4).collect().await;
    /// assert_eq!(squares, [1, 4, 9, 16]);
    /// # }
    /// ```
    #[track_caller]
    #[doc(alias = "buffered")]
    #[doc(alias = "buffer_unordered")]
    pub fn map<I, F, Fut>(&self, items: I, function: F) -> AsyncMap<Fut::Output>
    where
        I: Source,
        F: Fn(I::Item) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        let window = self.capacity().saturating_mul(2);
        let buffer = Arc::new(ResultBuffer::new(window, self.engine().hooks()));
        let work = (items.into_items(), function, Arc::clone(&buffer));
        let pull = Pull::new(self.engine(), work, Location::caller());
        let pool = self.clone();
        let run = async move {
            match run(pool, Arc::clone(&pull)).await {
                Ok(()) => pull.cut_off(),
                Err(refused) => Some(JoinError::Refused(refused)),
            }
        };
        AsyncMap { buffer, run: Run::Going(Box::pin(run)) }
    }
}

/// The results of [`AsyncPool::map`]: a stream.
///
/// # Examples
///
/// ```
/// use futures_util::StreamExt;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = formic::AsyncPool::new(4);
/// let mut halves: formic::AsyncMap<u32> = pool.map([8, 6], |n: u32| async move { n / 2 });
/// assert_eq!(halves.next().await.ok_or("there are two")??, 4);
/// assert_eq!(halves.next().await.ok_or("there are two")??, 3);
/// assert!(halves.next().await.is_none());
/// # Ok(())
/// # }
/// ```
#[must_use = "a stream does nothing until it is polled"]
pub struct AsyncMap<R> {
    buffer: Arc<ResultBuffer<R>>,
    run: Run,
}

/// What drives the pulling.
enum Run {
    /// Says why items are left, if they are.
    Going(Pin<Box<dyn Future<Output = Option<JoinError>> + Send>>),
    /// Items are left for this reason, which is still to be told.
    CutOff(JoinError),
    Over,
}

impl<R> AsyncMap<R> {
    /// How many items may be in flight at once, or have a result that has not been taken. The default is
    /// twice the capacity of the pool. This bounds the memory of one map; `0` counts as `1`.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures_util::StreamExt;
    ///
    /// # #[tokio::main]
    /// # async fn main() {
    /// let pool = formic::AsyncPool::new(4);
    /// let squares = pool.map(1..=4_u32, |n| async move { n * n }).window(2);
    /// let squares: Vec<u32> = squares.filter_map(|square| async { square.ok() }).collect().await;
    /// assert_eq!(squares, [1, 4, 9, 16]);
    /// # }
    /// ```
    #[doc(alias = "buffer")]
    pub fn window(self, items: usize) -> Self {
        self.buffer.set_window(items);
        self
    }

    /// Yields results as they come, each with the index of its item, so that a slow item does not hold back
    /// the others. May be called at any time.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures_util::StreamExt;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), formic::JoinError> {
    /// let pool = formic::AsyncPool::new(4);
    /// let mut squares = pool.map([1, 2, 3_u32], |n| async move { n * n }).unordered();
    /// while let Some((index, square)) = squares.next().await {
    ///     assert_eq!(square?, [1, 4, 9][index]);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "buffer_unordered")]
    pub fn unordered(self) -> Unordered<Self> {
        self.buffer.unordered();
        Unordered(self)
    }

    fn poll_numbered(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<(usize, Result<R, JoinError>)>> {
        if let Run::Going(run) = &mut self.run
            && let Poll::Ready(cut_off) = run.as_mut().poll(context)
        {
            self.run = cut_off.map_or(Run::Over, Run::CutOff);
        }
        if let Some((number, result)) = self.buffer.take(context.waker()) {
            return Poll::Ready(Some((number as usize, result)));
        }
        match std::mem::replace(&mut self.run, Run::Over) {
            Run::Over => Poll::Ready(None),
            Run::CutOff(reason) => Poll::Ready(Some((self.buffer.pulled() as usize, Err(reason)))),
            going => {
                self.run = going;
                Poll::Pending
            }
        }
    }
}

impl<R> Stream for AsyncMap<R> {
    type Item = Result<R, JoinError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_numbered(context).map(|next| next.map(|(_, result)| result))
    }
}

impl<R> Stream for Unordered<AsyncMap<R>> {
    type Item = (usize, Result<R, JoinError>);

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_numbered(context)
    }
}

impl<R> FusedStream for AsyncMap<R> {
    fn is_terminated(&self) -> bool {
        matches!(self.run, Run::Over) && self.buffer.is_empty()
    }
}

impl<R> FusedStream for Unordered<AsyncMap<R>> {
    fn is_terminated(&self) -> bool {
        self.0.is_terminated()
    }
}

impl<R> fmt::Debug for AsyncMap<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncMap").finish_non_exhaustive()
    }
}
