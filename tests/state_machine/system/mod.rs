//! The system under test: a real pool, with the handles, futures and permits that the test holds. The test takes
//! each step on the pool, compares the answer with that of the model, and waits until the pool is in the state of
//! the model.

mod compare;

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;

use formic::JoinHandle;
use proptest_state_machine::StateMachineTest;
use tokio::sync::oneshot;

use crate::flag::{BoxFuture, WakeFlag};
use crate::kind::{Kind, Place, Reply};
use crate::model::generate::Reference;
use crate::model::places::Id;
use crate::model::{Answer, By, Model, Step, Verb};
use crate::runner::{join, settle};
use crate::task::{Controller, Log, Order, Report, Task, outcome};

/// The test of a kind of pool.
pub(crate) struct Test<K>(PhantomData<K>);

pub(crate) struct System<K> {
    pool: K,
    log: Arc<Log>,
    items: BTreeMap<Id, Item>,
}

/// The objects that the test has for one request.
struct Item {
    /// None as long as there is no task.
    controller: Option<Controller>,
    flag: Arc<WakeFlag>,
    hold: Hold,
}

enum Hold {
    Nothing,
    Handle(JoinHandle<Report>),
    Future(BoxFuture<Reply>),
    Admission(Admission),
    Thread(thread::JoinHandle<Reply>),
}

/// A future that holds a permit, or waits for one.
struct Admission {
    future: BoxFuture<Reply>,
    held: Arc<AtomicBool>,
    task: oneshot::Sender<(Verb, Task)>,
}

impl<K: Kind> StateMachineTest for Test<K> {
    type SystemUnderTest = System<K>;
    type Reference = Reference<K>;

    fn init_test(model: &Model) -> System<K> {
        let log = Arc::default();
        System { pool: K::build(&model.plan, &log), log, items: BTreeMap::new() }
    }

    fn apply(mut system: System<K>, model: &Model, step: Step) -> System<K> {
        let answer = system.act(&step);
        assert_eq!(model.answer, answer, "the model's answer to {step:?}, and the pool's");
        settle(|| system.compare(model));
        system
    }

    fn teardown(system: System<K>, _: Model) {
        system.end();
    }
}

impl<K: Kind> System<K> {
    fn act(&mut self, step: &Step) -> Answer {
        match *step {
            Step::Enter { id, by, verb } => self.enter(id, by, verb),
            Step::Poll { id } => self.poll(id),
            Step::Abandon { id } => self.let_go(id),
            Step::Use { id, verb } => self.use_permit(id, verb),
            Step::Return { id } => self.order(id, Order::Return),
            Step::Panic { id } => self.order(id, Order::Panic),
            Step::Cancel { id } => Answer::Cancelled(self.handle(id).cancel()),
            Step::DropHandle { id, cancel: false } => self.let_go(id),
            Step::DropHandle { id, cancel: true } => {
                drop(self.take_handle(id).cancel_on_drop());
                Answer::Nothing
            }
            Step::Watch { id } => self.watch(id),
            Step::Join { id, polls: true } => self.watch(id),
            Step::Join { id, polls: false } => {
                Answer::Outcome(outcome(id, self.take_handle(id).join()))
            }
            _ => self.act_on_pools(step),
        }
    }

    // ---- Requests -------------------------------------------------------------------------------

    fn item(&mut self, id: Id) -> &mut Item {
        self.items.get_mut(&id).expect("the step before has made it")
    }

    fn task(&mut self, id: Id) -> Task {
        let (task, controller) = Task::new(id, &self.log);
        self.item(id).controller = Some(controller);
        task
    }

    fn enter(&mut self, id: Id, by: By, verb: Verb) -> Answer {
        self.items.insert(id, Item { controller: None, flag: Arc::default(), hold: Hold::Nothing });
        match (by, verb) {
            (_, Verb::Admit) => self.item(id).hold = Hold::Admission(self.admission(by)),
            (_, Verb::WaitIdle) => self.item(id).hold = Hold::Future(self.pool.wait_idle()),
            (_, Verb::Drain) => self.item(id).hold = Hold::Future(self.pool.drain()),
            (By::Try, _) => {
                let task = self.task(id);
                let reply = self.pool.try_enter(verb, task);
                return self.receive(id, reply);
            }
            (By::Thread, _) => {
                let (task, pool) = (self.task(id), self.pool.clone());
                self.item(id).hold = Hold::Thread(thread::spawn(move || pool.enter(verb, task)));
                return Answer::Nothing;
            }
            (By::Future, _) => {
                let task = self.task(id);
                self.item(id).hold = Hold::Future(self.pool.future(verb, task));
            }
        }
        self.poll(id)
    }

    fn admission(&self, by: By) -> Admission {
        let (held, (sender, task)) = (Arc::default(), oneshot::channel());
        let place = Place { held: Arc::clone(&held), task };
        Admission { future: self.pool.admit(by == By::Future, place), held, task: sender }
    }

    fn poll(&mut self, id: Id) -> Answer {
        let item = self.item(id);
        let (poll, held) = match &mut item.hold {
            Hold::Future(future) => (item.flag.poll(future.as_mut()), false),
            Hold::Admission(admission) => {
                let poll = item.flag.poll(admission.future.as_mut());
                (poll, admission.held.load(Ordering::SeqCst))
            }
            _ => unreachable!("there is no future of request {id}"),
        };
        match poll {
            Poll::Ready(reply) => self.receive(id, reply),
            Poll::Pending if held => Answer::Permit,
            Poll::Pending => Answer::Pending,
        }
    }

