//! The settings that every pool has.

use std::sync::Arc;

use super::{Builder, WhenFull, Workers};
use crate::error::TaskPanic;

impl<P> Builder<P> {
    /// How many workers there may be. A number `n`, or `..=n`, means none at first, started on
    /// demand, up to `n`. A range `m..=n` means that `m` are started by [`build`](Builder::build)
    /// and never let go. By default, up to one worker per core.
    ///
    /// The workers of a pool of futures are the futures in flight: it has no minimum, and
    /// [`build`](Builder::build) refuses one.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::builder().workers(2..=8).build()?;
    /// assert_eq!((pool.workers(), pool.capacity()), (2, 8));
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    #[doc(alias = "size")]
    #[doc(alias = "num_threads")]
    #[doc(alias = "core_pool_size")]
    pub fn workers(mut self, workers: impl Into<Workers>) -> Self {
        self.workers = workers.into();
        self.unlimited = false;
        self
    }

    /// As many workers as there are tasks, as far as the operating system goes: every task gets a
    /// worker at once, reused or new, and idle ones retire. Tasks for which no thread can be
    /// started wait for the workers there are.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::builder().unlimited().build()?;
    /// assert_eq!(pool.capacity(), usize::MAX);
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    #[doc(alias = "newCachedThreadPool")]
    pub fn unlimited(mut self) -> Self {
        self.unlimited = true;
        self.workers.minimum = 0;
        self
    }

    /// How many tasks may wait for a worker; 4096 unless set. With `0` a task is accepted only if
    /// a worker is free to take it, or may still be started.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::Refused;
    ///
    /// let pool = formic::Pool::builder().workers(1).queue(1).build()?;
    /// let places = (pool.admit()?, pool.admit()?); // one for the worker, one in the queue
    /// assert_eq!(pool.try_admit().unwrap_err(), Refused::Full);
    /// # drop(places);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "capacity")]
    pub fn queue(mut self, tasks: usize) -> Self {
        self.queue = Some(tasks);
        self
    }

    /// Lets any number of tasks wait for a worker. Memory is the only limit: a producer that is
    /// faster than the workers will find it.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::builder().workers(1).queue_unbounded().build()?;
    /// for _ in 0..10_000 {
    ///     pool.try_submit(|| ())?; // never full
    /// }
    /// pool.drain()?;
    /// assert_eq!(pool.stats().completed, 10_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn queue_unbounded(mut self) -> Self {
        self.queue = None;
        self
    }

    /// How many submitters may wait for a place at once; the next is refused with
    /// [`Refused::Full`](crate::Refused::Full). Any number unless set.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::Refused;
    ///
    /// let pool = formic::Pool::builder().workers(1).queue(0).waiters(0).build()?;
    /// let permit = pool.admit()?;
    /// assert_eq!(pool.submit(|| ()).unwrap_err().reason(), Refused::Full); // no submitter may wait
    /// # drop(permit);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "MaxBlockingTasks")]
    pub fn waiters(mut self, submitters: usize) -> Self {
        self.waiters = submitters;
        self
    }

    /// What [`Pool::submit`](crate::Pool::submit) does when there is no place; by default it waits.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{Pool, Refused, WhenFull};
    ///
    /// let pool = Pool::builder().workers(1).queue(0).when_full(WhenFull::Refuse).build()?;
    /// let permit = pool.admit()?;
    /// assert_eq!(pool.submit(|| ()).unwrap_err().reason(), Refused::Full);
    /// # drop(permit);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "Nonblocking")]
    #[doc(alias = "RejectedExecutionHandler")]
    pub fn when_full(mut self, policy: WhenFull) -> Self {
        self.when_full = policy;
        self
    }

    /// The first part of the workers' thread names: `io` gives `io-0`, `io-1` and so on.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::builder().workers(1).name("io").build()?;
    /// let name = pool.spawn(|| std::thread::current().name().map(str::to_owned))?.join()?;
    /// assert_eq!(name.as_deref(), Some("io-0"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "thread_name")]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Called when a task has panicked, and no handle will receive the panic. Rust has printed the panic to
    /// the standard error by then, as it does for every thread. A panic in the hook is contained.
    ///
    /// The hook is called once for each of these, and never for a panic that a handle has received:
    ///
    /// - a submitted task panics: on the thread that ran it;
    /// - a spawned task panics, and its handle was dropped: on the thread that ran it;
    /// - a handle, a [`Batch`](crate::Batch) or a `map` is dropped, and the panic of its task was not taken
    ///   out: on the thread that drops it;
    /// - a call of an [`FnPool`](crate::FnPool) panics after its caller gave up.
    ///
    /// When a wait for the end of all tasks returns, the hook has been called for all of them whose handle
    /// was dropped before.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let (tell, told) = mpsc::channel();
    /// let pool = formic::Pool::builder()
    ///     .workers(1)
    ///     .on_panic(move |panic| drop(tell.send(panic.to_string())))
    ///     .build()?;
    /// pool.submit(|| panic!("out of paper"))?;
    /// assert!(told.recv()?.contains("out of paper"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "PanicHandler")]
    #[doc(alias = "panic_handler")]
    pub fn on_panic(mut self, hook: impl Fn(&TaskPanic) + Send + Sync + 'static) -> Self {
        self.hooks.on_panic = Some(Arc::new(hook));
        self
    }

    /// The size of a worker's stack in bytes; Rust's default for threads unless set. A pool of futures must have
    /// threads of its own for it, and for the two hooks below: those of a runtime are not the pool's.
    ///
    /// # Examples
    ///
    /// ```
    /// fn depth(n: u32) -> u32 {
    ///     if n == 0 { 0 } else { 1 + std::hint::black_box(depth(n - 1)) }
    /// }
    ///
    /// let pool = formic::Pool::builder().workers(1).stack_size(16 * 1024 * 1024).build()?;
    /// assert_eq!(pool.spawn(|| depth(10_000))?.join()?, 10_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "thread_stack_size")]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Called on a worker's thread before its first task, with the number of its place.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let (tell, told) = mpsc::channel();
    /// let pool = formic::Pool::builder()
    ///     .workers(1)
    ///     .on_worker_start(move |index| drop(tell.send(index)))
    ///     .build()?;
    /// pool.submit(|| ())?;
    /// assert_eq!(told.recv()?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "start_handler")]
    pub fn on_worker_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.on_worker_start = Some(Arc::new(hook));
        self
    }

    /// Called on a worker's thread when it retires, with the number of its place. The place is
    /// free for another worker after the hook has returned.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let (tell, told) = mpsc::channel();
    /// let pool = formic::Pool::builder()
    ///     .workers(2..=2)
    ///     .on_worker_stop(move |index| drop(tell.send(index)))
    ///     .build()?;
    /// pool.drain()?; // returns after the hooks have
    /// assert_eq!(told.try_iter().sum::<usize>(), 1); // 0 and 1
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "exit_handler")]
    pub fn on_worker_stop(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.on_worker_stop = Some(Arc::new(hook));
        self
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn policy(&self) -> WhenFull {
        self.when_full
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn minimum(&self) -> usize {
        self.workers.minimum
    }

    /// The first setting that only a pool with threads of its own can have.
    #[cfg(feature = "tokio")]
    pub(crate) fn asks_for_threads(&self) -> Option<&'static str> {
        let hooks = &self.hooks;
        [
            ("stack_size", self.stack_size.is_some()),
            ("on_worker_start", hooks.on_worker_start.is_some()),
            ("on_worker_stop", hooks.on_worker_stop.is_some()),
        ]
        .into_iter()
        .find_map(|(setting, set)| set.then_some(setting))
    }
}
