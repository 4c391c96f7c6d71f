//! The reference model of every kind of pool. It is sequential: a step is applied to its end before the next
//! one. Tasks end only when the test says so, so the model knows at each step which tasks run, which are queued
//! and which are refused.

pub(crate) mod allows;
mod choice;
mod ends;
pub(crate) mod generate;
pub(crate) mod places;
pub(crate) mod shard;
mod slot;
mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use formic::Refused;

use self::places::{Id, Ruling};
use self::shard::Shard;
pub(crate) use self::slot::{Slot, Stage};
pub(crate) use self::step::*;

#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) traits: &'static Traits,
    pub(crate) plan: Plan,
    pub(crate) shards: Vec<Shard>,
    pub(crate) slots: BTreeMap<Id, Slot>,
    /// The tasks that each step started. The tasks that one step starts may begin in any order.
    pub(crate) starts: Vec<BTreeSet<Id>>,
    /// The tasks whose panics are reported to the hook of the pool.
    pub(crate) reported: BTreeSet<Id>,
    /// The answer of the last step.
    pub(crate) answer: Answer,
    /// How many times the balance of a `Multi` has chosen in turn.
    turn: usize,
}

impl Model {
    pub(crate) fn new(traits: &'static Traits, plan: Plan) -> Self {
        let shards = (0..traits.shards).map(|_| Shard::new(&plan)).collect();
        let (slots, starts, reported) = Default::default();
        let (answer, turn) = (Answer::Nothing, 0);
        Model { traits, plan, shards, slots, starts, reported, answer, turn }
    }

    pub(crate) fn apply(&mut self, step: &Step) {
        self.answer = match *step {
            Step::Enter { id, by, verb } => self.enter(id, by, verb),
            Step::Poll { id } => self.poll(id),
            Step::Abandon { id } => self.abandon(id),
            Step::Use { id, verb } => self.use_permit(id, verb),
            Step::Return { id } => self.end(id, End::Completed),
            Step::Panic { id } => self.end(id, End::Panicked),
            Step::Cancel { id } => Answer::Cancelled(self.cancel(id)),
            Step::DropHandle { id, cancel } => self.drop_handle(id, cancel),
            Step::Watch { id } => self.watch(id),
            Step::Join { id, .. } => self.join(id),
            Step::Resize { shard, capacity } => self.resize(shard, capacity),
            Step::Discard { shard } => self.discard(shard),
            Step::CancelAll { shard } => self.cancel_all(shard),
            Step::SetQueue { shard, tasks } => self.set_queue(shard, tasks),
            Step::SetWaiters { shard, submitters } => self.set_waiters(shard, submitters),
            Step::Close { shard } => self.close(shard),
            Step::DrainNow { shard } => self.drain_now(shard),
            Step::Drain => self.drain_now(None),
            Step::Reopen { shard } => self.reopen(shard),
        };
        self.settle();
    }

    pub(crate) fn slot(&mut self, id: Id) -> &mut Slot {
        self.slots.get_mut(&id).expect("the preconditions have looked for it")
    }

    fn shard_of(&mut self, id: Id) -> &mut Shard {
        let shard = self.slots[&id].shard;
        &mut self.shards[shard]
    }

    // ---- Entering -------------------------------------------------------------------------------

    fn enter(&mut self, id: Id, by: By, verb: Verb) -> Answer {
        if let Verb::WaitIdle | Verb::Drain = verb {
            return self.await_end(id, verb);
        }
        let number = self.choose();
        self.slots.insert(id, Slot::new(number, by, verb));
        let shard = &mut self.shards[number];
        let refused = match shard.places.rule(1) {
            Ruling::Enter => {
                shard.places.take(1);
                return self.enter_held(id);
            }
            Ruling::Wait if by != By::Try && shard.may_wait() => {
                shard.places.wait(id, 1);
                return if by == By::Future { Answer::Pending } else { Answer::Nothing };
            }
            Ruling::Wait => Refused::Full,
            Ruling::Closed => Refused::Closed,
            Ruling::TooLarge => unreachable!("a task needs one place, and there is always one"),
        };
        shard.counts.refused += 1;
        self.slot(id).stage = Stage::Refused(refused);
        if by == By::Thread { Answer::Nothing } else { Answer::Refused(refused) }
    }

    /// A request that has a place becomes a task or a permit.
    fn enter_held(&mut self, id: Id) -> Answer {
        let Slot { by, verb, .. } = self.slots[&id];
        let (stage, answer) = match (verb, by) {
            (Verb::Admit, _) => (Stage::Permit, Answer::Permit),
            // The answers of threads are compared when the threads have returned.
            (_, By::Thread) => (Stage::Queued, Answer::Nothing),
            (Verb::Call, _) => (Stage::Queued, Answer::Pending),
            _ => (Stage::Queued, Answer::Entered),
        };
        let slot = self.slot(id);
        slot.stage = stage;
        if stage == Stage::Queued {
            slot.handle = verb == Verb::Spawn || (verb == Verb::Call && by == By::Future);
            self.shard_of(id).accept(id);
        }
        answer
    }

