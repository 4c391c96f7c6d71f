//! Tasks in flight, and their outcomes in order of completion.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use crate::engine::{self, Kind};
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

    /// Runs the task on the calling thread, which is a worker's, if the task has not started.
    fn run_here(&self);

    fn cancel(&self);

    /// The outcome of a task that has ended.
    fn take(self) -> Result<Self::Output, JoinError>;

    /// Blocks until the task has ended.
    fn wait(self) -> Result<Self::Output, JoinError>;
}

impl<T> InFlight for JoinHandle<T> {
    type Output = T;

    fn watch(&self, waker: &Waker) -> bool {
        self.parcel().is_some_and(|parcel| parcel.watch(waker))
    }

    fn is_done(&self) -> bool {
        self.is_finished()
    }

    fn run_here(&self) {
        if let Some(parcel) = self.parcel() {
            parcel.run_here();
        }
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
    /// A worker that waited has seen to it that each task below this number has started.
    started: usize,
    ended: Arc<Ended>,
}

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
        Completions { tasks, next: number, started: number, ended }
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

    /// Blocks until there is an outcome. None if there is no task.
    pub(crate) fn next(&mut self) -> Option<Numbered<T::Output>> {
        engine::block_on(|context| self.poll_next(context))
    }

    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Numbered<T::Output>>> {
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
                drop(state);
                if !self.help_out() {
                    return Poll::Pending;
                }
            }
        }
    }

    /// A worker that waits runs a task that has not started. False if there is none.
    fn help_out(&mut self) -> bool {
        if engine::inside() != Some(Kind::Thread) {
            return false;
        }
        while let Some((number, task)) = self.tasks.range(self.started..).next() {
            self.started = number + 1;
            if !task.is_done() {
                task.run_here();
                return true;
            }
        }
        false
    }
}
