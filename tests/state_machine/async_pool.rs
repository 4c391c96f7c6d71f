//! `AsyncPool`: futures on tokio.

use std::sync::Arc;

use formic::{AsyncPermit, AsyncPool, Control};

use crate::executors::{EXECUTORS, on_executor};
use crate::flag::BoxFuture;
use crate::kind::{Kind, Place, Reply, settings, spawned, submitted};
use crate::model::{By, Plan, Runs, Traits, Verb};
use crate::pool::over;
use crate::runner::check;
use crate::system::Test;
use crate::task::{Log, Task};

#[test]
fn a_pool_of_futures_is_as_its_model() {
    check::<Test<AsyncPool>>("a_pool_of_futures_is_as_its_model");
}

impl Kind for AsyncPool {
    const TRAITS: Traits = Traits {
        runs: Runs::Futures,
        shards: 1,
        ways: &[
            (By::Try, Verb::Submit),
            (By::Try, Verb::Spawn),
            (By::Try, Verb::Admit),
            (By::Thread, Verb::Submit),
            (By::Future, Verb::Submit),
            (By::Future, Verb::Spawn),
            (By::Future, Verb::Admit),
            (By::Future, Verb::WaitIdle),
            (By::Future, Verb::Drain),
        ],
        variants: EXECUTORS,
    };

    fn build(plan: &Plan, log: &Arc<Log>) -> Self {
        let builder = on_executor(settings(AsyncPool::builder(), plan, log), plan);
        builder.build().expect("the settings are sound")
    }

    fn controls(&self) -> Vec<&Control> {
        vec![self]
    }

    fn try_enter(&self, verb: Verb, task: Task) -> Reply {
        match verb {
            Verb::Spawn => spawned(self.try_spawn(task.run())),
            _ => submitted(self.try_submit(task.run_silently())),
        }
    }

    fn enter(&self, _: Verb, task: Task) -> Reply {
        submitted(self.blocking_submit(task.run_silently()))
    }

    fn future(&self, verb: Verb, task: Task) -> BoxFuture<Reply> {
        let pool = self.clone();
        match verb {
            Verb::Spawn => Box::pin(async move { spawned(pool.spawn(task.run()).await) }),
            _ => Box::pin(async move { submitted(pool.submit(task.run_silently()).await) }),
        }
    }

    fn admit(&self, wait: bool, place: Place) -> BoxFuture<Reply> {
        let pool = self.clone();
        Box::pin(async move { admitted(&pool, wait, place).await })
    }

    fn wait_idle(&self) -> BoxFuture<Reply> {
        let pool = self.clone();
        Box::pin(async move { over(pool.wait_idle().await) })
    }

    fn drain(&self) -> BoxFuture<Reply> {
        let pool = self.clone();
        Box::pin(async move { over(pool.drain().await) })
    }
}

/// Holds a place, and puts a task into it. The place is given back when the future is dropped.
async fn admitted(pool: &AsyncPool, wait: bool, place: Place) -> Reply {
    let permit =
        if wait { pool.admit().await } else { pool.try_admit().map(AsyncPermit::into_owned) };
    let permit = match permit {
        Ok(permit) => permit,
        Err(reason) => return Reply::Refused(reason, None),
    };
    match place.occupied().await {
        Some((Verb::Spawn, task)) => Reply::Entered(Some(permit.spawn(task.run()))),
        Some((_, task)) => {
            permit.submit(task.run_silently());
            Reply::Entered(None)
        }
        None => unreachable!("the test keeps the sender as long as the future"),
    }
}
