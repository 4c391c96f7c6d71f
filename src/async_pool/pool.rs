//! `AsyncPool`: futures on tokio, in the words of `Pool`.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::build::IN_FLIGHT;
use super::futures::{Futures, Job, Spawned, handle, refuse};
use crate::builder::{Builder, Started, WhenFull};
use crate::control::Control;
use crate::engine::{Engine, Patience, TaskState};
use crate::error::{Refused, SubmitError};
use crate::handle::JoinHandle;

/// A pool of futures on tokio: at most so many in flight at once, a bounded queue before them, and
/// everything else that [`Pool`](crate::Pool) has. A hundred thousand is a normal capacity.
///
/// ```
/// use std::time::Duration;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = formic::AsyncPool::new(10_000);
/// for _ in 0..1000 {
///     pool.submit(async { tokio::time::sleep(Duration::from_millis(10)).await }).await?;
/// }
/// let answer = pool.spawn(async { 6 * 7 }).await?;
/// assert_eq!(answer.await?, 42);
/// pool.drain().await?;
/// # Ok(())
/// # }
/// ```
///
/// `Clone` makes another handle of the same pool. When the last one is dropped the pool is closed, and
/// what was accepted runs to its end, as long as the runtime lives. Figures, [`resize`](Control::resize),
/// [`close`](Control::close), [`discard`](Control::discard) and [`reopen`](Control::reopen) come from
/// [`Control`].
///
/// # How it runs
///
/// A few *drivers*, as many as the runtime has threads, poll all futures of the pool; each is one task
/// of the runtime. So a future costs one allocation, no spawn, and no wake-up of the runtime while its
/// driver is awake. A future whose poll takes long does not delay the others as long as another thread of the
/// runtime is free: the other drivers poll its driver's other futures meanwhile. If all threads are busy in
/// this way, everything waits, as it would with `tokio::spawn`: put work that computes or
/// blocks on a [`Pool`](crate::Pool), and await its handle.
///
/// Where polls take a microsecond or so, drivers would only get into each other's way, so one of them
/// does it all. A thread called `formic-watchdog` watches it as long as the pool is busy, and has the others
/// help if it is stuck in a poll: that takes it up to five milliseconds to notice. A driver works for up to 250 µs
/// before it lets other tasks of its thread go on, and for a millisecond where the runtime has none.
///
/// Each poll has tokio's whole budget of operations, as that of a spawned task would have; where polls are
/// short, eight of them share it, and one that comes to its end goes on after the others.
/// What tokio keeps with a thread stays with it here, too: a future that awaits `yield_now` goes on when that
/// thread does, so if the next poll there blocks, it waits for the end of that. So may a driver that was woken
/// to help, if that thread has just taken it out of the queue, and nothing else happens on the runtime.
///
/// With [`own_threads`](Builder::own_threads) the drivers have threads, timers and sockets of their own instead,
/// and stay apart as long as polls are short and none of them is stuck: so several cores share the work.
///
/// # Tasks that await tasks
///
/// A future of the pool may submit to it and await what it spawned, at any depth and however full the
/// pool is. It never waits for a place, and while it is suspended on a handle it lends its own place to what it
/// awaits: see [`JoinHandle`]. A task that waits for the effect of another by another way than its handle lends
/// nothing: the other one needs a place of its own.
///
/// # Runtimes
///
/// Multi-thread and current-thread runtimes both work, also with `tokio::time::pause`. Futures must be
/// `Send`: a `LocalSet` can use a pool, but its `!Send` futures cannot run on one. When the runtime
/// shuts down, its futures are dropped where they stand: their handles say
/// [`Cancelled`](crate::JoinError::Cancelled), and the pool is closed.
///
/// A pool with threads of its own needs no runtime. Outside of one it is used by `blocking_submit`,
/// [`join`](JoinHandle::join) and the calls of [`Control`] that block, such as `pool.blocking_drain()`.
#[derive(Clone)]
#[doc(alias = "ants")]
#[doc(alias = "goroutine")]
#[doc(alias = "JoinSet")]
pub struct AsyncPool {
    pub(crate) shared: Arc<Started<Futures>>,
}

impl AsyncPool {
    /// A pool with up to `workers` futures in flight, and the default settings of the
    /// [builder](AsyncPool::builder), on the runtime that the caller is in.
    ///
    /// # Panics
    ///
    /// If `workers` is 0, and outside of a tokio runtime. The builder returns an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() {
    /// let pool = formic::AsyncPool::new(100_000);
    /// assert_eq!(pool.capacity(), 100_000);
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    #[doc(alias = "NewPool")]
    pub fn new(workers: usize) -> Self {
        match AsyncPool::builder().workers(workers).build() {
            Ok(pool) => pool,
            Err(error) => panic!("{error}"),
        }
    }

    /// All settings. Unless it is told otherwise, 1024 futures may be in flight and 4096 queued.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncPool, WhenFull};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), formic::BuildError> {
    /// let pool = AsyncPool::builder().workers(500).queue(0).when_full(WhenFull::Refuse).build()?;
    /// assert_eq!(pool.capacity(), 500);
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> Builder<AsyncPool> {
        Builder::new().workers(IN_FLIGHT)
    }

