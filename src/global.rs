//! The global pool: one for the whole process, for those who want none of their own.

use std::sync::OnceLock;

use crate::builder::Builder;
use crate::engine::MAX_WORKERS;
use crate::error::{BuildError, SubmitError};
use crate::handle::JoinHandle;
use crate::pool::Pool;

static GLOBAL: OnceLock<Pool> = OnceLock::new();

/// Workers for each core, and for the whole pool at least. See [`global`].
const PER_CORE: usize = 8;
const AT_LEAST: usize = 64;

/// The pool of the whole process, made when it is first used.
///
/// Unless [`Builder::build_global`] has said otherwise, it has **eight workers per core, and 64 at
/// least**, with the builder's defaults for the rest: none of them is started before it is needed, idle
/// ones leave after ten seconds, and 4096 tasks may be queued before `submit` waits.
///
/// It has more workers than there are cores because it is shared by code that does not know of each
/// other, and some of that will block: on files, sockets, locks. With one worker per core, a few
/// tasks that block would hold up all other users of the pool. Tasks that are short and do not block gain nothing
/// by it and lose nothing: while tasks are short, no more workers are called than there are cores.
/// It has a bound because threads cost memory, and an overload should slow its producers down.
///
/// **At the end of the process** nothing waits for it: when `main` returns, tasks that run are cut
/// off and queued ones are not run, as with every thread. To have them finished, end `main` with
/// `formic::global().drain()`.
///
/// **Its ends concern the whole program.** [`close`](crate::Control::close), [`drain`](crate::Pool::drain)
/// and [`discard`](crate::Control::discard) act for the whole process; they are for `main`. A library
/// leaves them alone, or has a pool of its own. [`reopen`](crate::Control::reopen) works, too.
///
/// # Examples
///
/// ```
/// let pool = formic::global();
/// pool.submit(|| println!("somewhere in the background"))?;
/// assert!(pool.capacity() >= 64);
/// pool.drain()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "defaultAntsPool")]
#[doc(alias = "default_pool")]
#[doc(alias = "commonPool")]
pub fn global() -> &'static Pool {
    GLOBAL.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = (cores * PER_CORE).clamp(AT_LEAST, MAX_WORKERS);
        match Pool::builder().workers(workers).name("global").build() {
            Ok(pool) => pool,
            // No thread is started here, and nothing else can fail with these settings.
            Err(error) => unreachable!("the settings of the global pool are sound: {error}"),
        }
    })
}

/// Runs a closure on the [`global`] pool, fire and forget. Waits for a place if the
/// queue is full; see [`Pool::submit`].
///
/// # Errors
///
/// As [`Pool::submit`]: the closure comes back.
///
/// # Examples
///
/// ```
/// formic::submit(|| println!("hello from a worker"))?;
/// formic::global().wait_idle()?;
/// assert_eq!(formic::global().stats().completed, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
#[doc(alias = "Submit")]
pub fn submit<F: FnOnce() + Send + 'static>(task: F) -> Result<(), SubmitError<F>> {
    global().submit(task)
}

/// Runs a closure on the [`global`] pool and returns a handle to its result. Waits for a place as
/// [`submit`] does; see [`Pool::spawn`].
///
/// # Errors
///
/// As [`Pool::spawn`]: the closure comes back.
///
/// # Examples
///
/// ```
/// let handle = formic::spawn(|| 6 * 7)?;
/// assert_eq!(handle.join()?, 42); // or handle.await
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
#[doc(alias = "spawn_blocking")]
#[doc(alias = "unblock")]
pub fn spawn<F, T>(task: F) -> Result<JoinHandle<T>, SubmitError<F>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    global().spawn(task)
}

/// Makes the global pool from these settings, if there is none.
pub(crate) fn install(builder: Builder) -> Result<(), BuildError> {
    // Before anything is built, so that no worker is started in vain.
    if GLOBAL.get().is_some() {
        return Err(BuildError::GlobalExists);
    }
    // Another thread may have set the global pool meanwhile; then the new pool closes, unused.
    GLOBAL.set(builder.build()?).map_err(|_unused| BuildError::GlobalExists)
}
