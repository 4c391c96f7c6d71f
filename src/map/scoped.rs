//! `map` and its like on a scope, where items, function and results may borrow.

use std::fmt;
use std::iter::FusedIterator;
use std::panic::Location;

use super::mapping::Target;
use super::{InOrder, Mapping, Unordered, call, window};
use crate::error::{Failures, ForEachError, JoinError, Refused, TaskError};
use crate::pool::Pool;
use crate::scope::{Scope, ScopedHandle};

impl<'scope, 'env> Scope<'scope, 'env> {
    /// As [`Pool::map`], but the items, the function and the results may borrow from outside of the scope.
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
    #[track_caller]
    pub fn map<I, F, R>(
        &'scope self,
        input: I,
        function: F,
    ) -> ScopedMap<'scope, 'env, I::IntoIter, F, R>
    where
        I: IntoIterator,
        I::Item: Send + 'scope,
        F: Fn(I::Item) -> R + Send + Sync + 'scope,
        R: Send + 'scope,
    {
        self.map_from(input, function, Location::caller())
    }

    fn map_from<I, F, R>(
        &'scope self,
        input: I,
        function: F,
        origin: &'static Location<'static>,
    ) -> ScopedMap<'scope, 'env, I::IntoIter, F, R>
    where
        I: IntoIterator,
    {
        let work = (input.into_iter(), function);
        ScopedMap(Mapping::new(self, window(self.pool()), work, origin))
    }

