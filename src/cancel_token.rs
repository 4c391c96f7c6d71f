//! `CancelToken`: calls off calls that other threads are blocked in.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::engine::sync::{Mutex, lock, park};
use crate::engine::wait::this_thread;
use crate::engine::wait_list::{Key, WaitList};

/// Calls off calls that other threads are blocked in: `submit_unless` and `admit_unless` of a pool, and
/// [`Semaphore::acquire_unless`](crate::Semaphore::acquire_unless).
///
/// Such a call waits for a place. When the token is cancelled, the call gives up its turn and returns at once, with
/// the task if it had one. A cancelled token stays cancelled: later calls with it return at once, too. It concerns
/// only waits. An accepted task runs; a [`JoinHandle`](crate::JoinHandle) cancels it.
///
/// A clone is the same token. A future needs none: drop it, and it waits no longer.
///
/// # Examples
///
/// ```
/// use formic::{CancelToken, Pool, Refused};
///
/// let pool = Pool::builder().workers(1).queue(0).build()?;
/// let permit = pool.admit()?; // the only place
/// let token = CancelToken::new();
/// std::thread::scope(|threads| {
///     let submitter = threads.spawn(|| pool.submit_unless(&token, || ()).map_err(Refused::from));
///     while pool.stats().waiting < 1 {
///         std::thread::yield_now();
///     }
///     token.cancel(); // from this thread
///     assert_eq!(submitter.join().unwrap(), Err(Refused::Cancelled));
/// });
/// # drop(permit);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "CancellationToken")]
#[doc(alias = "AbortHandle")]
#[doc(alias = "Context")]
#[doc(alias = "interrupt")]
#[derive(Clone, Default)]
pub struct CancelToken {
    calls: Arc<Mutex<Calls>>,
}

/// The calls that wait with a token.
#[derive(Default)]
struct Calls {
    cancelled: bool,
    wakers: WaitList<Waker>,
}

impl CancelToken {
    /// A token that is not cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(!formic::CancelToken::new().is_cancelled());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        CancelToken::default()
    }

    /// Calls off every call that waits with this token or a clone, and those to come. Does not block.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AcquireError, CancelToken, Semaphore};
    ///
    /// let (token, semaphore) = (CancelToken::new(), Semaphore::new(1));
    /// token.clone().cancel();
    /// assert_eq!(semaphore.acquire_unless(&token, 1).unwrap_err(), AcquireError::Cancelled);
    /// ```
    pub fn cancel(&self) {
        let wakers = {
            let mut calls = lock(&self.calls);
            calls.cancelled = true;
            calls.wakers.take_all()
        };
        wakers.for_each(Waker::wake);
    }

    /// Whether it was cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// let token = formic::CancelToken::new();
    /// token.cancel();
    /// assert!(token.is_cancelled());
    /// ```
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        lock(&self.calls).cancelled
    }

    /// Blocks the calling thread until `future` is ready. None if the token is cancelled before; then the future is
    /// dropped, and gives up its turn.
    pub(crate) fn block_on<F: Future>(&self, future: F) -> Option<F::Output> {
        let waker = this_thread();
        // First the registration, then the look: a `cancel` that comes later unparks this thread.
        let _registered = self.register(waker.clone());
        let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
        while !self.is_cancelled() {
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return Some(output);
            }
            park(None);
        }
        None
    }

    fn register(&self, waker: Waker) -> Registered<'_> {
        Registered { token: self, key: lock(&self.calls).wakers.push(waker) }
    }
}

/// A call that waits with a token, until this is dropped.
struct Registered<'a> {
    token: &'a CancelToken,
    key: Key,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        drop(lock(&self.token.calls).wakers.remove(self.key));
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}
