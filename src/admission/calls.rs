//! Calls of a pool's function as futures, the same for every pool of one function.

use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

use super::Admits;
#[cfg(feature = "tokio")]
use crate::async_pool::AsyncFnPool;
use crate::engine::{Held, Patience, TaskState, Unpack};
use crate::error::{CallError, Refused, SubmitError};
use crate::fn_pool::FnPool;
use crate::handle::JoinHandle;
use crate::multi::Multi;
#[cfg(feature = "tokio")]
use {super::before, std::pin::pin, std::time::Duration, tokio::runtime::Handle};

/// The verbs of one kind of pool.
macro_rules! calls {
    (impl $pool:ty; make $make:literal;) => {
        impl<T: Send + 'static, R: Send + 'static> $pool {
            /// `call` as a future, for any executor. Waits for a place whatever
            /// [`Builder::when_full`](crate::Builder::when_full) says. It borrows nothing, and keeps the pool open.
            ///
            /// # Errors
            ///
            /// As `call`: an argument that was refused comes back.
            ///
            /// # Cancel safety
            ///
            /// Dropped, the call is cancelled.
            ///
            /// # Examples
            ///
            /// ```
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let squares = ", $make, ";")]
            /// let call = tokio::spawn(squares.call_async(9));
            /// assert_eq!(call.await??, 81);
            /// # Ok(())
            /// # }
            /// ```
            #[track_caller]
            #[doc(alias = "ProcessCtx")]
            pub fn call_async(
                &self,
                argument: T,
            ) -> impl Future<Output = Result<R, CallError<T>>> + Send + use<T, R> {
                let (pool, origin) = (self.clone(), Location::caller());
                async move {
                    match pool.hold_async(1).await {
                        Ok(held) => Ok(start(held, argument, origin).1.await?),
                        Err(refused) => Err(back(argument, refused)),
                    }
                }
            }

            /// As [`call_async`](Self::call_async), but does not wait for a place: calls the function if there is one
            /// when the future is first polled, and awaits the result.
            ///
            /// # Errors
            ///
            /// The argument comes back with [`Refused::Full`](crate::Refused::Full) if no place is free. Otherwise as
            /// `call`.
            ///
            /// # Cancel safety
            ///
            /// Dropped, the call is cancelled.
            ///
            /// # Examples
            ///
            /// ```
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let squares = ", $make, ";")]
            /// assert_eq!(squares.try_call_async(9).await?, 81);
            /// let all: Vec<_> = std::iter::from_fn(|| squares.try_admit().ok()).collect();
            /// let refused = squares.try_call_async(9).await.unwrap_err();
            /// assert_eq!(refused.into_argument(), Some(9));
            /// # drop(all);
            /// # Ok(())
            /// # }
            /// ```
            #[track_caller]
            pub fn try_call_async(
                &self,
                argument: T,
            ) -> impl Future<Output = Result<R, CallError<T>>> + Send + use<T, R> {
                let (pool, origin) = (self.clone(), Location::caller());
                async move {
                    let handle = match pool.hold(1, Patience::None) {
                        Ok(held) => start(held, argument, origin).1,
                        Err(refused) => return Err(back(argument, refused)),
                    };
                    Ok(handle.await?)
                }
            }

            /// As [`call_async`](Self::call_async), for up to `time`: the waits for a place and for the result are
            /// one. When the time is over, a call that has not started is taken back. A call that runs on a thread
            /// is asked to stop, by [`is_cancelled`](crate::is_cancelled); a future is dropped.
            ///
            /// The timers are those of the runtime of a pool of futures, and otherwise those of the runtime that this
            /// is awaited in.
            ///
            /// # Errors
            ///
            /// The argument comes back as [`CallError::Refused`]: with
            /// [`TimedOut`](crate::Refused::TimedOut) if there was no place for it in time, with
            /// [`Expired`](crate::Refused::Expired) if it was accepted and had not started, and with
            /// [`NoRuntime`](crate::Refused::NoRuntime) if there are no timers. [`CallError::TimedOut`] says that
            /// the call had started. Otherwise as `call`.
            ///
            /// # Panics
            ///
            /// If that runtime has no timers (`enable_time`).
            ///
            /// # Cancel safety
            ///
            /// Dropped, the call is cancelled.
            ///
            /// # Examples
            ///
            /// ```
            /// use std::time::Duration;
            ///
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let squares = ", $make, ";")]
            /// assert_eq!(squares.call_within(9, Duration::from_secs(60)).await?, 81);
            /// let all: Vec<_> = std::iter::from_fn(|| squares.try_admit().ok()).collect();
            /// let late = squares.call_within(9, Duration::from_millis(5)).await.unwrap_err();
            /// assert_eq!(late.into_argument(), Some(9)); // it has not started
            /// # drop(all);
            /// # Ok(())
            /// # }
            /// ```
            #[cfg(feature = "tokio")]
            #[track_caller]
            #[doc(alias = "ProcessTimed")]
            #[doc(alias = "timeout")]
            pub fn call_within(
                &self,
                argument: T,
                time: Duration,
            ) -> impl Future<Output = Result<R, CallError<T>>> + Send + use<T, R> {
                let (pool, origin) = (self.clone(), Location::caller());
                async move { within(&pool, pool.timers(), argument, time, origin).await }
            }
        }
    };
}

