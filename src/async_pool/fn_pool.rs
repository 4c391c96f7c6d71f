//! `AsyncFnPool`: one async function, many arguments.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::build::IN_FLIGHT;
use super::calls::Calls;
use crate::builder::{Builder, Started, WhenFull};
use crate::control::Control;
use crate::engine::{Engine, Patience, TaskState};
use crate::error::{Refused, SubmitError};
use crate::fn_pool::Job;
use crate::handle::JoinHandle;

/// What stands in the queue.
type JobOf<T, R> = Job<Calls<T, R>, T, R>;

/// A pool of futures that all come from one async function: arguments are submitted, and nothing is
/// allocated for them once the pool has been as full as it gets.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = formic::AsyncFnPool::new(1000, |number: u64| async move {
///     tokio::task::yield_now().await;
///     number * number
/// });
/// assert_eq!(pool.call(9).await?, 81);
/// # Ok(())
/// # }
/// ```
///
/// Otherwise it is as [`AsyncPool`](crate::AsyncPool), which says how it runs, and has what
/// [`Control`] has.
#[doc(alias = "PoolWithFunc")]
pub struct AsyncFnPool<T: Send + 'static, R: Send + 'static> {
    pub(crate) shared: Arc<Started<Calls<T, R>>>,
}

impl<T: Send + 'static, R: Send + 'static> AsyncFnPool<T, R> {
    /// A pool with up to `workers` calls in flight, on the runtime that the caller is in.
    ///
    /// # Panics
    ///
    /// If `workers` is 0, and outside of a tokio runtime. The builder returns an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let squares = formic::AsyncFnPool::new(100, |n: u64| async move { n * n });
    /// assert_eq!((squares.capacity(), squares.call(9).await?), (100, 81));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    #[doc(alias = "NewPoolWithFunc")]
    pub fn new<F, Fut>(workers: usize, function: F) -> Self
    where
        F: Fn(T) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
    {
        match AsyncFnPool::builder().workers(workers).build(function) {
            Ok(pool) => pool,
            Err(error) => panic!("{error}"),
        }
    }

    /// All settings. Unless it is told otherwise, 1024 calls may be in flight and 4096 queued.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::AsyncFnPool;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let lengths = AsyncFnPool::builder().workers(8).queue(100).build(|text: String| async move {
    ///     text.len()
    /// })?;
    /// assert_eq!(lengths.call("four".to_owned()).await?, 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> Builder<AsyncFnPool<T, R>> {
        Builder::new().workers(IN_FLIGHT)
    }

    pub(super) fn engine(&self) -> &Arc<Engine<Calls<T, R>>> {
        &self.shared.engine
    }

    /// Hands an argument over, and waits while the pool is full, if its policy is to wait. Dropped while
    /// it waits, it gives its turn to the next, and the argument is dropped.
    ///
    /// # Errors
    ///
    /// [`SubmitError`] gives the argument back, as
    /// [`AsyncPool::submit`](crate::AsyncPool::submit) does the future.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncFnPool::new(2, |number: u32| async move { assert!(number < 10) });
    /// for number in 0..10 {
    ///     pool.submit(number).await?;
    /// }
    /// pool.wait_idle().await?;
    /// assert_eq!(pool.stats().completed, 10);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    #[doc(alias = "Invoke")]
    pub fn submit(
        &self,
        argument: T,
    ) -> impl Future<Output = Result<(), SubmitError<T>>> + Send + use<T, R> {
        let job = Job::Bare(argument, Location::caller());
        let pool = self.clone();
        async move { Job::entered(pool.enter(job).await) }
    }

    /// Hands an argument over if there is a place for it now.
    ///
    /// # Errors
    ///
    /// [`SubmitError`] gives the argument back; [`Refused::Full`] if there is no place.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncFnPool, Refused};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = AsyncFnPool::builder().workers(1).queue(0).build(|_: &str| std::future::pending::<()>())?;
    /// pool.try_submit("first")?;
    /// let error = pool.try_submit("second").unwrap_err();
    /// assert_eq!((error.reason(), error.into_task()), (Refused::Full, "second"));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    #[doc(alias = "Nonblocking")]
    pub fn try_submit(&self, argument: T) -> Result<(), SubmitError<T>> {
        let job = Job::Bare(argument, Location::caller());
        Job::entered(self.engine().submit(job, Patience::None))
    }

    /// Hands an argument over, and blocks the thread while the pool is full, if its policy is to wait. Async
    /// code awaits [`submit`](AsyncFnPool::submit) instead.
    ///
    /// # Errors
    ///
    /// As [`AsyncPool::blocking_submit`](crate::AsyncPool::blocking_submit); the argument comes back.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    /// let handle = runtime.handle().clone();
    /// let pool = formic::AsyncFnPool::builder()
    ///     .runtime(handle)
    ///     .build(|number: u32| async move { assert!(number < 100) })?;
    /// for number in 0..100 {
    ///     pool.blocking_submit(number)?;
    /// }
    /// runtime.block_on(pool.drain())?;
    /// assert_eq!(pool.stats().completed, 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn blocking_submit(&self, argument: T) -> Result<(), SubmitError<T>> {
        let job = Job::Bare(argument, Location::caller());
        Job::entered(self.engine().submit(job, self.shared.patience()))
    }

    /// As [`submit`](AsyncFnPool::submit), with a handle for the result.
    ///
    /// # Errors
    ///
    /// As [`submit`](AsyncFnPool::submit).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let double = formic::AsyncFnPool::new(2, |number: u32| async move { 2 * number });
    /// let (one, two) = (double.spawn(1).await?, double.spawn(2).await?);
    /// assert_eq!(one.await? + two.await?, 6);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn(
        &self,
        argument: T,
    ) -> impl Future<Output = Result<JoinHandle<R>, SubmitError<T>>> + Send + use<T, R> {
        let (task_state, job) = TaskState::new(self.engine(), argument, Location::caller());
        let pool = self.clone();
        async move { Ok(JoinHandle::new(task_state.entered(pool.enter(job).await)?)) }
    }

    /// As [`spawn`](AsyncFnPool::spawn), if there is a place now.
    ///
    /// # Errors
    ///
    /// As [`try_submit`](AsyncFnPool::try_submit).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let double = formic::AsyncFnPool::new(2, |number: u32| async move { 2 * number });
    /// assert_eq!(double.try_spawn(21)?.await?, 42);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn try_spawn(&self, argument: T) -> Result<JoinHandle<R>, SubmitError<T>> {
        let (task_state, job) = TaskState::new(self.engine(), argument, Location::caller());
        Ok(JoinHandle::new(task_state.entered(self.engine().submit(job, Patience::None))?))
    }

    /// The runtime whose timers limit a call.
    pub(crate) fn timers(&self) -> Option<Handle> {
        self.engine().work().host().timers()
    }

    async fn enter(&self, job: JobOf<T, R>) -> Result<(), (JobOf<T, R>, Refused)> {
        match self.shared.when_full {
            WhenFull::Wait => self.engine().enter(job).await,
            _ => self.engine().submit(job, Patience::None),
        }
    }
}

impl<T: Send + 'static, R: Send + 'static> Clone for AsyncFnPool<T, R> {
    fn clone(&self) -> Self {
        AsyncFnPool { shared: Arc::clone(&self.shared) }
    }
}

impl<T: Send + 'static, R: Send + 'static> Deref for AsyncFnPool<T, R> {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.shared.control
    }
}

impl<T: Send + 'static, R: Send + 'static> fmt::Debug for AsyncFnPool<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFnPool").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