    /// As [`Pool::try_map`], but the items, the function and the values may borrow from outside of the scope.
    ///
    /// # Errors
    ///
    /// [`TaskError`]: the failure of the lowest index, with that index.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(4);
    /// let texts = ["1".to_owned(), "two".to_owned()];
    /// let numbers = pool.scope(|scope| scope.try_map(&texts, |text| text.parse::<u32>()));
    /// assert_eq!(numbers.unwrap_err().index(), 1);
    /// ```
    #[track_caller]
    pub fn try_map<I, F, V, E>(&'scope self, input: I, function: F) -> Result<Vec<V>, TaskError<E>>
    where
        I: IntoIterator,
        I::Item: Send + 'scope,
        F: Fn(I::Item) -> Result<V, E> + Send + Sync + 'scope,
        V: Send + 'scope,
        E: Send + 'scope,
    {
        let mut values = InOrder::default();
        let ScopedMap(mapping) = self.map(input, function);
        mapping.try_each(call, |index, value| values.put(index, value))?;
        Ok(values.into_vec())
    }

    /// As [`Pool::try_for_each`], but the items and the function may borrow from outside of the scope.
    ///
    /// # Errors
    ///
    /// [`TaskError`]: the failure of the lowest index, with that index.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(4);
    /// let texts = ["1".to_owned(), "2".to_owned()];
    /// pool.scope(|scope| scope.try_for_each(&texts, |text| text.parse::<u32>().map(drop)))?;
    /// # Ok::<(), formic::TaskError<std::num::ParseIntError>>(())
    /// ```
    #[track_caller]
    pub fn try_for_each<I, F, E>(&'scope self, input: I, function: F) -> Result<(), TaskError<E>>
    where
        I: IntoIterator,
        I::Item: Send + 'scope,
        F: Fn(I::Item) -> Result<(), E> + Send + Sync + 'scope,
        E: Send + 'scope,
    {
        let ScopedMap(mapping) = self.map(input, function);
        mapping.try_each(call, |_, ()| ())
    }

    /// As [`Pool::for_each`], beside other tasks of the scope.
    ///
    /// # Errors
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
    ///     scope.for_each(&words, |word| drop(letters.fetch_add(word.len(), Ordering::Relaxed)))
    /// })?;
    /// assert_eq!(letters.into_inner(), 11);
    /// # Ok::<(), formic::ForEachError>(())
    /// ```
    #[track_caller]
    pub fn for_each<I, F>(&'scope self, items: I, function: F) -> Result<(), ForEachError>
    where
        I: IntoIterator,
        I::Item: Send + 'scope,
        F: Fn(I::Item) + Send + Sync + 'scope,
    {
        self.for_each_from(items, function, Location::caller())
    }

    pub(super) fn for_each_from<I, F>(
        &'scope self,
        items: I,
        function: F,
        origin: &'static Location<'static>,
    ) -> Result<(), ForEachError>
    where
        I: IntoIterator,
        I::Item: Send + 'scope,
        F: Fn(I::Item) + Send + Sync + 'scope,
    {
        let mut failures = Failures::default();
        for (_, outcome) in self.map_from(items, function, origin).unordered() {
            outcome.unwrap_or_else(|error| failures.note(error));
        }
        failures.check()
    }
}

impl<'scope, J, R> Target<J, ScopedHandle<'scope, R>> for &'scope Scope<'scope, '_>
where
    J: FnOnce() -> R + Send + 'scope,
    R: Send + 'scope,
{
    fn pool(&self) -> &Pool {
        Scope::pool(self)
    }

    fn start(
        &self,
        task: J,
        origin: &'static Location<'static>,
    ) -> Result<ScopedHandle<'scope, R>, Refused> {
        let spawned = self.spawn_from(task, crate::engine::Patience::Until(None), origin);
        spawned.map(ScopedHandle::cancel_on_drop).map_err(|error| error.reason())
    }
}

/// The outcomes of [`Scope::map`]: an iterator.
///
/// # Examples
///
/// ```
/// let pool = formic::Pool::new(2);
/// let words = ["one".to_owned(), "three".to_owned()];
/// let longest = pool.scope(|scope| {
///     scope.map(&words, |word| word.len()).window(1).flatten().max()
/// });
/// assert_eq!(longest, Some(5));
/// ```
#[must_use = "an iterator does nothing until it is asked for items"]
pub struct ScopedMap<'scope, 'env, I, F, R>(
    Mapping<&'scope Scope<'scope, 'env>, ScopedHandle<'scope, R>, I, F>,
);

impl<I, F, R> ScopedMap<'_, '_, I, F, R> {
    /// As [`Map::window`](crate::Map::window).
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// let words = ["one".to_owned(), "three".to_owned()];
    /// let sum: usize =
    ///     pool.scope(|scope| scope.map(&words, |word| word.len()).window(1).flatten().sum());
    /// assert_eq!(sum, 8);
    /// ```
    pub fn window(mut self, items: usize) -> Self {
        self.0.set_window(items);
        self
    }

    /// As [`Map::unordered`](crate::Map::unordered).
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(2);
    /// let words = ["one".to_owned(), "three".to_owned()];
    /// pool.scope(|scope| {
    ///     for (index, outcome) in scope.map(&words, |word| word.len()).unordered() {
    ///         assert_eq!(outcome.expect("no panic"), words[index].len());
    ///     }
    /// });
    /// ```
    pub fn unordered(self) -> Unordered<Self>
    where
        R: Send,
    {
        Unordered(ScopedMap(self.0.unordered()))
    }
}

impl<'scope, I, F, R> Iterator for ScopedMap<'scope, '_, I, F, R>
where
    I: Iterator,
    I::Item: Send + 'scope,
    F: Fn(I::Item) -> R + Send + Sync + 'scope,
    R: Send + 'scope,
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

impl<I, F, R> FusedIterator for ScopedMap<'_, '_, I, F, R> where Self: Iterator {}

impl<'scope, I, F, R> Iterator for Unordered<ScopedMap<'scope, '_, I, F, R>>
where
    I: Iterator,
    I::Item: Send + 'scope,
    F: Fn(I::Item) -> R + Send + Sync + 'scope,
    R: Send + 'scope,
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

impl<I, F, R> FusedIterator for Unordered<ScopedMap<'_, '_, I, F, R>> where Self: Iterator {}

impl<I, F, R> fmt::Debug for ScopedMap<'_, '_, I, F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedMap").finish_non_exhaustive()
    }
}
