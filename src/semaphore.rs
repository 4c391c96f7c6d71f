//! `Semaphore`: so much of something, given out in order of arrival, to threads and futures alike.
//!
//! It has a queue of its own beside the gate's: there each waits for one place, enters together
//! with its task, and is let in by the pace of the workers. The wait is the same for both,
//! and is the engine's.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

mod permit; // what is held
mod queue; // who may enter, and who waits
mod wait; // .. as a thread or a future

#[cfg(all(test, loom))]
mod models;

use self::queue::{Queue, Wake};
use self::wait::Acquire;
use crate::cancel_token::CancelToken;
use crate::control::deadline;
use crate::engine::contain;
use crate::engine::sync::{Mutex, MutexGuard, lock};
use crate::error::AcquireError;

pub use self::permit::{OwnedSemaphorePermit, SemaphorePermit};

/// A weighted semaphore: permits that together weigh at most its size.
///
/// It bounds what a pool's capacity cannot: memory, connections, requests to one host, whatever the
/// tasks of several pools, threads and futures share. A clone is another handle to the same
/// semaphore.
///
/// - **In order of arrival.** A small request that would fit waits behind a large
///   one that does not, so a large one is never starved.
/// - **For threads and futures.** Both wait in the same queue. A thread looks around for some
///   microseconds before it is parked. A future that is dropped while it waits gives its place back.
/// - **Nothing is lost.** A permit that is dropped, also by a panic, gives its weight back and wakes
///   exactly those who now fit.
/// - **No wait without an end.** A request for more than the size is an error at once, and a waiting request
///   becomes one if the size falls below it.
///
/// A weight of `0` is always granted at once, also while others wait, unless the semaphore is
/// closed: it takes no permits away.
///
/// A task of a pool that waits in [`acquire`](Semaphore::acquire) **blocks its worker**: the pool
/// does not know that it waits, and starts no other in its place. If the permits it waits for are
/// held by tasks that are queued behind it, neither gets on. So acquire before you submit, and move
/// the permit into the task, as in the second example.
///
/// # Examples
///
/// ```
/// use formic::Semaphore;
///
/// let memory = Semaphore::new(64);
/// let large = memory.acquire(60)?; // or try_acquire, acquire_timeout, acquire_async(60).await
/// assert_eq!(memory.available(), 4);
/// assert!(memory.try_acquire(10).is_err());
/// drop(large);
/// assert_eq!(memory.available(), 64);
/// # Ok::<(), formic::AcquireError>(())
/// ```
///
/// A permit that goes with a task:
///
/// ```
/// use formic::{Pool, Semaphore};
///
/// let (pool, seats) = (Pool::new(8), Semaphore::new(3));
/// for _ in 0..20 {
///     let seat = seats.acquire(1)?.into_owned();
///     pool.submit(move || {
///         // Not more than three are here at once, though there are eight workers.
///         drop(seat);
///     })?;
/// }
/// pool.drain()?;
/// assert_eq!(seats.available(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "Weighted")]
#[doc(alias = "NewWeighted")]
#[doc(alias = "limiter")]
#[derive(Clone)]
pub struct Semaphore {
    queue: Arc<Mutex<Queue>>,
}

impl Semaphore {
    /// A semaphore of this size, with all of it free. Of a size of `0` nothing can be had until it
    /// is [resized](Semaphore::resize).
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::Semaphore;
    ///
    /// let semaphore = Semaphore::new(3);
    /// assert_eq!((semaphore.size(), semaphore.available()), (3, 3));
    /// ```
    #[doc(alias = "NewWeighted")]
    #[must_use]
    pub fn new(size: usize) -> Self {
        Semaphore { queue: Arc::new(Mutex::new(Queue::new(size))) }
    }

