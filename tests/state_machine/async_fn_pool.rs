//! `AsyncFnPool`: one async function, many arguments.

use std::sync::Arc;

use formic::{AsyncFnPermit, AsyncFnPool, Control};

use crate::executors::{EXECUTORS, on_executor};
use crate::flag::BoxFuture;
use crate::kind::{Kind, Place, Reply, called, settings, spawned, submitted};
use crate::model::{By, Plan, Runs, Traits, Verb};
use crate::pool::over;
use crate::runner::check;
use crate::system::Test;
use crate::task::{Log, Report, Task};

#[test]
fn a_pool_of_one_async_function_is_as_its_model() {
    check::<Test<AsyncFnPool<Task, Report>>>("a_pool_of_one_async_function_is_as_its_model");
}

impl Kind for AsyncFnPool<Task, Report> {
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
            (By::Future, Verb::Call),
            (By::Future, Verb::Admit),
            (By::Future, Verb::WaitIdle),
            (By::Future, Verb::Drain),
        ],
        variants: EXECUTORS,
    };

    fn build(plan: &Plan, log: &Arc<Log>) -> Self {
        let builder = on_executor(settings(AsyncFnPool::builder(), plan, log), plan);
        builder.build(Task::run).expect("the settings are sound")
    }

    fn controls(&self) -> Vec<&Control> {
        vec![self]
    }

    fn try_enter(&self, verb: Verb, task: Task) -> Reply {
        match verb {
            Verb::Spawn => spawned(self.try_spawn(task)),
            _ => submitted(self.try_submit(task)),
        }
    }

    fn enter(&self, _: Verb, task: Task) -> Reply {
        submitted(self.blocking_submit(task))
    }

    fn future(&self, verb: Verb, task: Task) -> BoxFuture<Reply> {
        let pool = self.clone();
        match verb {
            Verb::Spawn => Box::pin(async move { spawned(pool.spawn(task).await) }),
            Verb::Call => Box::pin(async move { called(pool.call(task).await) }),
            _ => Box::pin(async move { submitted(pool.submit(task).await) }),
        }
    }

    fn admit(&self, wait: bool, place: Place) -> BoxFuture<Reply> {
        let pool = self.clone();
        Box::pin(async move {
            let permit = if wait {
                pool.admit().await
            } else {
                pool.try_admit().map(AsyncFnPermit::into_owned)
            };
            let permit = match permit {
                Ok(permit) => permit,
                Err(reason) => return Reply::Refused(reason, None),
            };
            match place.occupied().await {
                Some((Verb::Spawn, task)) => Reply::Entered(Some(permit.spawn(task))),
                Some((_, task)) => {
                    permit.submit(task);
                    Reply::Entered(None)
                }
                None => unreachable!("the test keeps the sender as long as the future"),
            }
        })
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
