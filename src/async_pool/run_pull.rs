//! How a `for_each` or a `map` has its pool pull until there are no more items.

use std::future::{Future, poll_fn};
use std::sync::Arc;

use super::AsyncPool;
use super::pull::{Pull, Sink};
use super::source::PollItems;
use crate::error::Refused;

/// Has the pool pull until there are no more items; is ready when the last puller is gone. Dropped, it
/// stops them.
pub(super) async fn run<S, F, Fut, K>(
    pool: AsyncPool,
    pull: Arc<Pull<S, F, K>>,
) -> Result<(), Refused>
where
    S: PollItems,
    F: Fn(S::Item) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = K::Result> + Send + 'static,
    K: Sink,
{
    let stop = StopOnDrop(|| pull.stop());
    let is_inside = pool.engine().is_inside();
    loop {
        let epoch = pool.engine().cancel_epoch();
        if !is_inside {
            pool.engine().enter(pull.job()).await.map_err(|(_job, refused)| refused)?;
        }
        until_pulled(is_inside, &pull).await;
        // If all tasks were cancelled, the pullers were too. The items that were not pulled are later tasks.
        if is_inside || !pull.needs_puller() || pool.engine().cancel_epoch() == epoch {
            break;
        }
    }
    drop(stop);
    Ok(())
}

/// Is ready when no puller is left.
async fn until_pulled<S, F, Fut, K>(is_inside: bool, pull: &Arc<Pull<S, F, K>>)
where
    S: PollItems,
    F: Fn(S::Item) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = K::Result> + Send + 'static,
    K: Sink,
{
    let mut own = None;
    poll_fn(|context| {
        loop {
            // A task of the pool must not wait for a place, so it has a puller of its own. It is not needed
            // while another one waits for items, and is again when that one has given its place up.
            if is_inside && own.is_none() && pull.needs_puller() {
                own = Some(Box::pin(pull.own_puller()));
            }
            if own.as_mut().is_some_and(|puller| puller.as_mut().poll(context).is_ready()) {
                own = None;
            }
            let end = pull.poll_end(context);
            if end.is_ready() || !is_inside || own.is_some() || !pull.needs_puller() {
                return end;
            }
        }
    })
    .await;
}

struct StopOnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for StopOnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
