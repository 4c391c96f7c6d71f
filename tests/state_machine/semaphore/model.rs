//! The reference model of a semaphore: the places of a pool, with weights.

use std::collections::BTreeMap;
use std::fmt;

use formic::AcquireError;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use proptest_state_machine::ReferenceStateMachine;

use crate::model::places::{Id, Places, Ruling};

/// How a call asks for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// A call that never waits.
    Try,
    /// A call that waits for no time at all.
    Timeout,
    /// A call that blocks a thread of its own.
    Thread,
    /// A future, which the test polls.
    Future,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Acquire {
        id: Id,
        by: By,
        weight: usize,
    },
    Poll {
        id: Id,
    },
    /// Drops a future or a permit.
    Abandon {
        id: Id,
    },
    Resize {
        size: usize,
    },
    Close,
}

/// The answer of a step to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Nothing,
    /// A permit of this weight.
    Permit(usize),
    Pending,
    Refused(AcquireError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Waiting,
    /// The request of a future is granted, which its next poll will tell.
    Granted,
    /// The request of a future is refused, which its next poll will tell.
    Dismissed(AcquireError),
    /// A permit is held.
    Held,
    Refused(AcquireError),
    /// The permit or the future was dropped.
    Gone,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) by: By,
    pub(crate) weight: usize,
    pub(crate) stage: Stage,
}

#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) places: Places,
    pub(crate) slots: BTreeMap<Id, Slot>,
    pub(crate) answer: Answer,
}

impl Slot {
    pub(crate) fn is_pollable(&self) -> bool {
        let waits = matches!(self.stage, Stage::Waiting | Stage::Granted | Stage::Dismissed(_));
        self.by == By::Future && waits
    }

    /// Whether a pending future must have been woken.
    pub(crate) fn is_woken(&self) -> bool {
        matches!(self.stage, Stage::Granted | Stage::Dismissed(_))
    }

    /// The answer that a thread with a blocking call has returned by now.
    pub(crate) fn thread_answer(&self) -> Option<Answer> {
        match self.stage {
            Stage::Waiting => None,
            Stage::Refused(error) => Some(Answer::Refused(error)),
            _ => Some(Answer::Permit(self.weight)),
        }
    }
}

impl Model {
    fn step(&mut self, step: &Step) {
        self.answer = match *step {
            Step::Acquire { id, by, weight } => self.acquire(id, by, weight),
            Step::Poll { id } => self.poll(id),
            Step::Abandon { id } => self.abandon(id),
            Step::Resize { size } => {
                for id in self.places.resize(size) {
                    let weight = self.slots[&id].weight;
                    self.dismiss(id, AcquireError::TooMany { weight, size });
                }
                Answer::Nothing
            }
            Step::Close => {
                for id in self.places.close() {
                    self.dismiss(id, AcquireError::Closed);
                }
                Answer::Nothing
            }
        };
        for id in self.places.grant() {
            let slot = self.slot(id);
            slot.stage = if slot.by == By::Future { Stage::Granted } else { Stage::Held };
        }
    }

    fn slot(&mut self, id: Id) -> &mut Slot {
        self.slots.get_mut(&id).expect("the preconditions have looked for it")
    }

    fn acquire(&mut self, id: Id, by: By, weight: usize) -> Answer {
        let (stage, answer) = match (self.places.rule(weight), by) {
            (Ruling::Enter, _) => {
                self.places.take(weight);
                (Stage::Held, Answer::Permit(weight))
            }
            (Ruling::Wait, By::Future | By::Thread) => {
                self.places.wait(id, weight);
                (Stage::Waiting, Answer::Pending)
            }
            (ruling, _) => {
                let error = match ruling {
                    Ruling::Closed => AcquireError::Closed,
                    Ruling::TooLarge => AcquireError::TooMany { weight, size: self.places.size },
                    _ if by == By::Timeout => AcquireError::TimedOut,
                    _ => AcquireError::NoPermits,
                };
                (Stage::Refused(error), Answer::Refused(error))
            }
        };
        self.slots.insert(id, Slot { by, weight, stage });
        // The answers of threads are compared when the threads have returned.
        if by == By::Thread { Answer::Nothing } else { answer }
    }

