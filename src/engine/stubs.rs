//! What the tests of the driver and of its list share: a future, and a waker that counts.

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake};

use super::cell::Errand;
use super::run::{Counts, End};

/// A future that does in each poll what the script says.
pub(crate) fn errand<S>(script: S) -> impl Errand
where
    S: FnMut(&mut Context<'_>) -> Poll<End> + Send + Unpin,
{
    Scripted(script)
}

struct Scripted<S>(S);

impl<S: FnMut(&mut Context<'_>) -> Poll<End> + Unpin> Future for Scripted<S> {
    type Output = End;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<End> {
        (self.0)(context)
    }
}

impl<S: FnMut(&mut Context<'_>) -> Poll<End> + Send + Unpin> Errand for Scripted<S> {
    fn set_counts(self: Pin<&mut Self>, _: Counts) {}

    fn origin(&self) -> Option<&'static Location<'static>> {
        None
    }

    fn end_by_drop(&self) -> End {
        End::Cancelled
    }
}

/// Counts how often a driver was woken.
#[derive(Default)]
pub(crate) struct Bell(AtomicUsize);

impl Bell {
    pub(crate) fn rung(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
