//! The builder: every setting, checked once.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{RangeInclusive, RangeToInclusive};
use std::sync::Arc;
use std::time::Duration;

use crate::control::Control;
use crate::engine::{Engine, Hooks, MAX_WORKERS, Patience, Settings, Work};
use crate::error::{BuildError, TaskPanic};
use crate::fn_pool::{Calls, FnPool};
use crate::growth::Growth;
use crate::pool::{Closures, Pool};

/// The queue of a pool that was not told otherwise.
const QUEUE: usize = 4096;
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// What the operating systems ask for at least. Less would be raised in silence.
const LEAST_STACK: usize = 16 * 1024;
const LONGEST_RESERVED: usize = 1 << 22;

/// What [`Pool::submit`] does when there is no place for the task.
///
/// # Examples
///
/// ```
/// use formic::{Pool, Refused, WhenFull};
///
/// let pool = Pool::builder().workers(1).queue(0).when_full(WhenFull::CallerRuns).build()?;
/// let permit = pool.admit()?; // the only place is taken
/// let here = std::thread::current().id();
/// let ran_on = pool.spawn(move || std::thread::current().id())?;
/// assert_eq!(ran_on.join()?, here);
///
/// let error = pool.try_submit(|| ()).unwrap_err(); // whatever the policy, this never waits
/// assert_eq!(error.reason(), Refused::Full);
/// # drop(permit);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenFull {
    /// Waits for a place, in order of arrival.
    #[default]
    Wait,
    /// Refuses the task with [`Refused::Full`](crate::Refused::Full).
    #[doc(alias = "Nonblocking")]
    #[doc(alias = "AbortPolicy")]
    Refuse,
    /// Runs the task on the submitting thread, which so is kept from submitting more.
    #[doc(alias = "CallerRunsPolicy")]
    CallerRuns,
}

/// How many workers a pool has: `8` and `..=8` mean none at first and up to eight, `2..=8` means
/// always at least two.
///
/// # Examples
///
/// ```
/// use formic::Workers;
///
/// assert_eq!(Workers::from(8), Workers::from(..=8));
/// assert_eq!(Workers::from(8), Workers::from(0..=8));
/// assert_ne!(Workers::from(8), Workers::from(2..=8));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers {
    minimum: usize,
    capacity: usize,
}

impl From<usize> for Workers {
    fn from(capacity: usize) -> Self {
        Workers { minimum: 0, capacity }
    }
}

impl From<RangeToInclusive<usize>> for Workers {
    fn from(range: RangeToInclusive<usize>) -> Self {
        Workers { minimum: 0, capacity: range.end }
    }
}

impl From<RangeInclusive<usize>> for Workers {
    fn from(range: RangeInclusive<usize>) -> Self {
        Workers { minimum: *range.start(), capacity: *range.end() }
    }
}

/// Settings for a [`Pool`]. Nothing is checked before [`build`](Builder::build), and nothing is
/// changed in silence there.
///
/// # Examples
///
/// ```
/// use formic::{Pool, WhenFull};
/// use std::time::Duration;
///
/// let pool = Pool::builder()
///     .workers(2..=8)
///     .queue(100)
///     .when_full(WhenFull::Refuse)
///     .keep_alive(Duration::from_secs(1))
///     .name("io")
///     .build()?;
/// assert_eq!(pool.capacity(), 8);
/// assert_eq!(pool.workers(), 2); // the minimum is there from the start
/// # Ok::<(), formic::BuildError>(())
/// ```
#[derive(Clone)]
#[must_use = "a builder does nothing until it is built"]
pub struct Builder<P = Pool> {
    workers: Workers,
    unlimited: bool,
    queue: Option<usize>,
    waiters: usize,
    when_full: WhenFull,
    keep_alive: Option<Duration>,
    growth: Growth,
    preallocate: bool,
    prestart: usize,
    name: String,
    stack_size: Option<usize>,
    hooks: Hooks,
    #[cfg(feature = "tokio")]
    pub(crate) runtime: Option<tokio::runtime::Handle>,
    /// What will be built.
    pool: PhantomData<fn() -> P>,
}

