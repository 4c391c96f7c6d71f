//! Places in pools of threads: the plain verbs block, those that end in `_async` are futures.

use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use super::Admits;
use crate::cancel_token::CancelToken;
use crate::control::deadline;
use crate::engine::Patience;
use crate::error::{Refused, SubmitError};
use crate::fn_pool::{FnPermit, FnPool};
use crate::multi::Multi;
use crate::permit::Permit;
use crate::pool::Pool;

/// The verbs of one kind of pool. `make` is a pool with two places, or of shards with two places each.
macro_rules! admission {
    (
        impl [$($generics:tt)*] $pool:ty;
        permit $permit:ident [$($of:ident),*];
        task [$($bounds:tt)*] [$($captured:ident),*] $task:ty;
        make $make:literal; give $give:literal;
    ) => {
        impl<$($generics)*> $pool {
            /// Waits for a place and holds it, so that the work can be fetched afterwards. Blocks the thread, whatever
            /// [`Builder::when_full`](crate::Builder::when_full) says; a task of the same pool gets its permit at
            /// once. Of several shards, the one that the next task would go to is asked first, then the least
            /// loaded one, where this waits.
            ///
            /// # Errors
            ///
            /// [`Refused`]: `Closed`, `NoWorker`, or `Full` if as many submitters wait as
            /// [may wait](crate::Builder::waiters).
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let pool = ", $make, ";")]
            /// let permit = pool.admit()?; // the work is fetched only now that there is a place for it
            #[doc = concat!("permit.submit(", $give, ");")]
            /// pool.drain()?;
            /// assert_eq!(pool.stats().completed, 1);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[doc(alias = "reserve")]
            #[doc(alias = "acquire")]
            pub fn admit(&self) -> Result<$permit<'_, $($of),*>, Refused> {
                self.hold(1, Patience::Until(None)).map($permit::new)
            }

            /// Holds a place if there is one now.
            ///
            /// # Errors
            ///
            /// `Full`, `Closed` or `NoWorker`.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let pool = ", $make, ";")]
            /// let all: Vec<_> = std::iter::from_fn(|| pool.try_admit().ok()).collect();
            /// assert_eq!(pool.try_admit().unwrap_err(), formic::Refused::Full);
            /// drop(all); // gives the places back
            /// assert!(pool.try_admit().is_ok());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn try_admit(&self) -> Result<$permit<'_, $($of),*>, Refused> {
                self.hold(1, Patience::None).map($permit::new)
            }

            /// Waits for a place for up to `time`, and holds it. Blocks the thread.
            ///
            /// # Errors
            ///
            /// `TimedOut`; otherwise as [`admit`](Self::admit).
            ///
            /// # Examples
            ///
            /// ```
            /// use std::time::Duration;
            ///
            #[doc = concat!("let pool = ", $make, ";")]
            /// let all: Vec<_> = std::iter::from_fn(|| pool.try_admit().ok()).collect();
            /// let refused = pool.admit_timeout(Duration::from_millis(5)).unwrap_err();
            /// assert_eq!(refused, formic::Refused::TimedOut);
            /// # drop(all);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn admit_timeout(&self, time: Duration) -> Result<$permit<'_, $($of),*>, Refused> {
                self.hold(1, Patience::Until(deadline(time))).map($permit::new)
            }

            /// As [`admit`](Self::admit), until `token` is cancelled.
            ///
            /// # Errors
            ///
            /// `Cancelled`; otherwise as [`admit`](Self::admit).
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let pool = ", $make, ";")]
            /// let token = formic::CancelToken::new();
            /// assert!(pool.admit_unless(&token).is_ok());
            /// token.cancel();
            /// assert_eq!(pool.admit_unless(&token).unwrap_err(), formic::Refused::Cancelled);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn admit_unless(
                &self,
                token: &CancelToken,
            ) -> Result<$permit<'_, $($of),*>, Refused> {
                let held = token.block_on(self.hold_async(1)).ok_or(Refused::Cancelled)??;
                Ok($permit::new(held))
            }

            /// [`admit`](Self::admit) as a future, for any executor. It borrows nothing, and keeps the pool open.
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
            /// let permit = tokio::spawn(pool.admit_async()).await??;
            #[doc = concat!("permit.submit(", $give, ");")]
            /// pool.drain_async().await?;
            /// assert_eq!(pool.stats().completed, 1);
            /// # Ok(())
            /// # }
            /// ```
            pub fn admit_async(
                &self,
            ) -> impl Future<Output = Result<$permit<'static, $($of),*>, Refused>> + Send + use<$($of),*>
            {
                let pool = self.clone();
                async move { pool.hold_async(1).await.map(|held| $permit::new(held.into_owned())) }
            }

            /// Waits for a place, and holds it together with others that are free: up to `max`. The permits come out
            /// of an iterator, and those that are left in it when it is dropped give their places back. A `max` of
            /// zero holds nothing and waits for nothing. Blocks the thread as [`admit`](Self::admit) does.
            ///
            /// A consumer of messages fetches as many as it has permits: `fetch(permits.len())`. No place is taken
            /// from submitters that wait, and none of a closed pool. Of several shards, all places are those of one.
            ///
            /// # Errors
            ///
            /// As [`admit`](Self::admit).
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let pool = ", $make, ";")]
            /// let mut permits = pool.admit_many(100)?;
            /// assert_eq!(permits.len(), 2);
            /// for permit in permits.by_ref().take(1) {
            #[doc = concat!("    permit.submit(", $give, ");")]
            /// }
            /// drop(permits); // one place goes back
            /// pool.drain()?;
            /// assert_eq!(pool.stats().completed, 1);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[doc(alias = "reserve_many")]
            #[doc(alias = "acquire_many")]
            pub fn admit_many(
                &self,
                max: usize,
            ) -> Result<impl ExactSizeIterator<Item = $permit<'_, $($of),*>> + Send, Refused> {
                Ok(self.hold(max, Patience::Until(None))?.map($permit::new))
            }

            /// As [`admit_many`](Self::admit_many), but does not wait: holds the places that are free now, up to `max`.
            ///
            /// # Errors
            ///
            /// As [`try_admit`](Self::try_admit): `Full` if no place is free.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let pool = ", $make, ";")]
            /// let permits: Vec<_> = pool.try_admit_many(100)?.collect();
            /// assert_eq!(permits.len(), 2);
            /// # drop(permits);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[doc(alias = "try_reserve_many")]
            pub fn try_admit_many(
                &self,
                max: usize,
            ) -> Result<impl ExactSizeIterator<Item = $permit<'_, $($of),*>> + Send, Refused> {
                Ok(self.hold(max, Patience::None)?.map($permit::new))
            }

            /// [`admit_many`](Self::admit_many) as a future, for any executor. It borrows nothing, and keeps the pool
            /// open.
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
            /// for permit in pool.admit_many_async(2).await? {
            #[doc = concat!("    permit.submit(", $give, ");")]
            /// }
            /// pool.drain_async().await?;
            /// assert_eq!(pool.stats().completed, 2);
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
                let pool = self.clone();
                async move { Ok(pool.hold_async(max).await?.into_owned().map($permit::new)) }
            }

            /// As `submit`, but waits for a place for up to `time`, whatever
            /// [`Builder::when_full`](crate::Builder::when_full) says. Blocks the thread.
            ///
            /// # Errors
            ///
            /// What was submitted comes back with the reason: `TimedOut`; otherwise as [`admit`](Self::admit).
            ///
            /// # Examples
            ///
            /// ```
            /// use std::time::Duration;
            ///
            #[doc = concat!("let pool = ", $make, ";")]
            #[doc = concat!("pool.submit_timeout(", $give, ", Duration::from_secs(60))?;")]
            /// pool.wait_idle()?;
            /// let all: Vec<_> = std::iter::from_fn(|| pool.try_admit().ok()).collect();
            #[doc = concat!("let error = pool.submit_timeout(", $give, ", Duration::from_millis(5)).unwrap_err();")]
            /// assert_eq!(error.reason(), formic::Refused::TimedOut);
            /// # drop(all);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[track_caller]
            pub fn submit_timeout<$($bounds)*>(
                &self,
                task: $task,
                time: Duration,
            ) -> Result<(), SubmitError<$task>> {
                self.submit_with(task, Patience::Until(deadline(time)))
            }

            /// As `submit`, but waits for a place until `token` is cancelled, whatever
            /// [`Builder::when_full`](crate::Builder::when_full) says. Blocks the thread.
            ///
            /// # Errors
            ///
            /// What was submitted comes back with the reason: `Cancelled`; otherwise as [`admit`](Self::admit).
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let pool = ", $make, ";")]
            /// let token = formic::CancelToken::new();
            #[doc = concat!("pool.submit_unless(&token, ", $give, ")?;")]
            /// token.cancel();
            #[doc = concat!("let error = pool.submit_unless(&token, ", $give, ").unwrap_err();")]
            /// assert_eq!(error.reason(), formic::Refused::Cancelled);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[track_caller]
            pub fn submit_unless<$($bounds)*>(
                &self,
                token: &CancelToken,
                task: $task,
            ) -> Result<(), SubmitError<$task>> {
                match self.admit_unless(token) {
                    Ok(permit) => Ok(permit.submit(task)),
                    Err(refused) => Err(SubmitError::new(task, refused)),
                }
            }

            /// `submit` as a future, for any executor. Waits for a place, whatever
            /// [`Builder::when_full`](crate::Builder::when_full) says. It borrows nothing, and keeps the pool open.
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
            /// pool.drain_async().await?;
            /// assert_eq!(pool.stats().completed, 1);
            /// # Ok(())
            /// # }
            /// ```
            #[track_caller]
            pub fn submit_async<$($bounds)*>(
                &self,
                task: $task,
            ) -> impl Future<Output = Result<(), SubmitError<$task>>> + Send + use<$($captured),*> {
                let (admitted, origin) = (self.admit_async(), Location::caller());
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
    impl [] Pool;
    permit Permit [];
    task [F: FnOnce() + Send + 'static] [F] F;
    make "formic::Pool::builder().workers(1).queue(1).build()?"; give "|| ()";
}

admission! {
    impl [T: Send + 'static, R: Send + 'static] FnPool<T, R>;
    permit FnPermit [T, R];
    task [] [T, R] T;
    make "formic::FnPool::builder().workers(1).queue(1).build(|n: u64| n * n)?"; give "7";
}

admission! {
    impl [] Multi<Pool>;
    permit Permit [];
    task [F: FnOnce() + Send + 'static] [F] F;
    make "formic::Multi::try_new(2, formic::Balance::RoundRobin, || formic::Pool::builder().workers(1).queue(1).build())?";
    give "|| ()";
}

admission! {
    impl [T: Send + 'static, R: Send + 'static] Multi<FnPool<T, R>>;
    permit FnPermit [T, R];
    task [] [T, R] T;
    make "formic::Multi::try_new(2, formic::Balance::RoundRobin, || formic::FnPool::builder().workers(1).queue(1).build(|n: u64| n * n))?";
    give "7";
}
