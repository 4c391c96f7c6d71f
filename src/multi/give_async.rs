//! The verbs of a `Multi` of pools of futures.

use std::future::Future;
use std::panic::Location;

use super::Multi;
use super::give::{IfFull, Spawn, Submit};
use super::pack::Signed;
use crate::async_pool::{AsyncFnPool, AsyncPool, futures};
use crate::error::SubmitError;
use crate::fn_pool::Job;
use crate::handle::JoinHandle;

/// A pool of futures has drivers on a runtime, which one pool keeps busy as well as several do. So
/// shards are for kinds of load that should not stand in one queue, or for several runtimes.
impl Multi<AsyncPool> {
    /// Hands a future over to the chosen shard, fire and forget.
    ///
    /// If that shard refuses it, the least loaded of all is asked. If that one has no place either, it
    /// does what its [`Builder::when_full`](crate::Builder::when_full) says: by default the call waits
    /// there for a place. Dropped while it waits, it gives its place back, and the future is dropped.
    /// The shard is chosen when the call is first polled.
    ///
    /// Awaited by a future of an open shard it never waits: see [`Multi::submit`] of closures.
    ///
    /// # Errors
    ///
    /// The future comes back with the reason of the shard that was asked last, as with
    /// [`AsyncPool::submit`].
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncPool, Balance, Multi};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let multi = Multi::new(2, Balance::RoundRobin, || AsyncPool::new(1000));
    /// for _ in 0..100 {
    ///     multi.submit(async { tokio::task::yield_now().await }).await?;
    /// }
    /// multi.drain().await?;
    /// assert_eq!(multi.stats().completed, 100);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn submit<F>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<(), SubmitError<F>>> + Send + use<F>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let job = futures::Job::Bare(futures::cell(future, Location::caller()));
        let multi = self.clone();
        async move {
            multi
                .give_async::<Submit, _>(job)
                .await
                .map_err(|error| error.map(futures::Job::into_future))
        }
    }

    /// As `submit`, but never waits: hands the future over if the chosen shard or the least loaded one
    /// has a place for it now.
    ///
    /// # Errors
    ///
    /// The future comes back with the reason: `Full`, `Closed` or `NoWorker`.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncPool, Balance, Multi, Refused};
    /// use std::future::pending;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let make = || AsyncPool::builder().workers(1).queue(0).build();
    /// let multi = Multi::try_new(2, Balance::RoundRobin, make)?;
    /// multi.try_submit(pending())?;
    /// multi.try_submit(pending())?;
    /// let error = multi.try_submit(pending()).unwrap_err();
    /// assert_eq!(error.reason(), Refused::Full);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn try_submit<F>(&self, future: F) -> Result<(), SubmitError<F>>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let job = futures::Job::Bare(futures::cell(future, Location::caller()));
        self.give::<Submit, _>(job, IfFull::Refuse)
            .map_err(|error| error.map(futures::Job::into_future))
    }

    /// As `submit`, and blocks the thread while it waits. Async code awaits `submit` instead.
    ///
    /// # Errors
    ///
    /// As `submit`, and `InRuntime` if the call would have to wait on a thread that polls for a tokio
    /// runtime: see [`AsyncPool::blocking_submit`].
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncPool, Balance, Multi};
    ///
    /// let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    /// let make = || AsyncPool::builder().runtime(runtime.handle().clone()).build();
    /// let multi = Multi::try_new(2, Balance::RoundRobin, make)?;
    /// multi.blocking_submit(async {})?;
    /// runtime.block_on(multi.drain())?;
    /// assert_eq!(multi.stats().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn blocking_submit<F>(&self, future: F) -> Result<(), SubmitError<F>>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let job = futures::Job::Bare(futures::cell(future, Location::caller()));
        self.give::<Submit, _>(job, IfFull::AsBuilt)
            .map_err(|error| error.map(futures::Job::into_future))
    }

    /// As `submit`, with a handle to the result.
    ///
    /// # Errors
    ///
    /// As `submit`: the future comes back.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncPool, Balance, Multi};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let multi = Multi::new(2, Balance::PowerOfTwo, || AsyncPool::new(10));
    /// let answer = multi.spawn(async { 6 * 7 }).await?;
    /// assert_eq!(answer.await?, 42);
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
        let signed = Signed(future, Location::caller());
        let multi = self.clone();
        async move {
            multi
                .give_async::<Spawn, _>(signed)
                .await
                .map_err(|error| error.map(|Signed(task, _)| task))
        }
    }

    /// As `try_submit`, with a handle to the result.
    ///
    /// # Errors
    ///
    /// As `try_submit`: the future comes back.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncPool, Balance, Multi};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let multi = Multi::new(2, Balance::LeastLoaded, || AsyncPool::new(10));
    /// assert_eq!(multi.try_spawn(async { "done" })?.await?, "done");
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn try_spawn<F>(&self, future: F) -> Result<JoinHandle<F::Output>, SubmitError<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let signed = Signed(future, Location::caller());
        self.give::<Spawn, _>(signed, IfFull::Refuse)
            .map_err(|error| error.map(|Signed(task, _)| task))
    }
}