    /// Waits until `weight` is free and it is the caller's turn.
    ///
    /// # Errors
    ///
    /// [`TooMany`](AcquireError::TooMany) at once if `weight` is above the size, or later if the
    /// size falls below it; [`Closed`](AcquireError::Closed).
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AcquireError, Semaphore};
    ///
    /// let connections = Semaphore::new(2);
    /// let (first, second) = (connections.acquire(1)?, connections.acquire(1)?);
    /// let waiting = std::thread::spawn({
    ///     let connections = connections.clone();
    ///     move || connections.acquire(2).map(|permit| permit.weight())
    /// });
    /// drop((first, second)); // only now there are two
    /// assert_eq!(waiting.join().unwrap(), Ok(2));
    /// # Ok::<(), AcquireError>(())
    /// ```
    #[doc(alias = "Acquire")]
    #[doc(alias = "wait")]
    pub fn acquire(&self, weight: usize) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.acquire_until(weight, None)
    }

    /// Takes `weight` if it is free and no other request waits. Never waits itself.
    ///
    /// # Errors
    ///
    /// [`NoPermits`](AcquireError::NoPermits) if there is not enough, or others wait;
    /// [`TooMany`](AcquireError::TooMany); [`Closed`](AcquireError::Closed).
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AcquireError, Semaphore};
    ///
    /// let semaphore = Semaphore::new(1);
    /// let permit = semaphore.try_acquire(1)?;
    /// assert_eq!(semaphore.try_acquire(1).unwrap_err(), AcquireError::NoPermits);
    /// # Ok::<(), AcquireError>(())
    /// ```
    #[doc(alias = "TryAcquire")]
    pub fn try_acquire(&self, weight: usize) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.queue().take(weight)?;
        Ok(self.permit(weight))
    }

    /// As [`acquire`](Semaphore::acquire), but waits for no longer than `time`. A request that times
    /// out makes room for those behind it, as far as they fit.
    ///
    /// # Errors
    ///
    /// [`TimedOut`](AcquireError::TimedOut), and those of [`acquire`](Semaphore::acquire).
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AcquireError, Semaphore};
    /// use std::time::Duration;
    ///
    /// let semaphore = Semaphore::new(1);
    /// let permit = semaphore.acquire(1)?;
    /// let error = semaphore.acquire_timeout(1, Duration::from_millis(5)).unwrap_err();
    /// assert_eq!(error, AcquireError::TimedOut);
    /// # Ok::<(), AcquireError>(())
    /// ```
    #[doc(alias = "acquire_for")]
    pub fn acquire_timeout(
        &self,
        weight: usize,
        time: Duration,
    ) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.acquire_until(weight, deadline(time))
    }

    /// As [`acquire`](Semaphore::acquire), until `token` is cancelled, by any thread.
    ///
    /// # Errors
    ///
    /// [`Cancelled`](AcquireError::Cancelled), and those of [`acquire`](Semaphore::acquire).
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AcquireError, CancelToken, Semaphore};
    ///
    /// let (semaphore, token) = (Semaphore::new(1), CancelToken::new());
    /// let permit = semaphore.acquire(1)?;
    /// std::thread::scope(|threads| {
    ///     let waiting = threads.spawn(|| semaphore.acquire_unless(&token, 1).map(drop));
    ///     while semaphore.waiting() < 1 {
    ///         std::thread::yield_now();
    ///     }
    ///     token.cancel();
    ///     assert_eq!(waiting.join().unwrap(), Err(AcquireError::Cancelled));
    /// });
    /// # drop(permit);
    /// # Ok::<(), AcquireError>(())
    /// ```
    #[doc(alias = "Acquire")]
    pub fn acquire_unless(
        &self,
        token: &CancelToken,
        weight: usize,
    ) -> Result<SemaphorePermit<'_>, AcquireError> {
        token.block_on(Acquire::new(self, weight)).ok_or(AcquireError::Cancelled)?
    }

    /// As [`acquire`](Semaphore::acquire), without blocking a thread, on any executor. It stands in
    /// the queue from the first poll on. Dropped while it waits, the future gives its place back,
    /// and what it had been granted goes to the next.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Semaphore::acquire).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), formic::AcquireError> {
    /// let requests = formic::Semaphore::new(10);
    /// let permit = requests.acquire_async(1).await?;
    /// assert_eq!(permit.weight(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn acquire_async(&self, weight: usize) -> Result<SemaphorePermit<'_>, AcquireError> {
        Acquire::new(self, weight).await
    }

    /// What is not held; `0` after the size was made smaller than that. While others wait it is
    /// theirs: see [`waiting`](Semaphore::waiting).
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = formic::Semaphore::new(3);
    /// let permit = semaphore.acquire(2)?;
    /// assert_eq!(semaphore.available(), 1);
    /// # drop(permit);
    /// # Ok::<(), formic::AcquireError>(())
    /// ```
    #[must_use]
    pub fn available(&self) -> usize {
        self.queue().free()
    }

    /// How many threads and futures wait.
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = formic::Semaphore::new(1);
    /// let permit = semaphore.acquire(1)?;
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| assert!(semaphore.acquire(1).is_ok()));
    ///     while semaphore.waiting() < 1 {
    ///         std::thread::yield_now();
    ///     }
    ///     drop(permit);
    /// });
    /// assert_eq!(semaphore.waiting(), 0);
    /// # Ok::<(), formic::AcquireError>(())
    /// ```
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue().waiting()
    }

    /// What all permits may weigh together.
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = formic::Semaphore::new(3);
    /// semaphore.resize(5);
    /// assert_eq!(semaphore.size(), 5);
    /// ```
    #[must_use]
    pub fn size(&self) -> usize {
        self.queue().size()
    }

    /// Changes the size, at once in both directions. A larger one lets in those who now fit.
    ///
    /// With a smaller one the permits that are out stay valid: if they weigh more than the new size,
    /// no other request is granted until enough of them have come back. Those who wait for more than the new
    /// size get [`TooMany`](AcquireError::TooMany).
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::Semaphore;
    ///
    /// let semaphore = Semaphore::new(4);
    /// let (one, three) = (semaphore.acquire(1)?, semaphore.acquire(3)?);
    /// semaphore.resize(2); // four are out, two more than there should be
    /// drop(one);
    /// assert_eq!(semaphore.available(), 0);
    /// drop(three);
    /// assert_eq!(semaphore.available(), 2);
    /// # Ok::<(), formic::AcquireError>(())
    /// ```
    #[doc(alias = "add_permits")]
    #[doc(alias = "forget_permits")]
    pub fn resize(&self, size: usize) {
        self.change(|queue, wake| queue.resize(size, wake));
    }

    /// Gives no more permits from now on, and releases all who wait with
    /// [`Closed`](AcquireError::Closed). Permits that are out stay valid. To close it again does
    /// nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{AcquireError, Semaphore};
    ///
    /// let semaphore = Semaphore::new(1);
    /// semaphore.close();
    /// assert_eq!(semaphore.acquire(1).unwrap_err(), AcquireError::Closed);
    /// ```
    pub fn close(&self) {
        self.change(Queue::close);
    }

    /// Whether it was closed.
    ///
    /// # Examples
    ///
    /// ```
    /// let semaphore = formic::Semaphore::new(1);
    /// assert!(!semaphore.is_closed());
    /// semaphore.close();
    /// assert!(semaphore.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.queue().is_closed()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }

    /// Decides under the lock, and wakes after it.
    fn change<R>(&self, decide: impl FnOnce(&mut Queue, &mut Wake) -> R) -> R {
        let mut wake = Wake::new();
        let outcome = decide(&mut self.queue(), &mut wake);
        // A waker is foreign code, and one that panics must not keep the others asleep.
        wake.iter().for_each(|waiter| contain(|| waiter.wake()));
        outcome
    }

    /// A permit for what has been taken.
    fn permit(&self, weight: usize) -> SemaphorePermit<'_> {
        SemaphorePermit::new(self, weight)
    }

    fn forget(&self, weight: usize) {
        if weight > 0 {
            self.change(|queue, wake| queue.forget(weight, wake));
        }
    }

    fn is_same(&self, other: &Semaphore) -> bool {
        Arc::ptr_eq(&self.queue, &other.queue)
    }

    fn give_back(&self, weight: usize) {
        if weight > 0 {
            self.change(|queue, wake| queue.give_back(weight, wake));
        }
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queue = self.queue();
        f.debug_struct("Semaphore")
            .field("size", &queue.size())
            .field("available", &queue.free())
            .field("waiting", &queue.waiting())
            .field("closed", &queue.is_closed())
            .finish()
    }
}
