//! What went wrong with the shards of a `Multi`, each by its number.

use std::error::Error;
use std::fmt;
use std::slice;
use std::vec;

/// A shard that a [`Multi`](crate::Multi) does not have.
///
/// # Examples
///
/// ```
/// use formic::{Balance, Multi, Pool};
///
/// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
/// let error = multi.shard(2).unwrap_err();
/// assert_eq!((error.index(), error.shards()), (2, 2));
/// assert_eq!(error.to_string(), "there is no shard 2: the last one is shard 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "ErrInvalidPoolIndex")]
pub struct NoSuchShard {
    pub(crate) index: usize,
    pub(crate) shards: usize,
}

impl NoSuchShard {
    /// The shard that was asked for.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// assert_eq!(multi.shard(7).unwrap_err().index(), 7);
    /// ```
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many shards there are.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// assert_eq!(multi.shard(7).unwrap_err().shards(), 2);
    /// ```
    #[must_use]
    pub fn shards(&self) -> usize {
        self.shards
    }
}

impl fmt::Display for NoSuchShard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (index, last) = (self.index, self.shards.saturating_sub(1));
        write!(f, "there is no shard {index}: the last one is shard {last}")
    }
}

impl Error for NoSuchShard {}

/// Every shard that could not do what all were asked for, with its reason. Never empty.
///
/// # Examples
///
/// ```
/// use formic::{Balance, Multi, Pool, ResizeError};
///
/// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(4));
/// let errors = multi.resize(0).unwrap_err();
/// assert_eq!(errors.len(), 2);
/// for (shard, error) in &errors {
///     println!("shard {shard}: {error}");
///     assert_eq!(*error, ResizeError::NoWorkers);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShardErrors<E> {
    errors: Vec<(usize, E)>,
}

impl<E> ShardErrors<E> {
    /// An error if there are any.
    pub(crate) fn check(errors: Vec<(usize, E)>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(ShardErrors { errors }) }
    }

    /// The same shards, each with another error.
    pub(super) fn map<F>(self, mut change: impl FnMut(E) -> F) -> ShardErrors<F> {
        let errors = self.errors.into_iter().map(|(shard, error)| (shard, change(error)));
        ShardErrors { errors: errors.collect() }
    }

    /// How many shards have an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// assert_eq!(multi.resize(0).unwrap_err().len(), 2);
    /// ```
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.errors.len()
    }

    /// The number of each such shard and its error, in the order of the shards.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// let errors = multi.resize(0).unwrap_err();
    /// let shards: Vec<usize> = errors.iter().map(|(shard, _)| *shard).collect();
    /// assert_eq!(shards, [0, 1]);
    /// ```
    pub fn iter(&self) -> slice::Iter<'_, (usize, E)> {
        self.errors.iter()
    }
}

impl<E> IntoIterator for ShardErrors<E> {
    type Item = (usize, E);
    type IntoIter = vec::IntoIter<(usize, E)>;

    fn into_iter(self) -> Self::IntoIter {
        self.errors.into_iter()
    }
}

impl<'a, E> IntoIterator for &'a ShardErrors<E> {
    type Item = &'a (usize, E);
    type IntoIter = slice::Iter<'a, (usize, E)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<E: fmt::Display> fmt::Display for ShardErrors<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (shard, error)) in self.errors.iter().enumerate() {
            let comma = if place == 0 { "" } else { "; " };
            write!(f, "{comma}shard {shard}: {error}")?;
        }
        Ok(())
    }
}

impl<E: Error + 'static> Error for ShardErrors<E> {
    /// The first source that one of the errors has. The errors themselves are in the message.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.errors.iter().find_map(|(_, error)| error.source())
    }
}
