//! What a cell of an `AsyncFnPool` holds for calls without a handle: it serves one after the other.
//!
//! When a call has ended, the next one in the line gets its place. Here it gets its cell as well, at
//! once, in the same poll: so a call is polled once less, and what it needs is in the cache already.

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::calls::Calls;
use super::runtime::goes_on;
use crate::engine::{End, Engine, Errand, contain};

pin_project! {
    /// See the module's first lines.
    pub(super) struct Serving<T, F, Fut>
    where
        T: Send,
        T: 'static,
        Fut: Future,
        Fut::Output: Send,
        Fut::Output: 'static,
    {
        // None when it is over.
        #[pin]
        future: Option<Fut>,
        function: Arc<F>,
        engine: Arc<Engine<Calls<T, Fut::Output>>>,
        origin: &'static Location<'static>,
    }

    impl<T, F, Fut> PinnedDrop for Serving<T, F, Fut>
    where
        T: Send,
        T: 'static,
        Fut: Future,
        Fut::Output: Send,
        Fut::Output: 'static,
    {
        fn drop(this: Pin<&mut Self>) {
            // The thread that drops the cell must not unwind from a panic of the future.
            contain(|| this.project().future.set(None));
        }
    }
}

impl<T, F, Fut> Serving<T, F, Fut>
where
    T: Send + 'static,
    F: Fn(T) -> Fut,
    Fut: Future,
    Fut::Output: Send + 'static,
{
    /// Begins with this call. May panic.
    pub(super) fn new(
        engine: &Arc<Engine<Calls<T, Fut::Output>>>,
        function: &Arc<F>,
        (argument, origin): (T, &'static Location<'static>),
    ) -> Self {
        Serving {
            future: Some(function(argument)),
            function: Arc::clone(function),
            engine: Arc::clone(engine),
            origin,
        }
    }
}

impl<T, F, Fut> Future for Serving<T, F, Fut>
where
    T: Send + 'static,
    F: Fn(T) -> Fut,
    Fut: Future,
    Fut::Output: Send + 'static,
{
    type Output = End;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<End> {
        let mut this = self.project();
        for done in 1.. {
            let Some(future) = this.future.as_mut().as_pin_mut() else {
                return Poll::Ready(End::Counted);
            };
            let Poll::Ready(value) = future.poll(context) else { return Poll::Pending };
            this.future.set(None);
            drop(value);
            match Calls::next(this.engine) {
                Ok((argument, origin)) => {
                    *this.origin = origin;
                    this.future.set(Some((this.function)(argument)));
                }
                Err(end) => return Poll::Ready(end),
            }
            if !goes_on(done) {
                break;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<T, F, Fut> Errand for Serving<T, F, Fut>
where
    T: Send + 'static,
    F: Fn(T) -> Fut + Send + Sync,
    Fut: Future + Send,
    Fut::Output: Send + 'static,
{
    fn origin(&self) -> Option<&'static Location<'static>> {
        Some(self.origin)
    }

    fn end_by_drop(&self) -> End {
        End::Cancelled
    }
}
