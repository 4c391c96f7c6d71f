//! What a cell holds: a user's future, and the task state that its outcome goes to, if it has a handle.

use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::engine::contain::contain;
use crate::engine::context::as_current;
use crate::engine::executor::cell::TaskFuture;
use crate::engine::scheduler::accounting::End;
use crate::engine::task::handle::Driven;
use crate::error::{JoinError, TaskPanic};
use crate::on_cancel::Stoppable;

pin_project! {
    /// A future that tells its task state how it ended, also if it is dropped before.
    pub(crate) struct Watched<F: Future> {
        // None when it is over.
        #[pin]
        future: Option<F>,
        // From the moment when a driver begins with it, if it has a handle.
        task_state: Option<Arc<dyn Driven<F::Output>>>,
        origin: &'static Location<'static>,
    }

    impl<F: Future> PinnedDrop for Watched<F> {
        fn drop(this: Pin<&mut Self>) {
            // Nothing of it has run, or it was dropped where it stood.
            if this.future.is_some() {
                let _: End = this.stop();
            }
        }
    }
}

impl<F: Future> Watched<F> {
    pub(crate) fn new(future: F, origin: &'static Location<'static>) -> Self {
        Watched { future: Some(future), task_state: None, origin }
    }

    /// A driver begins with it, and its outcome goes to this task state.
    pub(crate) fn tell(&mut self, task_state: Arc<dyn Driven<F::Output>>) {
        self.task_state = Some(task_state);
    }

    /// Takes the future out of one that has never been polled.
    pub(crate) fn into_future(mut self) -> Option<F> {
        self.future.take()
    }

    /// Drops the future, and says so.
    fn stop(self: Pin<&mut Self>) -> End {
        let mut this = self.project();
        contain(|| this.future.set(None));
        match this.task_state.take() {
            Some(task_state) => task_state.end(Err(JoinError::Cancelled), Ok(())),
            None => End::Cancelled,
        }
    }
}

impl<F: Future> Future for Watched<F> {
    type Output = End;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<End> {
        if self.task_state.as_ref().is_some_and(|task_state| !task_state.drive(context.waker())) {
            return Poll::Ready(self.stop());
        }
        let mut this = self.project();
        let Some(future) = this.future.as_mut().as_pin_mut() else {
            return Poll::Ready(End::Counted);
        };
        let Some(task_state) = this.task_state else {
            let Poll::Ready(value) = future.poll(context) else { return Poll::Pending };
            this.future.set(None);
            drop(value);
            return Poll::Ready(End::Completed);
        };
        let current = Arc::clone(task_state) as Arc<dyn Stoppable>;
        let polled =
            as_current(current, || catch_unwind(AssertUnwindSafe(|| future.poll(context))));
        let caught = |payload| TaskPanic::caught(payload, Some(this.origin));
        let outcome = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(value)) => Ok(value),
            Err(payload) => Err(JoinError::Panicked(caught(payload))),
        };
        // What it owns is gone before the outcome shows.
        let dropped = catch_unwind(AssertUnwindSafe(|| this.future.set(None))).map_err(caught);
        let end = task_state.end(outcome, dropped);
        // If no thread wants the outcome it is dropped here, and may panic; the task is counted already.
        contain(|| *this.task_state = None);
        Poll::Ready(end)
    }
}

impl<F: Future + Send> TaskFuture for Watched<F>
where
    F::Output: Send,
{
    fn origin(&self) -> Option<&'static Location<'static>> {
        Some(self.origin)
    }

    fn end_by_drop(&self) -> End {
        if self.task_state.is_some() { End::Counted } else { End::Cancelled }
    }

    fn make_calls(&self) {
        if let Some(task_state) = &self.task_state {
            task_state.make_calls();
        }
    }
}
