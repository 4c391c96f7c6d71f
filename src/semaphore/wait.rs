//! Waiting for a permit: a thread until a time, or a future.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use crate::engine::wait::{Verdict, Waiter};
use crate::error::AcquireError;

type Outcome<'a> = Result<SemaphorePermit<'a>, AcquireError>;

impl Semaphore {
    /// As [`acquire_async`](Semaphore::acquire_async), and the permit is [owned](OwnedSemaphorePermit): neither the future
    /// nor the permit borrows the semaphore, so both can move into a task.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Semaphore::acquire).
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, the future gives its place back, and what it had been granted goes to the next.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let requests = formic::Semaphore::new(10);
    /// let permit = tokio::spawn(requests.acquire_owned_async(3)).await??;
    /// assert_eq!((permit.weight(), requests.available()), (3, 7));
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "acquire_owned")]
    pub fn acquire_owned_async(
        &self,
        weight: usize,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send + use<> {
        let semaphore = self.clone();
        async move { Ok(semaphore.acquire_async(weight).await?.into_owned()) }
    }

    /// Blocks the calling thread until it has a permit, or its time is over.
    pub(super) fn acquire_until(&self, weight: usize, deadline: Option<Instant>) -> Outcome<'_> {
        match self.try_acquire(weight) {
            Err(AcquireError::NoPermits) => {}
            outcome => return outcome,
        }
        let waiter = Waiter::thread();
        if !self.queue().take_or_wait(weight, &waiter)? {
            return Ok(self.permit(weight));
        }
        let verdict = match waiter.wait(deadline, || None) {
            Some(verdict) => verdict,
            None => self
                .change(|queue, wake| queue.withdraw(&waiter, wake))
                .ok_or(AcquireError::TimedOut)?,
        };
        self.heed(verdict, &waiter, weight)
    }

    fn heed(&self, verdict: Verdict, waiter: &Arc<Waiter>, weight: usize) -> Outcome<'_> {
        match verdict {
            Verdict::Granted => Ok(self.permit(weight)),
            Verdict::Closed => Err(self.queue().reason(waiter, weight)),
        }
    }
}

/// A future that is ready when there is a permit. Dropped, it leaves the queue, and a permit that
/// it was given meanwhile goes back.
pub(super) struct Acquire<'a> {
    semaphore: &'a Semaphore,
    weight: usize,
    waiter: Option<Arc<Waiter>>,
}

impl<'a> Acquire<'a> {
    pub(super) fn new(semaphore: &'a Semaphore, weight: usize) -> Self {
        Acquire { semaphore, weight, waiter: None }
    }

    fn begin(&mut self, context: &Context<'_>) -> Poll<Outcome<'a>> {
        match self.semaphore.try_acquire(self.weight) {
            Err(AcquireError::NoPermits) => {}
            outcome => return Poll::Ready(outcome),
        }
        // A waker is foreign code, so it is cloned before the lock is taken.
        let waiter = Waiter::future(context.waker());
        if !self.semaphore.queue().take_or_wait(self.weight, &waiter)? {
            return Poll::Ready(Ok(self.semaphore.permit(self.weight)));
        }
        self.waiter = Some(waiter);
        Poll::Pending
    }
}

impl<'a> Future for Acquire<'a> {
    type Output = Outcome<'a>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome<'a>> {
        let Some(waiter) = &self.waiter else {
            return self.begin(context);
        };
        let Poll::Ready(verdict) = waiter.poll(context) else {
            return Poll::Pending;
        };
        let (semaphore, weight) = (self.semaphore, self.weight);
        let outcome = semaphore.heed(verdict, waiter, weight);
        self.waiter = None;
        Poll::Ready(outcome)
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        let Some(waiter) = self.waiter.take() else {
            return;
        };
        let verdict = self.semaphore.change(|queue, wake| queue.withdraw(&waiter, wake));
        if let Some(verdict) = verdict {
            // A permit is given back. An error is dropped, because its future is gone.
            drop(self.semaphore.heed(verdict, &waiter, self.weight));
        }
    }
}
