//! What `Map` and `ScopedMap` have in common: items are pulled, started and waited for.

use std::collections::VecDeque;
use std::panic::Location;
use std::sync::Arc;

use crate::completions::{Completions, InFlight, Numbered};
use crate::error::{JoinError, Refused, TaskError};
use crate::multi::load::Standing;
use crate::pool::Pool;

/// Where the items are run. `T` is a handle to a task.
pub(crate) trait Target<F, T> {
    fn pool(&self) -> &Pool;

    /// Starts a task, after a wait for a place if need be.
    fn start(&self, task: F, origin: &'static Location<'static>) -> Result<T, Refused>;
}

/// The outcomes of `function` on the items of `input`. `T` is a handle to a task.
pub(crate) struct Mapping<H, T, I, F> {
    target: H,
    input: Input<I>,
    function: Arc<F>,
    window: usize,
    tasks: Tasks<T>,
    origin: &'static Location<'static>,
}

/// What is left of the input.
enum Input<I> {
    More(I),
    /// The pool refuses to go on, which is still to be told.
    Refused(Refused),
    Over,
}

/// The tasks in flight, by the order in which their outcomes are wanted.
enum Tasks<T> {
    /// In the order of the input. So many were taken before the first of these.
    InOrder {
        taken: usize,
        tasks: VecDeque<T>,
    },
    AsTheyEnd(Completions<T>),
}

impl<H, T, I, F> Mapping<H, T, I, F> {
    pub(crate) fn new(
        target: H,
        window: usize,
        (input, function): (I, F),
        origin: &'static Location<'static>,
    ) -> Self {
        let tasks = Tasks::InOrder { taken: 0, tasks: VecDeque::new() };
        let (input, function) = (Input::More(input), Arc::new(function));
        Mapping { target, input, function, window: window.max(1), tasks, origin }
    }

    pub(crate) fn set_window(&mut self, items: usize) {
        self.window = items.max(1);
    }

    fn in_flight(&self) -> usize {
        match &self.tasks {
            Tasks::InOrder { tasks, .. } => tasks.len(),
            Tasks::AsTheyEnd(tasks) => tasks.len(),
        }
    }
}

impl<H, T: InFlight, I, F> Mapping<H, T, I, F> {
    /// Yields outcomes as they come from now on.
    pub(crate) fn unordered(mut self) -> Self {
        if let Tasks::InOrder { taken, tasks } = self.tasks {
            let mut completions = Completions::starting_at(taken);
            for task in tasks {
                completions.push(task);
            }
            self.tasks = Tasks::AsTheyEnd(completions);
        }
        self
    }

    /// Pulls no more items, and cancels what has not started.
    fn stop(&mut self) {
        self.input = Input::Over;
        match &self.tasks {
            Tasks::InOrder { tasks, .. } => tasks.iter().for_each(T::cancel),
            Tasks::AsTheyEnd(tasks) => tasks.cancel(),
        }
    }

    /// An outcome that is there.
    fn take_ready(&mut self) -> Option<Numbered<T::Output>> {
        match &mut self.tasks {
            Tasks::InOrder { taken, tasks } => {
                let task = if tasks.front()?.is_done() { tasks.pop_front()? } else { return None };
                *taken += 1;
                Some((*taken - 1, task.take()))
            }
            Tasks::AsTheyEnd(tasks) => tasks.take_ended(),
        }
    }

    /// Blocks until there is an outcome. None if no task is in flight.
    fn wait(&mut self) -> Option<Numbered<T::Output>> {
        match &mut self.tasks {
            Tasks::InOrder { taken, tasks } => {
                let task = tasks.pop_front()?;
                *taken += 1;
                Some((*taken - 1, task.wait()))
            }
            Tasks::AsTheyEnd(tasks) => tasks.next(),
        }
    }
}