    fn poll(&mut self, id: Id) -> Answer {
        let slot = self.slot(id);
        match slot.stage {
            Stage::Granted => {
                slot.stage = Stage::Held;
                Answer::Permit(slot.weight)
            }
            Stage::Dismissed(error) => {
                slot.stage = Stage::Refused(error);
                Answer::Refused(error)
            }
            _ => Answer::Pending,
        }
    }

    fn abandon(&mut self, id: Id) -> Answer {
        let Slot { weight, stage, .. } = *self.slot(id);
        match stage {
            Stage::Waiting => self.places.leave(id),
            Stage::Granted | Stage::Held => self.places.give_back(weight),
            _ => {}
        }
        self.slot(id).stage = Stage::Gone;
        Answer::Nothing
    }

    /// Sends a waiter away. A thread returns at once; a future tells it when it is polled.
    fn dismiss(&mut self, id: Id, error: AcquireError) {
        let slot = self.slot(id);
        let future = slot.by == By::Future;
        slot.stage = if future { Stage::Dismissed(error) } else { Stage::Refused(error) };
    }

    fn ids(&self, holds: impl Fn(&Slot) -> bool) -> Vec<Id> {
        self.slots.iter().filter(|(_, slot)| holds(slot)).map(|(id, _)| *id).collect()
    }
}

/// A failure shows the size; the steps tell the rest.
impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a semaphore of size {}", self.places.size)
    }
}

impl ReferenceStateMachine for Model {
    type State = Model;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Model> {
        let model = |size| Model {
            places: Places::new(size),
            slots: BTreeMap::new(),
            answer: Answer::Nothing,
        };
        (0..=4_usize).prop_map(model).boxed()
    }

    fn transitions(model: &Model) -> BoxedStrategy<Step> {
        let id = model.slots.last_key_value().map_or(0, |(last, _)| last + 1);
        let by = select(&[By::Try, By::Timeout, By::Thread, By::Future, By::Future]);
        let acquire = (by, 0..=4_usize);
        let mut steps = vec![
            (12, acquire.prop_map(move |(by, weight)| Step::Acquire { id, by, weight }).boxed()),
            (3, (0..=6_usize).prop_map(|size| Step::Resize { size }).boxed()),
        ];
        let polled = model.ids(Slot::is_pollable);
        let held = model.ids(|slot| slot.stage == Stage::Held);
        if !polled.is_empty() {
            steps.push((6, select(polled.clone()).prop_map(|id| Step::Poll { id }).boxed()));
            steps.push((3, select(polled).prop_map(|id| Step::Abandon { id }).boxed()));
        }
        if !held.is_empty() {
            steps.push((8, select(held).prop_map(|id| Step::Abandon { id }).boxed()));
        }
        // A closed semaphore stays closed, so most cases close it late or never.
        if model.slots.len() > 15 {
            steps.push((1, Just(Step::Close).boxed()));
        }
        // A failure is shrunk by deleting steps, not by replacing one with another.
        Union::new_weighted(steps).no_shrink().boxed()
    }

    fn apply(mut model: Model, step: &Step) -> Model {
        model.step(step);
        model
    }

    fn preconditions(model: &Model, step: &Step) -> bool {
        match step {
            Step::Acquire { id, .. } => !model.slots.contains_key(id),
            Step::Poll { id } => model.slots.get(id).is_some_and(Slot::is_pollable),
            Step::Abandon { id } => {
                let abandoned = |slot: &Slot| slot.is_pollable() || slot.stage == Stage::Held;
                model.slots.get(id).is_some_and(abandoned)
            }
            Step::Resize { .. } | Step::Close => true,
        }
    }
}
