//! What a cell of an `AsyncFnPool` holds for calls without a handle: it serves one after the other.
//!
//! When a call has ended, the next one in the line gets its place. Here it gets its cell as well, at
//! once, in the same poll: so a call is polled once less, and what it needs is in the cache already.

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use pin_project_lite::pin_project;

use super::calls::Calls;
use crate::engine::{Counts, End, Engine, Errand, contain};

/// So many calls that are over at once are served in a row before others get a turn.
const CALLS_PER_POLL: usize = 32;
/// .. or fewer, if they take longer than this.
const TIME_PER_POLL: Duration = Duration::from_micros(25);

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
            // Wherever it is dropped, nobody expects a panic of its.
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
        let mut row = Row::default();
        loop {
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
            if row.is_over() {
                break;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Calls that are served in one poll.
#[derive(Default)]
struct Row {
    calls: usize,
    /// When the first one had ended.
    began: Option<Instant>,
}

impl Row {
    /// One more has ended. True if the rest has to wait until others had a turn. It looks at the clock
    /// after 1, 2, 4, 8 .. calls, so seldom if they are short, and soon if they are long.
    fn is_over(&mut self) -> bool {
        self.calls += 1;
        if !self.calls.is_power_of_two() {
            return false;
        }
        let now = Instant::now();
        let took = now - *self.began.get_or_insert(now);
        self.calls == CALLS_PER_POLL || took >= TIME_PER_POLL
    }
}

impl<T, F, Fut> Errand for Serving<T, F, Fut>
where
    T: Send + 'static,
    F: Fn(T) -> Fut + Send + Sync,
    Fut: Future + Send,
    Fut::Output: Send + 'static,
{
    fn set_counts(self: Pin<&mut Self>, _: Counts) {
        // It is counted by whoever drops it.
    }

    fn origin(&self) -> Option<&'static Location<'static>> {
        Some(self.origin)
    }

    fn end_by_drop(&self) -> End {
        End::Cancelled
    }
}
