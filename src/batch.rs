//! `Batch`: a group of tasks, and their outcomes in order of completion or of spawning.

mod all; // .. of all tasks, or of the first that returns
#[cfg(feature = "tokio")]
mod futures; // how tasks of pools of futures are spawned
mod outcomes; // what a batch holds
mod results; // batches of tasks that may fail
mod spawner; // spawning from other threads
#[cfg(feature = "tokio")]
mod stream; // outcomes as a stream
mod threads; // how tasks of pools of threads are spawned

use std::fmt;
use std::future::poll_fn;

use self::outcomes::Outcomes;
use crate::error::JoinError;
use crate::pool::Pool;

pub use self::spawner::BatchSpawner;

/// A group of tasks of one pool. Iterating gives their outcomes as they complete, and ends when
/// there are no more; the batch need not be declared complete.
///
/// Every pool and every [`Multi`](crate::Multi) has a `batch()`. `T` is what a task returns, and `P` is the pool.
///
/// A batch may be larger than queue and capacity together: [`spawn`](Batch::spawn) waits for a place
/// as [`Pool::spawn`] does, while the workers go on. A task may use a batch of its own pool. A dropped
/// batch lets its tasks run on; their panics go to the [`on_panic`](crate::Builder::on_panic) hook.
/// [`cancel_on_drop`](Batch::cancel_on_drop) changes that.
///
/// # Examples
///
/// ```
/// let pool = formic::Pool::new(4);
/// let mut batch = pool.batch();
/// for number in 1..=10 {
///     batch.spawn(move || number * number)?;
/// }
/// let mut sum = 0;
/// for outcome in batch {
///     sum += outcome?;
/// }
/// assert_eq!(sum, 385);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A `for` loop takes the batch. To do something with it in between, such as to cancel the rest, borrow
/// it for each outcome:
///
/// ```
/// # let pool = formic::Pool::new(4);
/// let mut batch = pool.batch();
/// for number in 0..100 {
///     batch.spawn(move || if number == 3 { Err("three") } else { Ok(number) })?;
/// }
/// let (mut outcomes, mut failures) = (0, 0);
/// while let Some(outcome) = batch.next() {
///     outcomes += 1;
///     if let Ok(Err(_)) = outcome {
///         failures += 1;
///         batch.cancel(); // what has not started comes as `JoinError::Cancelled`
///     }
/// }
/// assert_eq!((outcomes, failures), (100, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// To spawn on one thread and read on another, take a [`spawner`](Batch::spawner).
///
/// # Blocking
///
/// [`next`](Iterator::next), `join_all`, `first_returned` and the like block the thread. A task that waits in them lends
/// its place, as in [`JoinHandle::join`](crate::JoinHandle#waiting-inside-a-task). Each has a form with `_async`, for
/// any executor. If the tasks are futures, to block a thread of a runtime could mean to wait for ever: there, the
/// last outcome is [`Refused::InRuntime`](crate::Refused::InRuntime), nothing is cancelled, and the batch can still be
/// awaited.
#[doc(alias = "JoinSet")]
#[doc(alias = "WaitGroup")]
#[doc(alias = "CompletionService")]
#[must_use = "a batch does nothing until something is spawned on it"]
pub struct Batch<T, P = Pool> {
    pool: P,
    outcomes: Outcomes<T>,
}

