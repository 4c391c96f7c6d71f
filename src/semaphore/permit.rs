//! A part of a semaphore, which gives itself back when it is dropped.

use std::mem::take;

use super::Semaphore;

/// A part of a [`Semaphore`], held until it is dropped.
///
/// # Examples
///
/// ```
/// let semaphore = formic::Semaphore::new(3);
/// {
///     let permit = semaphore.acquire(2)?;
///     assert_eq!((permit.weight(), semaphore.available()), (2, 1));
/// }
/// assert_eq!(semaphore.available(), 3);
/// # Ok::<(), formic::AcquireError>(())
/// ```
#[doc(alias = "Release")]
#[derive(Debug)]
#[must_use = "a permit that is dropped gives its weight back"]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    weight: usize,
}

impl<'a> SemaphorePermit<'a> {
    pub(super) fn new(semaphore: &'a Semaphore, weight: usize) -> Self {
        SemaphorePermit { semaphore, weight }
    }

    /// How much is held.
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = formic::Semaphore::new(3);
    /// let permit = semaphore.acquire(2)?;
    /// assert_eq!(permit.weight(), 2);
    /// # Ok::<(), formic::AcquireError>(())
    /// ```
    #[must_use]
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// The same permit with a handle of its own, so that it can go with a task or a thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::Semaphore;
    ///
    /// let semaphore = Semaphore::new(1);
    /// let permit = semaphore.acquire(1)?.into_owned();
    /// std::thread::spawn(move || drop(permit)).join().unwrap();
    /// assert_eq!(semaphore.available(), 1);
    /// # Ok::<(), formic::AcquireError>(())
    /// ```
    #[doc(alias = "acquire_owned")]
    pub fn into_owned(self) -> OwnedSemaphorePermit {
        OwnedSemaphorePermit { semaphore: self.semaphore.clone(), weight: self.take() }
    }

    /// Takes `weight` out of this permit and makes a permit of it. `None`, and nothing changes, if this permit
    /// weighs less.
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = formic::Semaphore::new(5);
    /// let mut permit = semaphore.acquire(5)?;
    /// let two = permit.split(2).ok_or("five are enough")?;
    /// assert_eq!((permit.weight(), two.weight()), (3, 2));
    /// assert!(permit.split(4).is_none());
    /// drop(two);
    /// assert_eq!(semaphore.available(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn split(&mut self, weight: usize) -> Option<SemaphorePermit<'a>> {
        self.weight = self.weight.checked_sub(weight)?;
        Some(SemaphorePermit::new(self.semaphore, weight))
    }

    /// Adds the weight of another permit of the same semaphore to this one.
    ///
    /// # Panics
    ///
    /// If `other` is of another semaphore. Then this permit is unchanged, and `other` is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = formic::Semaphore::new(5);
    /// let mut permit = semaphore.acquire(2)?;
    /// permit.merge(semaphore.acquire(3)?);
    /// assert_eq!((permit.weight(), semaphore.available()), (5, 0));
    /// # Ok::<(), formic::AcquireError>(())
    /// ```
    #[track_caller]
    pub fn merge(&mut self, other: SemaphorePermit<'_>) {
        assert!(self.semaphore.is_same(other.semaphore), "the permits are of two semaphores");
        // Nothing overflows: all permits together weigh what the semaphore counts as held.
        self.weight += other.take();
    }

    /// Never gives the weight back: the semaphore's [size](Semaphore::size) becomes smaller by it, down to 0.
    /// Waiters that wait for more than the new size get [`TooMany`](crate::AcquireError::TooMany).
    ///
    /// # Examples
    ///
    /// ```
    /// let connections = formic::Semaphore::new(5);
    /// connections.acquire(2)?.forget(); // two are broken
    /// assert_eq!((connections.size(), connections.available()), (3, 3));
    /// # Ok::<(), formic::AcquireError>(())
    /// ```
    pub fn forget(mut self) {
        self.semaphore.forget(take(&mut self.weight));
    }

    /// The weight, which is now the caller's.
    fn take(mut self) -> usize {
        take(&mut self.weight)
    }
}

impl Drop for SemaphorePermit<'_> {
    fn drop(&mut self) {
        self.semaphore.give_back(self.weight);
    }
}

/// A [`SemaphorePermit`] that borrows nothing; see [`SemaphorePermit::into_owned`].
///
/// # Examples
///
/// ```
/// use formic::{Pool, Semaphore};
///
/// let (pool, memory) = (Pool::new(2), Semaphore::new(64));
/// let permit = memory.acquire(10)?.into_owned();
/// let weight = pool.spawn(move || permit.weight())?; // it goes with the task
/// assert_eq!(weight.join()?, 10);
/// assert_eq!(memory.available(), 64); // and has come back with it
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a permit that is dropped gives its weight back"]
pub struct OwnedSemaphorePermit {
    semaphore: Semaphore,
    weight: usize,
}

impl OwnedSemaphorePermit {
    /// How much is held.
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = formic::Semaphore::new(3);
    /// let permit = semaphore.acquire(2)?.into_owned();
    /// assert_eq!(permit.weight(), 2);
    /// # Ok::<(), formic::AcquireError>(())
    /// ```
    #[must_use]
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Takes `weight` out of this permit and makes a permit of it. `None`, and nothing changes, if this permit
    /// weighs less.
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = formic::Semaphore::new(5);
    /// let mut permit = semaphore.acquire(5)?.into_owned();
    /// let two = permit.split(2).ok_or("five are enough")?;
    /// assert_eq!((permit.weight(), two.weight()), (3, 2));
    /// assert!(permit.split(4).is_none());
    /// drop(two);
    /// assert_eq!(semaphore.available(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn split(&mut self, weight: usize) -> Option<OwnedSemaphorePermit> {
        self.weight = self.weight.checked_sub(weight)?;
        Some(OwnedSemaphorePermit { semaphore: self.semaphore.clone(), weight })
    }

    /// Adds the weight of another permit of the same semaphore to this one.
    ///
    /// # Panics
    ///
    /// If `other` is of another semaphore. Then this permit is unchanged, and `other` is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = formic::Semaphore::new(5);
    /// let mut permit = semaphore.acquire(2)?.into_owned();
    /// permit.merge(semaphore.acquire(3)?.into_owned());
    /// assert_eq!((permit.weight(), semaphore.available()), (5, 0));
    /// # Ok::<(), formic::AcquireError>(())
    /// ```
    #[track_caller]
    pub fn merge(&mut self, other: OwnedSemaphorePermit) {
        assert!(self.semaphore.is_same(&other.semaphore), "the permits are of two semaphores");
        // Nothing overflows: all permits together weigh what the semaphore counts as held.
        self.weight += other.take();
    }

    /// Never gives the weight back: the semaphore's [size](Semaphore::size) becomes smaller by it, down to 0.
    /// Waiters that wait for more than the new size get [`TooMany`](crate::AcquireError::TooMany).
    ///
    /// # Examples
    ///
    /// ```
    /// let connections = formic::Semaphore::new(5);
    /// connections.acquire(2)?.into_owned().forget(); // two are broken
    /// assert_eq!((connections.size(), connections.available()), (3, 3));
    /// # Ok::<(), formic::AcquireError>(())
    /// ```
    pub fn forget(mut self) {
        self.semaphore.forget(take(&mut self.weight));
    }

    /// The weight, which is now the caller's.
    fn take(mut self) -> usize {
        take(&mut self.weight)
    }
}

impl Drop for OwnedSemaphorePermit {
    fn drop(&mut self) {
        self.semaphore.give_back(self.weight);
    }
}