    fn use_permit(&mut self, id: Id, verb: Verb) -> Answer {
        let slot = self.slot(id);
        (slot.by, slot.verb) = (By::Try, verb);
        self.enter_held(id)
    }

    fn poll(&mut self, id: Id) -> Answer {
        let slot = *self.slot(id);
        match slot.stage {
            Stage::Granted if matches!(slot.verb, Verb::WaitIdle | Verb::Drain) => {
                self.slot(id).stage = Stage::Gone;
                Answer::Nothing
            }
            Stage::Granted => self.enter_held(id),
            Stage::Dismissed => {
                self.shard_of(id).counts.refused += 1;
                self.slot(id).stage = Stage::Refused(Refused::Closed);
                Answer::Refused(Refused::Closed)
            }
            Stage::Ended(outcome) => {
                self.slot(id).handle = false;
                Answer::Outcome(outcome)
            }
            _ => Answer::Pending,
        }
    }

    /// Drops a future or a permit.
    fn abandon(&mut self, id: Id) -> Answer {
        let slot = *self.slot(id);
        let ends = matches!(slot.verb, Verb::WaitIdle | Verb::Drain);
        match slot.stage {
            Stage::Waiting if !ends => self.shard_of(id).places.leave(id),
            Stage::Granted | Stage::Permit if !ends => self.shard_of(id).places.give_back(1),
            Stage::Queued | Stage::Running | Stage::Ended(_) => {
                self.slot(id).handle = false;
                self.cancel(id);
                self.report(id);
                return Answer::Nothing;
            }
            _ => {}
        }
        self.slot(id).stage = Stage::Gone;
        Answer::Nothing
    }

    // ---- Tasks ----------------------------------------------------------------------------------

    fn end(&mut self, id: Id, end: End) -> Answer {
        self.shard_of(id).end(id, end);
        let slot = self.slot(id);
        let asked = slot.asked && end == End::Completed;
        slot.stage = Stage::Ended(Outcome { end, asked });
        self.report(id);
        Answer::Nothing
    }

    /// The hook is told of a panic that nothing will receive, when the task ends or its handle is dropped.
    fn report(&mut self, id: Id) {
        let slot = self.slots[&id];
        let panicked = matches!(slot.stage, Stage::Ended(Outcome { end: End::Panicked, .. }));
        if panicked && !slot.is_awaited() {
            self.reported.insert(id);
        }
    }

    /// Returns whether the task is dropped.
    fn cancel(&mut self, id: Id) -> bool {
        match (self.slots[&id].stage, self.traits.runs) {
            (Stage::Queued, _) => {
                self.shard_of(id).cancel_queued(id);
                self.slot(id).stage = cancelled();
                true
            }
            (Stage::Running, Runs::Futures) => {
                self.end(id, End::Cancelled);
                true
            }
            (Stage::Running, Runs::Closures) => {
                self.slot(id).asked = true;
                false
            }
            _ => false,
        }
    }

    fn drop_handle(&mut self, id: Id, cancel: bool) -> Answer {
        self.slot(id).handle = false;
        self.slot(id).watched = false;
        if cancel {
            self.cancel(id);
        }
        self.report(id);
        Answer::Nothing
    }

    fn watch(&mut self, id: Id) -> Answer {
        self.slot(id).watched = true;
        Answer::Pending
    }

    fn join(&mut self, id: Id) -> Answer {
        let slot = self.slot(id);
        (slot.handle, slot.watched) = (false, false);
        match slot.stage {
            Stage::Ended(outcome) => Answer::Outcome(outcome),
            stage => unreachable!("the preconditions have seen an outcome, not {stage:?}"),
        }
    }

    // ---- After each step ------------------------------------------------------------------------

    /// Grants free places to waiters, then starts queued tasks.
    fn settle(&mut self) {
        let mut started = BTreeSet::new();
        for number in 0..self.shards.len() {
            for id in self.shards[number].places.grant() {
                match self.slots[&id].by {
                    By::Future => self.slot(id).stage = Stage::Granted,
                    By::Thread | By::Try => drop(self.enter_held(id)),
                }
            }
            started.extend(self.shards[number].start());
        }
        for id in &started {
            self.slot(*id).stage = Stage::Running;
        }
        self.starts.push(started);
        self.settle_ends();
    }
}

fn cancelled() -> Stage {
    Stage::Ended(Outcome { end: End::Cancelled, asked: false })
}

/// A failure shows the settings; the steps tell the rest.
impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}
