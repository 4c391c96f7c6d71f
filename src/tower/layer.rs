//! A layer that runs the futures of another service on a pool.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::{Context, Poll, ready};

use tower_layer::Layer;
use tower_service::Service;

use super::place::Place;
use super::{FlatResponse, ServiceError};
use crate::async_pool::AsyncPool;
use crate::async_pool::futures::Futures;
use crate::handle::JoinHandle;
use crate::multi::Multi;

/// A [`Layer`] that runs the futures of a service on an [`AsyncPool`], made by `pool.layer()`. It keeps the pool open.
///
/// # Examples
///
/// ```
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = formic::AsyncPool::new(100);
/// let parse = service_fn(|text: &'static str| async move { text.parse::<u32>() });
/// let parse = ServiceBuilder::new().layer(pool.layer()).service(parse);
/// assert_eq!(parse.oneshot("7").await?, 7);
/// assert_eq!(pool.stats().completed, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PoolLayer {
    place: Place<Futures>,
}

/// A service whose futures run on an [`AsyncPool`]; made by a [`PoolLayer`]. The [module](super) has the contract.
///
/// It is ready when the inner service is, and a place in the pool is held. `call` calls the inner service at once,
/// where it is called, and the future that this returns runs on the pool. So a panic in the inner service's `call` is
/// a panic here, and one in its future is [`ServiceError::Panicked`].
///
/// # Panics
///
/// `call` panics if `poll_ready` was not ready before.
///
/// # Examples
///
/// ```
/// use formic::tower::ServiceError;
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// # #[tokio::main]
/// # async fn main() {
/// let pool = formic::AsyncPool::new(100);
/// let parse = service_fn(|text: &'static str| async move { text.parse::<u32>() });
/// let parse = ServiceBuilder::new().layer(pool.layer()).service(parse);
/// assert!(matches!(parse.oneshot("seven").await, Err(ServiceError::Failed(_))));
/// # }
/// ```
pub struct OnPool<S> {
    inner: S,
    place: Place<Futures>,
}

impl<S> Layer<S> for PoolLayer {
    type Service = OnPool<S>;

    fn layer(&self, inner: S) -> OnPool<S> {
        OnPool { inner, place: self.place.clone() }
    }
}

impl<S, Q> Service<Q> for OnPool<S>
where
    S: Service<Q>,
    S::Future: Send + 'static,
    S::Response: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = S::Response;
    type Error = ServiceError<S::Error>;
    type Future = FlatResponse<S::Response, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        // The inner service comes first, so that no place is held while it is not ready.
        ready!(self.inner.poll_ready(context)).map_err(ServiceError::Failed)?;
        self.place.poll(context).map_err(ServiceError::from)
    }

    #[track_caller]
    fn call(&mut self, request: Q) -> Self::Future {
        let held = self.place.take();
        let future = self.inner.call(request);
        let cell = held.engine().work().cell(future, self.place.origin);
        FlatResponse::new(JoinHandle::new(held.spawn(cell, self.place.origin)))
    }
}

/// A clone holds no place.
impl<S: Clone> Clone for OnPool<S> {
    fn clone(&self) -> Self {
        OnPool { inner: self.inner.clone(), place: self.place.clone() }
    }
}

impl fmt::Debug for PoolLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolLayer").finish_non_exhaustive()
    }
}

impl<S: fmt::Debug> fmt::Debug for OnPool<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnPool").field("inner", &self.inner).finish_non_exhaustive()
    }
}

// The reasons are those of pools and permits: see `unwind`.
impl UnwindSafe for PoolLayer {}
impl RefUnwindSafe for PoolLayer {}
impl<S: UnwindSafe> UnwindSafe for OnPool<S> {}
impl<S: RefUnwindSafe> RefUnwindSafe for OnPool<S> {}

/// The verb that makes a layer.
macro_rules! verb {
    ($pool:ty, $make:literal) => {
        impl $pool {
            /// A tower layer that runs the futures of a service on this pool. The service is ready when it holds a
            /// place. See [`formic::tower`](crate::tower).
            ///
            /// # Examples
            ///
            /// ```
            /// use tower::{ServiceBuilder, ServiceExt, service_fn};
            ///
            /// # #[tokio::main]
            /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
            #[doc = concat!("let pool = ", $make, ";")]
            /// let parse = service_fn(|text: &'static str| async move { text.parse::<u32>() });
            /// let parse = ServiceBuilder::new().layer(pool.layer()).service(parse);
            /// assert_eq!(parse.oneshot("7").await?, 7);
            /// # Ok(())
            /// # }
            /// ```
            #[must_use]
            #[track_caller]
            #[doc(alias = "tower")]
            pub fn layer(&self) -> PoolLayer {
                PoolLayer { place: Place::new(self) }
            }
        }
    };
}

verb!(AsyncPool, "formic::AsyncPool::new(100)");
verb!(
    Multi<AsyncPool>,
    "formic::Multi::new(2, formic::Balance::RoundRobin, || formic::AsyncPool::new(100))"
);
