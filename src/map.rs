//! `map`, `for_each` and their `try_` forms: the items of an iterator through a pool of threads.

mod mapping; // how items are pulled, started and waited for
mod scoped; // the same on a scope

use std::fmt;
use std::iter::FusedIterator;
use std::panic::Location;
use std::sync::Arc;

use self::mapping::Target;
use crate::engine::Patience;
use crate::error::{ForEachError, JoinError, Refused, TaskError};
use crate::handle::JoinHandle;
use crate::pool::Pool;

pub(crate) use self::mapping::Mapping;
pub use self::scoped::ScopedMap;

impl Pool {
    /// Runs `function` on every item, on the workers, and yields the outcomes in the order of the input,
    /// or as they come with [`unordered`](Map::unordered).
    ///
    /// The iterator is lazy. It pulls items on the thread that calls `next`, when there is a place for them
    /// in the pool and fewer than [`window`](Map::window) items are in flight. It waits for a place whatever
    /// [`Builder::when_full`](crate::Builder::when_full) says. So an endless input is no problem. The input
    /// may borrow; the items and the function are `'static`. On a scope they may borrow, too: see
    /// [`Scope::map`](crate::Scope::map).
    ///
    /// `next` blocks until the outcome is available. An outcome is an error if the function panicked on that
    /// item, or the item was [discarded](crate::Control::discard); the others go on. If the pool is closed
    /// before the end of the input, the outcomes of all items that were pulled come first, then one last
    /// `Err(JoinError::Refused(Refused::Closed))`, and then `None`.
    ///
    /// Dropped early, the iterator cancels the items that have not started.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(4);
    /// let squares: Vec<u64> = pool.map(1.., |number| number * number).flatten().take(5).collect();
    /// assert_eq!(squares, [1, 4, 9, 16, 25]);
    /// ```
    ///
    /// A function that returns a `Result`: the first error in the order of the input ends it.
    ///
    /// ```
    /// # let pool = formic::Pool::new(4);
    /// let texts = ["1", "2", "3"];
    /// let numbers: Result<Vec<u32>, Box<dyn std::error::Error>> =
    ///     pool.map(texts, |text| text.parse::<u32>()).map(|outcome| Ok(outcome??)).collect();
    /// assert_eq!(numbers?, [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[doc(alias = "par_bridge")]
    #[doc(alias = "buffered")]
    #[doc(alias = "par_iter")]
    pub fn map<I, F, R>(&self, input: I, function: F) -> Map<I::IntoIter, F, R>
    where
        I: IntoIterator,
        I::Item: Send + 'static,
        F: Fn(I::Item) -> R + Send + Sync + 'static,
        R: Send + 'static,
    {
        let work = (input.into_iter(), function);
        Map(Mapping::new(self.clone(), window(self), work, Location::caller()))
    }

    /// Runs `function` on every item, on the workers, and collects the values in the order of the input.
    /// Blocks until that is done.
    ///
    /// After the first error, panic or cancelled item it pulls no more items, cancels those that have not
    /// started, and waits for those that run.
    ///
    /// # Errors
    ///
    /// [`TaskError`]: the failure of the lowest index, with that index.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(4);
    /// let numbers = pool.try_map(["1", "2", "3"], |text| text.parse::<u32>())?;
    /// assert_eq!(numbers, [1, 2, 3]);
    ///
    /// let error = pool.try_map(["1", "two", "3"], |text| text.parse::<u32>()).unwrap_err();
    /// assert_eq!(error.index(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[doc(alias = "errgroup")]
    #[doc(alias = "try_collect")]
    pub fn try_map<I, F, V, E>(&self, input: I, function: F) -> Result<Vec<V>, TaskError<E>>
    where
        I: IntoIterator,
        I::Item: Send + 'static,
        F: Fn(I::Item) -> Result<V, E> + Send + Sync + 'static,
        V: Send + 'static,
        E: Send + 'static,
    {
        let mut values = InOrder::default();
        let Map(mapping) = self.map(input, function);
        mapping.try_each(call, |index, value| values.put(index, value))?;
        Ok(values.into_vec())
    }

    /// As [`try_map`](Pool::try_map), for a function without a value.
    ///
    /// # Errors
    ///
    /// [`TaskError`]: the failure of the lowest index, with that index.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(4);
    /// let even = |number: u32| if number % 2 == 0 { Ok(()) } else { Err("odd") };
    /// pool.try_for_each([2, 4, 6], even)?;
    /// assert_eq!(pool.try_for_each([2, 3, 5], even).unwrap_err().index(), 1);
    /// # Ok::<(), formic::TaskError<&str>>(())
    /// ```
    #[track_caller]
    pub fn try_for_each<I, F, E>(&self, input: I, function: F) -> Result<(), TaskError<E>>
    where
        I: IntoIterator,
        I::Item: Send + 'static,
        F: Fn(I::Item) -> Result<(), E> + Send + Sync + 'static,
        E: Send + 'static,
    {
        let Map(mapping) = self.map(input, function);
        mapping.try_each(call, |_, ()| ())
    }

    /// Runs `function` on every item, on the workers, and returns when all of them have ended. The items
    /// and the function may borrow. Items are pulled on the calling thread, as by [`map`](Pool::map).
    ///
    /// # Errors
    ///
    /// [`ForEachError`]: the function panicked, or the pool was closed before the end of the items. A panic
    /// costs one item: the others run.
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
    /// })?;
    /// assert_eq!(letters.into_inner(), 11);
    /// # Ok::<(), formic::ForEachError>(())
    /// ```
    #[track_caller]
    #[doc(alias = "WaitGroup")]
    pub fn for_each<I, F>(&self, items: I, function: F) -> Result<(), ForEachError>
    where
        I: IntoIterator,
        I::Item: Send,
        F: Fn(I::Item) + Sync,
    {
        let origin = Location::caller();
        self.scope(|scope| scope.for_each_from(items, &function, origin))
    }
}

