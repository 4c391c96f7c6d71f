//! Tasks in flight, and their outcomes in order of completion.

mod inbox; // tasks that other threads add
#[cfg(all(test, loom))]
mod models;

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use self::inbox::Inbox;
use crate::engine::sync::{Mutex, lock};
use crate::engine::wait::is_over;
use crate::engine::{self, Joinable, Suspension, Waits, contain};
use crate::error::JoinError;
use crate::handle::JoinHandle;

pub(crate) use self::inbox::{Producer, Rest};

/// The number of a task, and its outcome.
pub(crate) type Numbered<R> = (usize, Result<R, JoinError>);

/// A handle to a task, as seen by code that waits for many.
pub(crate) trait InFlight {
    type Output;

    /// What the task state has, which is not the output if that may borrow.
    type Settled;

    /// None if the outcome was taken, or nothing was started.
    fn task_state(&self) -> Option<&Arc<dyn Joinable<Self::Settled>>>;

    /// The outcome of a task that has ended.
    fn take(self) -> Result<Self::Output, JoinError>;

    /// Blocks until the task has ended.
    fn wait(self) -> Result<Self::Output, JoinError>;

    /// Has `waker` woken when the task has ended. False if it has.
    fn watch(&self, waker: &Waker) -> bool {
        self.task_state().is_some_and(|task_state| task_state.watch(waker))
    }

    fn is_done(&self) -> bool {
        self.task_state().is_none_or(|task_state| task_state.is_done())
    }

    /// Runs the task on the calling thread, which is a worker's, if the task has not started and the thread may.
    /// True if it has run.
    fn run_here(&self) -> bool {
        self.task_state().is_some_and(|task_state| Arc::clone(task_state).run_here())
    }

    /// A task waits for this one: see [`Joinable::want`].
    fn want(&self, by: Weak<Waits>) -> Option<Duration> {
        Arc::clone(self.task_state()?).want(by)
    }

    /// No task waits for this one any more.
    fn unwant(&self) {
        self.task_state().into_iter().for_each(|task_state| task_state.unwant());
    }

    fn cancel(&self) {
        let _: bool = self.task_state().is_some_and(|task_state| task_state.cancel());
    }
}

impl<T> InFlight for JoinHandle<T> {
    type Output = T;
    type Settled = T;

    fn task_state(&self) -> Option<&Arc<dyn Joinable<T>>> {
        JoinHandle::task_state(self)
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
    /// The number of the task that is added next, if there is no inbox.
    next: usize,
    /// A task that waited has run each task below this number, or let its pool know that it waits.
    known: usize,
    /// What that task waits by. Only its address is used.
    known_by: Weak<Waits>,
    ended: Arc<Ended>,
    /// There from the first [`Producer`] on.
    inbox: Option<Arc<Inbox<T>>>,
    /// There while a task is suspended on the next outcome.
    suspension: Option<Suspension>,
}

/// The numbers of tasks that have ended, and whose outcomes have not been taken.
#[derive(Default)]
struct Ended(Mutex<EndedState>);

#[derive(Default)]
struct EndedState {
    numbers: VecDeque<usize>,
    waker: Option<Waker>,
    /// More tasks may come from so many.
    producers: usize,
}

/// Is woken when the task with this number has ended.
struct TellEnd {
    ended: Arc<Ended>,
    number: usize,
}

impl TellEnd {
    /// Has the end of a task told. If it has ended, returns the waker that tells so, which the caller is to wake.
    #[must_use]
    fn watch(ended: &Arc<Ended>, number: usize, task: &impl InFlight) -> Option<Waker> {
        let teller = Waker::from(Arc::new(TellEnd { ended: Arc::clone(ended), number }));
        (!task.watch(&teller)).then_some(teller)
    }
}

impl Wake for TellEnd {
    fn wake(self: Arc<Self>) {
        let mut state = lock(&self.ended.0);
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
        let (known_by, inbox, suspension) = (Weak::new(), None, None);
        Completions { tasks, next: number, known: number, known_by, ended, inbox, suspension }
    }

    /// The number of the task that is added next.
    pub(crate) fn next_number(&self) -> usize {
        self.inbox.as_ref().map_or(self.next, |inbox| inbox.next_number())
    }

    /// How many outcomes have not been taken.
    pub(crate) fn len(&self) -> usize {
        self.tasks.len() + self.inbox.as_ref().map_or(0, |inbox| inbox.len())
    }

    /// Adds tasks from other threads.
    pub(crate) fn producer(&mut self) -> Producer<T> {
        let next = self.next;
        Producer::new(self.inbox.get_or_insert_with(|| Inbox::starting_at(next)), &self.ended)
    }

    /// Whether other threads may still add tasks.
    pub(crate) fn is_open(&self) -> bool {
        self.inbox.is_some() && lock(&self.ended.0).producers > 0
    }

    /// Whether no outcome will ever come.
    pub(crate) fn is_at_end(&self) -> bool {
        // In this order: what the last producer has added is in the inbox.
        !self.is_open() && self.len() == 0
    }

    /// Takes over what other threads have added. If there is a waker, it is woken when they add more.
    fn take_over(&mut self, waker: Option<&Waker>) {
        if let Some(inbox) = &self.inbox {
            self.tasks.extend(inbox.take(waker.cloned()));
        }
    }

