//! `BatchSpawner`: adds tasks to a batch while another thread reads its outcomes.

use std::fmt;

use super::Batch;
use crate::completions::Producer;
use crate::handle::JoinHandle;
use crate::pool::Pool;

/// Spawns tasks of a [`Batch`] from any thread or task, while another one reads the outcomes. A clone is another
/// spawner of the same batch.
///
/// The batch ends when all its spawners have been dropped and all outcomes were given out. So a spawner is to a batch
/// what a sender is to a channel: **a thread that holds one and waits for the end of the batch waits for ever**. Drop
/// the spawner first, give it away, or read with [`Batch::try_next`] and [`Batch::join_all_timeout`].
///
/// When the batch is dropped, its spawners refuse every task with
/// [`Refused::BatchGone`](crate::Refused::BatchGone).
///
/// # Examples
///
/// One thread queues, another one reads:
///
/// ```
/// let pool = formic::Pool::builder().workers(2).queue(4).build()?;
/// let mut batch = pool.batch();
/// let spawner = batch.spawner();
/// let producer = std::thread::spawn(move || {
///     for number in 1..=100 {
///         spawner.spawn(move || number * number)?; // waits while the pool is full
///     }
///     Ok::<(), formic::Error>(()) // the spawner is dropped here
/// });
/// let sum: u32 = batch.flatten().sum(); // reads meanwhile
/// assert_eq!(sum, 338_350);
/// producer.join().unwrap()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Inside tasks
///
/// A task of the batch may hold a spawner, and spawn further tasks of the batch: the batch ends after the last of
/// them. That works on a pool of one worker, and if a task of the same pool reads the batch. But a task that reads a
/// batch can lend its place only to tasks of the batch. If a spawner is held by a queued task of the same pool that is
/// not in the batch, the reader may wait for a task that has no worker. And a task that reads keeps its place at the
/// gate: a thread outside that spawns on the same pool waits there for ever if the pool has no queue and every worker
/// reads.
///
/// ```
/// use formic::{BatchSpawner, Pool};
///
/// /// Visits a page, and spawns a task for each page that it links to.
/// fn visit(page: u32, spawner: BatchSpawner<u32>) -> u32 {
///     for link in [page * 2, page * 2 + 1] {
///         if link < 100 {
///             let inner = spawner.clone();
///             spawner.spawn(move || visit(link, inner)).expect("the pool is open");
///         }
///     }
///     page
/// }
///
/// let pool = Pool::new(4);
/// let mut batch = pool.batch();
/// let spawner = batch.spawner();
/// batch.spawn(move || visit(1, spawner))?;
/// assert_eq!(batch.flatten().sum::<u32>(), (1..100).sum());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a batch ends when its spawners have been dropped"]
pub struct BatchSpawner<T, P = Pool> {
    pub(super) pool: P,
    pub(super) tasks: Producer<JoinHandle<T>>,
}

impl<T: Send + 'static, P: Clone> Batch<T, P> {
    /// Spawns tasks of this batch from other threads and tasks. From now on, the batch ends only when all spawners
    /// have been dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// let mut batch = pool.batch();
    /// let spawner = batch.spawner();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(move || (0..10).for_each(|n| drop(spawner.spawn(move || n))));
    ///     assert_eq!(batch.flatten().sum::<i32>(), 45);
    /// });
    /// ```
    #[doc(alias = "Queue")]
    #[doc(alias = "sender")]
    pub fn spawner(&mut self) -> BatchSpawner<T, P> {
        BatchSpawner { pool: self.pool.clone(), tasks: self.outcomes.producer() }
    }
}

impl<T, P: Clone> Clone for BatchSpawner<T, P> {
    fn clone(&self) -> Self {
        BatchSpawner { pool: self.pool.clone(), tasks: self.tasks.clone() }
    }
}

impl<T, P> fmt::Debug for BatchSpawner<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchSpawner")
            .field("batch_is_gone", &self.tasks.check().is_err())
            .finish_non_exhaustive()
    }
}
