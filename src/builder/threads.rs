//! The settings that only pools of threads have.

use std::time::Duration;

use super::Builder;
use crate::fn_pool::FnPool;
use crate::growth::Growth;
use crate::pool::Pool;

/// A pool whose workers are threads, which have settings that futures have not: [`Pool`] and [`FnPool`].
/// It is sealed.
///
/// # Examples
///
/// ```
/// use formic::{Builder, FnPool, OnThreads, Pool};
/// use std::time::Duration;
///
/// fn patient<P: OnThreads>(builder: Builder<P>) -> Builder<P> {
///     builder.keep_alive(Duration::from_secs(600)).prestart(1)
/// }
///
/// let pool = patient(Pool::builder()).build()?;
/// let squares = patient(FnPool::builder()).build(|n: u64| n * n)?;
/// assert_eq!((pool.workers(), squares.workers()), (1, 1));
/// # Ok::<(), formic::BuildError>(())
/// ```
pub trait OnThreads: sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for Pool {}
impl OnThreads for Pool {}
impl<T: Send + 'static, R: Send + 'static> sealed::Sealed for FnPool<T, R> {}
impl<T: Send + 'static, R: Send + 'static> OnThreads for FnPool<T, R> {}

impl<P: OnThreads> Builder<P> {
    /// How long an idle worker stays; ten seconds unless set. `None` keeps workers for good. The minimum
    /// stays anyway. No timer runs for it: each idle worker times itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let pool = formic::Pool::builder().workers(1).keep_alive(Duration::from_millis(1)).build()?;
    /// pool.submit(|| ())?;
    /// while pool.stats().completed < 1 || pool.workers() > 0 {
    ///     std::thread::yield_now(); // it retires by itself
    /// }
    /// pool.submit(|| ())?; // and for the next task there is one again
    /// pool.drain()?;
    /// assert_eq!(pool.stats().completed, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "ExpiryDuration")]
    #[doc(alias = "DisablePurge")]
    #[doc(alias = "MaxIdleWorkerDuration")]
    pub fn keep_alive(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.keep_alive = time.into();
        self
    }

    /// When workers are started and retire: for each task unless set, or by how full the queue is.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Growth, Pool};
    ///
    /// let growth = Growth::by_load(2, 0.5, 0.1);
    /// let pool = Pool::builder().workers(2..=8).queue(100).growth(growth).build()?;
    /// assert_eq!((pool.workers(), pool.capacity()), (2, 8));
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    pub fn growth(mut self, growth: Growth) -> Self {
        self.growth = growth;
        self
    }

    /// Reserves the memory for the queue and for the list of workers now, and keeps it.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::Pool;
    ///
    /// let pool = Pool::builder().workers(4).queue(1024).preallocate().build()?;
    /// assert_eq!(pool.workers(), 0); // memory is reserved, and no thread is started
    ///
    /// let endless = Pool::builder().queue_unbounded().preallocate().build();
    /// assert_eq!(endless.unwrap_err().to_string(), "preallocate: `queue_unbounded` has no bound");
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    #[doc(alias = "PreAlloc")]
    pub fn preallocate(mut self) -> Self {
        self.preallocate = true;
        self
    }

    /// Starts this many workers in [`build`](Builder::build). Unlike a minimum, they retire when
    /// they have nothing to do.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::builder().workers(8).prestart(3).build()?;
    /// assert_eq!(pool.workers(), 3);
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    #[doc(alias = "warm_up")]
    pub fn prestart(mut self, workers: usize) -> Self {
        self.prestart = workers;
        self
    }
}
