//! `Batch`: a group of tasks, and their outcomes in order of completion or of spawning.

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;

use crate::completions::Completions;
use crate::error::{JoinError, SubmitError};
use crate::handle::JoinHandle;
use crate::pool::Pool;

/// A group of tasks of one pool. Iterating gives their outcomes as they complete, and ends when
/// there are no more; the batch need not be declared complete.
///
/// A batch may be larger than queue and capacity together: [`spawn`](Batch::spawn) waits for a place
/// as [`Pool::spawn`] does, while the workers go on. A task may use a batch of its own pool. A dropped
/// batch lets its tasks run on; their panics go to the [`on_panic`](crate::Builder::on_panic) hook.
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
#[doc(alias = "JoinSet")]
#[doc(alias = "WaitGroup")]
#[doc(alias = "CompletionService")]
#[must_use = "a batch does nothing until something is spawned on it"]
pub struct Batch<T> {
    pool: Pool,
    tasks: Completions<JoinHandle<T>>,
}

impl<T: Send + 'static> Batch<T> {
    pub(crate) fn new(pool: Pool) -> Self {
        Batch { pool, tasks: Completions::starting_at(0) }
    }

    /// Spawns a task of the batch. Waits for a place as [`Pool::spawn`] does.
    ///
    /// # Errors
    ///
    /// As [`Pool::spawn`]: the closure comes back.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// let mut batch = pool.batch();
    /// batch.spawn(|| 1)?;
    /// batch.spawn(|| 2)?;
    /// assert_eq!(batch.flatten().sum::<i32>(), 3);
    ///
    /// pool.close();
    /// let mut batch = pool.batch::<i32>();
    /// let task = batch.spawn(|| 3).unwrap_err().into_task();
    /// assert_eq!(task(), 3); // it is ours again
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[doc(alias = "Queue")]
    pub fn spawn<F>(&mut self, task: F) -> Result<(), SubmitError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
    {
        let handle = self.pool.spawn(task)?;
        self.tasks.push(handle);
        Ok(())
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
        self.tasks.len()
    }

    /// Whether all outcomes have been given out.
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
        self.tasks.len() == 0
    }

    /// Cancels every task: one that has not started never runs, and one that runs is asked to stop. The
    /// outcomes are still given out. May be called at any time, and more than once.
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
    pub fn cancel(&self) {
        self.tasks.cancel();
    }

    /// Waits for all tasks; their outcomes in the order of spawning, without those that have been
    /// given out before. A task that panicked or was cancelled has its error there.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(4);
    /// let mut batch = pool.batch();
    /// for word in ["one", "two", "three"] {
    ///     batch.spawn(move || word.len())?;
    /// }
    /// let lengths: Result<Vec<_>, _> = batch.join_all().into_iter().collect();
    /// assert_eq!(lengths?, [3, 3, 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Results")]
    #[doc(alias = "WaitAll")]
    pub fn join_all(mut self) -> Vec<Result<T, JoinError>> {
        let mut outcomes = BTreeMap::new();
        while let Some((number, outcome)) = self.tasks.next() {
            outcomes.insert(number, outcome);
        }
        outcomes.into_values().collect()
    }

    /// Waits for the first task that returns, and cancels the rest.
    ///
    /// # Errors
    ///
    /// The errors of all tasks, in order of completion, if none returned.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// let mut batch = pool.batch();
    /// batch.spawn(|| panic!("no luck"))?;
    /// batch.spawn(|| "found")?;
    /// assert_eq!(batch.first_ok().unwrap(), "found");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "invokeAny")]
    #[doc(alias = "select_ok")]
    pub fn first_ok(mut self) -> Result<T, Vec<JoinError>> {
        let mut errors = Vec::new();
        while let Some((_, outcome)) = self.tasks.next() {
            match outcome {
                Ok(value) => {
                    self.cancel();
                    return Ok(value);
                }
                Err(error) => errors.push(error),
            }
        }
        Err(errors)
    }

    /// The next outcome in order of completion, for any executor; `None` when there are no more. The
    /// outcome is an error if the task panicked or was cancelled. Dropped while it waits, nothing is lost.
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
        poll_fn(|context| self.tasks.poll_next(context)).await.map(|(_, outcome)| outcome)
    }
}

impl<T: Send + 'static> Iterator for Batch<T> {
    type Item = Result<T, JoinError>;

    /// Blocks until the next outcome in order of completion is available.
    fn next(&mut self) -> Option<Self::Item> {
        self.tasks.next().map(|(_, outcome)| outcome)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl<T> fmt::Debug for Batch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("left", &self.tasks.len()).finish_non_exhaustive()
    }
}