    /// Records the result of a call.
    fn receive(&mut self, id: Id, reply: Reply) -> Answer {
        let item = self.item(id);
        item.hold = Hold::Nothing;
        match reply {
            Reply::Entered(handle) => {
                item.hold = handle.map_or(Hold::Nothing, Hold::Handle);
                Answer::Entered
            }
            Reply::Refused(reason, task) => {
                if let (Some(task), Some(controller)) = (task, &item.controller) {
                    assert!(controller.is_alive(), "the refused task {id} is dropped");
                    drop(task);
                    assert!(!controller.is_alive(), "another task than {id} has come back");
                }
                Answer::Refused(reason)
            }
            Reply::Called(result) => Answer::Outcome(outcome(id, result)),
            Reply::Over => Answer::Nothing,
        }
    }

    fn use_permit(&mut self, id: Id, verb: Verb) -> Answer {
        let task = self.task(id);
        let hold = std::mem::replace(&mut self.item(id).hold, Hold::Nothing);
        let Hold::Admission(mut admission) = hold else { unreachable!("request {id} is a permit") };
        assert!(admission.task.send((verb, task)).is_ok(), "the permit is held");
        match self.item(id).flag.poll(admission.future.as_mut()) {
            Poll::Ready(reply) => self.receive(id, reply),
            Poll::Pending => Answer::Pending,
        }
    }

    /// Drops the handle, the future or the permit of a request. The controller of its task stays.
    fn let_go(&mut self, id: Id) -> Answer {
        self.item(id).hold = Hold::Nothing;
        Answer::Nothing
    }

    // ---- Tasks ----------------------------------------------------------------------------------

    fn order(&mut self, id: Id, order: Order) -> Answer {
        self.item(id).controller.as_mut().expect("it is a task").order(order);
        Answer::Nothing
    }

    fn handle(&mut self, id: Id) -> &mut JoinHandle<Report> {
        match &mut self.item(id).hold {
            Hold::Handle(handle) => handle,
            _ => unreachable!("there is no handle of task {id}"),
        }
    }

    fn take_handle(&mut self, id: Id) -> JoinHandle<Report> {
        match std::mem::replace(&mut self.item(id).hold, Hold::Nothing) {
            Hold::Handle(handle) => handle,
            _ => unreachable!("there is no handle of task {id}"),
        }
    }

    /// Polls a handle.
    fn watch(&mut self, id: Id) -> Answer {
        let flag = Arc::clone(&self.item(id).flag);
        match flag.poll(Pin::new(self.handle(id))) {
            Poll::Pending => Answer::Pending,
            Poll::Ready(result) => {
                self.let_go(id);
                Answer::Outcome(outcome(id, result))
            }
        }
    }

    // ---- Pools ----------------------------------------------------------------------------------

    fn act_on_pools(&mut self, step: &Step) -> Answer {
        let pool = &self.pool;
        match *step {
            Step::Resize { shard: None, capacity } => pool.resize(capacity),
            Step::Discard { shard: None } => return Answer::Discarded(pool.discard()),
            Step::CancelAll { shard: None } => return stopped(pool.cancel_all()),
            Step::SetQueue { shard: None, tasks } => pool.set_queue(tasks),
            Step::SetWaiters { shard: None, submitters } => pool.set_waiters(submitters),
            Step::Close { shard: None } => pool.close(),
            Step::DrainNow { shard: None } => return Answer::Left(pool.drain_now()),
            Step::Drain => {
                self.drain();
                return Answer::Left(vec![Default::default(); self.pool.controls().len()]);
            }
            Step::Reopen { shard: None } => return Answer::Reopened(pool.reopen()),
            _ => return self.act_on_shard(step),
        }
        Answer::Nothing
    }

    fn act_on_shard(&self, step: &Step) -> Answer {
        use crate::kind::{left_after, reopening};
        let controls = self.pool.controls();
        match *step {
            Step::Resize { shard: Some(shard), capacity } => {
                controls[shard].resize(capacity).expect("the capacity is allowed");
            }
            Step::Discard { shard: Some(shard) } => {
                return Answer::Discarded(controls[shard].discard());
            }
            Step::CancelAll { shard: Some(shard) } => return stopped(controls[shard].cancel_all()),
            Step::SetQueue { shard: Some(shard), tasks } => {
                controls[shard].set_queue(tasks).expect("the bound is allowed");
            }
            Step::SetWaiters { shard: Some(shard), submitters } => {
                controls[shard].set_waiters(submitters);
            }
            Step::Close { shard: Some(shard) } => controls[shard].close(),
            Step::DrainNow { shard: Some(shard) } => {
                let drained = controls[shard].blocking_drain_timeout(std::time::Duration::ZERO);
                return Answer::Left(vec![left_after(drained)]);
            }
            Step::Reopen { shard: Some(shard) } => {
                return Answer::Reopened(vec![reopening(controls[shard].reopen())]);
            }
            _ => unreachable!("{step:?} concerns no pool"),
        }
        Answer::Nothing
    }

    /// Drains on another thread, so that a drain that hangs fails the test.
    fn drain(&self) {
        let pool = self.pool.clone();
        join("a drain", thread::spawn(move || pool.drain_here()));
    }

    /// Lets all tasks return, and checks that nothing is left.
    fn end(mut self) {
        self.items.values_mut().flat_map(|item| &mut item.controller).for_each(Controller::release);
        let mut threads = Vec::new();
        for item in self.items.values_mut() {
            match std::mem::replace(&mut item.hold, Hold::Nothing) {
                Hold::Thread(thread) => threads.push(thread),
                hold => drop(hold),
            }
        }
        threads.into_iter().for_each(|thread| drop(join("a blocking call", thread)));
        self.drain();
        self.check_end();
    }
}

fn stopped(cancelled: formic::Cancelled) -> Answer {
    Answer::Stopped { queued: cancelled.queued, running: cancelled.futures + cancelled.asked }
}
