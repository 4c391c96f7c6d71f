//! `map` and `for_each`: the items of an iterator through a pool, lazily and in bounded memory.

use std::collections::VecDeque;
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
    /// may borrow; the items and the function are `'static`. On a scope they may borrow, too: see
    /// [`Scope::map`].
    ///
    /// An outcome is an error if the function panicked on that item, or it was
    /// [discarded](crate::Control::discard); the others go on. To take the next outcome waits for it.
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
    #[doc(alias = "par_bridge")]
    #[doc(alias = "buffered")]
    pub fn map<I, R>(
        &self,
        input: I,
        function: impl Fn(I::Item) -> R + Send + Sync + 'static,
    ) -> impl Iterator<Item = Result<R, JoinError>>
    where
        I: IntoIterator,
        I::Item: Send + 'static,
        R: Send + 'static,
    {
        Map::new(self.clone(), window(self), input.into_iter(), Arc::new(function))
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
        self.scope(|scope| scope.for_each(items, &function));
    }
}

impl<'scope> Scope<'scope, '_> {
    /// As [`Pool::map`], but the items, the function and the results may borrow from outside of the
    /// scope.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(4);
    /// let words = ["one".to_owned(), "two".to_owned()];
    /// let first: Vec<&str> =
    ///     pool.scope(|scope| scope.map(&words, |word| &word[..1]).flatten().collect());
    /// assert_eq!(first, ["o", "t"]);
    /// ```
    pub fn map<I, R>(
        &'scope self,
        input: I,
        function: impl Fn(I::Item) -> R + Send + Sync + 'scope,
    ) -> impl Iterator<Item = Result<R, JoinError>>
    where
        I: IntoIterator,
        I::Item: Send + 'scope,
        R: Send + 'scope,
    {
        Map::new(self, window(self.pool()), input.into_iter(), Arc::new(function))
    }

    /// As [`Pool::for_each`], beside other tasks of the scope.
    ///
    /// # Panics
    ///
    /// As [`Pool::for_each`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let pool = formic::Pool::new(4);
    /// let (words, letters) = (["one", "two", "three"], AtomicUsize::new(0));
    /// pool.scope(|scope| {
    ///     scope.for_each(&words, |word| drop(letters.fetch_add(word.len(), Ordering::Relaxed)));
    /// });
    /// assert_eq!(letters.into_inner(), 11);
    /// ```
    pub fn for_each<I, F>(&'scope self, items: I, function: F)
    where
        I: IntoIterator,
        I::Item: Send + 'scope,
        F: Fn(I::Item) + Send + Sync + 'scope,
    {
        for outcome in self.map(items, function) {
            if let Err(error @ JoinError::Panicked(_)) = outcome {
                error.resume();
            }
        }
    }
}

/// How many items may be in flight.
fn window(pool: &Pool) -> usize {
    pool.places().clamp(1, WIDEST)
}

/// Where the items are run.
trait Host<'a, R> {
    type Handle;

    /// Starts a task, or gives it back. Waits for a place if `wait` says so.
    fn start(&self, task: Task<'a, R>, wait: bool) -> Result<Self::Handle, Task<'a, R>>;

    fn join(handle: Self::Handle) -> Result<R, JoinError>;
}

type Task<'a, R> = Box<dyn FnOnce() -> R + Send + 'a>;

impl<R: Send + 'static> Host<'static, R> for Pool {
    type Handle = JoinHandle<R>;

    fn start(&self, task: Task<'static, R>, wait: bool) -> Result<JoinHandle<R>, Task<'static, R>> {
        let handle = if wait { self.spawn(task) } else { self.try_spawn(task) };
        handle.map(JoinHandle::cancel_on_drop).map_err(SubmitError::into_task)
    }

    fn join(handle: JoinHandle<R>) -> Result<R, JoinError> {
        handle.join()
    }
}

impl<'scope, R: Send + 'scope> Host<'scope, R> for &'scope Scope<'scope, '_> {
    type Handle = ScopedHandle<'scope, R>;

    fn start(&self, task: Task<'scope, R>, wait: bool) -> Result<Self::Handle, Task<'scope, R>> {
        let handle = if wait { self.spawn(task) } else { self.try_spawn(task) };
        handle.map(ScopedHandle::cancel_on_drop).map_err(SubmitError::into_task)
    }

    fn join(handle: ScopedHandle<'scope, R>) -> Result<R, JoinError> {
        handle.join()
    }
}

/// The outcomes of a function on the items of an iterator, in order.
struct Map<'a, H: Host<'a, R>, I: Iterator, R> {
    host: H,
    window: usize,
    input: I,
    function: Arc<dyn Fn(I::Item) -> R + Send + Sync + 'a>,
    in_flight: VecDeque<H::Handle>,
    /// What there was no place for; it is tried again first.
    refused: Option<Task<'a, R>>,
}

impl<'a, H, I, R> Map<'a, H, I, R>
where
    H: Host<'a, R>,
    I: Iterator,
    I::Item: Send + 'a,
    R: 'a,
{
    fn new(
        host: H,
        window: usize,
        input: I,
        function: Arc<dyn Fn(I::Item) -> R + Send + Sync + 'a>,
    ) -> Self {
        Map { host, window, input, function, in_flight: VecDeque::new(), refused: None }
    }

    /// Starts as many items as may be in flight and find a place.
    fn fill(&mut self) {
        while self.in_flight.len() < self.window {
            let Some(task) = self.refused.take().or_else(|| self.pull()) else { return };
            // Whoever has something to wait for does not wait for a place.
            match self.host.start(task, self.in_flight.is_empty()) {
                Ok(handle) => self.in_flight.push_back(handle),
                Err(task) => {
                    self.refused = Some(task);
                    return;
                }
            }
        }
    }

    fn pull(&mut self) -> Option<Task<'a, R>> {
        let item = self.input.next()?;
        let function = Arc::clone(&self.function);
        Some(Box::new(move || function(item)))
    }
}

impl<'a, H, I, R> Iterator for Map<'a, H, I, R>
where
    H: Host<'a, R>,
    I: Iterator,
    I::Item: Send + 'a,
    R: 'a,
{
    type Item = Result<R, JoinError>;

    /// Waits for the next outcome in the order of the input.
    fn next(&mut self) -> Option<Self::Item> {
        self.fill();
        match self.in_flight.pop_front() {
            Some(handle) => Some(H::join(handle)),
            None => self.refused.take().map(run_here),
        }
    }
}

fn run_here<R>(task: Task<'_, R>) -> Result<R, JoinError> {
    let outcome = catch_unwind(AssertUnwindSafe(task));
    outcome.map_err(|payload| JoinError::Panicked(TaskPanic::caught(payload, None)))
}
