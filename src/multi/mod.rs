//! `Multi`: several pools, used as one.

mod balance; // which shard a task goes to
mod ends; // figures, size and ends of all shards together
mod figures; // .. one by one
mod give; // .. and how it gets there, or to another one
mod hold; // .. or how a place is held for it
#[cfg(feature = "tokio")]
mod give_async; // .. if it is a future
#[cfg(feature = "tokio")]
mod pack; // .. and how such a one waits
pub(crate) mod load; // how much each shard has to do
mod limits; // .. and the other limits of all shards
mod stop; // stopping what runs in all shards
mod wait; // how a thread waits for the ends
#[cfg(feature = "tokio")]
mod wait_async; // .. and how a future does

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

#[cfg(feature = "tokio")]
use crate::async_pool::{AsyncFnPool, AsyncPool};
use crate::control::Control;
use crate::engine::Padded;
use crate::error::{BuildError, NoSuchShard};
use crate::fn_pool::FnPool;
use crate::pool::Pool;

pub use balance::Balance;

/// Several pools, used as one: each task goes to one of the shards, chosen by [`Balance`].
///
/// Every pool has one lock, which many producers of tiny tasks may wait for; shards have one each.
/// They also keep kinds of load apart without keeping them waiting: a shard that is full, or closed
/// by itself, is passed over. One pool is the better choice as long as its lock is not what holds
/// you up: it starts tasks in the order of their arrival and has every worker help with every task,
/// which shards do only within themselves.
///
/// A clone is another handle to the same shards. When the last handle is dropped, the shards close as
/// pools do, and what was accepted still runs.
///
/// # Examples
///
/// ```
/// use formic::{Balance, Multi, Pool};
///
/// let multi = Multi::new(2, Balance::LeastLoaded, || Pool::new(4));
/// for number in 0..100 {
///     multi.submit(move || drop(number))?;
/// }
/// multi.drain()?;
/// assert_eq!(multi.stats().completed, 100); // of all shards
/// let each: Vec<u64> = multi.shards().iter().map(|shard| shard.stats().completed).collect();
/// assert_eq!(each.iter().sum::<u64>(), 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Any kind of pool will do, as long as all shards are of one kind:
///
/// ```
/// use formic::{Balance, FnPool, Multi};
///
/// let squares = Multi::new(2, Balance::RoundRobin, || FnPool::new(4, |n: u64| n * n));
/// assert_eq!(squares.spawn(12)?.join()?, 144);
/// assert_eq!(squares.next().call(5)?, 25); // what the shard itself can do
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Shards may be pools of futures (feature `tokio`): then `submit`, `spawn`, `wait_idle`, `drain` and
/// `drain_timeout` are awaited, as on one such pool. Whatever the shards are, a name with `_async` is a future, and a
/// name with `blocking_` blocks the thread: see [`Control`]. `Multi` answers all questions that `Control` answers,
/// for its shards together.
#[doc(alias = "MultiPool")]
#[doc(alias = "MultiPoolWithFunc")]
#[doc(alias = "MultiPoolWithFuncGeneric")]
pub struct Multi<P> {
    shared: Arc<Shared<P>>,
}

/// What all clones share.
struct Shared<P> {
    /// Whose turn it is. Every producer writes it, so it has its cache lines to itself.
    turn: Padded<AtomicUsize>,
    balance: Balance,
    shards: Box<[P]>,
}

/// A pool that can be a shard of a [`Multi`]: every pool of this crate. It is sealed.
///
/// # Examples
///
/// ```
/// use formic::{Balance, Multi, Pool, Shard};
///
/// fn busiest<P: Shard>(multi: &Multi<P>) -> usize {
///     multi.shards().iter().map(|shard| shard.busy()).max().unwrap_or(0)
/// }
///
/// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(4));
/// assert_eq!(busiest(&multi), 0);
/// ```
pub trait Shard: Deref<Target = Control> + sealed::Sealed {}

mod sealed {
    /// Keeps [`Shard`](super::Shard) to the pools of this crate.
    pub trait Sealed {}
}

impl sealed::Sealed for Pool {}
impl Shard for Pool {}
impl<T: Send + 'static, R: Send + 'static> sealed::Sealed for FnPool<T, R> {}
impl<T: Send + 'static, R: Send + 'static> Shard for FnPool<T, R> {}
#[cfg(feature = "tokio")]
impl sealed::Sealed for AsyncPool {}
#[cfg(feature = "tokio")]
impl Shard for AsyncPool {}
#[cfg(feature = "tokio")]
impl<T: Send + 'static, R: Send + 'static> sealed::Sealed for AsyncFnPool<T, R> {}
#[cfg(feature = "tokio")]
impl<T: Send + 'static, R: Send + 'static> Shard for AsyncFnPool<T, R> {}