impl<T: Send + 'static, P> Batch<T, P> {
    /// `may_block` says whether the calling thread may block until tasks of the pool end.
    fn new(pool: P, may_block: fn() -> bool) -> Self {
        Batch { pool, outcomes: Outcomes::new(may_block) }
    }

    /// How many outcomes have not been given out.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let mut batch = pool.batch();
    /// batch.spawn(|| "one")?;
    /// batch.spawn(|| "two")?;
    /// assert_eq!(batch.len(), 2);
    /// batch.next();
    /// assert_eq!(batch.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// Whether all outcomes have been given out. Spawners may still add tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let mut batch = pool.batch();
    /// assert!(batch.is_empty());
    /// batch.spawn(|| "one")?;
    /// assert!(!batch.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Cancels every task that is in the batch now: one that has not started never runs, a closure that runs is asked
    /// to stop, and a future is dropped. The outcomes are still given out. May be called at any time, and more
    /// than once. Tasks that are spawned later run.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let mut batch = pool.batch();
    /// for _ in 0..100 {
    ///     batch.spawn(|| ())?;
    /// }
    /// batch.cancel();
    /// let ran = batch.flatten().count() as u64;
    /// assert_eq!(pool.stats().cancelled, 100 - ran);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Cancel")]
    #[doc(alias = "abort_all")]
    pub fn cancel(&self) {
        self.outcomes.cancel();
    }

    /// Cancels the tasks when the batch is dropped before all outcomes were given out, as
    /// [`cancel`](Batch::cancel) does. Also those that a spawner adds at that moment.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let mut batch = pool.batch().cancel_on_drop();
    /// batch.spawn(|| {
    ///     while !formic::is_cancelled() {
    ///         std::thread::yield_now();
    ///     }
    /// })?;
    /// drop(batch); // also by a `?` or a panic
    /// pool.drain()?; // the task has an end now, whether it has started or not
    /// assert_eq!(pool.stats().completed + pool.stats().cancelled, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel_on_drop(mut self) -> Self {
        self.outcomes.cancel_on_drop();
        self
    }

    /// The next outcome in order of completion, if one is there. Never blocks. `None` says that none is there, or that
    /// there are no more.
    ///
    /// A thread that holds a [`spawner`](Batch::spawner) of the batch reads with this.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// let mut batch = pool.batch();
    /// assert!(batch.try_next().is_none());
    /// batch.spawn(|| 6 * 7)?;
    /// pool.wait_idle()?;
    /// assert_eq!(batch.try_next().unwrap()?, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "try_join_next")]
    pub fn try_next(&mut self) -> Option<Result<T, JoinError>> {
        self.outcomes.take_ready().map(|(_, outcome)| outcome)
    }

    /// The next outcome in order of completion, for any executor; `None` when there are no more. The
    /// outcome is an error if the task panicked or was cancelled.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, nothing is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::Pool::new(2);
    /// let mut batch = pool.batch();
    /// for number in 1..=3 {
    ///     batch.spawn(move || number * number)?;
    /// }
    /// let mut sum = 0;
    /// while let Some(outcome) = batch.next_async().await {
    ///     sum += outcome?;
    /// }
    /// assert_eq!(sum, 14);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "join_next")]
    pub async fn next_async(&mut self) -> Option<Result<T, JoinError>> {
        self.next_indexed_async().await.map(|(_, outcome)| outcome)
    }

    /// The outcomes in order of completion, each with the index that [`spawn`](Batch::spawn) returned: the first task
    /// of a batch has index 0. Blocks for each outcome as [`next`](Iterator::next) does.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// let words = ["one", "two", "three"];
    /// let mut batch = pool.batch();
    /// for word in words {
    ///     batch.spawn(move || word.len())?;
    /// }
    /// for (index, length) in batch.indexed() {
    ///     assert_eq!(words[index].len(), length?);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "enumerate")]
    #[doc(alias = "join_next_with_id")]
    pub fn indexed(&mut self) -> impl Iterator<Item = (usize, Result<T, JoinError>)> + Send + '_ {
        std::iter::from_fn(|| self.outcomes.next())
    }

    /// As [`next_async`](Batch::next_async), with the index of the task.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, nothing is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::Pool::new(2);
    /// let mut batch = pool.batch();
    /// batch.spawn(|| 0)?;
    /// batch.spawn(|| 1)?;
    /// while let Some((index, outcome)) = batch.next_indexed_async().await {
    ///     assert_eq!(outcome?, index);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next_indexed_async(&mut self) -> Option<(usize, Result<T, JoinError>)> {
        poll_fn(|context| self.outcomes.poll_next(context)).await
    }
}

impl<T: Send + 'static, P> Iterator for Batch<T, P> {
    type Item = Result<T, JoinError>;

    /// Blocks until the next outcome in order of completion is available. `None` when there are no more: all outcomes
    /// were given out, and every [`spawner`](Batch::spawner) has been dropped.
    fn next(&mut self) -> Option<Self::Item> {
        self.outcomes.next().map(|(_, outcome)| outcome)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.outcomes.blocking_size_hint()
    }
}

impl<T, P> fmt::Debug for Batch<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("left", &self.outcomes.len()).finish_non_exhaustive()
    }
}
