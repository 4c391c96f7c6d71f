//! `FnPool`: one function, many arguments.

use std::sync::Arc;

use formic::{Control, FnPermit, FnPool};

use crate::common::block_on;
use crate::flag::BoxFuture;
use crate::kind::{Kind, Place, Reply, called, spawned, submitted, thread_settings};
use crate::model::{By, Plan, Runs, Traits, Variant, Verb};
use crate::pool::over;
use crate::runner::check;
use crate::system::Test;
use crate::task::{Log, Report, Task};

#[test]
fn a_pool_of_one_function_is_as_its_model() {
    check::<Test<FnPool<Task, Report>>>("a_pool_of_one_function_is_as_its_model");
}

/// The function of a pool whose workers have a state.
fn counted(calls: &mut u64, task: Task) -> Report {
    *calls += 1;
    block_on(task.run())
}

impl Kind for FnPool<Task, Report> {
    const TRAITS: Traits = Traits {
        runs: Runs::Closures,
        shards: 1,
        ways: &[
            (By::Try, Verb::Submit),
            (By::Try, Verb::Spawn),
            (By::Try, Verb::Admit),
            (By::Thread, Verb::Submit),
            (By::Thread, Verb::Spawn),
            (By::Thread, Verb::Call),
            (By::Future, Verb::Call),
            (By::Future, Verb::Admit),
            (By::Future, Verb::WaitIdle),
            (By::Future, Verb::Drain),
        ],
        variants: &[Variant::Plain, Variant::WithState],
    };

    fn build(plan: &Plan, log: &Arc<Log>) -> Self {
        let builder = thread_settings(FnPool::builder(), plan, log);
        let pool = match plan.variant {
            Variant::WithState => builder.build_with(|| 0_u64, counted),
            _ => builder.build(|task: Task| block_on(task.run())),
        };
        pool.expect("the settings are sound")
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

    fn enter(&self, verb: Verb, task: Task) -> Reply {
        match verb {
            Verb::Spawn => spawned(self.spawn(task)),
            Verb::Call => called(self.call(task)),
            _ => submitted(self.submit(task)),
        }
    }

    fn future(&self, _: Verb, task: Task) -> BoxFuture<Reply> {
        let pool = self.clone();
        Box::pin(async move { called(pool.call_async(task).await) })
    }

    fn admit(&self, wait: bool, place: Place) -> BoxFuture<Reply> {
        let pool = self.clone();
        Box::pin(async move {
            let permit = if wait {
                pool.admit_async().await
            } else {
                pool.try_admit().map(FnPermit::into_owned)
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
        Box::pin(async move { over(pool.wait_idle_async().await) })
    }

    fn drain(&self) -> BoxFuture<Reply> {
        let pool = self.clone();
        Box::pin(async move { over(pool.drain_async().await) })
    }
}
