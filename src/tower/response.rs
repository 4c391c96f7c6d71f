//! What comes of a call of a service.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::ServiceError;
use crate::handle::JoinHandle;

/// The response of a call on a pool, as a future.
///
/// # Cancel safety
///
/// Dropped, the call is cancelled. A call that has not started never runs. A function that runs on a thread is asked to
/// stop, by [`is_cancelled`](crate::is_cancelled). A future is dropped.
///
/// # Examples
///
/// ```
/// use formic::{FnPool, tower::Response};
/// use tower::{Service, ServiceExt};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = FnPool::new(1, |n: u64| n * n);
/// let response: Response<u64> = pool.service().ready().await?.call(9);
/// assert_eq!(response.await?, 81);
/// # Ok(())
/// # }
/// ```
#[must_use = "a call whose response is dropped is cancelled"]
pub struct Response<R> {
    handle: JoinHandle<R>,
}

/// As [`Response`], of a call that can fail: its error is the error of the future.
///
/// # Cancel safety
///
/// As [`Response`]: dropped, the call is cancelled.
///
/// # Examples
///
/// ```
/// use formic::{FnPool, tower::FlatResponse};
/// use std::num::ParseIntError;
/// use tower::{Service, ServiceExt};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = FnPool::new(1, |text: &str| text.parse::<u32>());
/// let mut parse = pool.service().flatten();
/// let response: FlatResponse<u32, ParseIntError> = parse.ready().await?.call("7");
/// assert_eq!(response.await?, 7);
/// # Ok(())
/// # }
/// ```
#[must_use = "a call whose response is dropped is cancelled"]
pub struct FlatResponse<R, E> {
    handle: JoinHandle<Result<R, E>>,
}

impl<R> Response<R> {
    pub(super) fn new(handle: JoinHandle<R>) -> Self {
        Response { handle: handle.cancel_on_drop() }
    }
}

impl<R, E> FlatResponse<R, E> {
    #[cfg(feature = "tokio")]
    pub(super) fn new(handle: JoinHandle<Result<R, E>>) -> Self {
        Response::new(handle).into()
    }
}

impl<R, E> From<Response<Result<R, E>>> for FlatResponse<R, E> {
    fn from(response: Response<Result<R, E>>) -> Self {
        FlatResponse { handle: response.handle }
    }
}

impl<R> Future for Response<R> {
    type Output = Result<R, ServiceError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.handle).poll(context).map_err(ServiceError::from)
    }
}

impl<R, E> Future for FlatResponse<R, E> {
    type Output = Result<R, ServiceError<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.handle)
            .poll(context)
            .map(|outcome| outcome?.map_err(ServiceError::Failed))
    }
}

impl<R> fmt::Debug for Response<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response").field("handle", &self.handle).finish()
    }
}

impl<R, E> fmt::Debug for FlatResponse<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlatResponse").field("handle", &self.handle).finish()
    }
}
