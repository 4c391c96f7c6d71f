//! What a cell holds for a future without a handle: no thread wants its outcome, so it is smaller than
//! [`Watched`](crate::engine::executor::watched::Watched).

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::engine::contain::contain;
use crate::engine::executor::cell::TaskFuture;
use crate::engine::scheduler::accounting::End;

pin_project! {
    /// See the module's first lines.
    pub(crate) struct Bare<F>
    where
        F: Future,
    {
        // None when it is over.
        #[pin]
        future: Option<F>,
        origin: &'static Location<'static>,
    }

    impl<F: Future> PinnedDrop for Bare<F> {
        fn drop(this: Pin<&mut Self>) {
            // Wherever it is dropped, no thread expects a panic of its.
            contain(|| this.project().future.set(None));
        }
    }
}

impl<F: Future> Bare<F> {
    pub(crate) fn new(future: F, origin: &'static Location<'static>) -> Self {
        Bare { future: Some(future), origin }
    }

    /// Takes the future out of one that has never been polled.
    pub(crate) fn into_future(mut self) -> Option<F> {
        self.future.take()
    }
}

impl<F: Future> Future for Bare<F> {
    type Output = End;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<End> {
        let mut this = self.project();
        let Some(future) = this.future.as_mut().as_pin_mut() else {
            return Poll::Ready(End::Counted);
        };
        let Poll::Ready(value) = future.poll(context) else { return Poll::Pending };
        this.future.set(None);
        drop(value);
        Poll::Ready(End::Completed)
    }
}

impl<F: Future + Send> TaskFuture for Bare<F> {
    fn origin(&self) -> Option<&'static Location<'static>> {
        Some(self.origin)
    }

    fn end_by_drop(&self) -> End {
        End::Cancelled
    }
}
