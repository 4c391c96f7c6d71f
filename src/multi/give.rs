//! How a task gets into a shard, or into another one if that refuses it.

use super::{Multi, Shard};
use crate::engine::{Ended, Patience};
use crate::error::SubmitError;
use crate::fn_pool::FnPool;
use crate::handle::JoinHandle;
use crate::pool::Pool;

/// What is done if a shard has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfFull {
    /// Another shard is asked.
    Elsewhere,
    /// The task is refused.
    Refuse,
    /// What the shard was built to do: wait, refuse, or have the caller run it.
    AsBuilt,
    /// As [`IfFull::AsBuilt`], but it enters beyond the bound of the queue where it would wait.
    NeverWait,
    /// What the caller has chosen, whatever the shard was built to do.
    Chosen(Patience),
}

impl IfFull {
    pub(super) fn patience(self, built: impl FnOnce() -> Patience) -> Patience {
        match self {
            IfFull::Elsewhere => Patience::Elsewhere,
            IfFull::Refuse => Patience::None,
            IfFull::AsBuilt => built(),
            IfFull::Chosen(patience) => patience,
            IfFull::NeverWait => match built() {
                Patience::Until(_) => Patience::Beyond,
                other => other,
            },
        }
    }

    /// The same for a task of the `Multi`, which waits at no gate of it.
    fn inside(self) -> Self {
        match self {
            IfFull::AsBuilt => IfFull::NeverWait,
            IfFull::Chosen(Patience::Until(_) | Patience::Future) => {
                IfFull::Chosen(Patience::Beyond)
            }
            other => other,
        }
    }
}

/// A shard that a job can be given to, in the way `K` says.
///
/// A trait and no closure, because a closure would not know the line of code that submits.
pub(crate) trait Take<K, J>: Shard {
    /// What the submitter gets for it.
    type Receipt;

    #[track_caller]
    fn take(&self, job: J, if_full: IfFull) -> Result<Self::Receipt, SubmitError<J>>;
}

/// Fire and forget.
pub(crate) struct Submit;

/// There is a handle to the result.
pub(crate) struct Spawn;

impl<F: FnOnce() + Send + 'static> Take<Submit, F> for Pool {
    type Receipt = ();

    #[inline]
    fn take(&self, job: F, if_full: IfFull) -> Result<(), SubmitError<F>> {
        self.submit_with(job, if_full.patience(|| self.patience()))
    }
}

impl<F, T> Take<Spawn, F> for Pool
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    type Receipt = JoinHandle<T>;

    fn take(&self, job: F, if_full: IfFull) -> Result<JoinHandle<T>, SubmitError<F>> {
        self.spawn_with(job, if_full.patience(|| self.patience()))
    }
}

impl<T: Send + 'static, R: Send + 'static> Take<Submit, T> for FnPool<T, R> {
    type Receipt = ();

    #[inline]
    fn take(&self, job: T, if_full: IfFull) -> Result<(), SubmitError<T>> {
        self.submit_with(job, if_full.patience(|| self.patience()))
    }
}

impl<T: Send + 'static, R: Send + 'static> Take<Spawn, T> for FnPool<T, R> {
    type Receipt = JoinHandle<R>;

    fn take(&self, job: T, if_full: IfFull) -> Result<JoinHandle<R>, SubmitError<T>> {
        self.spawn_with(job, if_full.patience(|| self.patience()))
    }
}

impl<P: Shard> Multi<P> {
    /// Gives a task to a shard, without a handle, and waits there as the caller has chosen.
    #[track_caller]
    pub(crate) fn submit_with<J>(&self, job: J, patience: Patience) -> Result<(), SubmitError<J>>
    where
        P: Take<Submit, J, Receipt = ()>,
    {
        self.give::<Submit, J>(job, IfFull::Chosen(patience))
    }

