//! The function of a pool as a service, the same for every pool of one function.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::{Context, Poll};

use tower_service::Service;

use super::place::Place;
use super::{Flatten, Response, ServiceError};
use crate::admission::start;
#[cfg(feature = "tokio")]
use crate::async_pool::{self, AsyncFnPool};
use crate::fn_pool::{self, FnPool};
use crate::multi::Multi;

/// The function of an [`FnPool`] as a [`Service`]: a request is an argument, a response is a result. It keeps the pool
/// open. The [module](super) has the contract.
///
/// # Panics
///
/// `call` panics if `poll_ready` was not ready before.
///
/// # Examples
///
/// ```
/// use formic::FnPool;
/// use tower::{Service, ServiceExt};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = FnPool::builder().workers(1).queue(0).build(|n: u64| n * n)?;
/// let mut squares = pool.service();
/// squares.ready().await?; // holds the only place
/// assert!(pool.try_admit().is_err());
/// assert_eq!(squares.call(9).await?, 81);
/// # Ok(())
/// # }
/// ```
pub struct FnService<T: Send + 'static, R: Send + 'static> {
    place: Place<fn_pool::Calls<T, R>>,
}

/// The function of an [`AsyncFnPool`] as a [`Service`]: a request is an argument, a response is a result. It keeps the
/// pool open. The [module](super) has the contract.
///
/// # Panics
///
/// `call` panics if `poll_ready` was not ready before.
///
/// # Examples
///
/// ```
/// use formic::AsyncFnPool;
/// use tower::{Service, ServiceExt};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = AsyncFnPool::builder().workers(1).queue(0).build(|n: u64| async move { n * n })?;
/// let mut squares = pool.service();
/// squares.ready().await?; // holds the only place
/// assert!(pool.try_admit().is_err());
/// assert_eq!(squares.call(9).await?, 81);
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "tokio")]
pub struct AsyncFnService<T: Send + 'static, R: Send + 'static> {
    place: Place<async_pool::calls::Calls<T, R>>,
}

/// What a service has, for one kind of pool.
macro_rules! service {
    ($service:ident, $make:literal) => {
        impl<T: Send + 'static, R: Send + 'static> Service<T> for $service<T, R> {
            type Response = R;
            type Error = ServiceError;
            type Future = Response<R>;

            fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ServiceError>> {
                self.place.poll(context).map_err(ServiceError::from)
            }

            #[track_caller]
            fn call(&mut self, argument: T) -> Response<R> {
                let held = self.place.take();
                Response::new(start(held, argument, self.place.origin).1)
            }
        }

        impl<T: Send + 'static, R: Send + 'static, E: Send + 'static> $service<T, Result<R, E>> {
            /// The same service, with the errors of the function as errors of the service. A place that is held stays
            /// held.
            ///
            /// # Examples
            ///
            /// ```
            /// use tower::ServiceExt;
            ///
            /// # #[tokio::main]
            /// # async fn main() {
            #[doc = concat!("let pool = ", $make, ";")]
            /// let error = pool.service().flatten().oneshot("seven").await.unwrap_err();
            /// assert_eq!(error.to_string(), "invalid digit found in string");
            /// # }
            /// ```
            pub fn flatten(self) -> Flatten<Self> {
                Flatten::new(self)
            }
        }

        /// A clone holds no place.
        impl<T: Send + 'static, R: Send + 'static> Clone for $service<T, R> {
            fn clone(&self) -> Self {
                $service { place: self.place.clone() }
            }
        }

        impl<T: Send + 'static, R: Send + 'static> fmt::Debug for $service<T, R> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($service)).finish_non_exhaustive()
            }
        }

        // The reasons are those of pools and permits: see `unwind`.
        impl<T: Send + 'static, R: Send + 'static> UnwindSafe for $service<T, R> {}
        impl<T: Send + 'static, R: Send + 'static> RefUnwindSafe for $service<T, R> {}
    };
}

service!(FnService, "formic::FnPool::new(1, |text: &str| text.parse::<u32>())");
#[cfg(feature = "tokio")]
service!(
    AsyncFnService,
    "formic::AsyncFnPool::new(1, |text: &str| { let number = text.parse::<u32>(); async { number } })"
);

/// The verb that makes a service.
macro_rules! verb {
    ($pool:ty, $service:ident, $make:literal) => {
        impl<T: Send + 'static, R: Send + 'static> $pool {
            /// The function of this pool as a tower service, whose `poll_ready` waits for a place and holds it. See
            /// [`formic::tower`](crate::tower).
            ///
            /// # Examples
            ///
            /// ```
            /// use tower::ServiceExt;
            ///
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            /// assert_eq!(pool.service().oneshot(9).await?, 81);
            /// # Ok(())
            /// # }
            /// ```
            #[must_use]
            #[track_caller]
            #[doc(alias = "tower")]
            pub fn service(&self) -> $service<T, R> {
                $service { place: Place::new(self) }
            }
        }
    };
}

verb!(FnPool<T, R>, FnService, "formic::FnPool::new(2, |n: u64| n * n)");
verb!(
    Multi<FnPool<T, R>>,
    FnService,
    "formic::Multi::new(2, formic::Balance::RoundRobin, || formic::FnPool::new(1, |n: u64| n * n))"
);
#[cfg(feature = "tokio")]
verb!(AsyncFnPool<T, R>, AsyncFnService, "formic::AsyncFnPool::new(2, |n: u64| async move { n * n })");
#[cfg(feature = "tokio")]
verb!(
    Multi<AsyncFnPool<T, R>>,
    AsyncFnService,
    "formic::Multi::new(2, formic::Balance::RoundRobin, || formic::AsyncFnPool::new(1, |n: u64| async move { n * n }))"
);
