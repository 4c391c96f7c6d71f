//! The preconditions of steps. They are checked again while a failing sequence of steps is shrunk.

use super::places::Id;
use super::{Model, Slot, Stage, Step, Verb};

impl Model {
    pub(crate) fn allows(&self, step: &Step) -> bool {
        match *step {
            Step::Enter { id, verb, .. } => !self.slots.contains_key(&id) && self.may_enter(verb),
            Step::Poll { id } => self.is(id, Slot::is_pollable),
            Step::Abandon { id } => self.may_abandon(id),
            Step::Use { id, .. } => self.is(id, |slot| slot.stage == Stage::Permit),
            Step::Return { id } | Step::Panic { id } => {
                self.is(id, |slot| slot.stage == Stage::Running)
            }
            Step::Cancel { id } => self.is(id, Slot::has_join_handle) && self.may_cancel(id),
            Step::DropHandle { id, cancel } => {
                self.is(id, Slot::has_join_handle) && (!cancel || self.may_cancel(id))
            }
            Step::Watch { id } => self.is(id, |slot| slot.has_join_handle() && !slot.has_ended()),
            Step::Join { id, .. } => self.is(id, |slot| slot.has_join_handle() && slot.has_ended()),
            Step::Drain => self.is_over(),
            Step::Resize { .. } | Step::Discard { .. } | Step::Close { .. } => true,
            Step::CancelAll { .. } | Step::SetQueue { .. } | Step::SetWaiters { .. } => true,
            Step::DrainNow { .. } | Step::Reopen { .. } => true,
        }
    }

    fn is(&self, id: Id, holds: impl Fn(&Slot) -> bool) -> bool {
        self.slots.get(&id).is_some_and(holds)
    }

    fn is_over(&self) -> bool {
        self.shards.iter().all(super::Shard::is_over)
    }

    /// The first poll of a drain in which nothing is left may find workers that are about to leave, or none.
    fn may_enter(&self, verb: Verb) -> bool {
        verb != Verb::Drain || !self.is_over()
    }

    fn may_abandon(&self, id: Id) -> bool {
        self.is(id, |slot| slot.is_pollable() || slot.stage == Stage::Permit)
    }

    /// In a `Multi`, the last task of a queue is not cancelled. The entry of a cancelled task counts for the
    /// balance until a worker has passed it over, which only the start of a task behind it shows.
    fn may_cancel(&self, id: Id) -> bool {
        self.traits.shards == 1 || self.shards.iter().all(|shard| !shard.is_last(id))
    }
}
