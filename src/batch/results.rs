//! Batches of tasks that may fail.

use std::collections::BTreeMap;

use super::Batch;
use crate::completions::Numbered;
use crate::error::BatchError;

impl<T, E, P> Batch<Result<T, E>, P>
where
    T: Send + 'static,
    E: Send + 'static,
{
    /// Blocks until the first task returns `Ok`, and cancels the rest, whose outcomes are still in the batch.
    ///
    /// # Errors
    ///
    /// What became of each task, in order of completion, if none returned `Ok`.
    ///
    /// Where the thread must not block ([see above](Batch#blocking)), the only error is a `Refused` with
    /// [`Refused::InRuntime`](crate::Refused::InRuntime): nothing is cancelled, and the batch has all it had.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::BatchError;
    ///
    /// let pool = formic::Pool::new(2);
    /// let mut batch = pool.batch();
    /// batch.spawn(|| Err("no such mirror"))?;
    /// batch.spawn(|| Ok("page"))?;
    /// assert_eq!(batch.first_success().unwrap(), "page");
    ///
    /// let mut batch = pool.batch::<Result<(), _>>();
    /// batch.spawn(|| Err("no such mirror"))?;
    /// let errors = batch.first_success().unwrap_err();
    /// assert!(matches!(errors[..], [BatchError::Failed { index: 0, error: "no such mirror" }]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "invokeAny")]
    #[doc(alias = "select_ok")]
    #[doc(alias = "first_ok")]
    pub fn first_success(&mut self) -> Result<T, Vec<BatchError<E>>> {
        self.check_wait().map_err(|refused| vec![refused])?;
        let mut errors = Vec::new();
        while let Some((index, outcome)) = self.outcomes.next() {
            match BatchError::check(index, outcome) {
                Ok(value) => return Ok(self.win(value)),
                Err(error) => errors.push(error),
            }
        }
        Err(errors)
    }

    /// As [`first_success`](Batch::first_success), for any executor.
    ///
    /// # Errors
    ///
    /// As [`first_success`](Batch::first_success).
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, the batch is dropped with it.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::Pool::new(2);
    /// let mut batch = pool.batch();
    /// batch.spawn(|| Err("no such mirror"))?;
    /// batch.spawn(|| Ok("page"))?;
    /// assert_eq!(batch.first_success_async().await.unwrap(), "page");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn first_success_async(mut self) -> Result<T, Vec<BatchError<E>>> {
        let mut errors = Vec::new();
        while let Some((index, outcome)) = self.next_indexed_async().await {
            match BatchError::check(index, outcome) {
                Ok(value) => return Ok(self.win(value)),
                Err(error) => errors.push(error),
            }
        }
        Err(errors)
    }

    /// Blocks until all tasks have returned `Ok`: their values in the order of spawning, without those that have been
    /// given out before. At the first failure, the rest is cancelled, spawners are refused, and the call waits until
    /// what runs has ended.
    ///
    /// # Errors
    ///
    /// The failure of the task that was spawned first, with its index. Tasks that were cancelled because of another
    /// failure do not count.
    ///
    /// Where the thread must not block ([see above](Batch#blocking)), a `Refused` with
    /// [`Refused::InRuntime`](crate::Refused::InRuntime): nothing is cancelled, and the batch has all it had.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::BatchError;
    ///
    /// let pool = formic::Pool::new(2);
    /// let mut batch = pool.batch();
    /// for text in ["1", "2", "three"] {
    ///     batch.spawn(move || text.parse::<u32>())?;
    /// }
    /// match batch.try_join_all() {
    ///     Err(BatchError::Failed { index: 2, error }) => println!("the third: {error}"),
    ///     other => panic!("{other:?}"),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "errgroup")]
    pub fn try_join_all(&mut self) -> Result<Vec<T>, BatchError<E>> {
        self.check_wait()?;
        let mut collected = Collected::new();
        while let Some(outcome) = self.outcomes.next() {
            if collected.note(outcome).is_err() {
                self.outcomes.stop();
            }
        }
        collected.finish()
    }

    /// As [`try_join_all`](Batch::try_join_all), for any executor.
    ///
    /// # Errors
    ///
    /// As [`try_join_all`](Batch::try_join_all).
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, the batch is dropped with it.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::Pool::new(2);
    /// let mut batch = pool.batch();
    /// for text in ["1", "2"] {
    ///     batch.spawn(move || text.parse::<u32>())?;
    /// }
    /// assert_eq!(batch.try_join_all_async().await?, [1, 2]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn try_join_all_async(mut self) -> Result<Vec<T>, BatchError<E>> {
        let mut collected = Collected::new();
        while let Some(outcome) = self.next_indexed_async().await {
            if collected.note(outcome).is_err() {
                self.outcomes.stop();
            }
        }
        collected.finish()
    }

    /// An error if the calling thread must not block for the outcomes that are left.
    fn check_wait(&mut self) -> Result<(), BatchError<E>> {
        let index = self.outcomes.next_number();
        let refused = |reason| BatchError::Refused { index, reason };
        self.outcomes.check_wait().map_err(refused)
    }
}

/// The values by the index of their tasks, and the failure of the lowest index.
struct Collected<T, E> {
    values: BTreeMap<usize, T>,
    failure: Option<BatchError<E>>,
}

/// A task has failed, and it is the first to do so.
struct FirstFailure;

impl<T, E> Collected<T, E> {
    fn new() -> Self {
        Collected { values: BTreeMap::new(), failure: None }
    }

    fn note(&mut self, (index, outcome): Numbered<Result<T, E>>) -> Result<(), FirstFailure> {
        let error = match BatchError::check(index, outcome) {
            Ok(value) => {
                self.values.insert(index, value);
                return Ok(());
            }
            Err(error) => error,
        };
        match &self.failure {
            None => {
                self.failure = Some(error);
                return Err(FirstFailure);
            }
            // It was cancelled because of the other one.
            Some(_) if error.is_cancelled() => {}
            Some(first) if first.index() < index => {}
            Some(_) => self.failure = Some(error),
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<T>, BatchError<E>> {
        match self.failure {
            None => Ok(self.values.into_values().collect()),
            Some(error) => Err(error),
        }
    }
}