    /// Gives a job to the chosen shard, and to the second choice if that refuses it.
    #[inline]
    #[track_caller]
    pub(super) fn give<K, J>(&self, job: J, if_full: IfFull) -> Result<P::Receipt, SubmitError<J>>
    where
        P: Take<K, J>,
    {
        let first = self.pick();
        match self.shards()[first].take(job, IfFull::Elsewhere) {
            Ok(receipt) => Ok(receipt),
            Err(error) => self.give_again(first, error, if_full),
        }
    }

    #[cold]
    #[track_caller]
    fn give_again<K, J>(
        &self,
        first: usize,
        error: SubmitError<J>,
        if_full: IfFull,
    ) -> Result<P::Receipt, SubmitError<J>>
    where
        P: Take<K, J>,
    {
        match self.give_elsewhere(first, error, if_full) {
            Ok(receipt) => Ok(receipt),
            Err(Last { shard, job, if_full }) => shard.take(job, if_full),
        }
    }

    /// For a job that the first shard has refused: says which one is to be asked last, and in which way.
    /// No other shard is waited at.
    #[track_caller]
    pub(super) fn give_elsewhere<K, J>(
        &self,
        first: usize,
        error: SubmitError<J>,
        if_full: IfFull,
    ) -> Result<P::Receipt, Last<'_, P, J>>
    where
        P: Take<K, J>,
    {
        let second = &self.shards()[self.second_choice(first, error.reason())];
        let job = error.into_task();
        let mut own = self.own_shards().peekable();
        if own.peek().is_none() {
            return Err(Last { shard: second, job, if_full });
        }
        // A worker waits at no gate of its Multi: two that wait at each other's would wait for good. It gets
        // into its own shard, or into the second choice if that one is closed, beyond the bound of the queue
        // if need be.
        match second.take(job, IfFull::Elsewhere) {
            Ok(receipt) => Ok(receipt),
            Err(error) => {
                let shard = own.find(|shard| !shard.is_closed()).unwrap_or(second);
                Err(Last { shard, job: error.into_task(), if_full: if_full.inside() })
            }
        }
    }

    /// The shards whose tasks the calling thread is running.
    fn own_shards(&self) -> impl Iterator<Item = &P> {
        self.shards().iter().filter(|shard| shard.check_outside(Ended::Tasks).is_err())
    }
}

/// The shard that is asked last.
pub(super) struct Last<'a, P, J> {
    pub(super) shard: &'a P,
    pub(super) job: J,
    pub(super) if_full: IfFull,
}

impl Multi<Pool> {
    /// Runs a closure on a worker of the chosen shard, fire and forget.
    ///
    /// If that shard refuses it, the least loaded of all is asked. If that one has no place either, it
    /// does what its [`Builder::when_full`](crate::Builder::when_full) says: by default the call
    /// waits there for a place.
    ///
    /// Called by a task of an open shard it never waits: a task that would have to wait enters the
    /// queue of the caller's own shard beyond its bound, so shards that submit to each other cannot
    /// wait for each other. A task of another pool waits as any caller does: see [`Pool::submit`].
    ///
    /// # Errors
    ///
    /// The closure comes back with the reason of the shard that was asked last: `Closed`, `NoWorker`,
    /// or `Full`, as with [`Pool::submit`].
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || Pool::new(2));
    /// multi.submit(|| println!("hello from some shard"))?;
    /// multi.drain()?;
    /// assert_eq!(multi.stats().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn submit<F: FnOnce() + Send + 'static>(&self, task: F) -> Result<(), SubmitError<F>> {
        self.give::<Submit, F>(task, IfFull::AsBuilt)
    }

    /// As [`submit`](Multi::submit), but never waits and never runs the closure here.
    ///
    /// # Errors
    ///
    /// The closure comes back with the reason: `Full`, `Closed` or `NoWorker`.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool, Refused};
    ///
    /// let make = || Pool::builder().workers(1).queue(0).build();
    /// let multi = Multi::try_new(2, Balance::RoundRobin, make)?;
    /// let _both = (multi.shard(0)?.admit()?, multi.shard(1)?.admit()?);
    /// let error = multi.try_submit(|| ()).unwrap_err();
    /// assert_eq!(error.reason(), Refused::Full);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_submit<F: FnOnce() + Send + 'static>(&self, task: F) -> Result<(), SubmitError<F>> {
        self.give::<Submit, F>(task, IfFull::Refuse)
    }

    /// As [`submit`](Multi::submit), with a handle to the result.
    ///
    /// # Errors
    ///
    /// As [`submit`](Multi::submit): the closure comes back.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::PowerOfTwo, || Pool::new(2));
    /// assert_eq!(multi.spawn(|| 6 * 7)?.join()?, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(&self, task: F) -> Result<JoinHandle<T>, SubmitError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.give::<Spawn, F>(task, IfFull::AsBuilt)
    }

    /// As [`try_submit`](Multi::try_submit), with a handle to the result.
    ///
    /// # Errors
    ///
    /// As [`try_submit`](Multi::try_submit): the closure comes back.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, Multi, Pool};
    ///
    /// let multi = Multi::new(2, Balance::LeastLoaded, || Pool::new(2));
    /// assert_eq!(multi.try_spawn(|| "done")?.join()?, "done");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn try_spawn<F, T>(&self, task: F) -> Result<JoinHandle<T>, SubmitError<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.give::<Spawn, F>(task, IfFull::Refuse)
    }
}