    /// Refuses what other threads add from now on.
    pub(crate) fn close(&mut self, rest: Rest) {
        if let Some(inbox) = self.inbox.take() {
            self.tasks.extend(inbox.close(rest));
            self.next = inbox.next_number();
        }
    }
}

impl<T: InFlight> Completions<T> {
    /// Adds a task. Its number.
    pub(crate) fn push(&mut self, task: T) -> usize {
        if let Some(inbox) = &self.inbox {
            return inbox.push(task, &self.ended);
        }
        let number = self.next;
        self.next += 1;
        let has_ended = TellEnd::watch(&self.ended, number, &task);
        self.tasks.insert(number, task);
        // A waker is a user's code. If it panics, the task is there all the same.
        has_ended.into_iter().for_each(|waker| contain(|| waker.wake()));
        number
    }

    pub(crate) fn cancel(&self) {
        self.tasks.values().for_each(T::cancel);
        if let Some(inbox) = &self.inbox {
            // To cancel drops what a user made, so it happens outside of the lock. No other thread reads meanwhile.
            let tasks = inbox.take(None);
            tasks.iter().for_each(|(_, task)| task.cancel());
            inbox.put_back(tasks);
        }
    }

    /// The next outcome, if there is one already, and the number of its task.
    pub(crate) fn take_ended(&mut self) -> Option<Numbered<T::Output>> {
        loop {
            let number = lock(&self.ended.0).numbers.pop_front()?;
            if !self.tasks.contains_key(&number) {
                self.take_over(None);
            }
            // It is not there if it was woken more than once.
            if let Some(task) = self.tasks.remove(&number) {
                return Some((number, task.take()));
            }
        }
    }

    /// Blocks until there is an outcome. None if there is no task. A task that waits here lends its place.
    pub(crate) fn next(&mut self) -> Option<Numbered<T::Output>> {
        self.next_until(None).flatten()
    }

    /// As [`next`](Completions::next). None if the time is over.
    pub(crate) fn next_until(
        &mut self,
        deadline: Option<Instant>,
    ) -> Option<Option<Numbered<T::Output>>> {
        engine::while_resumed(|| self.wait_until(deadline))
    }

    fn wait_until(&mut self, deadline: Option<Instant>) -> Option<Option<Numbered<T::Output>>> {
        loop {
            let found = self.look();
            if found.is_some() || is_over(deadline) {
                return found;
            }
            self.take_over(None);
            if !self.run_one_here() {
                break;
            }
        }
        let mut suspension = None;
        let by = engine::suspend_on(&mut suspension, true);
        let retry = Cell::new(by.as_ref().and_then(|by| self.want_all(by)));
        let poll = |waker: Option<&Waker>| {
            let Some(waker) = waker else { return self.look() };
            let found = self.watch(waker, by.is_some());
            if let (None, Some(by)) = (&found, &by) {
                let again = retry.get().and_then(|_| self.want_again(by));
                retry.set(self.want_all(by).or(again));
            }
            found
        };
        let outcome = engine::block_until(deadline, poll, || retry.get());
        if outcome.is_none() && by.is_some() {
            self.unwant_all();
        }
        outcome
    }

    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Numbered<T::Output>>> {
        engine::while_resumed(|| {
            let in_task = engine::depth() > 0;
            let mut found = self.watch(context.waker(), in_task);
            while found.is_none() && self.run_one_here() {
                found = self.watch(context.waker(), in_task);
            }
            if found.is_some() {
                self.suspension = None;
            } else if let Some(by) = engine::suspend_on(&mut self.suspension, false) {
                self.want_all(&by);
            }
            found.map_or(Poll::Pending, Poll::Ready)
        })
    }

    /// The next outcome, or none at the end, if that is known already.
    fn look(&mut self) -> Option<Option<Numbered<T::Output>>> {
        let outcome = self.take_ended();
        (outcome.is_some() || self.is_at_end()).then_some(outcome)
    }

    /// As [`look`](Completions::look). If there is nothing, the waker is woken when there may be. If this is called by a
    /// task, it is also woken for each task that is added, so that the pool knows that it is waited for.
    fn watch(&mut self, waker: &Waker, in_task: bool) -> Option<Option<Numbered<T::Output>>> {
        loop {
            if let Some(outcome) = self.take_ended() {
                return Some(Some(outcome));
            }
            let was_open = self.is_open();
            // After the look at the producers: what the last of them has added is in the inbox.
            self.take_over(in_task.then_some(waker));
            let waker = waker.clone();
            let mut state = lock(&self.ended.0);
            if !state.numbers.is_empty() || (was_open && state.producers == 0) {
                continue;
            }
            let old = state.waker.replace(waker);
            drop(state);
            drop(old);
            return (!was_open && self.tasks.is_empty()).then_some(None);
        }
    }

    /// A worker that waits runs a task that has not started, if it may. False if there is none.
    fn run_one_here(&mut self) -> bool {
        if !engine::has_thread() {
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
    fn want_all(&mut self, by: &Weak<Waits>) -> Option<Duration> {
        if !self.known_by.ptr_eq(by) {
            (self.known, self.known_by) = (0, Weak::clone(by));
        }
        let next = self.tasks.last_key_value().map_or(0, |(number, _)| number + 1);
        let known = std::mem::replace(&mut self.known, next);
        self.tasks.range(known..).filter_map(|(_, task)| task.want(Weak::clone(by))).last()
    }

    /// As [`want_all`](Completions::want_all), for tasks that the pool knows of.
    fn want_again(&self, by: &Weak<Waits>) -> Option<Duration> {
        self.tasks.values().find_map(|task| task.want(Weak::clone(by)))
    }

    /// No task waits for these any more.
    fn unwant_all(&mut self) {
        (self.known, self.known_by) = (0, Weak::new());
        self.tasks.values().for_each(T::unwant);
    }
}