calls! {
    impl FnPool<T, R>;
    make "formic::FnPool::builder().workers(2).queue(1).build(|n: u64| n * n)?";
}

calls! {
    impl Multi<FnPool<T, R>>;
    make "formic::Multi::try_new(2, formic::Balance::RoundRobin, || formic::FnPool::builder().workers(1).queue(1).build(|n: u64| n * n))?";
}

#[cfg(feature = "tokio")]
calls! {
    impl AsyncFnPool<T, R>;
    make "formic::AsyncFnPool::builder().workers(2).queue(1).build(|n: u64| async move { n * n })?";
}

#[cfg(feature = "tokio")]
calls! {
    impl Multi<AsyncFnPool<T, R>>;
    make "formic::Multi::try_new(2, formic::Balance::RoundRobin, || formic::AsyncFnPool::builder().workers(1).queue(1).build(|n: u64| async move { n * n }))?";
}

#[cfg(feature = "tokio")]
impl<T: Send + 'static, R: Send + 'static> FnPool<T, R> {
    /// A pool of threads has no timers.
    #[expect(clippy::unused_self, reason = "the other pools look at their own runtime")]
    fn timers(&self) -> Option<Handle> {
        Handle::try_current().ok()
    }
}

#[cfg(feature = "tokio")]
impl<T: Send + 'static, R: Send + 'static> Multi<FnPool<T, R>> {
    fn timers(&self) -> Option<Handle> {
        self.shards()[0].timers()
    }
}

/// Puts a call into the place. It is cancelled if its handle is dropped.
pub(crate) fn start<W, T, R>(
    held: Held<'_, W>,
    argument: T,
    origin: &'static Location<'static>,
) -> (Arc<TaskState<W, T, R>>, JoinHandle<R>)
where
    W: Unpack<T, R>,
    T: Send + 'static,
    R: Send + 'static,
{
    let task_state = held.spawn(argument, origin);
    let handle = JoinHandle::new(Arc::clone(&task_state) as _).cancel_on_drop();
    (task_state, handle)
}

pub(super) fn back<T>(argument: T, refused: Refused) -> CallError<T> {
    CallError::Refused(SubmitError::new(argument, refused))
}

/// The time of a call is over. One that has not started is taken back, and one that runs is asked to stop.
pub(super) fn late<W, T, R>(task_state: &TaskState<W, T, R>) -> CallError<T>
where
    W: Unpack<T, R>,
    T: Send + 'static,
    R: Send + 'static,
{
    match task_state.take_back() {
        Some(argument) => back(argument, Refused::Expired),
        None => CallError::TimedOut,
    }
}

#[cfg(feature = "tokio")]
async fn within<A, T, R>(
    pool: &A,
    timers: Option<Handle>,
    argument: T,
    time: Duration,
    origin: &'static Location<'static>,
) -> Result<R, CallError<T>>
where
    A: Admits<Work: Unpack<T, R>>,
    T: Send + 'static,
    R: Send + 'static,
{
    let Some(timers) = timers else { return Err(back(argument, Refused::NoRuntime)) };
    let sleep = {
        let _inside = timers.enter();
        tokio::time::sleep(time)
    };
    let mut sleep = pin!(sleep);
    let held = match before(sleep.as_mut(), pool.hold_async(1)).await {
        Some(Ok(held)) => held,
        Some(Err(refused)) => return Err(back(argument, refused)),
        None => return Err(back(argument, Refused::TimedOut)),
    };
    let (task_state, mut handle) = start(held, argument, origin);
    match before(sleep, &mut handle).await {
        Some(outcome) => Ok(outcome?),
        None => Err(late(&task_state)),
    }
}