impl<P: Shard> Multi<P> {
    /// Makes as many shards as `shards` says, by calling `make` for each. `balance` chooses between them.
    ///
    /// # Panics
    ///
    /// If `shards` is zero. Use [`try_new`](Multi::try_new) to get an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(4, Balance::PowerOfTwo, || Pool::new(2));
    /// assert_eq!((multi.shards().len(), multi.stats().capacity), (4, 8));
    /// ```
    #[must_use]
    #[track_caller]
    #[doc(alias = "NewMultiPool")]
    #[doc(alias = "NewMultiPoolWithFunc")]
    pub fn new(shards: usize, balance: Balance, mut make: impl FnMut() -> P) -> Self {
        match Multi::try_new(shards, balance, || Ok(make())) {
            Ok(multi) => multi,
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`new`](Multi::new), for what may fail: a number of shards that was read from somewhere,
    /// or pools with settings of their own.
    ///
    /// # Errors
    ///
    /// The setting `"shards"` if `shards` is zero, or the error of the first pool that could not be built. The
    /// pools before it are dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, BuildError, Multi, Pool};
    ///
    /// let mut names = (0..).map(|shard| format!("shard-{shard}"));
    /// let make = || Pool::builder().workers(2).name(names.next().unwrap_or_default()).build();
    /// let multi = Multi::try_new(3, Balance::RoundRobin, make)?;
    /// assert_eq!(multi.shards().len(), 3);
    ///
    /// let none = Multi::try_new(0, Balance::RoundRobin, || Pool::builder().build());
    /// assert_eq!(none.unwrap_err().setting(), Some("shards"));
    /// # Ok::<(), BuildError>(())
    /// ```
    pub fn try_new(
        shards: usize,
        balance: Balance,
        mut make: impl FnMut() -> Result<P, BuildError>,
    ) -> Result<Self, BuildError> {
        if shards == 0 {
            return Err(BuildError::of("shards", "0 shards cannot run anything"));
        }
        let shards = (0..shards).map(|_| make()).collect::<Result<_, _>>()?;
        Ok(Multi { shared: Arc::new(Shared { turn: Padded::default(), balance, shards }) })
    }

    /// The shard that the next task would go to. With [`Balance::RoundRobin`] this takes a turn.
    ///
    /// For what only the shard itself can do, such as [`Pool::admit`] or [`FnPool::call`]. It does not
    /// fall over to another shard when this one is full.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// let permit = multi.next().admit()?;
    /// permit.submit(|| ());
    /// multi.drain()?;
    /// assert_eq!(multi.shard(0)?.stats().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn next(&self) -> &P {
        &self.shards()[self.pick()]
    }

    /// All shards, in the order in which they were made.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(1));
    /// for (number, shard) in multi.shards().iter().enumerate() {
    ///     println!("shard {number}: {:?}", shard.stats());
    ///     assert_eq!(shard.capacity(), 1);
    /// }
    /// ```
    #[must_use]
    pub fn shards(&self) -> &[P] {
        &self.shared.shards
    }

    /// One shard by its number, for its figures, its size and its ends.
    ///
    /// A shard may be closed, drained and reopened by itself: meanwhile it is passed over.
    ///
    /// # Errors
    ///
    /// [`NoSuchShard`] if the number is too large.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(4));
    /// multi.shard(1)?.resize(8)?;
    /// assert_eq!((multi.shard(0)?.capacity(), multi.shard(1)?.capacity()), (4, 8));
    /// assert!(multi.shard(2).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "RunningByIndex")]
    #[doc(alias = "FreeByIndex")]
    #[doc(alias = "WaitingByIndex")]
    pub fn shard(&self, index: usize) -> Result<&P, NoSuchShard> {
        let shards = self.shards();
        shards.get(index).ok_or(NoSuchShard { index, shards: shards.len() })
    }

    /// How the next shard is chosen.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::LeastLoaded, || Pool::new(1));
    /// assert_eq!(multi.balance(), Balance::LeastLoaded);
    /// ```
    #[must_use]
    pub fn balance(&self) -> Balance {
        self.shared.balance
    }
}

impl<P> Clone for Multi<P> {
    fn clone(&self) -> Self {
        Multi { shared: Arc::clone(&self.shared) }
    }
}

impl<P: Shard> fmt::Debug for Multi<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Multi")
            .field("shards", &self.shards().len())
            .field("balance", &self.balance())
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