impl Builder {
    /// The most workers that a pool of threads may have, also an unlimited one.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::{BuildError, Builder, Pool};
    ///
    /// let error = Pool::builder().workers(Builder::MAX_WORKERS + 1).build().unwrap_err();
    /// assert!(matches!(error, BuildError::TooManyWorkers { .. }));
    /// ```
    pub const MAX_WORKERS: usize = MAX_WORKERS;
}

/// A pool whose workers are threads, which have settings that futures have not: [`Pool`] and [`FnPool`].
/// Nobody else can implement it.
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

impl<P> Builder<P> {
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Builder {
            workers: Workers::from(cores),
            unlimited: false,
            queue: Some(QUEUE),
            waiters: usize::MAX,
            when_full: WhenFull::Wait,
            keep_alive: Some(KEEP_ALIVE),
            growth: Growth::Eager,
            preallocate: false,
            prestart: 0,
            name: "formic".to_owned(),
            stack_size: None,
            hooks: Hooks::default(),
            #[cfg(feature = "tokio")]
            runtime: None,
            pool: PhantomData,
        }
    }

    /// How many workers there may be. A number `n`, or `..=n`, means none at first, started on
    /// demand, up to `n`. A range `m..=n` means that `m` are started by [`build`](Builder::build)
    /// and never let go. By default, up to one worker per core.
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
    /// assert_eq!(pool.submit(|| ()).unwrap_err().reason(), Refused::Full); // nobody may wait
    /// # drop(permit);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "MaxBlockingTasks")]
    pub fn waiters(mut self, submitters: usize) -> Self {
        self.waiters = submitters;
        self
    }

    /// What [`Pool::submit`] does when there is no place; by default it waits.
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

    /// Called on the worker's thread when a task has panicked. Rust has printed the panic to the
    /// standard error by then, as it does for every thread. A panic in the hook is contained.
    ///
    /// The panic of a spawned task goes to its handle, and not to the hook.
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

    #[cfg(feature = "tokio")]
    pub(crate) fn policy(&self) -> WhenFull {
        self.when_full
    }

    /// Checks the settings, makes the engine, and starts the first workers.
    pub(crate) fn start<W: Work>(self, work: W) -> Result<Started<W>, BuildError> {
        let (when_full, first) = (self.when_full, self.prestart);
        let settings = self.check(W::MOST)?;
        let first = first.max(settings.minimum);
        let engine = Engine::new(settings, work);
        let control = Control::new(Arc::clone(&engine));
        let started = Started { engine, control, when_full };
        started.control.start_workers(first).map_err(BuildError::Thread)?;
        Ok(started)
    }

    fn check(self, limit: usize) -> Result<Settings, BuildError> {
        let Workers { minimum, capacity } = self.workers;
        if !self.unlimited {
            check_workers(minimum, capacity, limit)?;
        }
        let capacity = if self.unlimited { usize::MAX } else { capacity };
        let (workers, most) = (self.prestart, capacity.min(limit));
        if workers > most {
            return Err(BuildError::Prestart { workers, capacity: most });
        }
        if self.keep_alive == Some(Duration::ZERO) {
            return Err(BuildError::KeepAlive);
        }
        let growth = self.growth.check(self.queue)?;
        check_thread(&self.name, self.stack_size)?;
        if self.preallocate {
            check_preallocate(self.queue, self.unlimited)?;
        }
        Ok(Settings {
            capacity,
            minimum,
            queue: self.queue.unwrap_or(usize::MAX),
            waiters: self.waiters,
            keep_alive: self.keep_alive,
            growth,
            preallocate: self.preallocate,
            name: self.name.into(),
            stack_size: self.stack_size,
            hooks: self.hooks,
            #[cfg(test)]
            faults: None,
        })
    }
}

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
    /// let growth = Growth::ByLoad { step: 2, grow_at: 0.5, shrink_at: 0.1 };
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
    /// use formic::{BuildError, Pool};
    ///
    /// let pool = Pool::builder().workers(4).queue(1024).preallocate().build()?;
    /// assert_eq!(pool.workers(), 0); // memory is reserved, and no thread is started
    ///
    /// let endless = Pool::builder().queue_unbounded().preallocate().build();
    /// assert!(matches!(endless, Err(BuildError::Preallocate { .. })));
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

    /// The size of a worker's stack in bytes; Rust's default for threads unless set.
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
}

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
    /// use formic::{BuildError, Pool};
    ///
    /// let pool = Pool::builder().workers(4).queue(64).build()?;
    /// assert_eq!((pool.capacity(), pool.workers()), (4, 0));
    /// assert!(matches!(Pool::builder().workers(0).build(), Err(BuildError::NoWorkers)));
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    pub fn build(self) -> Result<Pool, BuildError> {
        self.start(Closures).map(Pool::from_started)
    }

    /// Makes the pool that [`formic::global`](crate::global()) returns, for the whole process. For `main`,
    /// before anybody has used it. Whoever races with the first use gets all or nothing: either this
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
        self.build_with_state(|| (), move |(), argument| function(argument))
    }

    /// As [`build`](Builder::build), for a function with a state per worker; see
    /// [`FnPool::with_state`].
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
    /// let calls = FnPool::builder().workers(1).keep_alive(None).build_with_state(
    ///     || 0,
    ///     |calls: &mut u32, ()| {
    ///         *calls += 1;
    ///         *calls
    ///     },
    /// )?;
    /// assert_eq!((calls.call(()).unwrap(), calls.call(()).unwrap()), (1, 2));
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    pub fn build_with_state<S, I, F>(self, init: I, function: F) -> Result<FnPool<T, R>, BuildError>
    where
        S: 'static,
        I: Fn() -> S + Send + Sync + 'static,
        F: Fn(&mut S, T) -> R + Send + Sync + 'static,
    {
        self.start(Calls::new(init, function)).map(FnPool::from_started)
    }
}

