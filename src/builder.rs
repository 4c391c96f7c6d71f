//! The builder: every setting, checked once.

mod workers; // how many there are
mod when_full; // what becomes of a task without a place
mod settings; // what every pool can be told
mod threads; // .. and only a pool of threads
mod check; // what cannot be
mod started; // what every pool is made of
mod build; // .. and each kind of pool
mod state; // .. with a state per worker that may fail

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::Hooks;
use crate::growth::Growth;
use crate::pool::Pool;

pub(crate) use self::check::check_preallocate;
pub(crate) use self::started::Started;
pub use self::state::StateBuilder;
pub use self::threads::OnThreads;
pub use self::when_full::WhenFull;
pub use self::workers::Workers;

/// The queue of a pool that was not told otherwise.
const QUEUE: usize = 4096;
const KEEP_ALIVE: Duration = Duration::from_secs(10);

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
    /// Of an `FnPool`: what is given the results that no handle receives. Its type is known where it is set and read.
    on_result: Option<Arc<dyn Any + Send + Sync>>,
    /// What a pool of futures runs on: one of these, or the runtime that it is built in.
    #[cfg(feature = "tokio")]
    pub(crate) runtime: Option<tokio::runtime::Handle>,
    #[cfg(feature = "tokio")]
    pub(crate) own_threads: Option<usize>,
    /// What will be built.
    pool: PhantomData<fn() -> P>,
}

impl<P> Builder<P> {
    pub(crate) fn new() -> Self {
        Builder {
            workers: Workers::default(),
            unlimited: false,
            queue: Some(QUEUE),
            waiters: usize::MAX,
            when_full: WhenFull::default(),
            keep_alive: Some(KEEP_ALIVE),
            growth: Growth::default(),
            preallocate: false,
            prestart: 0,
            name: "formic".to_owned(),
            stack_size: None,
            hooks: Hooks::default(),
            on_result: None,
            #[cfg(feature = "tokio")]
            runtime: None,
            #[cfg(feature = "tokio")]
            own_threads: None,
            pool: PhantomData,
        }
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
