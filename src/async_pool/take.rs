//! Arguments whose call has not started, taken out of the queue.

use super::AsyncFnPool;
use crate::fn_pool::Job;

impl<T: Send + 'static, R: Send + 'static> AsyncFnPool<T, R> {
    /// Takes the arguments whose call has not started out of the queue, in their order: to give them back to a broker,
    /// or to store them. Does not block. The calls count as cancelled, and their handles get
    /// [`JoinError::Cancelled`](crate::JoinError::Cancelled). The pool stays open or closed, as it was.
    ///
    /// An argument whose submitter still waits for a place is not among them. [`close`](crate::Control::close) first, and
    /// the submitter gets it back.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncFnPool::new(1, |_message: u32| std::future::pending::<()>());
    /// pool.submit(1).await?;
    /// while pool.busy() < 1 {
    ///     tokio::task::yield_now().await;
    /// }
    /// for message in 2..=4 {
    ///     pool.submit(message).await?; // waits behind the first
    /// }
    /// pool.close();
    /// assert_eq!(pool.take_queued(), [2, 3, 4]);
    /// assert_eq!((pool.cancel_all().futures, pool.stats().queued), (1, 0));
    /// pool.drain().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "the arguments are gone from the pool"]
    #[doc(alias = "shutdownNow")]
    #[doc(alias = "drain_queue")]
    pub fn take_queued(&self) -> Vec<T> {
        self.engine().take_queued().into_iter().filter_map(Job::into_argument).collect()
    }
}
