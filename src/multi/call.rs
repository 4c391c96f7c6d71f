//! Calls of the function of a `Multi` whose shards have one.

use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;
#[cfg(feature = "tokio")]
use {crate::async_pool::AsyncFnPool, std::future::Future};

use super::Multi;
use crate::admission::Admits;
use crate::control::deadline;
use crate::engine::Patience;
use crate::error::{CallError, Refused, SubmitError};
use crate::fn_pool::FnPool;
use crate::handle::JoinHandle;

impl<T: Send + 'static, R: Send + 'static> Multi<FnPool<T, R>> {
    /// Calls the function of the chosen shard and blocks until its result is there, after it has waited for a place as
    /// `submit` does.
    ///
    /// # Errors
    ///
    /// [`CallError`]: refused, with the argument; cancelled; or the function panicked.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, FnPool, Multi};
    ///
    /// let squares = Multi::new(2, Balance::RoundRobin, || FnPool::new(1, |n: u64| n * n));
    /// assert_eq!(squares.call(9)?, 81);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[doc(alias = "Process")]
    pub fn call(&self, argument: T) -> Result<R, CallError<T>> {
        let handle = self.spawn(argument).map_err(CallError::Refused)?;
        Ok(handle.join()?)
    }

    /// As `call`, for up to `time`, the wait for a place included; it waits for one whatever
    /// [`Builder::when_full`](crate::Builder::when_full) says. When the time is over, the call is taken back, or asked to
    /// stop if it runs, as by [`FnPool::call_timeout`](crate::FnPool::call_timeout).
    ///
    /// # Errors
    ///
    /// As [`FnPool::call_timeout`](crate::FnPool::call_timeout): an argument whose call has not started comes back.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, CallError, FnPool, Multi};
    /// use std::time::Duration;
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || {
    ///     FnPool::new(1, |()| {
    ///         while !formic::is_cancelled() {
    ///             std::thread::yield_now();
    ///         }
    ///     })
    /// });
    /// let error = multi.call_timeout((), Duration::from_millis(10)).unwrap_err();
    /// assert!(matches!(error, CallError::TimedOut | CallError::Refused(_)));
    /// multi.drain()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[doc(alias = "ProcessTimed")]
    pub fn call_timeout(&self, argument: T, time: Duration) -> Result<R, CallError<T>> {
        let (end, origin) = (deadline(time), Location::caller());
        let held = match self.hold(1, Patience::Until(end)) {
            Ok(held) => held,
            Err(refused) => {
                return Err(CallError::Refused(SubmitError::new(argument, refused)));
            }
        };
        let task_state = held.spawn(argument, origin);
        if let Some(outcome) = JoinHandle::new(Arc::clone(&task_state) as _).wait(end) {
            return Ok(outcome?);
        }
        match task_state.take_back() {
            Some(argument) => Err(CallError::Refused(SubmitError::new(argument, Refused::Expired))),
            None => Err(CallError::TimedOut),
        }
    }
}

#[cfg(feature = "tokio")]
impl<T: Send + 'static, R: Send + 'static> Multi<AsyncFnPool<T, R>> {
    /// Calls the function of the chosen shard and waits for its result, after it has waited for a place as `submit` does.
    ///
    /// # Errors
    ///
    /// [`CallError`]: refused, with the argument; cancelled; or the function panicked.
    ///
    /// # Cancel safety
    ///
    /// Dropped, the call is cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncFnPool, Balance, Multi};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let double = Multi::new(2, Balance::RoundRobin, || AsyncFnPool::new(2, |n: u32| async move { 2 * n }));
    /// assert_eq!(double.call(21).await?, 42);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    #[doc(alias = "Process")]
    pub fn call(
        &self,
        argument: T,
    ) -> impl Future<Output = Result<R, CallError<T>>> + Send + use<T, R> {
        let spawned = self.spawn(argument);
        async move {
            let handle = spawned.await.map_err(CallError::Refused)?;
            Ok(handle.cancel_on_drop().await?)
        }
    }

    /// As `call_within`, under the name that limits a call on every pool of one function.
    ///
    /// # Errors
    ///
    /// As `call_within`: an argument whose call has not started comes back.
    ///
    /// # Panics
    ///
    /// As `call_within`.
    ///
    /// # Cancel safety
    ///
    /// Dropped, the call is cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AsyncFnPool, Balance, CallError, Multi};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main]
    /// # async fn main() {
    /// let sleeps = Multi::new(2, Balance::RoundRobin, || AsyncFnPool::new(2, tokio::time::sleep));
    /// let error = sleeps.call_timeout(Duration::from_secs(60), Duration::from_millis(50)).await;
    /// assert!(matches!(error, Err(CallError::TimedOut)));
    /// # }
    /// ```
    #[track_caller]
    #[doc(alias = "ProcessTimed")]
    pub fn call_timeout(
        &self,
        argument: T,
        time: Duration,
    ) -> impl Future<Output = Result<R, CallError<T>>> + Send + use<T, R> {
        self.call_within(argument, time)
    }
}
