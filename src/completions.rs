//! Tasks in flight, and their outcomes in order of completion.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crate::engine::{self, Kind, Lent, Release, Suspension};
use crate::error::JoinError;
use crate::handle::JoinHandle;

/// The number of a task, and its outcome.
pub(crate) type Numbered<R> = (usize, Result<R, JoinError>);

/// A handle to a task, as seen by code that waits for many.
pub(crate) trait InFlight {
    type Output;

    /// Has `waker` woken when the task has ended. False if it has.
    fn watch(&self, waker: &Waker) -> bool;

    fn is_done(&self) -> bool;

    /// Runs the task on the calling thread, which is a worker's, if the task has not started and the thread may.
    /// True if it has run.
    fn run_here(&self) -> bool;

    /// A task waits for this one: see [`Joinable::want`](engine::Joinable::want).
    fn want(&self, by: Weak<dyn Release>) -> Option<Duration>;

    fn cancel(&self);

    /// The outcome of a task that has ended.
    fn take(self) -> Result<Self::Output, JoinError>;

    /// Blocks until the task has ended.
    fn wait(self) -> Result<Self::Output, JoinError>;
}

impl<T> InFlight for JoinHandle<T> {
    type Output = T;

    fn watch(&self, waker: &Waker) -> bool {
        self.task_state().is_some_and(|task_state| task_state.watch(waker))
    }

    fn is_done(&self) -> bool {
        self.is_finished()
    }

    fn run_here(&self) -> bool {
        self.task_state().is_some_and(engine::Joinable::run_here)
    }

    fn want(&self, by: Weak<dyn Release>) -> Option<Duration> {
        self.task_state()?.want(by)
    }

    fn cancel(&self) {
        JoinHandle::cancel(self);
    }

    fn take(self) -> Result<T, JoinError> {
        self.take_outcome().unwrap_or(Err(JoinError::Cancelled))
    }

    fn wait(self) -> Result<T, JoinError> {
        self.join()
    }
}

/// Tasks in flight by the order of their start, and which of them have ended.
pub(crate) struct Completions<T> {
    tasks: BTreeMap<usize, T>,
    /// The number of the task that is added next.
    next: usize,
    /// A task that waited has run each task below this number, or let its pool know that it waits.
    known: usize,
    /// That task.
    known_by: Option<KnownBy>,
    ended: Arc<Ended>,
    /// There while a task is suspended on the next outcome.
    suspension: Option<Suspension>,
}

/// What a task is, or has, that waited. Only its address is used.
struct KnownBy(Weak<dyn Release>);

// A batch may cross a `catch_unwind`: nothing can be seen through this.
impl UnwindSafe for KnownBy {}
impl RefUnwindSafe for KnownBy {}

/// The numbers of tasks that have ended, and whose outcomes have not been taken.
#[derive(Default)]
struct Ended(Mutex<EndedState>);

#[derive(Default)]
struct EndedState {
    numbers: VecDeque<usize>,
    waker: Option<Waker>,
}

impl Ended {
    fn lock(&self) -> MutexGuard<'_, EndedState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Is woken when the task with this number has ended.
struct TellEnd {
    ended: Arc<Ended>,
    number: usize,
}

impl Wake for TellEnd {
    fn wake(self: Arc<Self>) {
        let mut state = self.ended.lock();
        state.numbers.push_back(self.number);
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<T> Completions<T> {
    /// No task yet. The first one gets this number.
    pub(crate) fn starting_at(number: usize) -> Self {
        let (tasks, ended) = (BTreeMap::new(), Arc::default());
        Completions { tasks, next: number, known: number, known_by: None, ended, suspension: None }
    }

    /// The number of the task that is added next.
    pub(crate) fn next_number(&self) -> usize {
        self.next
    }

    /// How many outcomes have not been taken.
    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }
}

impl<T: InFlight> Completions<T> {
    /// Adds a task.
    pub(crate) fn push(&mut self, task: T) {
        let number = self.next;
        self.next += 1;
        let teller = Arc::new(TellEnd { ended: Arc::clone(&self.ended), number });
        if !task.watch(&Waker::from(Arc::clone(&teller))) {
            teller.wake();
        }
        self.tasks.insert(number, task);
    }

    pub(crate) fn cancel(&self) {
        self.tasks.values().for_each(T::cancel);
    }

    /// The next outcome, if there is one already, and the number of its task.
    pub(crate) fn take_ended(&mut self) -> Option<Numbered<T::Output>> {
        loop {
            let number = self.ended.lock().numbers.pop_front()?;
            // It is not there if it was woken more than once.
            if let Some(task) = self.tasks.remove(&number) {
                return Some((number, task.take()));
            }
        }
    }

    /// Blocks until there is an outcome. None if there is no task. A task that waits here lends its place.
    pub(crate) fn next(&mut self) -> Option<Numbered<T::Output>> {
        let mut run_here = true;
        while run_here {
            if let Some(outcome) = self.take_ended() {
                return Some(outcome);
            }
            run_here = self.run_one_here();
        }
        let lent = if self.tasks.is_empty() { None } else { Lent::begin() };
        let by = lent.as_ref().map(Lent::token);
        let retry = Cell::new(by.clone().and_then(|by| self.want_all(&by)));
        let poll = |context: &mut Context<'_>| {
            if let (Some(_), Some(by)) = (retry.get(), &by) {
                retry.set(self.tasks.values().find_map(|task| task.want(Weak::clone(by))));
            }
            self.poll_ended(context)
        };
        engine::block_on_or_retry(poll, || retry.get())
    }

    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Numbered<T::Output>>> {
        engine::resume_on_thread();
        let mut polled = self.poll_ended(context);
        while polled.is_pending() && self.run_one_here() {
            polled = self.poll_ended(context);
        }
        if polled.is_ready() {
            self.suspension = None;
        } else if let Some(by) = engine::suspend_on(&mut self.suspension) {
            self.want_all(&by);
        }
        polled
    }

    fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<Option<Numbered<T::Output>>> {
        loop {
            if let Some(outcome) = self.take_ended() {
                return Poll::Ready(Some(outcome));
            }
            if self.tasks.is_empty() {
                return Poll::Ready(None);
            }
            let mut state = self.ended.lock();
            if state.numbers.is_empty() {
                state.waker = Some(context.waker().clone());
                return Poll::Pending;
            }
        }
    }

    /// A worker that waits runs a task that has not started, if it may. False if there is none.
    fn run_one_here(&mut self) -> bool {
        if engine::inside() != Some(Kind::Thread) {
            return false;
        }
        while let Some((number, task)) = self.tasks.range(self.known..).next() {
            let runs = !task.is_done();
            if runs && !task.run_here() {
                return false;
            }
            self.known = number + 1;
            if runs {
                return true;
            }
        }
        false
    }

    /// Lets the pool know that a task waits for each of these. If a thread could not be started for one, returns
    /// when to try again.
    fn want_all(&mut self, by: &Weak<dyn Release>) -> Option<Duration> {
        let is_same = |known: &KnownBy| ptr::addr_eq(known.0.as_ptr(), by.as_ptr());
        if !self.known_by.as_ref().is_some_and(is_same) {
            (self.known, self.known_by) = (0, Some(KnownBy(Weak::clone(by))));
        }
        let known = std::mem::replace(&mut self.known, self.next);
        self.tasks.range(known..).filter_map(|(_, task)| task.want(Weak::clone(by))).last()
    }
}
