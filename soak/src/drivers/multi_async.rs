//! `Multi` of futures: shards of an `AsyncPool` or an `AsyncFnPool`, each disturbed by itself.

use std::sync::Arc;

use formic::{
    AsyncFnPool, AsyncPool, Balance, BuildError, Control, JoinHandle, Multi, Refused, ShardErrors,
    Stats, StillRunning,
};

use super::async_pool::{Fair, fair, unheard};
use super::async_verbs;
use super::futures::{self, Ground};
use crate::async_errand::{AsyncErrand, AsyncHost, Boxed, Site};
use crate::books::{Books, Waiting};
use crate::floor::Floor;
use crate::host::give_back;
use crate::plan::{Kind, Plan};
use crate::random::Random;
use crate::watch::Watch;

/// A phase with shards of futures.
pub(crate) fn run(plan: &Plan, watch: &Watch, books: &Arc<Books>) {
    let Some(runtime) = futures::runtime(plan, books) else { return };
    let each = plan.settings.ceiling();
    // Which shard a task runs in is not told. What all of them may run together is known only while
    // none is resized.
    let all = if plan.disturbed { usize::MAX } else { each.saturating_mul(plan.shards) };
    let floors: Vec<_> = (0..plan.shards).map(|_| Floor::new(each)).collect();
    match build(plan, &runtime) {
        Ok(host) => futures::drive(plan, watch, books, runtime, host, &Floor::new(all), &floors),
        Err(error) => books.fault(format!("the shards could not be built: {error}")),
    }
}

fn build(plan: &Plan, runtime: &Ground) -> Result<Arc<dyn AsyncHost>, BuildError> {
    let balance = [Balance::RoundRobin, Balance::LeastLoaded, Balance::PowerOfTwo];
    let balance = Random::new(plan.seed).any(&balance);
    if plan.kind == Kind::MultiAsyncFn {
        let builder = || runtime.give(plan.settings.on_tokio(AsyncFnPool::builder()));
        let make = || builder().build(AsyncErrand::run);
        let multi = Multi::try_new(plan.shards, balance, make)?;
        return Ok(Arc::new(OnAsyncFnShards(multi, fair(plan), plan.entangled)));
    }
    let make = || runtime.give(plan.settings.on_tokio(AsyncPool::builder())).build();
    let multi = Multi::try_new(plan.shards, balance, make)?;
    Ok(Arc::new(OnAsyncShards(multi, fair(plan), plan.entangled)))
}

/// The last field says whether every second errand uses the shards itself.
struct OnAsyncShards(Multi<AsyncPool>, Fair, bool);

/// As [`OnAsyncShards`].
struct OnAsyncFnShards(Multi<AsyncFnPool<AsyncErrand, u64>>, Fair, bool);

/// Whether the shard that the caller runs in refuses to be waited for.
fn from_inside(ended: Result<(), ShardErrors<StillRunning>>) -> bool {
    ended.is_err_and(|errors| errors.iter().any(|(_, left)| left.is_from_inside()))
}

/// What is the same for shards of any kind; `$verbs` are those of `async_verbs`, `$task` makes of an errand what has no handle, `$call` what
/// has one.
macro_rules! shards {
    ($verbs:path, $task:expr, $call:expr) => {
        fn submit(self: Arc<Self>, errand: AsyncErrand) -> Boxed<Result<(), Refused>> {
            // A task waits at another shard's gate if its own one is closed.
            Box::pin(Waiting::new(
                async move { self.0.submit($task(errand)).await.map_err(give_back) },
            ))
        }

        fn spawn(self: Arc<Self>, errand: AsyncErrand) -> Boxed<Result<JoinHandle<u64>, Refused>> {
            Box::pin(Waiting::new(
                async move { self.0.spawn($call(errand)).await.map_err(give_back) },
            ))
        }

        fn try_submit(&self, errand: AsyncErrand) -> Result<(), Refused> {
            self.0.try_submit($task(errand)).map_err(give_back)
        }

        fn try_spawn(&self, errand: AsyncErrand) -> Result<JoinHandle<u64>, Refused> {
            self.0.try_spawn($call(errand)).map_err(give_back)
        }

        fn blocking_submit(&self, errand: AsyncErrand) -> Result<(), Refused> {
            self.0.blocking_submit($task(errand)).map_err(give_back)
        }

        fn extra(self: Arc<Self>, site: Site, mut random: Random) -> Boxed<Random> {
            Box::pin(async move {
                if site.depth == 0 && random.once_in(2) {
                    $verbs(&self.0, &site, &mut random).await;
                    return random;
                }
                let Some(errand) = site.errand(&mut random) else { return random };
                // One shard by itself, and all of them together. A task would wait at another shard's
                // gate, maybe for itself, so it does not wait.
                let shard = self.0.next();
                site.note(shard.try_submit($task(errand)).map_err(give_back), self.1.at_once());
                if site.depth == 0 && random.once_in(5) {
                    drop(self.0.wait_idle_async().await);
                }
                random
            })
        }

        fn controls(&self) -> Vec<&Control> {
            self.0.shards().iter().map(|shard| &**shard).collect()
        }

        fn stats(&self) -> Stats {
            self.0.stats()
        }

        fn refuses_end_from_inside(self: Arc<Self>) -> Boxed<bool> {
            Box::pin(async move { from_inside(self.0.drain_async().await) })
        }

        fn is_entangled(&self) -> bool {
            self.2
        }

        fn fair(&self) -> &[Refused] {
            self.1.waiting()
        }

        fn fair_at_once(&self) -> &[Refused] {
            self.1.at_once()
        }
    };
}

impl AsyncHost for OnAsyncShards {
    shards!(async_verbs::multi, unheard, AsyncErrand::run);
}

impl AsyncHost for OnAsyncFnShards {
    shards!(async_verbs::multi_fn, std::convert::identity, std::convert::identity);
}
