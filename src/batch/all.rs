//! What is done with a batch as a whole: all outcomes, or the first task that returns.

use std::future::poll_fn;
use std::time::Duration;

use super::Batch;
use crate::control::deadline;
use crate::error::JoinError;

impl<T: Send + 'static, P> Batch<T, P> {
    /// Blocks until all tasks have ended. Their outcomes in the order of spawning, without those that have been
    /// given out before. A task that panicked or was cancelled has its error there.
    ///
    /// Waits until every [`spawner`](Batch::spawner) has been dropped, too. The batch is empty afterwards.
    ///
    /// # Errors
    ///
    /// Where the thread must not block ([see above](Batch#blocking)), the only outcome is that error, and the batch
    /// has all it had: `join_all_async` gives it.
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
    #[must_use = "the outcomes are given out once"]
    pub fn join_all(&mut self) -> Vec<Result<T, JoinError>> {
        match self.outcomes.wait_all(None) {
            Ok(_) => self.outcomes.take_all(),
            Err(refused) => vec![Err(JoinError::Refused(refused))],
        }
    }

    /// As [`join_all`](Batch::join_all), for up to `time`. `None` if the time is over: then the batch has all outcomes
    /// and all tasks that it had, so nothing is lost. Read what is there by [`try_next`](Batch::try_next),
    /// cancel the rest, or call this again. A time of zero only looks, and blocks nothing.
    ///
    /// A future does the same by `timeout(time, batch.join_all_async())`.
    ///
    /// # Errors
    ///
    /// Where the thread must not block ([see above](Batch#blocking)), the only outcome is that error, and the batch
    /// has all it had.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// let pool = formic::Pool::new(2);
    /// let (open, door) = mpsc::channel::<()>();
    /// let mut batch = pool.batch();
    /// batch.spawn(move || door.recv().is_err())?;
    /// batch.spawn(|| true)?;
    /// assert!(batch.join_all_timeout(Duration::from_millis(5)).is_none());
    /// assert_eq!(batch.len(), 2); // nothing is lost
    /// drop(open);
    /// assert_eq!(batch.join_all().into_iter().flatten().count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "the outcomes are given out once"]
    pub fn join_all_timeout(&mut self, time: Duration) -> Option<Vec<Result<T, JoinError>>> {
        match self.outcomes.wait_all(deadline(time)) {
            Ok(true) => Some(self.outcomes.take_all()),
            Ok(false) => None,
            Err(refused) => Some(vec![Err(JoinError::Refused(refused))]),
        }
    }

    /// As [`join_all`](Batch::join_all), for any executor. The batch is empty afterwards.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, nothing is lost: the batch has all outcomes and all tasks that it had.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::Pool::new(2);
    /// let mut batch = pool.batch();
    /// batch.spawn(|| 1)?;
    /// batch.spawn(|| 2)?;
    /// let both: Vec<i32> = batch.join_all_async().await.into_iter().flatten().collect();
    /// assert_eq!(both, [1, 2]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn join_all_async(&mut self) -> Vec<Result<T, JoinError>> {
        poll_fn(|context| self.outcomes.poll_all(context)).await;
        self.outcomes.take_all()
    }

    /// Blocks until the first task returns, whatever it returns, and cancels the rest, whose outcomes are still in the
    /// batch. If tasks return a `Result`, [`first_success`](Batch::first_success) waits for the first `Ok`.
    ///
    /// # Errors
    ///
    /// The errors of all tasks, in order of completion, if none returned.
    ///
    /// Where the thread must not block ([see above](Batch#blocking)), the only error is
    /// [`Refused::InRuntime`](crate::Refused::InRuntime): nothing is cancelled, and the batch has all it had.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// let mut batch = pool.batch();
    /// batch.spawn(|| panic!("no luck"))?;
    /// batch.spawn(|| "found")?;
    /// assert_eq!(batch.first_returned().unwrap(), "found");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "invokeAny")]
    #[doc(alias = "first_ok")]
    #[doc(alias = "select_all")]
    pub fn first_returned(&mut self) -> Result<T, Vec<JoinError>> {
        self.outcomes.check_wait().map_err(|refused| vec![JoinError::Refused(refused)])?;
        let mut errors = Vec::new();
        for outcome in self.by_ref() {
            match outcome {
                Ok(value) => return Ok(self.win(value)),
                Err(error) => errors.push(error),
            }
        }
        Err(errors)
    }

    /// As [`first_returned`](Batch::first_returned), for any executor.
    ///
    /// # Errors
    ///
    /// As [`first_returned`](Batch::first_returned).
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
    /// batch.spawn(|| "found")?;
    /// assert_eq!(batch.first_returned_async().await.unwrap(), "found");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn first_returned_async(mut self) -> Result<T, Vec<JoinError>> {
        let mut errors = Vec::new();
        while let Some(outcome) = self.next_async().await {
            match outcome {
                Ok(value) => return Ok(self.win(value)),
                Err(error) => errors.push(error),
            }
        }
        Err(errors)
    }

    /// The value that was waited for. The rest is cancelled.
    pub(super) fn win<V>(&mut self, value: V) -> V {
        self.outcomes.stop();
        value
    }
}
