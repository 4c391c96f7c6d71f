//! Arguments whose call has not started, taken out of the queue.

use super::{FnPool, Job};

impl<T: Send + 'static, R: Send + 'static> FnPool<T, R> {
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
    /// use formic::FnPool;
    /// use std::sync::mpsc;
    ///
    /// let (open, door) = mpsc::channel::<()>();
    /// let door = std::sync::Mutex::new(door);
    /// let (begun, has_begun) = mpsc::channel();
    /// let pool = FnPool::new(1, move |message: u32| {
    ///     begun.send(message).unwrap();
    ///     drop(door.lock().unwrap().recv());
    /// });
    /// (1..=4).try_for_each(|message| pool.submit(message))?;
    /// assert_eq!(has_begun.recv()?, 1); // it holds up the others
    /// pool.close();
    /// assert_eq!(pool.take_queued(), [2, 3, 4]);
    /// drop(open);
    /// pool.drain()?;
    /// assert_eq!((pool.stats().completed, pool.stats().cancelled), (1, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "the arguments are gone from the pool"]
    #[doc(alias = "shutdownNow")]
    #[doc(alias = "drain_queue")]
    pub fn take_queued(&self) -> Vec<T> {
        self.engine().take_queued().into_iter().filter_map(Job::into_argument).collect()
    }
}