fn check_workers(minimum: usize, capacity: usize, limit: usize) -> Result<(), BuildError> {
    if capacity == 0 && minimum == 0 {
        return Err(BuildError::NoWorkers);
    }
    if minimum > capacity {
        return Err(BuildError::Workers { minimum, capacity });
    }
    if capacity > limit {
        return Err(BuildError::TooManyWorkers { workers: capacity, limit });
    }
    Ok(())
}

fn check_thread(name: &str, stack_size: Option<usize>) -> Result<(), BuildError> {
    if name.contains('\0') {
        return Err(BuildError::Name(name.to_owned()));
    }
    match stack_size {
        Some(bytes) if bytes < LEAST_STACK => {
            Err(BuildError::StackSize { bytes, least: LEAST_STACK })
        }
        _ => Ok(()),
    }
}

fn check_preallocate(queue: Option<usize>, unlimited: bool) -> Result<(), BuildError> {
    if unlimited {
        return Err(BuildError::Preallocate { unbounded: "unlimited" });
    }
    match queue {
        None => Err(BuildError::Preallocate { unbounded: "queue_unbounded" }),
        Some(queue) if queue > LONGEST_RESERVED => {
            Err(BuildError::TooLong { queue, limit: LONGEST_RESERVED })
        }
        Some(_) => Ok(()),
    }
}

/// What every kind of pool is made of.
pub(crate) struct Started<W: Work> {
    pub(crate) engine: Arc<Engine<W>>,
    pub(crate) control: Control,
    pub(crate) when_full: WhenFull,
}

impl<W: Work> Started<W> {
    /// What a submitter does when there is no place.
    pub(crate) fn patience(&self) -> Patience {
        match self.when_full {
            WhenFull::Wait => Patience::Until(None),
            WhenFull::Refuse => Patience::None,
            WhenFull::CallerRuns => Patience::RunHere,
        }
    }
}

/// The last handle is gone: the pool closes, and what was accepted still runs.
impl<W: Work> Drop for Started<W> {
    fn drop(&mut self) {
        self.control.close();
    }
}

impl<P> fmt::Debug for Builder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("workers", &self.workers)
            .field("unlimited", &self.unlimited)
            .field("queue", &self.queue)
            .field("waiters", &self.waiters)
            .field("when_full", &self.when_full)
            .field("keep_alive", &self.keep_alive)
            .field("growth", &self.growth)
            .field("preallocate", &self.preallocate)
            .field("prestart", &self.prestart)
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}
