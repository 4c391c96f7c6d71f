//! Places in pools of futures: the plain verbs are futures, and `blocking_admit` blocks.

use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use tokio::runtime::Handle;

use super::{Admits, within};
use crate::async_pool::{AsyncFnPermit, AsyncFnPool, AsyncPermit, AsyncPool};
use crate::engine::Patience;
use crate::error::{Refused, SubmitError};
use crate::multi::Multi;

/// The verbs of one kind of pool. `make` is a pool with two places, or of shards with two places each.
macro_rules! admission {
    (
        impl [$($generics:tt)*] $pool:ty;
        permit $permit:ident [$($of:ident),*];
        task [$($bounds:tt)*] [$($captured:ident),*] $task:ty;
        make $make:literal; give $give:literal;
    ) => {
        impl<$($generics)*> $pool {
            /// Waits for a place and holds it, so that the work can be fetched afterwards. Waits whatever
            /// [`Builder::when_full`](crate::Builder::when_full) says; a task of the same pool gets its permit at
            /// once. Of several shards, the one that the next task would go to is asked first, then the least
            /// loaded one, where this waits. The future borrows nothing, and keeps the pool open.
            ///
            /// # Errors
            ///
            /// [`Refused`]: the pool is closed, [too many](crate::Builder::waiters) wait, or its runtime is gone.
            ///
            /// # Cancel safety
            ///
            /// Dropped while it waits, the future gives up its turn, and a place it had been given goes to the next.
            ///
            /// # Examples
            ///
            /// ```
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            /// let permit = pool.admit().await?; // the work is fetched only now that there is a place for it
            #[doc = concat!("permit.submit(", $give, ");")]
            /// pool.drain().await?;
            /// assert_eq!(pool.stats().completed, 1);
            /// # Ok(())
            /// # }
            /// ```
            #[doc(alias = "reserve")]
            #[doc(alias = "acquire")]
            pub fn admit(
                &self,
            ) -> impl Future<Output = Result<$permit<'static, $($of),*>, Refused>> + Send + use<$($of),*>
            {
                let pool = self.clone();
                async move { pool.hold_async(1).await.map(|held| $permit::new(held.into_owned())) }
            }

            /// Holds a place if there is one now.
            ///
            /// # Errors
            ///
            /// As `try_submit`: [`Refused::Full`] if no place is free.
            ///
            /// # Examples
            ///
            /// ```
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            /// let all: Vec<_> = std::iter::from_fn(|| pool.try_admit().ok()).collect();
            /// assert_eq!(pool.try_admit().unwrap_err(), formic::Refused::Full);
            /// drop(all); // gives the places back
            /// assert!(pool.try_admit().is_ok());
            /// # Ok(())
            /// # }
            /// ```
            pub fn try_admit(&self) -> Result<$permit<'_, $($of),*>, Refused> {
                self.hold(1, Patience::None).map($permit::new)
            }

            /// Waits for a place for up to `time`, and holds it.
            ///
            /// # Errors
            ///
            /// [`Refused::TimedOut`] when the time is over. [`Refused::NoRuntime`] if the pool has
            /// [threads of its own](crate::Builder::own_threads) and this is not awaited in a runtime, whose
            /// timers it needs then. Otherwise as [`admit`](Self::admit).
            ///
            /// # Panics
            ///
            /// If that runtime, or otherwise the pool's, has no timers (`enable_time`).
            ///
            /// # Examples
            ///
            /// ```
            /// use std::time::Duration;
            ///
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            /// let all: Vec<_> = std::iter::from_fn(|| pool.try_admit().ok()).collect();
            /// let refused = pool.admit_timeout(Duration::from_millis(5)).await.unwrap_err();
            /// assert_eq!(refused, formic::Refused::TimedOut);
            /// # drop(all);
            /// # Ok(())
            /// # }
            /// ```
            pub fn admit_timeout(
                &self,
                time: Duration,
            ) -> impl Future<Output = Result<$permit<'static, $($of),*>, Refused>> + Send + use<$($of),*>
            {
                let pool = self.clone();
                async move { within(pool.timers(), time, pool.admit()).await? }
            }

            /// As [`admit`](Self::admit), under the name that is a future on every kind of pool.
            ///
            /// # Errors
            ///
            /// As [`admit`](Self::admit).
            ///
            /// # Examples
            ///
            /// ```
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            /// let permit = tokio::spawn(pool.admit_async()).await??;
            #[doc = concat!("permit.submit(", $give, ");")]
            /// pool.drain().await?;
            /// assert_eq!(pool.stats().completed, 1);
            /// # Ok(())
            /// # }
            /// ```
            pub fn admit_async(
                &self,
            ) -> impl Future<Output = Result<$permit<'static, $($of),*>, Refused>> + Send + use<$($of),*>
            {
                self.admit()
            }

            /// As [`admit`](Self::admit), but blocks the thread. For threads that poll for no runtime.
            ///
            /// # Errors
            ///
            /// [`Refused::InRuntime`], at once, if this would block a thread that polls for a runtime. Otherwise as
            /// [`admit`](Self::admit).
            ///
            /// # Examples
            ///
            /// ```
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            /// let other = pool.clone();
            /// std::thread::spawn(move || {
            #[doc = concat!("    other.blocking_admit().unwrap().submit(", $give, ");")]
            /// });
            /// while pool.stats().completed < 1 {
            ///     tokio::task::yield_now().await;
            /// }
            /// # Ok(())
            /// # }
            /// ```
            pub fn blocking_admit(&self) -> Result<$permit<'_, $($of),*>, Refused> {
                self.hold(1, Patience::Until(None)).map($permit::new)
            }

            /// Waits for a place, and holds it together with others that are free: up to `max`. The permits come out
            /// of an iterator, and those that are left in it when it is dropped give their places back. A `max` of
            /// zero holds nothing and waits for nothing.
            ///
            /// A consumer of messages fetches as many as it has permits: `fetch(permits.len())`. No place is taken
            /// from submitters that wait, and none of a closed pool. Of several shards, all places are those of one.
            ///
            /// # Errors
            ///
            /// As [`admit`](Self::admit).
            ///
            /// # Cancel safety
            ///
            /// Dropped while it waits, the future gives up its turn, and a place it had been given goes to the next.
            ///
            /// # Examples
            ///
            /// ```
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            /// let mut permits = pool.admit_many(100).await?;
            /// assert_eq!(permits.len(), 2);
            /// for permit in permits.by_ref().take(1) {
            #[doc = concat!("    permit.submit(", $give, ");")]
            /// }
            /// drop(permits); // one place goes back
            /// pool.drain().await?;
            /// assert_eq!(pool.stats().completed, 1);
            /// # Ok(())
            /// # }
            /// ```
            #[doc(alias = "reserve_many")]
            #[doc(alias = "acquire_many")]
            pub fn admit_many(
                &self,
                max: usize,
            ) -> impl Future<
                Output = Result<
                    impl ExactSizeIterator<Item = $permit<'static, $($of),*>> + Send + use<$($of),*>,
                    Refused,
                >,
            > + Send + use<$($of),*> {
                let pool = self.clone();
                async move { Ok(pool.hold_async(max).await?.into_owned().map($permit::new)) }
            }

            /// As [`admit_many`](Self::admit_many), but does not wait: holds the places that are free now, up to `max`.
            ///
            /// # Errors
            ///
            /// As [`try_admit`](Self::try_admit): [`Refused::Full`] if no place is free.
            ///
            /// # Examples
            ///
            /// ```
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            /// let permits: Vec<_> = pool.try_admit_many(100)?.collect();
            /// assert_eq!(permits.len(), 2);
            /// # drop(permits);
            /// # Ok(())
            /// # }
            /// ```
            #[doc(alias = "try_reserve_many")]
            pub fn try_admit_many(
                &self,
                max: usize,
            ) -> Result<impl ExactSizeIterator<Item = $permit<'_, $($of),*>> + Send, Refused> {
                Ok(self.hold(max, Patience::None)?.map($permit::new))
            }

            /// As [`admit_many`](Self::admit_many), under the name that is a future on every kind of pool.
            ///
            /// # Errors
            ///
            /// As [`admit`](Self::admit).
            ///
            /// # Examples
            ///
            /// ```
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            /// assert_eq!(pool.admit_many_async(2).await?.len(), 2);
            /// # Ok(())
            /// # }
            /// ```
            pub fn admit_many_async(
                &self,
                max: usize,
            ) -> impl Future<
                Output = Result<
                    impl ExactSizeIterator<Item = $permit<'static, $($of),*>> + Send + use<$($of),*>,
                    Refused,
                >,
            > + Send + use<$($of),*> {
                self.admit_many(max)
            }

            /// As `submit`, but waits for a place for up to `time`, whatever
            /// [`Builder::when_full`](crate::Builder::when_full) says.
            ///
            /// # Errors
            ///
            /// What was submitted comes back with the reason, as from [`admit_timeout`](Self::admit_timeout).
            ///
            /// # Panics
            ///
            /// As [`admit_timeout`](Self::admit_timeout).
            ///
            /// # Examples
            ///
            /// ```
            /// use std::time::Duration;
            ///
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            #[doc = concat!("pool.submit_timeout(", $give, ", Duration::from_secs(60)).await?;")]
            /// pool.wait_idle().await?;
            /// let all: Vec<_> = std::iter::from_fn(|| pool.try_admit().ok()).collect();
            #[doc = concat!("let late = pool.submit_timeout(", $give, ", Duration::from_millis(5)).await;")]
            /// assert_eq!(late.unwrap_err().reason(), formic::Refused::TimedOut);
            /// # drop(all);
            /// # Ok(())
            /// # }
            /// ```
            #[track_caller]
            pub fn submit_timeout<$($bounds)*>(
                &self,
                task: $task,
                time: Duration,
            ) -> impl Future<Output = Result<(), SubmitError<$task>>> + Send + use<$($captured),*> {
                let (admitted, origin) = (self.admit_timeout(time), Location::caller());
                async move {
                    match admitted.await {
                        Ok(permit) => Ok(permit.submit_from(task, origin)),
                        Err(refused) => Err(SubmitError::new(task, refused)),
                    }
                }
            }

            /// As `submit`, under the name that is a future on every kind of pool. Waits for a place, whatever
            /// [`Builder::when_full`](crate::Builder::when_full) says.
            ///
            /// # Errors
            ///
            /// What was submitted comes back with the reason, as from [`admit`](Self::admit).
            ///
            /// # Cancel safety
            ///
            /// Dropped while it waits, the future gives up its turn, and drops what was to be submitted.
            ///
            /// # Examples
            ///
            /// ```
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            #[doc = concat!("pool.submit_async(", $give, ").await?;")]
            /// pool.drain().await?;
            /// assert_eq!(pool.stats().completed, 1);
            /// # Ok(())
            /// # }
            /// ```
            #[track_caller]
            pub fn submit_async<$($bounds)*>(
                &self,
                task: $task,
            ) -> impl Future<Output = Result<(), SubmitError<$task>>> + Send + use<$($captured),*> {
                let (admitted, origin) = (self.admit(), Location::caller());
                async move {
                    match admitted.await {
                        Ok(permit) => Ok(permit.submit_from(task, origin)),
                        Err(refused) => Err(SubmitError::new(task, refused)),
                    }
                }
            }
        }
    };
}

