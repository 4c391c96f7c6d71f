//! Pools as [tower] services, with the feature `tower`: a service holds a place in the pool before it is called, so
//! the middleware around it knows when the pool is full.
//!
//! | a pool | becomes | with |
//! |---|---|---|
//! | [`FnPool`], and a [`Multi`] of them | [`FnService`]: its function, with arguments as requests | `pool.service()` |
//! | `AsyncFnPool`, and a [`Multi`] of them (feature `tokio`) | `AsyncFnService`, likewise | `pool.service()` |
//! | `AsyncPool`, and a [`Multi`] of them (feature `tokio`) | `PoolLayer`: runs another service's futures on the pool | `pool.layer()` |
//!
//! # The contract
//!
//! - `poll_ready` waits for a place, in order of arrival, and holds it: it is pending while the pool is full, whatever
//!   [`Builder::when_full`] says. It returns [`ServiceError::Refused`] if the pool is closed or more would wait than
//!   [may wait](crate::Builder::waiters). The service can be polled again afterwards: a pool that was opened again
//!   gives it a place.
//! - `call` gives the request to the pool, in the place that is held. It never waits and never blocks. It panics if
//!   `poll_ready` was not ready before.
//! - The response future cancels its call when it is dropped, as [`Timeout`] does: a call that has not started never
//!   runs, a function that runs on a thread is asked to stop by [`is_cancelled`](crate::is_cancelled), and a future is dropped.
//! - A panic is the error of one call: [`ServiceError::Panicked`].
//! - The call of a function costs one allocation if a place is free.
//! - A clone holds no place. A service that is dropped gives its place back, and leaves the queue if it waits for one.
//!
//! A service that is ready keeps its place until it is called or dropped. So does one that was pending, from the moment
//! when its turn comes: [`LoadShed`] leaves such a service behind when it refuses a request. Clone the service for each
//! request, as axum does, and drop the clone afterwards. As long as a service holds a place, the pool is not drained.
//!
//! ```
//! use formic::FnPool;
//! use tower::{ServiceBuilder, ServiceExt, load_shed::error::Overloaded};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let pool = FnPool::builder().workers(1).queue(1).build(|n: u64| n * n)?;
//! let squares = ServiceBuilder::new().load_shed().service(pool.service());
//! assert_eq!(squares.clone().oneshot(9).await?, 81);
//!
//! let places: Vec<_> = pool.try_admit_many(2)?.collect(); // the pool is full
//! let refused = squares.clone().oneshot(9).await.unwrap_err();
//! assert!(refused.is::<Overloaded>());
//! # drop(places);
//! # Ok(())
//! # }
//! ```
//!
//! [tower]: https://docs.rs/tower
//! [`FnPool`]: crate::FnPool
//! [`Multi`]: crate::Multi
//! [`Builder::when_full`]: crate::Builder::when_full
//! [`Timeout`]: https://docs.rs/tower/latest/tower/timeout/struct.Timeout.html
//! [`LoadShed`]: https://docs.rs/tower/latest/tower/load_shed/struct.LoadShed.html

mod error; // why a call has no response
mod flatten; // errors of the function are errors of the service
mod place; // the place that a service holds
mod response; // what comes of a call
mod service; // the function of a pool
#[cfg(feature = "tokio")]
mod layer; // the futures of another service

pub use self::error::ServiceError;
pub use self::flatten::Flatten;
#[cfg(feature = "tokio")]
pub use self::layer::{OnPool, PoolLayer};
pub use self::response::{FlatResponse, Response};
#[cfg(feature = "tokio")]
pub use self::service::AsyncFnService;
pub use self::service::FnService;
