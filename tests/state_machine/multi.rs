//! `Multi`: two pools of closures, used as one.

use std::sync::Arc;
use std::time::Duration;

use formic::{Balance, Cancelled, Control, Multi, Permit, Pool, Stats};

use crate::flag::BoxFuture;
use crate::kind::{Kind, Place, Reply, left, reopening, spawned, submitted};
use crate::model::shard::Left;
use crate::model::{By, Plan, Reopening, Runs, Traits, Variant, Verb};
use crate::pool::{closure, put, silent};
use crate::runner::check;
use crate::system::Test;
use crate::task::{Log, Task};

#[test]
fn pools_used_as_one_are_as_their_model() {
    check::<Test<Multi<Pool>>>("pools_used_as_one_are_as_their_model");
}

impl Kind for Multi<Pool> {
    const TRAITS: Traits = Traits {
        runs: Runs::Closures,
        shards: 2,
        // The waits for an end are left out. Their future waits for one shard after another, so the model cannot
        // tell when it must be woken.
        ways: &[
            (By::Try, Verb::Submit),
            (By::Try, Verb::Spawn),
            (By::Try, Verb::Admit),
            (By::Thread, Verb::Submit),
            (By::Thread, Verb::Spawn),
            (By::Future, Verb::Admit),
        ],
        variants: &[
            Variant::Balanced(Balance::RoundRobin),
            Variant::Balanced(Balance::LeastLoaded),
        ],
    };

    fn build(plan: &Plan, log: &Arc<Log>) -> Self {
        let Variant::Balanced(balance) = plan.variant else {
            unreachable!("a Multi has a balance, not {:?}", plan.variant)
        };
        Multi::new(Self::TRAITS.shards, balance, || Pool::build(plan, log))
    }

    fn controls(&self) -> Vec<&Control> {
        self.shards().iter().map(|shard| &**shard).collect()
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
        let multi = self.clone();
        Box::pin(async move {
            let permit = if wait {
                multi.admit_async().await
            } else {
                multi.try_admit().map(Permit::into_owned)
            };
            put(permit, place).await
        })
    }

    fn total(&self) -> (Stats, bool) {
        (self.stats(), self.is_closed())
    }

    fn resize(&self, workers: usize) {
        Multi::resize(self, workers).expect("the capacity is allowed");
    }

    fn close(&self) {
        Multi::close(self);
    }

    fn discard(&self) -> usize {
        Multi::discard(self)
    }

    fn cancel_all(&self) -> Cancelled {
        Multi::cancel_all(self)
    }

    fn set_queue(&self, tasks: usize) {
        Multi::set_queue(self, tasks).expect("the bound is allowed");
    }

    fn set_waiters(&self, submitters: usize) {
        Multi::set_waiters(self, submitters);
    }

    fn drain_here(&self) {
        Multi::<Pool>::drain(self).expect("the test is not a task");
    }

    fn drain_now(&self) -> Vec<Left> {
        let mut lefts = vec![Left::default(); self.shards().len()];
        if let Err(errors) = self.drain_timeout(Duration::ZERO) {
            errors.into_iter().for_each(|(shard, error)| lefts[shard] = left(&error));
        }
        lefts
    }

    fn reopen(&self) -> Vec<Reopening> {
        let mut reopened = vec![Reopening::Opened; self.shards().len()];
        if let Err(errors) = Multi::reopen(self) {
            errors.into_iter().for_each(|(shard, error)| reopened[shard] = reopening(Err(error)));
        }
        reopened
    }
}
