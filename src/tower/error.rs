//! Why a call has no response.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;

use crate::error::{JoinError, Refused, TaskPanic};

/// Why a service on a pool is not ready, or why a call of it has no response. `E` is the error of what it runs: of the
/// function for [`Flatten`](super::Flatten), of the inner service for a layer. A service whose function cannot fail
/// has none.
///
/// # Examples
///
/// ```
/// use formic::tower::ServiceError;
/// use formic::{FnPool, Refused};
/// use tower::ServiceExt;
///
/// # #[tokio::main]
/// # async fn main() {
/// let pool = FnPool::new(1, |text: &str| text.parse::<u32>());
/// let parse = pool.service().flatten();
/// assert_eq!(parse.clone().oneshot("7").await.unwrap(), 7);
/// assert!(matches!(parse.clone().oneshot("seven").await, Err(ServiceError::Failed(_))));
/// pool.close();
/// let error = parse.oneshot("7").await.unwrap_err();
/// assert!(matches!(error, ServiceError::Refused(Refused::Closed)));
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ServiceError<E = Infallible> {
    /// The function or the inner service returned an error.
    Failed(E),
    /// The pool gave no place, so the service is not ready.
    Refused(Refused),
    /// The call was dropped by [`discard`](crate::Control::discard), or with the runtime of its pool.
    Cancelled,
    /// The call panicked.
    Panicked(TaskPanic),
}

impl<E> ServiceError<E> {
    /// The error that the function or the inner service returned, if it did.
    ///
    /// # Examples
    ///
    /// ```
    /// use tower::ServiceExt;
    ///
    /// # #[tokio::main]
    /// # async fn main() {
    /// let pool = formic::FnPool::new(1, |()| Err::<(), _>("out of ink"));
    /// let error = pool.service().flatten().oneshot(()).await.unwrap_err();
    /// assert_eq!(error.into_error(), Some("out of ink"));
    /// # }
    /// ```
    #[must_use]
    pub fn into_error(self) -> Option<E> {
        match self {
            ServiceError::Failed(error) => Some(error),
            _ => None,
        }
    }
}

impl ServiceError {
    /// The same error, of a service that can also fail.
    pub(super) fn widen<E>(self) -> ServiceError<E> {
        match self {
            ServiceError::Failed(never) => match never {},
            ServiceError::Refused(reason) => ServiceError::Refused(reason),
            ServiceError::Cancelled => ServiceError::Cancelled,
            ServiceError::Panicked(panic) => ServiceError::Panicked(panic),
        }
    }
}

impl<E> From<Refused> for ServiceError<E> {
    fn from(reason: Refused) -> Self {
        ServiceError::Refused(reason)
    }
}

impl<E> From<JoinError> for ServiceError<E> {
    fn from(error: JoinError) -> Self {
        match error {
            JoinError::Cancelled => ServiceError::Cancelled,
            JoinError::Panicked(panic) => ServiceError::Panicked(panic),
            JoinError::Refused(reason) => ServiceError::Refused(reason),
        }
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<ServiceError<E>> for crate::Error {
    fn from(error: ServiceError<E>) -> Self {
        match error {
            ServiceError::Failed(error) => crate::Error::Service(error.into()),
            ServiceError::Refused(reason) => crate::Error::Refused(reason),
            ServiceError::Cancelled => crate::Error::Cancelled,
            ServiceError::Panicked(panic) => crate::Error::Panicked(panic),
        }
    }
}

/// Says what the error that it stands for says.
impl<E: fmt::Display> fmt::Display for ServiceError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServiceError::Failed(error) => error.fmt(f),
            ServiceError::Refused(reason) => reason.fmt(f),
            ServiceError::Cancelled => f.write_str("the call was cancelled"),
            ServiceError::Panicked(panic) => panic.fmt(f),
        }
    }
}

/// `E` need not be an error itself: a text, an `anyhow::Error` or a boxed error will do.
impl<E: fmt::Display + fmt::Debug> Error for ServiceError<E> {}
