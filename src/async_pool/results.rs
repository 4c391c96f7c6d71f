//! Where the results of pulled items go.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use super::pull::Sink;
use crate::engine::sync::{Mutex, lock};
use crate::engine::{End, Hooks, contain};
use crate::error::{Failures, ForEachError, JoinError, TaskError};
use crate::map::InOrder;

/// The sink of `for_each`: only failures are kept. If the future of `for_each` was dropped, the hook receives the
/// first panic when the last puller is gone.
pub(super) struct FailuresOnly(Mutex<Failures>, Hooks);

impl FailuresOnly {
    pub(super) fn new(hooks: &Hooks) -> Self {
        FailuresOnly(Mutex::default(), hooks.clone())
    }

    pub(super) fn take(&self) -> Failures {
        std::mem::take(&mut *lock(&self.0))
    }
}

impl Drop for FailuresOnly {
    fn drop(&mut self) {
        if let Err(ForEachError::Panicked { first, .. }) = self.take().check() {
            let _: End = self.1.tell_panic(first);
        }
    }
}

impl Sink for FailuresOnly {
    type Result = ();
    type Number = ();

    fn number(&self) -> Option<()> {
        Some(())
    }

    fn await_room(&self, _: &Waker) -> bool {
        false
    }

    fn give_back(&self, (): ()) {}

    #[inline]
    fn deliver(&self, (): (), result: Result<(), JoinError>) {
        if let Err(error) = result {
            lock(&self.0).note(error);
        }
    }
}

/// The sink of `try_map` and `try_for_each`: all values, or the failure of the lowest index. The hook receives a
/// panic that is not returned.
pub(super) struct AllOrError<V, E>(Mutex<AllState<V, E>>, Hooks);

struct AllState<V, E> {
    numbers: usize,
    values: InOrder<V>,
    error: Option<TaskError<E>>,
}

impl<V, E> AllOrError<V, E> {
    pub(super) fn new(hooks: &Hooks) -> Self {
        let (numbers, values, error) = (0, InOrder::default(), None);
        AllOrError(Mutex::new(AllState { numbers, values, error }), hooks.clone())
    }

    /// A failure that will not be returned.
    fn give_up(&self, error: Option<TaskError<E>>) {
        match error {
            Some(TaskError::Panicked { panic, .. }) => _ = self.1.tell_panic(panic),
            error => contain(|| drop(error)),
        }
    }

    /// The values, unless there was a failure, or items are left for the reason of `cut_off`.
    pub(super) fn take(&self, cut_off: Option<JoinError>) -> Result<Vec<V>, TaskError<E>> {
        let mut state = lock(&self.0);
        let (error, values) = (state.error.take(), std::mem::take(&mut state.values));
        let pulled = state.numbers;
        drop(state);
        match (error, cut_off) {
            (Some(error), _) => Err(error),
            (None, Some(reason)) => TaskError::check(pulled, Err(reason)),
            (None, None) => Ok(values.into_vec()),
        }
    }
}

impl<V: Send + 'static, E: Send + 'static> Sink for AllOrError<V, E> {
    type Result = Result<V, E>;
    type Number = usize;

    fn wants_more(&self) -> bool {
        lock(&self.0).error.is_none()
    }

    fn number(&self) -> Option<usize> {
        let mut state = lock(&self.0);
        state.numbers += 1;
        Some(state.numbers - 1)
    }

    fn await_room(&self, _: &Waker) -> bool {
        false
    }

    fn give_back(&self, _: usize) {
        lock(&self.0).numbers -= 1;
    }

    fn deliver(&self, number: usize, result: Result<Result<V, E>, JoinError>) {
        let outcome = TaskError::check(number, result);
        let mut state = lock(&self.0);
        let unwanted = match outcome {
            Ok(value) => {
                state.values.put(number, value);
                None
            }
            Err(error) if state.error.as_ref().is_none_or(|first| number < first.index()) => {
                state.error.replace(error)
            }
            Err(error) => Some(error),
        };
        drop(state);
        self.give_up(unwanted);
    }
}

impl<V, E> Drop for AllOrError<V, E> {
    fn drop(&mut self) {
        let error = lock(&self.0).error.take();
        self.give_up(error);
    }
}

/// The sink of `map`: results wait here until they are taken out. If the stream was dropped, the hook receives the
/// panics among them when the last puller is gone.
pub(super) struct ResultBuffer<R>(Mutex<BufferState<R>>, Hooks);

