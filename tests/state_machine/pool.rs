//! `Pool`: closures on threads.

use std::sync::Arc;

use formic::{Control, OwnedPermit, Permit, Pool, Refused};

use crate::common::block_on;
use crate::flag::BoxFuture;
use crate::kind::{Kind, Place, Reply, spawned, submitted, thread_settings};
use crate::model::{By, Plan, Runs, Traits, Variant, Verb};
use crate::runner::check;
use crate::system::Test;
use crate::task::{Log, Task};

#[test]
fn a_pool_is_as_its_model() {
    check::<Test<Pool>>("a_pool_is_as_its_model");
}

/// A closure that runs the task on its thread.
pub(crate) fn closure(task: Task) -> impl FnOnce() -> crate::task::Report + Send + 'static {
    move || block_on(task.run())
}

/// The closure of a task without a handle.
pub(crate) fn silent(task: Task) -> impl FnOnce() + Send + 'static {
    move || block_on(task.run_silently())
}

impl Kind for Pool {
    const TRAITS: Traits = Traits {
        runs: Runs::Closures,
        shards: 1,
        ways: &[
            (By::Try, Verb::Submit),
            (By::Try, Verb::Spawn),
            (By::Try, Verb::Admit),
            (By::Thread, Verb::Submit),
            (By::Thread, Verb::Spawn),
            (By::Future, Verb::Admit),
            (By::Future, Verb::WaitIdle),
            (By::Future, Verb::Drain),
        ],
        variants: &[Variant::Plain],
    };

    fn build(plan: &Plan, log: &Arc<Log>) -> Self {
        thread_settings(Pool::builder(), plan, log).build().expect("the settings are sound")
    }

    fn controls(&self) -> Vec<&Control> {
        vec![self]
    }

    fn try_enter(&self, verb: Verb, task: Task) -> Reply {
        match verb {
            Verb::Spawn => spawned(self.try_spawn(closure(task))),
            _ => submitted(self.try_submit(silent(task))),
        }
    }

    fn enter(&self, verb: Verb, task: Task) -> Reply {
        match verb {
            Verb::Spawn => spawned(self.spawn(closure(task))),
            _ => submitted(self.submit(silent(task))),
        }
    }

    fn admit(&self, wait: bool, place: Place) -> BoxFuture<Reply> {
        let pool = self.clone();
        Box::pin(async move {
            let permit = if wait {
                pool.admit_async().await
            } else {
                pool.try_admit().map(Permit::into_owned)
            };
            put(permit, place).await
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

/// The reply of a wait for an end. Such a wait fails only inside a task.
pub(crate) fn over<E: std::fmt::Debug>(ended: Result<(), E>) -> Reply {
    ended.expect("the test is not a task of the pool");
    Reply::Over
}

/// Holds a place, and puts a task into it. The place is given back when the future is dropped.
pub(crate) async fn put(permit: Result<OwnedPermit, Refused>, place: Place) -> Reply {
    let permit = match permit {
        Ok(permit) => permit,
        Err(reason) => return Reply::Refused(reason, None),
    };
    match place.occupied().await {
        Some((Verb::Spawn, task)) => Reply::Entered(Some(permit.spawn(closure(task)))),
        Some((_, task)) => {
            permit.submit(silent(task));
            Reply::Entered(None)
        }
        None => unreachable!("the test keeps the sender as long as the future"),
    }
}
