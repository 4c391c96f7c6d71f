//! Futures that the test polls, and a waker that shows whether a pool has woken them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake};

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// A waker that remembers that it was woken.
#[derive(Debug, Default)]
pub(crate) struct WakeFlag(AtomicBool);

impl WakeFlag {
    /// Polls a future with this flag as its waker. Forgets earlier wake-ups.
    pub(crate) fn poll<F: Future + ?Sized>(
        self: &Arc<Self>,
        future: Pin<&mut F>,
    ) -> Poll<F::Output> {
        self.0.store(false, Ordering::SeqCst);
        let waker = Arc::clone(self).into();
        future.poll(&mut Context::from_waker(&waker))
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}
