//! A service whose function returns a `Result`: its errors are errors of the service.

use std::task::{Context, Poll};

use tower_service::Service;

use super::{FlatResponse, Response, ServiceError};

/// A service whose function returns a [`Result`]: the response is its value, and its error is
/// [`ServiceError::Failed`]. Middleware that looks at errors, such as a retry, needs that. Made by `flatten`.
///
/// # Examples
///
/// ```
/// use formic::{FnPool, tower::ServiceError};
/// use tower::ServiceExt;
///
/// # #[tokio::main]
/// # async fn main() {
/// let pool = FnPool::new(2, |text: &str| text.parse::<u32>());
/// let parse = pool.service().flatten();
/// assert_eq!(parse.clone().oneshot("7").await.unwrap(), 7);
/// assert!(matches!(parse.oneshot("seven").await, Err(ServiceError::Failed(_))));
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Flatten<S> {
    service: S,
}

impl<S> Flatten<S> {
    pub(super) fn new(service: S) -> Self {
        Flatten { service }
    }
}

impl<S, T, R, E> Service<T> for Flatten<S>
where
    S: Service<T, Response = Result<R, E>, Error = ServiceError, Future = Response<Result<R, E>>>,
{
    type Response = R;
    type Error = ServiceError<E>;
    type Future = FlatResponse<R, E>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ServiceError<E>>> {
        self.service.poll_ready(context).map_err(ServiceError::widen)
    }

    fn call(&mut self, request: T) -> FlatResponse<R, E> {
        self.service.call(request).into()
    }
}