impl<H, T, I, F> Mapping<H, T, I, F>
where
    T: InFlight,
    I: Iterator,
{
    /// The next outcome, and the number of its item. Blocks until it is there.
    pub(crate) fn next<J>(
        &mut self,
        make: impl Fn(Arc<F>, I::Item) -> J,
    ) -> Option<Numbered<T::Output>>
    where
        H: Target<J, T>,
    {
        if let Some(ready) = self.take_ready() {
            return Some(ready);
        }
        self.fill(make);
        if let Some(outcome) = self.wait() {
            return Some(outcome);
        }
        match std::mem::replace(&mut self.input, Input::Over) {
            Input::Refused(refused) => Some((self.pulled(), Err(JoinError::Refused(refused)))),
            _ => None,
        }
    }

    /// Pulls and starts as many items as may be in flight and find a place. If none is in flight, it waits
    /// for a place.
    fn fill<J>(&mut self, make: impl Fn(Arc<F>, I::Item) -> J)
    where
        H: Target<J, T>,
    {
        while self.in_flight() < self.window {
            match self.pull::<J>() {
                Ok(Some(item)) => {
                    let task = make(Arc::clone(&self.function), item);
                    match self.target.start(task, self.origin) {
                        Ok(task) => self.push(task),
                        Err(refused) => self.input = Input::Refused(refused),
                    }
                }
                Ok(None) => return,
                Err(end) => self.input = end,
            }
        }
    }

    /// The next item, if there is a place for it. Or how the input ends.
    fn pull<J>(&mut self) -> Result<Option<I::Item>, Input<I>>
    where
        H: Target<J, T>,
    {
        let waits = self.in_flight() == 0;
        let Input::More(input) = &mut self.input else { return Ok(None) };
        let pool = self.target.pool();
        match pool.load().standing {
            Standing::Full if !waits => Ok(None),
            Standing::Room | Standing::Full => input.next().map(Some).ok_or(Input::Over),
            Standing::Closed if input.size_hint().1 == Some(0) => Err(Input::Over),
            Standing::Closed => Err(Input::Refused(pool.refusal())),
        }
    }

    fn push(&mut self, task: T) {
        match &mut self.tasks {
            Tasks::InOrder { tasks, .. } => tasks.push_back(task),
            Tasks::AsTheyEnd(tasks) => {
                tasks.push(task);
            }
        }
    }

    /// How many outcomes there were before one that has no item.
    fn pulled(&self) -> usize {
        match &self.tasks {
            Tasks::InOrder { taken, tasks } => taken + tasks.len(),
            Tasks::AsTheyEnd(tasks) => tasks.next_number(),
        }
    }

    /// An item that has not been pulled may still be refused, so only those in flight are certain.
    pub(crate) fn size_hint(&self) -> (usize, Option<usize>) {
        let in_flight = self.in_flight();
        match &self.input {
            Input::More(input) => {
                (in_flight, input.size_hint().1.and_then(|most| most.checked_add(in_flight)))
            }
            Input::Refused(_) => (in_flight + 1, Some(in_flight + 1)),
            Input::Over => (in_flight, Some(in_flight)),
        }
    }

    /// Hands each value to `each`, with the number of its item. After the first failure no more items are
    /// pulled, what has not started is cancelled, and what runs is waited for.
    pub(crate) fn try_each<J, V, E>(
        mut self,
        make: impl Fn(Arc<F>, I::Item) -> J,
        mut each: impl FnMut(usize, V),
    ) -> Result<(), TaskError<E>>
    where
        H: Target<J, T>,
        T: InFlight<Output = Result<V, E>>,
    {
        self = self.unordered();
        let mut first: Option<TaskError<E>> = None;
        while let Some((index, outcome)) = self.next(&make) {
            let error = match TaskError::check(index, outcome) {
                Ok(value) => {
                    each(index, value);
                    continue;
                }
                Err(error) => error,
            };
            let stopped = first.is_some();
            if !(stopped && error.is_cancelled())
                && first.as_ref().is_none_or(|first| index < first.index())
            {
                first = Some(error);
            }
            if !stopped {
                self.stop();
            }
        }
        first.map_or(Ok(()), Err)
    }
}