admission! {
    impl [] AsyncPool;
    permit AsyncPermit [];
    task [F: Future<Output = ()> + Send + 'static] [F] F;
    make "formic::AsyncPool::builder().workers(1).queue(1).build()?"; give "async {}";
}

admission! {
    impl [T: Send + 'static, R: Send + 'static] AsyncFnPool<T, R>;
    permit AsyncFnPermit [T, R];
    task [] [T, R] T;
    make "formic::AsyncFnPool::builder().workers(1).queue(1).build(|n: u64| async move { n * n })?";
    give "7";
}

admission! {
    impl [] Multi<AsyncPool>;
    permit AsyncPermit [];
    task [F: Future<Output = ()> + Send + 'static] [F] F;
    make "formic::Multi::try_new(2, formic::Balance::RoundRobin, || formic::AsyncPool::builder().workers(1).queue(1).build())?";
    give "async {}";
}

admission! {
    impl [T: Send + 'static, R: Send + 'static] Multi<AsyncFnPool<T, R>>;
    permit AsyncFnPermit [T, R];
    task [] [T, R] T;
    make "formic::Multi::try_new(2, formic::Balance::RoundRobin, || formic::AsyncFnPool::builder().workers(1).queue(1).build(|n: u64| async move { n * n }))?";
    give "7";
}

impl Multi<AsyncPool> {
    fn timers(&self) -> Option<Handle> {
        self.shards()[0].timers()
    }
}

impl<T: Send + 'static, R: Send + 'static> Multi<AsyncFnPool<T, R>> {
    pub(super) fn timers(&self) -> Option<Handle> {
        self.shards()[0].timers()
    }
}