/// How many items may be in flight: so many that each worker has its next one when it ends one.
fn window(pool: &Pool) -> usize {
    pool.capacity().saturating_mul(2)
}

/// The task for an item.
fn call<I, F: Fn(I) -> R, R>(function: Arc<F>, item: I) -> impl FnOnce() -> R + use<I, F, R> {
    move || function(item)
}

impl<J, R> Target<J, JoinHandle<R>> for Pool
where
    J: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    fn pool(&self) -> &Pool {
        self
    }

    fn start(&self, task: J, origin: &'static Location<'static>) -> Result<JoinHandle<R>, Refused> {
        let spawned = self.spawn_from(task, Patience::Until(None), origin);
        spawned.map(JoinHandle::cancel_on_drop).map_err(|error| error.reason())
    }
}

/// Values that come in any order.
pub(crate) struct InOrder<V>(Vec<Option<V>>);

impl<V> Default for InOrder<V> {
    fn default() -> Self {
        InOrder(Vec::new())
    }
}

impl<V> InOrder<V> {
    pub(crate) fn put(&mut self, index: usize, value: V) {
        if index >= self.0.len() {
            self.0.resize_with(index + 1, || None);
        }
        self.0[index] = Some(value);
    }

    pub(crate) fn into_vec(self) -> Vec<V> {
        self.0.into_iter().flatten().collect()
    }
}

/// The outcomes of [`Pool::map`]: an iterator, which holds a handle to the pool and nothing borrowed of it.
///
/// # Examples
///
/// ```
/// use formic::{Map, Pool};
///
/// fn lengths(pool: &Pool, words: Vec<String>) -> Map<std::vec::IntoIter<String>, fn(String) -> usize, usize> {
///     pool.map(words, |word| word.len())
/// }
///
/// let pool = Pool::new(2);
/// let lengths: Vec<usize> = lengths(&pool, vec!["one".into(), "three".into()]).flatten().collect();
/// assert_eq!(lengths, [3, 5]);
/// ```
#[must_use = "an iterator does nothing until it is asked for items"]
pub struct Map<I, F, R>(Mapping<Pool, JoinHandle<R>, I, F>);

impl<I, F, R> Map<I, F, R> {
    /// How many items may be in flight at once: started or queued, or with an outcome that has not been
    /// taken. The default is twice the capacity of the pool. This bounds the memory of one map; `0` counts
    /// as `1`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// let (pool, pulled) = (formic::Pool::new(4), Cell::new(0));
    /// let input = (1..).inspect(|_| pulled.set(pulled.get() + 1));
    /// let first = pool.map(input, |number: u64| number).window(3).next();
    /// assert_eq!(first.expect("there is one")?, 1);
    /// assert_eq!(pulled.get(), 3);
    /// # Ok::<(), formic::JoinError>(())
    /// ```
    #[doc(alias = "buffer")]
    pub fn window(mut self, items: usize) -> Self {
        self.0.set_window(items);
        self
    }

    /// Yields outcomes as they come, each with the index of its item, so that a slow item does not hold back
    /// the others. May be called at any time.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(4);
    /// let words = ["one", "two", "three"];
    /// for (index, outcome) in pool.map(words, |word| word.len()).unordered() {
    ///     assert_eq!(outcome?, words[index].len());
    /// }
    /// # Ok::<(), formic::JoinError>(())
    /// ```
    #[doc(alias = "buffer_unordered")]
    pub fn unordered(self) -> Unordered<Self> {
        Unordered(Map(self.0.unordered()))
    }
}

impl<I, F, R> Iterator for Map<I, F, R>
where
    I: Iterator,
    I::Item: Send + 'static,
    F: Fn(I::Item) -> R + Send + Sync + 'static,
    R: Send + 'static,
{
    type Item = Result<R, JoinError>;

    /// Blocks until the next outcome in the order of the input is available.
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(call).map(|(_, outcome)| outcome)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<I, F, R> FusedIterator for Map<I, F, R> where Self: Iterator {}

impl<I, F, R> fmt::Debug for Map<I, F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map").finish_non_exhaustive()
    }
}

/// The outcomes of a map as they come, each with the index of its item. Made by [`Map::unordered`] and its
/// like on scopes and pools of futures.
///
/// # Examples
///
/// ```
/// let pool = formic::Pool::new(2);
/// let mut squares: Vec<(usize, u32)> = pool
///     .map([3, 1, 2], |number: u32| number * number)
///     .unordered()
///     .map(|(index, outcome)| Ok((index, outcome?)))
///     .collect::<Result<_, formic::JoinError>>()?;
/// squares.sort();
/// assert_eq!(squares, [(0, 9), (1, 1), (2, 4)]);
/// # Ok::<(), formic::JoinError>(())
/// ```
#[must_use = "it does nothing until it is asked for items"]
#[derive(Debug)]
pub struct Unordered<M>(pub(crate) M);

impl<I, F, R> Iterator for Unordered<Map<I, F, R>>
where
    I: Iterator,
    I::Item: Send + 'static,
    F: Fn(I::Item) -> R + Send + Sync + 'static,
    R: Send + 'static,
{
    type Item = (usize, Result<R, JoinError>);

    /// Blocks until the next outcome is available.
    fn next(&mut self) -> Option<Self::Item> {
        self.0.0.next(call)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.0.size_hint()
    }
}

impl<I, F, R> FusedIterator for Unordered<Map<I, F, R>> where Self: Iterator {}
