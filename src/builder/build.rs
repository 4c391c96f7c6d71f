//! `build`, for each kind of pool of threads.

use std::sync::Arc;

use super::Builder;
use crate::error::BuildError;
use crate::fn_pool::{Calls, FnPool, Maker, ResultHook};
use crate::pool::{Closures, Pool};

impl Builder<Pool> {
    /// Checks the settings and makes the pool. Starts the minimum and what
    /// [`prestart`](Builder::prestart) asks for; the other workers are started on demand.
    ///
    /// # Errors
    ///
    /// A [`BuildError`] that names the setting and its value.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::Pool;
    ///
    /// let pool = Pool::builder().workers(4).queue(64).build()?;
    /// assert_eq!((pool.capacity(), pool.workers()), (4, 0));
    /// assert_eq!(Pool::builder().workers(0).build().unwrap_err().setting(), Some("workers"));
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    pub fn build(self) -> Result<Pool, BuildError> {
        self.start(Closures).map(Pool::from_started)
    }

    /// Makes the pool that [`formic::global`](crate::global()) returns, for the whole process. For `main`,
    /// before its first use. A call that races with the first use gets all or nothing: either this
    /// is the global pool, or there is an error and it is not.
    ///
    /// # Errors
    ///
    /// [`BuildError::GlobalExists`] if there is a global pool already, built or made by its first
    /// use; otherwise as [`build`](Builder::build).
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{BuildError, Pool};
    ///
    /// Pool::builder().workers(3).build_global()?;
    /// assert_eq!(formic::global().capacity(), 3);
    ///
    /// let again = Pool::builder().build_global();
    /// assert!(matches!(again, Err(BuildError::GlobalExists)));
    /// # Ok::<(), BuildError>(())
    /// ```
    pub fn build_global(self) -> Result<(), BuildError> {
        crate::global::install(self)
    }
}

/// As [`Pool::builder`].
impl Default for Builder<Pool> {
    fn default() -> Self {
        Pool::builder()
    }
}

/// As [`FnPool::builder`].
impl<T: Send + 'static, R: Send + 'static> Default for Builder<FnPool<T, R>> {
    fn default() -> Self {
        FnPool::builder()
    }
}

impl<T, R> Builder<FnPool<T, R>>
where
    T: Send + 'static,
    R: Send + 'static,
{
    /// Checks the settings and makes a pool of one function. Starts the minimum and what
    /// [`prestart`](Builder::prestart) asks for; the other workers are started on demand.
    ///
    /// # Errors
    ///
    /// A [`BuildError`] that names the setting and its value.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::FnPool;
    ///
    /// let lengths = FnPool::builder().workers(2).queue(64).build(|text: &str| text.len())?;
    /// assert_eq!(lengths.call("formic").unwrap(), 6);
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    pub fn build<F>(self, function: F) -> Result<FnPool<T, R>, BuildError>
    where
        F: Fn(T) -> R + Send + Sync + 'static,
    {
        self.start_calls(Maker::stateless(function))
    }

    /// As [`build`](Builder::build), for a function with a state per worker that cannot fail: a buffer, a parser. See
    /// [`FnPool::with_state`], and [`state`](Builder::state) for a connection.
    ///
    /// # Errors
    ///
    /// A [`BuildError`] that names the setting and its value.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::FnPool;
    ///
    /// let calls = FnPool::builder().workers(1).keep_alive(None).build_with(
    ///     || 0,
    ///     |calls: &mut u32, ()| {
    ///         *calls += 1;
    ///         *calls
    ///     },
    /// )?;
    /// assert_eq!((calls.call(()).unwrap(), calls.call(()).unwrap()), (1, 2));
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    pub fn build_with<S, I, F>(self, init: I, function: F) -> Result<FnPool<T, R>, BuildError>
    where
        S: 'static,
        I: Fn() -> S + Send + Sync + 'static,
        F: Fn(&mut S, T) -> R + Send + Sync + 'static,
    {
        self.start_calls(Maker::sure(init, function))
    }

    /// Called with the result of each call that has no handle: of [`submit`](FnPool::submit) and the other verbs
    /// without a result. Otherwise these results are dropped. On the thread that ran the call, before the call counts
    /// as completed. A panic in the hook is contained, and told to [`on_panic`](Builder::on_panic).
    ///
    /// A call that panics has no result: [`on_panic`](Builder::on_panic) hears of it. The result of a spawned call is
    /// its handle's, also if the handle was dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::FnPool;
    /// use std::sync::mpsc;
    ///
    /// let (tell, told) = mpsc::channel();
    /// let pool = FnPool::builder()
    ///     .workers(1)
    ///     .on_result(move |result: Result<u32, _>| {
    ///         if let Err(error) = result {
    ///             drop(tell.send(error)); // or log it
    ///         }
    ///     })
    ///     .build(|text: &str| text.parse())?;
    /// pool.submit("7")?;
    /// pool.submit("seven")?;
    /// pool.drain()?;
    /// assert_eq!(told.try_iter().count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "LogAllErrors")]
    #[doc(alias = "on_error")]
    pub fn on_result(mut self, hook: impl Fn(R) + Send + Sync + 'static) -> Self {
        let hook: ResultHook<R> = Arc::new(hook);
        self.on_result = Some(Arc::new(hook));
        self
    }

    pub(super) fn start_calls(self, maker: Maker<T, R>) -> Result<FnPool<T, R>, BuildError> {
        let on_result = self.on_result.as_ref().and_then(|hook| hook.downcast_ref());
        let calls = Calls::new(maker, self.hooks.clone(), on_result.cloned());
        self.start(calls).map(FnPool::from_started)
    }
}
