//! The settings that only pools of futures have: what they run on.

use tokio::runtime::Handle;

use super::{AsyncFnPool, AsyncPool};
use crate::builder::Builder;

/// A pool whose workers are futures, which run on a runtime or on threads of the pool's own: [`AsyncPool`] and
/// [`AsyncFnPool`]. It is sealed.
///
/// # Examples
///
/// ```
/// use formic::{AsyncFnPool, AsyncPool, Builder, OnTokio};
///
/// fn apart<P: OnTokio>(builder: Builder<P>) -> Builder<P> {
///     builder.own_threads(1).workers(10_000)
/// }
///
/// let pool = apart(AsyncPool::builder()).build()?;
/// let squares = apart(AsyncFnPool::builder()).build(|n: u64| async move { n * n })?;
/// assert_eq!(squares.try_spawn(9)?.join()?, 81);
/// assert_eq!(pool.try_spawn(async { 81 })?.join()?, 81);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait OnTokio: sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for AsyncPool {}
impl OnTokio for AsyncPool {}
impl<T: Send + 'static, R: Send + 'static> sealed::Sealed for AsyncFnPool<T, R> {}
impl<T: Send + 'static, R: Send + 'static> OnTokio for AsyncFnPool<T, R> {}

impl<P: OnTokio> Builder<P> {
    /// The runtime to run on. Without this it is the one that `build` is called in.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    /// let handle = runtime.handle().clone();
    /// let pool = formic::AsyncPool::builder().runtime(handle).build()?; // here is no runtime
    /// let answer = runtime.block_on(pool.spawn(async { 6 * 7 }))?;
    /// assert_eq!(answer.join()?, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn runtime(mut self, runtime: Handle) -> Self {
        (self.runtime, self.own_threads) = (Some(runtime), None);
        self
    }

    /// Runs on so many threads of the pool's own, instead of a runtime: one for each core that the pool may
    /// have. Each has timers and sockets of its own, where those of a runtime share theirs under a lock. So
    /// futures that do little but wait are spread over several cores, and gain by it. Nor is there a runtime to
    /// set up: the pool can be built and used anywhere, also where nothing else is async.
    ///
    /// The price is that a future stays with the thread that polled it first. If that is stuck in a poll the
    /// others take over what is ready, but not its timers and sockets: a future that blocks its thread for long
    /// holds up those that wait for them, until it comes back.
    ///
    /// A thread is started when it is first needed. It ends when the pool has been drained, and what its
    /// futures have given to `tokio::spawn` ends with it; what they have given to `spawn_blocking` runs on.
    /// `tokio::time::pause` does not reach these threads, and `tokio::task::block_in_place` panics on them. They
    /// are the ones that [`name`](Builder::name), [`stack_size`](Builder::stack_size),
    /// [`on_worker_start`](Builder::on_worker_start), where one may pin them to their cores, and
    /// [`on_worker_stop`](Builder::on_worker_stop) are about.
    ///
    /// Of this and [`runtime`](Builder::runtime), the last one holds.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let pool = formic::AsyncPool::builder().workers(50_000).own_threads(2).build()?;
    /// for _ in 0..1000 {
    ///     pool.blocking_submit(async { tokio::time::sleep(Duration::from_millis(1)).await })?;
    /// }
    /// pool.blocking_drain()?; // as on a pool of threads: no runtime is here
    /// assert_eq!(pool.stats().completed, 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "worker_threads")]
    #[doc(alias = "thread_per_core")]
    pub fn own_threads(mut self, threads: usize) -> Self {
        (self.runtime, self.own_threads) = (None, Some(threads));
        self
    }
}