impl<T: Send + 'static, R: Send + 'static> Multi<FnPool<T, R>> {
    /// Runs the function of the chosen shard with this argument, fire and forget. Falls
    /// over to the least loaded shard, and waits, as [`Multi::submit`] of closures does.
    ///
    /// # Errors
    ///
    /// The argument comes back with the reason of the shard that was asked last.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, FnPool, Multi};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || FnPool::new(2, |n: u32| println!("{n}")));
    /// multi.submit(7)?;
    /// multi.drain()?;
    /// assert_eq!(multi.stats().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias = "Invoke")]
    pub fn submit(&self, argument: T) -> Result<(), SubmitError<T>> {
        self.give::<Submit, T>(argument, IfFull::AsBuilt)
    }

    /// As `submit`, but never waits and never runs the function here.
    ///
    /// # Errors
    ///
    /// The argument comes back with the reason: `Full`, `Closed` or `NoWorker`.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, FnPool, Multi, Refused};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || FnPool::new(2, |n: u32| n + 1));
    /// multi.try_submit(7)?;
    /// multi.drain()?;
    /// let error = multi.try_submit(8).unwrap_err();
    /// assert_eq!((error.reason(), error.into_task()), (Refused::Closed, 8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_submit(&self, argument: T) -> Result<(), SubmitError<T>> {
        self.give::<Submit, T>(argument, IfFull::Refuse)
    }

    /// As `submit`, with a handle to the result.
    ///
    /// # Errors
    ///
    /// As `submit`: the argument comes back.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, FnPool, Multi};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || FnPool::new(2, |n: u32| n + 1));
    /// assert_eq!(multi.spawn(7)?.join()?, 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn spawn(&self, argument: T) -> Result<JoinHandle<R>, SubmitError<T>> {
        self.give::<Spawn, T>(argument, IfFull::AsBuilt)
    }

    /// As `try_submit`, with a handle to the result.
    ///
    /// # Errors
    ///
    /// As `try_submit`: the argument comes back.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Balance, FnPool, Multi};
    ///
    /// let multi = Multi::new(2, Balance::RoundRobin, || FnPool::new(2, |n: u32| n + 1));
    /// assert_eq!(multi.try_spawn(7)?.join()?, 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn try_spawn(&self, argument: T) -> Result<JoinHandle<R>, SubmitError<T>> {
        self.give::<Spawn, T>(argument, IfFull::Refuse)
    }
}
