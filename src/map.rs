//! `map` and `for_each`: the items of an iterator through a pool, lazily and in bounded memory.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::error::{JoinError, SubmitError, TaskPanic};
use crate::handle::JoinHandle;
use crate::pool::Pool;
use crate::scope::{Scope, ScopedHandle};

/// More than this is never in flight, however large the pool: results wait in order of input, so
/// that a slow item holds back as many.
const WIDEST: usize = 4096;

impl Pool {
    /// Runs `function` on every item, on the workers, and yields the outcomes in the order of the
    /// input. Lazy: items are pulled from the input on the calling thread, only as many as queue and
    /// capacity hold together (and at most 4096), so that an endless input is no problem. The input
    /// may borrow; the items and the function are `'static`.
    ///
    /// Dropped early, the iterator cancels what nobody has begun with. If the pool is closed meanwhile,
    /// the calling thread runs the function on the items that are left.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(4);
    /// let squares: Vec<u64> = pool.map(1.., |number| number * number).flatten().take(5).collect();
    /// assert_eq!(squares, [1, 4, 9, 16, 25]);
    /// ```
    pub fn map<I, R>(
        &self,
        input: I,
        function: impl Fn(I::Item) -> R + Send + Sync + 'static,
    ) -> Map<I::IntoIter, R>
    where
        I: IntoIterator,
        I::Item: Send + 'static,
        R: Send + 'static,
    {
        Map {
            window: window(self),
            pool: self.clone(),
            input: input.into_iter(),
            function: Arc::new(function),
            in_flight: VecDeque::new(),
            refused: None,
        }
    }

    /// Runs `function` on every item, on the workers, and returns when all of them have ended. The
    /// items and the function may borrow. Items are pulled on the calling thread, as by
    /// [`map`](Pool::map). An item that the pool refuses is run by the calling thread.
    ///
    /// # Panics
    ///
    /// With the first panic of `function`, after everything that was begun has ended; no more items
    /// are pulled after it was noticed.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// let pool = formic::Pool::new(4);
    /// let (words, letters) = (["one", "two", "three"], AtomicU64::new(0));
    /// pool.for_each(&words, |word| {
    ///     letters.fetch_add(word.len() as u64, Ordering::Relaxed);
    /// });
    /// assert_eq!(letters.into_inner(), 11);
    /// ```
    #[doc(alias = "WaitGroup")]
    pub fn for_each<I>(&self, items: I, function: impl Fn(I::Item) + Sync)
    where
        I: IntoIterator,
        I::Item: Send,
    {
        let (window, function) = (window(self), &function);
        self.scope(|scope| {
            let mut in_flight = VecDeque::new();
            for item in items {
                in_flight.extend(start(scope, item, function));
                if in_flight.len() >= window {
                    in_flight.pop_front().into_iter().for_each(finish);
                }
            }
            in_flight.into_iter().for_each(finish);
        });
    }
}

/// How many items may be in flight.
fn window(pool: &Pool) -> usize {
    pool.places().clamp(1, WIDEST)
}

/// Starts the function on an item; runs it here if the pool refuses.
fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    item: T,
    function: &'scope (impl Fn(T) + Sync),
) -> Option<ScopedHandle<'scope, ()>> {
    match scope.spawn(move || function(item)) {
        Ok(handle) => Some(handle),
        Err(refused) => {
            refused.into_task()();
            None
        }
    }
}

/// Waits for an item. A panic goes on: the scope waits for the others.
fn finish(handle: ScopedHandle<'_, ()>) {
    if let Err(error @ JoinError::Panicked(_)) = handle.join() {
        error.resume();
    }
}

type Task<R> = Box<dyn FnOnce() -> R + Send>;

/// The outcomes of [`Pool::map`], in the order of the input.
#[must_use = "iterators are lazy: nothing is run until the outcomes are pulled"]
pub struct Map<I: Iterator, R> {
    pool: Pool,
    input: I,
    function: Arc<dyn Fn(I::Item) -> R + Send + Sync>,
    window: usize,
    in_flight: VecDeque<JoinHandle<R>>,
    /// What the pool had no place for; it is tried again first.
    refused: Option<Task<R>>,
}

impl<I, R> Map<I, R>
where
    I: Iterator,
    I::Item: Send + 'static,
    R: Send + 'static,
{
    /// Starts as many items as may be in flight and find a place.
    fn fill(&mut self) {
        while self.in_flight.len() < self.window {
            let Some(task) = self.refused.take().or_else(|| self.pull()) else { return };
            // Whoever has something to wait for does not wait for a place.
            let spawned = if self.in_flight.is_empty() {
                self.pool.spawn(task)
            } else {
                self.pool.try_spawn(task)
            };
            match spawned.map_err(SubmitError::into_task) {
                Ok(handle) => self.in_flight.push_back(handle.cancel_on_drop()),
                Err(task) => {
                    self.refused = Some(task);
                    return;
                }
            }
        }
    }

    fn pull(&mut self) -> Option<Task<R>> {
        let item = self.input.next()?;
        let function = Arc::clone(&self.function);
        Some(Box::new(move || function(item)))
    }
}

impl<I, R> Iterator for Map<I, R>
where
    I: Iterator,
    I::Item: Send + 'static,
    R: Send + 'static,
{
    type Item = Result<R, JoinError>;

    /// Waits for the next outcome in the order of the input.
    fn next(&mut self) -> Option<Self::Item> {
        self.fill();
        match self.in_flight.pop_front() {
            Some(handle) => Some(handle.join()),
            None => self.refused.take().map(run_here),
        }
    }
}

fn run_here<R>(task: Task<R>) -> Result<R, JoinError> {
    let outcome = catch_unwind(AssertUnwindSafe(task));
    outcome.map_err(|payload| JoinError::Panicked(TaskPanic::caught(payload, None)))
}

impl<I: Iterator, R> fmt::Debug for Map<I, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map").field("in_flight", &self.in_flight.len()).finish_non_exhaustive()
    }
}
