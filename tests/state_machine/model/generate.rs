//! Random settings, and random steps that are possible in a state of the model.

use std::marker::PhantomData;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use proptest_state_machine::ReferenceStateMachine;

use super::places::Id;
use super::{Model, Plan, Slot, Step, Traits, Verb};
use crate::kind::Kind;

/// The largest capacity of a pool.
const MOST_WORKERS: usize = 4;

/// The model of a kind of pool.
pub(crate) struct Reference<K>(PhantomData<K>);

impl<K: Kind> ReferenceStateMachine for Reference<K> {
    type State = Model;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Model> {
        plans(&K::TRAITS).prop_map(|plan| Model::new(&K::TRAITS, plan)).boxed()
    }

    fn transitions(model: &Model) -> BoxedStrategy<Step> {
        let groups = model.groups().into_iter().filter(|(_, steps)| !steps.is_empty());
        let groups = groups.map(|(weight, steps)| (weight, select(steps)));
        // A failure is shrunk by deleting steps, not by replacing one with another.
        Union::new_weighted(groups.collect()).no_shrink().boxed()
    }

    fn apply(mut model: Model, step: &Step) -> Model {
        model.apply(step);
        model
    }

    fn preconditions(model: &Model, step: &Step) -> bool {
        model.allows(step)
    }
}

/// Small pools, so that they are often full. Simpler settings come first.
fn plans(traits: &'static Traits) -> impl Strategy<Value = Plan> {
    let capacity = prop_oneof![3 => Just(1), 3 => Just(2), 1 => Just(3)];
    let waiters = prop_oneof![3 => Just(None), 1 => (0..3_usize).prop_map(Some)];
    let settings = (select(traits.variants), capacity, 0..=3_usize, waiters);
    settings.prop_map(|(variant, capacity, queue, waiters)| Plan {
        variant,
        capacity,
        queue,
        waiters,
    })
}

type Steps = Vec<Step>;

impl Model {
    /// The possible steps in groups, each with its weight.
    fn groups(&self) -> Vec<(u32, Steps)> {
        let closing = |shard| vec![Step::Close { shard }, Step::DrainNow { shard }];
        let mut groups = vec![
            (16, self.entries(|verb| !waits_for_end(verb))),
            (6, self.each(|id| vec![Step::Return { id }])),
            (2, self.each(|id| vec![Step::Panic { id }])),
            (6, self.each(with_handle)),
            (6, self.each(|id| vec![Step::Poll { id }])),
            (2, self.each(|id| vec![Step::Abandon { id }])),
            (4, self.each(with_permit)),
            (3, self.of_shards(resized)),
            (1, self.of_shards(|shard| vec![Step::Discard { shard }])),
            (2, self.of_shards(|shard| vec![Step::CancelAll { shard }])),
            (2, self.of_shards(limited)),
            (1, self.entries(waits_for_end)),
            (1, self.of_shards(closing)),
            (1, vec![Step::Drain]),
            (self.reopen_weight(), self.of_shards(|shard| vec![Step::Reopen { shard }])),
        ];
        for (_, steps) in &mut groups {
            steps.retain(|step| self.allows(step));
        }
        groups
    }

    fn entries(&self, wanted: impl Fn(Verb) -> bool) -> Steps {
        let id = self.slots.last_key_value().map_or(0, |(last, _)| last + 1);
        let ways = self.traits.ways.iter().filter(|(_, verb)| wanted(*verb));
        ways.map(|&(by, verb)| Step::Enter { id, by, verb }).collect()
    }

    fn each(&self, steps: impl Fn(Id) -> Steps) -> Steps {
        let open = |slot: &Slot| slot.handle || !slot.has_ended();
        let open = self.slots.iter().filter(|(_, slot)| open(slot));
        open.flat_map(|(id, _)| steps(*id)).collect()
    }

    /// Steps for all shards, and for each one if there are several.
    fn of_shards(&self, steps: impl Fn(Option<usize>) -> Steps) -> Steps {
        let single = (0..self.shards.len()).filter(|_| self.shards.len() > 1).map(Some);
        std::iter::once(None).chain(single).flat_map(steps).collect()
    }

    /// Pools that have come to their end are opened soon, so that most of a test happens in open ones.
    fn reopen_weight(&self) -> u32 {
        let ended = self.shards.iter().any(|shard| shard.places.closed && shard.is_over());
        if ended { 20 } else { 1 }
    }
}

fn waits_for_end(verb: Verb) -> bool {
    matches!(verb, Verb::WaitIdle | Verb::Drain)
}

fn with_handle(id: Id) -> Steps {
    vec![
        Step::Cancel { id },
        Step::DropHandle { id, cancel: false },
        Step::DropHandle { id, cancel: true },
        Step::Watch { id },
        Step::Join { id, polls: false },
        Step::Join { id, polls: true },
    ]
}

fn with_permit(id: Id) -> Steps {
    vec![Step::Use { id, verb: Verb::Submit }, Step::Use { id, verb: Verb::Spawn }]
}

fn limited(shard: Option<usize>) -> Steps {
    let queues = (0..=3).map(|tasks| Step::SetQueue { shard, tasks });
    queues.chain((0..3).map(|submitters| Step::SetWaiters { shard, submitters })).collect()
}

fn resized(shard: Option<usize>) -> Steps {
    (1..=MOST_WORKERS).map(|capacity| Step::Resize { shard, capacity }).collect()
}
