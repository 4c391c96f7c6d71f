//! The task of every test: it reports that it started, then waits for an order to end.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use formic::{JoinError, TaskPanic};
use tokio::sync::oneshot;

use crate::model::places::Id;
use crate::model::{End, Outcome};

/// The reports of the tasks of one pool.
#[derive(Debug, Default)]
pub(crate) struct Log {
    starts: Mutex<Vec<Id>>,
    panics: Mutex<BTreeSet<Id>>,
}

impl Log {
    /// The tasks that started, in order.
    pub(crate) fn starts(&self) -> Vec<Id> {
        self.starts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The tasks whose panics the hook of the pool was told.
    pub(crate) fn panics(&self) -> BTreeSet<Id> {
        self.panics.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The hook of the pool.
    pub(crate) fn hook(self: &Arc<Self>) -> impl Fn(&TaskPanic) + Send + Sync + 'static {
        let log = Arc::clone(self);
        move |panic| {
            let id = panic.message().strip_prefix(PANIC).and_then(|id| id.parse().ok());
            let id = id.expect("a task of the test panicked");
            log.panics.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        }
    }
}

/// How a task is told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Return,
    Panic,
}

/// The message of an ordered panic, up to the id of its task.
const PANIC: &str = "the test ordered a panic of task ";

pub(crate) struct Task {
    id: Id,
    log: Arc<Log>,
    order: oneshot::Receiver<Order>,
    /// Lets the test see when the task is dropped.
    _alive: Arc<()>,
}

/// The test's end of a task. The task returns when its controller is dropped.
pub(crate) struct Controller {
    order: Option<oneshot::Sender<Order>>,
    alive: Weak<()>,
}

/// The result of a task.
#[derive(Debug)]
pub(crate) struct Report {
    id: Id,
    /// Whether the task was asked to stop.
    asked: bool,
}

impl Task {
    pub(crate) fn new(id: Id, log: &Arc<Log>) -> (Self, Controller) {
        let ((order, receiver), alive) = (oneshot::channel(), Arc::new(()));
        let controller = Controller { order: Some(order), alive: Arc::downgrade(&alive) };
        (Task { id, log: Arc::clone(log), order: receiver, _alive: alive }, controller)
    }

    pub(crate) async fn run(mut self) -> Report {
        self.log.starts.lock().unwrap_or_else(PoisonError::into_inner).push(self.id);
        let order = (&mut self.order).await.unwrap_or(Order::Return);
        if order == Order::Panic {
            // No panic hook runs, so the standard error stays empty.
            std::panic::resume_unwind(Box::new(format!("{PANIC}{}", self.id)));
        }
        Report { id: self.id, asked: formic::is_cancelled() }
    }

    /// As [`Task::run`], for a task without a handle.
    pub(crate) async fn run_silently(self) {
        let _report: Report = self.run().await;
    }
}

impl Controller {
    pub(crate) fn order(&mut self, order: Order) {
        let sender = self.order.take().expect("a task ends once");
        sender.send(order).expect("the task runs");
    }

    /// Lets the task return as soon as it runs.
    pub(crate) fn release(&mut self) {
        self.order = None;
    }

    /// Whether the task has not been dropped.
    pub(crate) fn is_alive(&self) -> bool {
        self.alive.strong_count() > 0
    }
}

/// Converts the result of a task into an outcome of the model.
pub(crate) fn outcome(id: Id, result: Result<Report, JoinError>) -> Outcome {
    let (end, asked) = match result {
        Ok(report) => {
            assert_eq!(report.id, id, "the result is that of the task");
            (End::Completed, report.asked)
        }
        Err(JoinError::Cancelled) => (End::Cancelled, false),
        Err(JoinError::Panicked(panic)) => {
            assert_eq!(panic.message(), format!("{PANIC}{id}"));
            (End::Panicked, false)
        }
        Err(error) => panic!("an outcome that the model does not know: {error}"),
    };
    Outcome { end, asked }
}