struct BufferState<R> {
    results: Results<R>,
    /// How many numbers have been given out, and how many results taken out.
    numbers: u64,
    taken: u64,
    window: u64,
    /// The one who takes results out, and a puller that waits for room.
    taker: Option<Waker>,
    puller: Option<Waker>,
}

/// Results by the order in which they are wanted.
enum Results<R> {
    /// The one with number `taken` is first, and those that are missing are `None`.
    InOrder(VecDeque<Option<Result<R, JoinError>>>),
    AsTheyCome(VecDeque<(u64, Result<R, JoinError>)>),
}

impl<R> ResultBuffer<R> {
    pub(super) fn new(window: usize, hooks: &Hooks) -> Self {
        let results = Results::InOrder(VecDeque::new());
        let (taker, puller, window) = (None, None, window.max(1) as u64);
        let state = BufferState { results, numbers: 0, taken: 0, window, taker, puller };
        ResultBuffer(Mutex::new(state), hooks.clone())
    }

    /// Lets as many items be in flight from now on.
    pub(super) fn set_window(&self, items: usize) {
        let mut state = lock(&self.0);
        state.window = items.max(1) as u64;
        let puller = state.puller.take();
        drop(state);
        puller.into_iter().for_each(Waker::wake);
    }

    /// Yields results as they come from now on.
    pub(super) fn unordered(&self) {
        let state = &mut *lock(&self.0);
        if let Results::InOrder(results) = &mut state.results {
            let there = results.drain(..).zip(state.taken..);
            let there = there.filter_map(|(result, number)| Some((number, result?)));
            state.results = Results::AsTheyCome(there.collect());
        }
    }

    /// Whether no result waits to be taken out.
    pub(super) fn is_empty(&self) -> bool {
        match &lock(&self.0).results {
            Results::InOrder(results) => results.is_empty(),
            Results::AsTheyCome(results) => results.is_empty(),
        }
    }

    /// How many results there were before one that has no item.
    pub(super) fn pulled(&self) -> u64 {
        lock(&self.0).numbers
    }

    /// The next result and its number. Otherwise `waker` is woken when there is one.
    pub(super) fn take(&self, waker: &Waker) -> Option<(u64, Result<R, JoinError>)> {
        let mut state = lock(&self.0);
        let taken = state.taken;
        let next = match &mut state.results {
            Results::InOrder(results) => match results.front() {
                Some(Some(_)) => results.pop_front().flatten().map(|result| (taken, result)),
                _ => None,
            },
            Results::AsTheyCome(results) => results.pop_front(),
        };
        let unused = if next.is_some() {
            state.taken += 1;
            let puller = state.puller.take();
            drop(state);
            puller.into_iter().for_each(Waker::wake);
            None
        } else {
            let old = state.taker.replace(waker.clone());
            drop(state);
            old
        };
        drop(unused);
        next
    }
}

impl<R> Drop for ResultBuffer<R> {
    fn drop(&mut self) {
        let results = match &mut lock(&self.0).results {
            Results::InOrder(results) => std::mem::take(results).into_iter().flatten().collect(),
            Results::AsTheyCome(results) => {
                std::mem::take(results).into_iter().map(|(_, result)| result).collect::<Vec<_>>()
            }
        };
        for result in results {
            match result {
                Err(JoinError::Panicked(panic)) => _ = self.1.tell_panic(panic),
                result => contain(|| drop(result)),
            }
        }
    }
}

impl<R: Send + 'static> Sink for Arc<ResultBuffer<R>> {
    type Result = R;
    type Number = u64;

    fn number(&self) -> Option<u64> {
        let mut state = lock(&self.0);
        if state.numbers - state.taken >= state.window {
            return None;
        }
        state.numbers += 1;
        Some(state.numbers - 1)
    }

    fn await_room(&self, waker: &Waker) -> bool {
        let mut state = lock(&self.0);
        if state.numbers - state.taken < state.window {
            return false;
        }
        let old = state.puller.replace(waker.clone());
        drop(state);
        drop(old);
        true
    }

    fn give_back(&self, _: u64) {
        lock(&self.0).numbers -= 1;
    }

    fn deliver(&self, number: u64, result: Result<R, JoinError>) {
        let mut state = lock(&self.0);
        let taken = state.taken;
        match &mut state.results {
            Results::InOrder(results) => {
                let place = (number - taken) as usize;
                while results.len() <= place {
                    results.push_back(None);
                }
                results[place] = Some(result);
            }
            Results::AsTheyCome(results) => results.push_back((number, result)),
        }
        let taker = state.taker.take();
        drop(state);
        taker.into_iter().for_each(Waker::wake);
    }
}
