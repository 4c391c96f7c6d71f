//! Calls of a pool's function by the plain verbs: they block on pools of threads, and are futures on pools of futures.

use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};
#[cfg(feature = "tokio")]
use {crate::async_pool::AsyncFnPool, std::future::Future};

use super::Admits;
use super::calls::{back, late};
use crate::control::deadline;
use crate::engine::{Patience, Unpack};
use crate::error::CallError;
use crate::fn_pool::FnPool;
use crate::handle::JoinHandle;
use crate::multi::Multi;

/// The verbs of a kind of pool of threads. `make` is a pool whose function divides 84 by its argument, and `endless` one
/// whose function runs until it is cancelled.
macro_rules! blocking {
    (impl $pool:ty; make $make:literal; endless $endless:literal;) => {
        impl<T: Send + 'static, R: Send + 'static> $pool {
            /// Calls the function with this argument and blocks until its result is there, after it has waited for a
            /// place as `submit` does. A task that calls its own pool runs the function itself if the call has not
            /// started.
            ///
            /// # Errors
            ///
            /// [`CallError`]: the call was refused (the argument comes back), cancelled, or panicked.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let pool = ", $make, ";")]
            /// assert_eq!(pool.call(2)?, 42);
            /// assert!(matches!(pool.call(0), Err(formic::CallError::Panicked(_))));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[track_caller]
            #[doc(alias = "Process")]
            pub fn call(&self, argument: T) -> Result<R, CallError<T>> {
                let handle = self.spawn(argument).map_err(CallError::Refused)?;
                Ok(handle.join()?)
            }

            /// As [`call`](Self::call), for up to `time`, the wait for a place included; it waits for one
            /// whatever [`Builder::when_full`](crate::Builder::when_full) says. When the time is
            /// over and the call has not started, it is taken back. A call that runs is asked to stop, which
            /// it can hear by [`formic::is_cancelled`](crate::is_cancelled) and by
            /// [`formic::on_cancel`](fn@crate::on_cancel), whose function is called here; its worker serves on.
            ///
            /// # Errors
            ///
            /// As [`call`](Self::call). When the time is over, the argument comes back: as
            /// [`CallError::Refused`] with [`Refused::TimedOut`](crate::Refused::TimedOut) if there was no place for it,
            /// and with [`Refused::Expired`](crate::Refused::Expired) if it was accepted and had not started.
            /// [`CallError::TimedOut`] says that the call runs.
            ///
            /// # Examples
            ///
            /// ```
            /// use formic::CallError;
            /// use std::time::Duration;
            ///
            #[doc = concat!("let pool = ", $endless, ";")]
            /// let error = pool.call_timeout((), Duration::from_millis(10)).unwrap_err();
            /// assert!(matches!(error, CallError::TimedOut | CallError::Refused(_)));
            /// ```
            #[track_caller]
            #[doc(alias = "ProcessTimed")]
            pub fn call_timeout(&self, argument: T, time: Duration) -> Result<R, CallError<T>> {
                call_until(self, argument, deadline(time), Location::caller())
            }
        }
    };
}

blocking! {
    impl FnPool<T, R>;
    make "formic::FnPool::new(2, |n: u64| 84 / n)";
    endless "formic::FnPool::new(1, |()| while !formic::is_cancelled() { std::thread::yield_now() })";
}

blocking! {
    impl Multi<FnPool<T, R>>;
    make "formic::Multi::new(2, formic::Balance::RoundRobin, || formic::FnPool::new(1, |n: u64| 84 / n))";
    endless "formic::Multi::new(2, formic::Balance::RoundRobin, || formic::FnPool::new(1, |()| while !formic::is_cancelled() { std::thread::yield_now() }))";
}

fn call_until<A, T, R>(
    pool: &A,
    argument: T,
    end: Option<Instant>,
    origin: &'static Location<'static>,
) -> Result<R, CallError<T>>
where
    A: Admits<Work: Unpack<T, R>>,
    T: Send + 'static,
    R: Send + 'static,
{
    let held = match pool.hold(1, Patience::Until(end)) {
        Ok(held) => held,
        Err(refused) => return Err(back(argument, refused)),
    };
    let task_state = held.spawn(argument, origin);
    match JoinHandle::new(Arc::clone(&task_state) as _).wait(end) {
        Some(outcome) => Ok(outcome?),
        None => Err(late(&task_state)),
    }
}

/// The verbs of a kind of pool of futures. `make` is a pool whose function divides 84 by its argument, and `sleeps` one
/// whose function sleeps for so long.
#[cfg(feature = "tokio")]
macro_rules! awaited {
    (impl $pool:ty; make $make:literal; sleeps $sleeps:literal;) => {
        impl<T: Send + 'static, R: Send + 'static> $pool {
            /// Calls the function with this argument and waits for its result, after it has waited for a place as
            /// `submit` does.
            ///
            /// # Errors
            ///
            /// [`CallError`]: the call was refused (the argument comes back), cancelled, or panicked.
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
            #[doc = concat!("let pool = ", $make, ";")]
            /// assert_eq!(pool.call(2).await?, 42);
            /// assert!(matches!(pool.call(0).await, Err(formic::CallError::Panicked(_))));
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

            /// As [`call_within`](Self::call_within), under the name that limits a call on every pool of one function.
            ///
            /// # Errors
            ///
            /// As [`call_within`](Self::call_within): an argument whose call has not started comes back.
            ///
            /// # Panics
            ///
            /// As [`call_within`](Self::call_within).
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
            /// # async fn main() {
            #[doc = concat!("let pool = ", $sleeps, ";")]
            /// let error = pool.call_timeout(Duration::from_secs(60), Duration::from_millis(50)).await;
            /// assert!(matches!(error, Err(formic::CallError::TimedOut)));
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
    };
}

#[cfg(feature = "tokio")]
awaited! {
    impl AsyncFnPool<T, R>;
    make "formic::AsyncFnPool::new(2, |n: u32| async move { 84 / n })";
    sleeps "formic::AsyncFnPool::new(2, tokio::time::sleep)";
}

#[cfg(feature = "tokio")]
awaited! {
    impl Multi<AsyncFnPool<T, R>>;
    make "formic::Multi::new(2, formic::Balance::RoundRobin, || formic::AsyncFnPool::new(2, |n: u32| async move { 84 / n }))";
    sleeps "formic::Multi::new(2, formic::Balance::RoundRobin, || formic::AsyncFnPool::new(2, tokio::time::sleep))";
}
