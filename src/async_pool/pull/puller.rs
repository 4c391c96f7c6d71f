//! A puller: see [`pull`](super). There may be a hundred thousand of them, so each byte counts.

use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::super::runtime::goes_on;
use super::super::source::PollItems;
use super::{Next, Pull, Sink, panicked};
use crate::engine::{Patience, contain};
use crate::error::JoinError;

/// Whose place a puller has.
pub(in crate::async_pool) trait Place: Send {
    const IN_THE_POOL: bool;
}

/// A place of the pool. The puller gives it up if another task waits for it.
pub(in crate::async_pool) struct InThePool;

/// The place of the task that pulls.
pub(in crate::async_pool) struct Own;

impl Place for InThePool {
    const IN_THE_POOL: bool = true;
}

impl Place for Own {
    const IN_THE_POOL: bool = false;
}

pin_project! {
    /// A puller, whose place is `P`.
    pub(in crate::async_pool) struct Puller<S, F, Fut, K, P>
    where
        S: PollItems,
        F: Fn(S::Item) -> Fut,
        F: Send,
        F: Sync,
        F: 'static,
        Fut: Future<Output = K::Result>,
        Fut: Send,
        Fut: 'static,
        K: Sink,
    {
        // None when it is over.
        pull: Option<Arc<Pull<S, F, K>>>,
        #[pin]
        stage: Stage<K::Number, Fut>,
        place: PhantomData<P>,
    }

    impl<S, F, Fut, K, P> PinnedDrop for Puller<S, F, Fut, K, P>
    where
        S: PollItems,
        F: Fn(S::Item) -> Fut,
        F: Send,
        F: Sync,
        F: 'static,
        Fut: Future<Output = K::Result>,
        Fut: Send,
        Fut: 'static,
        K: Sink,
    {
        fn drop(this: Pin<&mut Self>) {
            let id = std::ptr::from_ref(this.as_ref().get_ref()).addr();
            let new = matches!(this.stage, Stage::New);
            let this = this.project();
            let Some(pull) = this.pull.take() else { return };
            // The thread that drops the puller must not unwind from a user's panic.
            contain(|| {
                if let Some(number) = this.stage.end() {
                    pull.sink.deliver(number, Err(JoinError::Cancelled));
                }
            });
            // If it was the last one, all that was pulled from goes with it.
            contain(|| {
                pull.leave(id, new);
                drop(pull);
            });
        }
    }
}

pin_project! {
    /// Where a puller is. What is known of it lies beside the future, not in front of it.
    #[project = StageNow]
    enum Stage<N, Fut> {
        // It has not been polled.
        New,
        // It has no item.
        Empty,
        // It has one, whose result has this number.
        Item {
            number: N,
            #[pin]
            future: Fut,
        },
    }
}

impl<N: Copy, Fut> Stage<N, Fut> {
    /// Drops the future, if there is one, and says which it was.
    fn end(mut self: Pin<&mut Self>) -> Option<N> {
        let StageNow::Item { number, .. } = self.as_mut().project() else { return None };
        let number = *number;
        contain(|| self.set(Stage::Empty));
        Some(number)
    }
}

impl<S, F, Fut, K, P> Puller<S, F, Fut, K, P>
where
    S: PollItems,
    F: Fn(S::Item) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = K::Result> + Send + 'static,
    K: Sink,
{
    pub(super) fn new(pull: Arc<Pull<S, F, K>>) -> Self {
        Puller { pull: Some(pull), stage: Stage::New, place: PhantomData }
    }
}

impl<S, F, Fut, K, P> Future for Puller<S, F, Fut, K, P>
where
    S: PollItems,
    F: Fn(S::Item) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = K::Result> + Send + 'static,
    K: Sink,
    P: Place,
{
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let id = std::ptr::from_ref(self.as_ref().get_ref()).addr();
        let mut this = self.project();
        let Some(pull) = &*this.pull else { return Poll::Ready(()) };
        if let StageNow::New = this.stage.as_mut().project() {
            pull.settle();
            this.stage.set(Stage::Empty);
        }
        for done in 1.. {
            if pull.stop.load(Ordering::Relaxed) {
                return Poll::Ready(());
            }
            if let StageNow::Item { number, future } = this.stage.as_mut().project() {
                let result = match catch_unwind(AssertUnwindSafe(|| future.poll(context))) {
                    Ok(Poll::Pending) => return Poll::Pending,
                    Ok(Poll::Ready(result)) => Ok(result),
                    Err(payload) => Err(panicked(payload, pull.origin)),
                };
                let number = *number;
                // What it owns is gone before its result shows.
                contain(|| this.stage.set(Stage::Empty));
                pull.sink.deliver(number, result);
                if P::IN_THE_POOL {
                    pull.end_item();
                }
                if P::IN_THE_POOL && pull.is_in_the_way() {
                    // It comes again when its turn has come; a closed pool has none for it.
                    drop(pull.engine.submit(pull.job(), Patience::Until(None)));
                    return Poll::Ready(());
                }
            }
            let (number, item) = match pull.next(id, context) {
                Next::Item(number, item) => (number, item),
                Next::Wait => return Poll::Pending,
                Next::Over => {
                    pull.ramp_up.shrink();
                    return Poll::Ready(());
                }
            };
            // The future goes to its place in there: it may be large, and is moved once less.
            let make = || this.stage.set(Stage::Item { number, future: (pull.function)(item) });
            if let Err(payload) = catch_unwind(AssertUnwindSafe(make)) {
                pull.sink.deliver(number, Err(panicked(payload, pull.origin)));
            }
            pull.grow();
            if !goes_on(done) {
                break;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