impl<T: Send + 'static, R: Send + 'static> Multi<AsyncFnPool<T, R>> {
    /// Calls the function of the chosen shard with this argument, fire and forget. Falls
    /// over to the least loaded shard, and waits, as [`Multi::submit`] of futures does.
    ///
    /// # Errors
    ///
    /// The argument comes back with the reason of the shard that was asked last.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncFnPool, Balance, Multi};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let make = || AsyncFnPool::new(100, |number: u32| async move { println!("{number}") });
    /// let multi = Multi::new(2, Balance::RoundRobin, make);
    /// multi.submit(7).await?;
    /// multi.drain().await?;
    /// assert_eq!(multi.stats().completed, 1);
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
        let multi = self.clone();
        async move {
            multi.give_async::<Submit, _>(job).await.map_err(|error| error.map(Job::into_bare))
        }
    }

    /// As `submit`, but never waits.
    ///
    /// # Errors
    ///
    /// The argument comes back with the reason: `Full`, `Closed` or `NoWorker`.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncFnPool, Balance, Multi, Refused};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let make = || AsyncFnPool::new(100, |number: u32| async move { number + 1 });
    /// let multi = Multi::new(2, Balance::RoundRobin, make);
    /// multi.try_submit(7)?;
    /// multi.drain().await?;
    /// let error = multi.try_submit(8).unwrap_err();
    /// assert_eq!((error.reason(), error.into_task()), (Refused::Closed, 8));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn try_submit(&self, argument: T) -> Result<(), SubmitError<T>> {
        let job = Job::Bare(argument, Location::caller());
        self.give::<Submit, _>(job, IfFull::Refuse).map_err(|error| error.map(Job::into_bare))
    }

    /// As `submit`, and blocks the thread while it waits. Async code awaits `submit` instead.
    ///
    /// # Errors
    ///
    /// As `submit`, and `InRuntime` if the call would have to wait on a thread that polls for a tokio
    /// runtime: see [`AsyncPool::blocking_submit`].
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncFnPool, Balance, Multi};
    ///
    /// let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    /// let make = || {
    ///     let builder = AsyncFnPool::builder().runtime(runtime.handle().clone());
    ///     builder.build(|number: u32| async move { println!("{number}") })
    /// };
    /// let multi = Multi::try_new(2, Balance::RoundRobin, make)?;
    /// multi.blocking_submit(7)?;
    /// runtime.block_on(multi.drain())?;
    /// assert_eq!(multi.stats().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn blocking_submit(&self, argument: T) -> Result<(), SubmitError<T>> {
        let job = Job::Bare(argument, Location::caller());
        self.give::<Submit, _>(job, IfFull::AsBuilt).map_err(|error| error.map(Job::into_bare))
    }

    /// As `submit`, with a handle to the result.
    ///
    /// # Errors
    ///
    /// As `submit`: the argument comes back.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncFnPool, Balance, Multi};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let make = || AsyncFnPool::new(100, |number: u32| async move { number + 1 });
    /// let multi = Multi::new(2, Balance::RoundRobin, make);
    /// assert_eq!(multi.spawn(7).await?.await?, 8);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn(
        &self,
        argument: T,
    ) -> impl Future<Output = Result<JoinHandle<R>, SubmitError<T>>> + Send + use<T, R> {
        let signed = Signed(argument, Location::caller());
        let multi = self.clone();
        async move {
            multi
                .give_async::<Spawn, _>(signed)
                .await
                .map_err(|error| error.map(|Signed(task, _)| task))
        }
    }

    /// As `try_submit`, with a handle to the result.
    ///
    /// # Errors
    ///
    /// As `try_submit`: the argument comes back.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncFnPool, Balance, Multi};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let make = || AsyncFnPool::new(100, |number: u32| async move { number + 1 });
    /// let multi = Multi::new(2, Balance::RoundRobin, make);
    /// assert_eq!(multi.try_spawn(7)?.await?, 8);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn try_spawn(&self, argument: T) -> Result<JoinHandle<R>, SubmitError<T>> {
        let signed = Signed(argument, Location::caller());
        self.give::<Spawn, _>(signed, IfFull::Refuse)
            .map_err(|error| error.map(|Signed(task, _)| task))
    }
}
