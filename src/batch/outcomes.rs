//! The outcomes of a batch: those in flight and those that are there.

use std::collections::VecDeque;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use crate::completions::{Completions, Numbered, Producer, Rest};
use crate::engine::wait::is_over;
use crate::error::{Exclusive, JoinError, Refused};
use crate::handle::JoinHandle;

/// See the module's first line.
pub(crate) struct Outcomes<T> {
    tasks: Completions<JoinHandle<T>>,
    /// Outcomes that were waited for together with others, in order of completion.
    ready: VecDeque<Exclusive<Numbered<T>>>,
    /// What becomes of the tasks when the batch is dropped.
    rest: Rest,
    /// Whether the calling thread may block until tasks of the pool end.
    may_block: fn() -> bool,
    /// The last wait was refused, and said so.
    refused: bool,
}

impl<T> Outcomes<T> {
    pub(super) fn new(may_block: fn() -> bool) -> Self {
        let (tasks, ready) = (Completions::starting_at(0), VecDeque::new());
        Outcomes { tasks, ready, rest: Rest::RunsOn, may_block, refused: false }
    }

    pub(super) fn push(&mut self, task: JoinHandle<T>) -> usize {
        self.tasks.push(task)
    }

    pub(super) fn producer(&mut self) -> Producer<JoinHandle<T>> {
        self.tasks.producer()
    }

    pub(super) fn len(&self) -> usize {
        self.ready.len() + self.tasks.len()
    }

    pub(super) fn cancel(&self) {
        self.tasks.cancel();
    }

    pub(super) fn cancel_on_drop(&mut self) {
        self.rest = Rest::IsCancelled;
    }

    /// Cancels the tasks, and those that spawners are about to add.
    pub(super) fn stop(&mut self) {
        self.cancel_on_drop();
        self.tasks.close(Rest::IsCancelled);
        self.cancel();
    }

    /// How many outcomes will come at least, and at most.
    pub(super) fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.len();
        (len, if self.tasks.is_open() { None } else { Some(len) })
    }

    /// As [`size_hint`](Outcomes::size_hint), for a thread that blocks for each outcome.
    pub(super) fn blocking_size_hint(&self) -> (usize, Option<usize>) {
        // Where it must not block, an error takes the place of the rest.
        if (self.may_block)() { self.size_hint() } else { (self.ready.len(), None) }
    }

    fn pop_ready(&mut self) -> Option<Numbered<T>> {
        self.ready.pop_front().map(Exclusive::into_inner)
    }

    /// An outcome that is there.
    pub(super) fn take_ready(&mut self) -> Option<Numbered<T>> {
        self.pop_ready().or_else(|| self.tasks.take_ended())
    }

    /// An error if the calling thread must not block for the outcomes that are left. None is lost.
    pub(super) fn check_wait(&mut self) -> Result<(), Refused> {
        self.collect_ended();
        if self.tasks.is_at_end() || (self.may_block)() { Ok(()) } else { Err(Refused::InRuntime) }
    }

    /// The number of the task that is spawned next.
    pub(super) fn next_number(&self) -> usize {
        self.tasks.next_number()
    }

    /// Collects at most as many as there are now: spawners may add tasks as fast as they end.
    fn collect_ended(&mut self) {
        for _ in 0..self.tasks.len() {
            let Some(outcome) = self.tasks.take_ended() else { return };
            self.ready.push_back(Exclusive::new(outcome));
        }
    }

    /// Blocks until there is an outcome. Where it must not, the last one is an error.
    pub(super) fn next(&mut self) -> Option<Numbered<T>> {
        if let Some(outcome) = self.take_ready() {
            return Some(outcome);
        }
        if self.tasks.is_at_end() || (self.may_block)() {
            return self.tasks.next();
        }
        self.refused = !self.refused;
        let refused = || Err(JoinError::Refused(Refused::InRuntime));
        self.refused.then(|| (self.tasks.next_number(), refused()))
    }

    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Numbered<T>>> {
        match self.pop_ready() {
            Some(outcome) => Poll::Ready(Some(outcome)),
            None => self.tasks.poll_next(context),
        }
    }

    /// Blocks until all outcomes are there. False if the time is over.
    pub(super) fn wait_all(&mut self, deadline: Option<Instant>) -> Result<bool, Refused> {
        loop {
            self.collect_ended();
            if self.tasks.is_at_end() {
                return Ok(true);
            }
            if is_over(deadline) {
                return Ok(false);
            }
            if !(self.may_block)() {
                return Err(Refused::InRuntime);
            }
            match self.tasks.next_until(deadline) {
                Some(outcome) => self.ready.extend(outcome.map(Exclusive::new)),
                None => return Ok(false),
            }
        }
    }

    /// Ready when all outcomes are there.
    pub(super) fn poll_all(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // One more than there are now: the last poll finds the end.
        for _ in 0..=self.tasks.len() {
            let Some(outcome) = ready!(self.tasks.poll_next(context)) else {
                return Poll::Ready(());
            };
            self.ready.push_back(Exclusive::new(outcome));
        }
        // Spawners add tasks as fast as they end, and other futures want their turn.
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// The outcomes that are there, in order of spawning.
    pub(super) fn take_all(&mut self) -> Vec<Result<T, JoinError>> {
        let ready = std::mem::take(&mut self.ready);
        let mut all: Vec<Numbered<T>> = ready.into_iter().map(Exclusive::into_inner).collect();
        all.sort_unstable_by_key(|(number, _)| *number);
        all.into_iter().map(|(_, outcome)| outcome).collect()
    }
}

// Nothing in it is pinned.
impl<T> Unpin for Outcomes<T> {}

impl<T> Drop for Outcomes<T> {
    fn drop(&mut self) {
        self.tasks.close(self.rest);
        if self.rest == Rest::IsCancelled {
            self.tasks.cancel();
        }
    }
}
