//! The inbox of a reader of outcomes: tasks that other threads add while it reads.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use super::{Ended, InFlight, TellEnd};
use crate::engine::contain;
use crate::engine::sync::{Mutex, lock};
use crate::error::Refused;

/// Tasks that were added and that the reader has not taken over, in the order of their numbers.
pub(super) struct Inbox<T>(Mutex<State<T>>);

struct State<T> {
    tasks: VecDeque<(usize, T)>,
    /// The number of the task that is added next.
    next: usize,
    reader: Reader,
}

/// Who reads the outcomes.
enum Reader {
    /// It is woken for the next task that is added, if it is a task itself: a place is lent to what it waits for.
    Reads(Option<Waker>),
    Gone(Rest),
}

/// What becomes of tasks whose outcomes are not read any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    RunsOn,
    IsCancelled,
}

impl<T> Inbox<T> {
    /// The first task gets this number.
    pub(super) fn starting_at(next: usize) -> Arc<Self> {
        let reader = Reader::Reads(None);
        Arc::new(Inbox(Mutex::new(State { tasks: VecDeque::new(), next, reader })))
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.0).tasks.len()
    }

    pub(super) fn next_number(&self) -> usize {
        lock(&self.0).next
    }

    /// Takes all tasks. If there is a waker, it is woken for the next one.
    pub(super) fn take(&self, waker: Option<Waker>) -> VecDeque<(usize, T)> {
        let mut state = lock(&self.0);
        let old = std::mem::replace(&mut state.reader, Reader::Reads(waker));
        let tasks = std::mem::take(&mut state.tasks);
        drop(state);
        drop(old);
        tasks
    }

    /// Puts back what was taken, before the tasks that were added since then.
    pub(super) fn put_back(&self, mut tasks: VecDeque<(usize, T)>) {
        let mut state = lock(&self.0);
        tasks.append(&mut state.tasks);
        state.tasks = tasks;
    }

    /// The reader takes what there is, and no more.
    pub(super) fn close(&self, rest: Rest) -> VecDeque<(usize, T)> {
        let mut state = lock(&self.0);
        let old = std::mem::replace(&mut state.reader, Reader::Gone(rest));
        let tasks = std::mem::take(&mut state.tasks);
        drop(state);
        drop(old);
        tasks
    }
}

impl<T: InFlight> Inbox<T> {
    /// Adds a task. Its number.
    pub(super) fn push(&self, task: T, ended: &Arc<Ended>) -> usize {
        let mut state = lock(&self.0);
        let number = state.next;
        state.next += 1;
        match &mut state.reader {
            Reader::Reads(waker) => {
                let waker = waker.take();
                // Under the lock, which calls nothing: when the reader hears of the end, it finds the task in the inbox.
                let has_ended = TellEnd::watch(ended, number, &task);
                state.tasks.push_back((number, task));
                drop(state);
                // A waker is a user's code. If it panics, the task is in the inbox all the same.
                has_ended.into_iter().chain(waker).for_each(|waker| contain(|| waker.wake()));
            }
            Reader::Gone(rest) => {
                let rest = *rest;
                drop(state);
                if rest == Rest::IsCancelled {
                    task.cancel();
                }
            }
        }
        number
    }
}

/// Adds tasks from any thread. While one of these exists, the reader waits for more.
pub(crate) struct Producer<T> {
    inbox: Arc<Inbox<T>>,
    ended: Arc<Ended>,
}

impl<T> Producer<T> {
    pub(super) fn new(inbox: &Arc<Inbox<T>>, ended: &Arc<Ended>) -> Self {
        lock(&ended.0).producers += 1;
        Producer { inbox: Arc::clone(inbox), ended: Arc::clone(ended) }
    }

    /// An error if no outcome will be read any more.
    pub(crate) fn check(&self) -> Result<(), Refused> {
        match lock(&self.inbox.0).reader {
            Reader::Reads(_) => Ok(()),
            Reader::Gone(_) => Err(Refused::BatchGone),
        }
    }
}

impl<T: InFlight> Producer<T> {
    /// Adds a task. Its number.
    pub(crate) fn push(&self, task: T) -> usize {
        self.inbox.push(task, &self.ended)
    }
}

impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        Producer::new(&self.inbox, &self.ended)
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.ended.0);
        state.producers -= 1;
        let waker = if state.producers == 0 { state.waker.take() } else { None };
        drop(state);
        waker.into_iter().for_each(|waker| contain(|| waker.wake()));
    }
}