    pub(super) fn engine(&self) -> &Arc<Engine<Futures>> {
        &self.shared.engine
    }

    // ---- Submitting -----------------------------------------------------------------------------

    /// Hands a future over. Waits while the pool is full, if its policy is to wait: submitters enter in
    /// order of arrival. Dropped while it waits, it gives its place back, and the future is dropped.
    ///
    /// # Errors
    ///
    /// [`SubmitError`] gives the future back: the pool is closed, it is full and
    /// [refuses](WhenFull::Refuse), [too many](Builder::waiters) wait, or its runtime is gone.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncPool::new(2);
    /// let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
    /// pool.submit(async move { sender.send("done").await.unwrap() }).await?;
    /// assert_eq!(receiver.recv().await, Some("done"));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    #[doc(alias = "execute")]
    #[doc(alias = "Go")]
    pub fn submit<F>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<(), SubmitError<F>>> + Send + use<F>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let job = Job::Bare(self.engine().work().cell(future, Location::caller()));
        let pool = self.clone();
        async move { pool.enter(job).await.map_err(refuse) }
    }

    /// Hands a future over if there is a place for it now.
    ///
    /// # Errors
    ///
    /// [`SubmitError`] gives the future back; [`Refused::Full`] if there is no place.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncPool, Refused};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = AsyncPool::builder().workers(1).queue(0).build()?;
    /// pool.try_submit(std::future::pending())?;
    /// let error = pool.try_submit(std::future::pending()).unwrap_err();
    /// assert_eq!(error.reason(), Refused::Full);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    #[doc(alias = "Nonblocking")]
    pub fn try_submit<F>(&self, future: F) -> Result<(), SubmitError<F>>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let job = Job::Bare(self.engine().work().cell(future, Location::caller()));
        self.engine().submit(job, Patience::None).map_err(refuse)
    }

    /// Hands a future over, and blocks the thread while the pool is full, if its policy is to wait. Async
    /// code awaits [`submit`](AsyncPool::submit) instead.
    ///
    /// # Errors
    ///
    /// [`SubmitError`] gives the future back: as [`submit`](AsyncPool::submit), and with
    /// [`Refused::InRuntime`] if the call would have to wait on a thread that polls for a tokio runtime, where
    /// to block could mean to wait for ever. `spawn_blocking`, `block_in_place` and all other threads may
    /// block.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::AsyncPool;
    ///
    /// let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    /// let pool = AsyncPool::builder().runtime(runtime.handle().clone()).build()?;
    /// for number in 0..100 {
    ///     pool.blocking_submit(async move { assert!(number < 100) })?;
    /// }
    /// runtime.block_on(pool.drain())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn blocking_submit<F>(&self, future: F) -> Result<(), SubmitError<F>>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let job = Job::Bare(self.engine().work().cell(future, Location::caller()));
        self.engine().submit(job, self.shared.patience()).map_err(refuse)
    }

    /// Hands a future over, and waits for a place like [`submit`](AsyncPool::submit). Its result can be
    /// awaited, or joined by a thread that may block; to
    /// [cancel](JoinHandle::cancel) it drops the future where it stands.
    ///
    /// # Errors
    ///
    /// As [`submit`](AsyncPool::submit).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncPool::new(2);
    /// let never = pool.spawn(std::future::pending::<()>()).await?;
    /// let answer = pool.spawn(async { 6 * 7 }).await?;
    /// assert_eq!(answer.await?, 42);
    /// assert!(never.cancel());
    /// assert!(matches!(never.await, Err(formic::JoinError::Cancelled)));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn<F>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<JoinHandle<F::Output>, SubmitError<F>>> + Send + use<F>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (task_state, job) = self.task_state(future, Location::caller());
        let pool = self.clone();
        async move { handle(task_state, pool.enter(job).await) }
    }

    /// As [`spawn`](AsyncPool::spawn), if there is a place now.
    ///
    /// # Errors
    ///
    /// As [`try_submit`](AsyncPool::try_submit).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncPool::new(2);
    /// assert_eq!(pool.try_spawn(async { "at once" })?.await?, "at once");
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn try_spawn<F>(&self, future: F) -> Result<JoinHandle<F::Output>, SubmitError<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (task_state, job) = self.task_state(future, Location::caller());
        handle(task_state, self.engine().submit(job, Patience::None))
    }

    /// The task state of a future, and what stands in the queue for it.
    pub(crate) fn task_state<F>(
        &self,
        future: F,
        origin: &'static Location<'static>,
    ) -> (Arc<Spawned<F>>, Job)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let cell = self.engine().work().cell(future, origin);
        TaskState::new(self.engine(), cell, origin)
    }

    /// The runtime whose timers limit a wait.
    pub(crate) fn timers(&self) -> Option<Handle> {
        self.engine().work().host().timers()
    }

    pub(super) async fn enter(&self, job: Job) -> Result<(), (Job, Refused)> {
        match self.shared.when_full {
            WhenFull::Wait => self.engine().enter(job).await,
            _ => self.engine().submit(job, Patience::None),
        }
    }
}

impl Deref for AsyncPool {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.shared.control
    }
}

impl fmt::Debug for AsyncPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncPool").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
