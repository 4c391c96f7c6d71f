//! `Semaphore`: permits with weights, for threads and futures.

mod model;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use formic::{AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use proptest_state_machine::StateMachineTest;

use self::model::{Answer, By, Model, Slot, Step};
use crate::flag::{BoxFuture, WakeFlag};
use crate::model::places::Id;
use crate::runner::{Difference, check, join, settle};

type Acquired = Result<OwnedSemaphorePermit, AcquireError>;

#[test]
fn a_semaphore_is_as_its_model() {
    check::<Test>("a_semaphore_is_as_its_model");
}

/// The test of semaphores.
pub(crate) struct Test;

pub(crate) struct System {
    semaphore: Semaphore,
    items: BTreeMap<Id, Item>,
}

/// The objects that the test has for one request.
struct Item {
    flag: Arc<WakeFlag>,
    hold: Hold,
}

enum Hold {
    Nothing,
    Permit(OwnedSemaphorePermit),
    Future(BoxFuture<Acquired>),
    Thread(thread::JoinHandle<Acquired>),
}

impl StateMachineTest for Test {
    type SystemUnderTest = System;
    type Reference = Model;

    fn init_test(model: &Model) -> System {
        System { semaphore: Semaphore::new(model.places.size), items: BTreeMap::new() }
    }

    fn apply(mut system: System, model: &Model, step: Step) -> System {
        let answer = system.act(&step);
        assert_eq!(model.answer, answer, "the model's answer to {step:?}, and the semaphore's");
        settle(|| system.compare(model));
        system
    }

    fn teardown(system: System, _: Model) {
        system.end();
    }
}

impl System {
    fn act(&mut self, step: &Step) -> Answer {
        match *step {
            Step::Acquire { id, by, weight } => return self.acquire(id, by, weight),
            Step::Poll { id } => return self.poll(id),
            Step::Abandon { id } => self.item(id).hold = Hold::Nothing,
            Step::Resize { size } => self.semaphore.resize(size),
            Step::Close => self.semaphore.close(),
        }
        Answer::Nothing
    }

    fn item(&mut self, id: Id) -> &mut Item {
        self.items.get_mut(&id).expect("the step before has made it")
    }

    fn acquire(&mut self, id: Id, by: By, weight: usize) -> Answer {
        let semaphore = self.semaphore.clone();
        self.items.insert(id, Item { flag: Arc::default(), hold: Hold::Nothing });
        match by {
            By::Try => self.receive(id, owned(semaphore.try_acquire(weight))),
            By::Timeout => {
                self.receive(id, owned(semaphore.acquire_timeout(weight, Duration::ZERO)))
            }
            By::Thread => {
                let thread = thread::spawn(move || owned(semaphore.acquire(weight)));
                self.item(id).hold = Hold::Thread(thread);
                Answer::Nothing
            }
            By::Future => {
                let future = async move { owned(semaphore.acquire_async(weight).await) };
                self.item(id).hold = Hold::Future(Box::pin(future));
                self.poll(id)
            }
        }
    }

    fn poll(&mut self, id: Id) -> Answer {
        let item = self.item(id);
        let Hold::Future(future) = &mut item.hold else {
            unreachable!("there is no future of request {id}")
        };
        match item.flag.poll(future.as_mut()) {
            Poll::Ready(acquired) => self.receive(id, acquired),
            Poll::Pending => Answer::Pending,
        }
    }

    fn receive(&mut self, id: Id, acquired: Acquired) -> Answer {
        let (hold, answer) = match acquired {
            Ok(permit) => {
                let weight = permit.weight();
                (Hold::Permit(permit), Answer::Permit(weight))
            }
            Err(error) => (Hold::Nothing, Answer::Refused(error)),
        };
        self.item(id).hold = hold;
        answer
    }

    fn compare(&mut self, model: &Model) -> Result<(), Difference> {
        let (places, semaphore) = (&model.places, &self.semaphore);
        Difference::between("size", places.size, semaphore.size())?;
        Difference::between("available", places.free(), semaphore.available())?;
        Difference::between("waiting", places.waiting(), semaphore.waiting())?;
        Difference::between("closed", places.closed, semaphore.is_closed())?;
        model.slots.iter().try_for_each(|(id, slot)| self.compare_slot(*id, slot))
    }

    fn compare_slot(&mut self, id: Id, slot: &Slot) -> Result<(), Difference> {
        let item = self.item(id);
        if slot.is_woken() {
            let what = format!("the future of request {id} was woken");
            Difference::between(&what, true, item.flag.is_woken())?;
        }
        if let Hold::Permit(permit) = &item.hold {
            Difference::between("the weight of a permit", slot.weight, permit.weight())?;
        }
        let Hold::Thread(thread) = &item.hold else { return Ok(()) };
        let answer = slot.thread_answer();
        let what = format!("the thread of request {id} has returned");
        Difference::between(&what, answer.is_some(), thread.is_finished())?;
        if let Some(answer) = answer
            && let Hold::Thread(thread) = std::mem::replace(&mut item.hold, Hold::Nothing)
        {
            let acquired = thread.join().expect("a call does not panic");
            assert_eq!(answer, self.receive(id, acquired), "the answers to request {id}");
        }
        Ok(())
    }

    /// Closes the semaphore, and gives all permits back.
    fn end(self) {
        self.semaphore.close();
        for item in self.items.into_values() {
            match item.hold {
                Hold::Thread(thread) => drop(join("a blocking call", thread)),
                hold => drop(hold),
            }
        }
        assert_eq!(self.semaphore.available(), self.semaphore.size());
        assert_eq!(self.semaphore.waiting(), 0);
    }
}

fn owned(acquired: Result<SemaphorePermit<'_>, AcquireError>) -> Acquired {
    acquired.map(SemaphorePermit::into_owned)
}
