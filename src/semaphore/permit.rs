//! A part of a semaphore, which gives itself back when it is dropped.

use std::mem::ManuallyDrop;

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
        let permit = ManuallyDrop::new(self);
        OwnedSemaphorePermit { semaphore: permit.semaphore.clone(), weight: permit.weight }
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
}

impl Drop for OwnedSemaphorePermit {
    fn drop(&mut self) {
        self.semaphore.give_back(self.weight);
    }
}
