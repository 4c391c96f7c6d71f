//! `StateBuilder`: a state per worker that may fail, such as a connection.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Builder, WhenFull};
use crate::error::BuildError;
use crate::fn_pool::{Bound, FnPool, Made, Maker, Ready, Retry, Tried};

/// The first pause is that after a thread could not be started: short beside a task that waits for a network. With the
/// longest, a worker runs again a second after its server does, and a server that is down hears once a second from
/// each worker.
const RETRY: Retry = Retry { first: Duration::from_millis(10), longest: Duration::from_secs(1) };

type Init<S, E> = Box<dyn Fn(usize) -> Result<S, E> + Send + Sync>;
type ErrorHook<E> = Box<dyn Fn(usize, &E, u32) + Send + Sync>;

/// Settings for an [`FnPool`] whose workers have a state that may fail, such as a connection. Made by
/// [`Builder::state`], which says what holds for such a state.
///
/// # Examples
///
/// ```
/// use formic::FnPool;
/// use std::io;
///
/// struct Connection {
///     is_open: bool,
/// }
///
/// let pool = FnPool::builder()
///     .workers(8)
///     .keep_alive(None)
///     .state(|_worker| Ok::<_, io::Error>(Connection { is_open: true }))
///     .ready(|connection| connection.is_open)
///     .on_state_error(|worker, error, attempt| eprintln!("{worker}: {error} ({attempt})"))
///     .build(|_connection, question: &str| question.len())?;
/// assert_eq!(pool.call("formic").unwrap(), 6);
/// # Ok::<(), formic::BuildError>(())
/// ```
#[must_use = "a builder does nothing until it is built"]
pub struct StateBuilder<T: Send + 'static, R: Send + 'static, S, E> {
    builder: Builder<FnPool<T, R>>,
    init: Init<S, E>,
    ready: Option<Ready<S>>,
    retry: Retry,
    on_state_error: Option<ErrorHook<E>>,
}

impl<T, R> Builder<FnPool<T, R>>
where
    T: Send + 'static,
    R: Send + 'static,
{
    /// A state per worker that may fail: a connection. `init` is given the number of the worker's place, and runs on
    /// the worker's thread, so the state need not be [`Send`]. It is dropped on that thread when the worker retires,
    /// after a call that panicked, and after one that asked for it by [`renew_state`](crate::renew_state).
    ///
    /// **A worker without a state takes no task.** `init` is called when there is a task that the worker could take.
    /// If it returns an error or panics, other workers take the tasks, and are started for them if need be: so such a pool
    /// cannot be [`unlimited`](Builder::unlimited). The worker tries again after a pause
    /// ([`retry`](StateBuilder::retry)), while tasks are queued. In an idle pool it does not. If no worker has a
    /// state, tasks wait. [`drain`](crate::FnPool::drain) then waits, too: use
    /// [`drain_timeout`](crate::FnPool::drain_timeout), and [`discard`](crate::Control::discard) to give the tasks up.
    ///
    /// **The number of a place** is unique among the workers that are alive, and the same for as long as the worker
    /// lives. The lowest free number is given out first, so all are below the capacity, except after a
    /// [`resize`](crate::Control::resize), and while tasks of the pool wait for others: then there may be workers
    /// beyond it.
    ///
    /// **Only workers have such a state**, so with [`WhenFull::CallerRuns`] a submitter does not run the function
    /// itself: the argument comes back with [`Refused::Full`](crate::Refused::Full).
    ///
    /// For a state that cannot fail, [`build_with`](Builder::build_with) is simpler. There `init` runs in
    /// the first call, and its panic is that call's.
    ///
    /// An `AsyncFnPool` has no such state: its workers poll many calls at once, and a call may go on on
    /// another thread after an `.await`, so no call could have the state for itself. Share a pool of connections
    /// with an async function instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::FnPool;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let attempts = AtomicU32::new(0);
    /// let connect = move |worker: usize| match attempts.fetch_add(1, Ordering::Relaxed) {
    ///     0 => Err("connection refused"),
    ///     _ => Ok(format!("connection {worker}")),
    /// };
    /// let pool = FnPool::builder()
    ///     .workers(1)
    ///     .state(connect)
    ///     .build(|connection: &mut String, ()| connection.clone())?;
    /// assert_eq!(pool.call(()).unwrap(), "connection 0"); // after the second attempt
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    #[doc(alias = "connection")]
    #[doc(alias = "thread_local")]
    pub fn state<S, E, I>(self, init: I) -> StateBuilder<T, R, S, E>
    where
        S: 'static,
        E: 'static,
        I: Fn(usize) -> Result<S, E> + Send + Sync + 'static,
    {
        let (init, ready, on_state_error) = (Box::new(init), None, None);
        StateBuilder { builder: self, init, ready, retry: RETRY, on_state_error }
    }

    /// As [`build`](Builder::build), for a function with a state per worker that may fail: short for
    /// [`state(init)`](Builder::state) and [`build(function)`](StateBuilder::build).
    ///
    /// # Errors
    ///
    /// A [`BuildError`] that names the setting and its value.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::FnPool;
    /// use std::net::{IpAddr, TcpListener, TcpStream};
    ///
    /// let server = TcpListener::bind("127.0.0.1:0")?;
    /// let address = server.local_addr()?;
    /// let pool = FnPool::builder().workers(2).build_with_state(
    ///     move |_worker| TcpStream::connect(address),
    ///     |stream: &mut TcpStream, ()| stream.peer_addr().map(|peer| peer.ip()),
    /// )?;
    /// assert_eq!(pool.call(())??, IpAddr::from([127, 0, 0, 1]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build_with_state<S, E, I, F>(
        self,
        init: I,
        function: F,
    ) -> Result<FnPool<T, R>, BuildError>
    where
        S: 'static,
        E: 'static,
        I: Fn(usize) -> Result<S, E> + Send + Sync + 'static,
        F: Fn(&mut S, T) -> R + Send + Sync + 'static,
    {
        self.state(init).build(function)
    }
}

impl<T, R, S, E> StateBuilder<T, R, S, E>
where
    T: Send + 'static,
    R: Send + 'static,
    S: 'static,
    E: 'static,
{
    /// Asked on the worker's thread before a task is taken. While the answer is `false`, the worker takes none, others
    /// do, and it is asked again after a pause, as [`retry`](StateBuilder::retry) says. After a panic the state is made
    /// anew. [`renew_state`](crate::renew_state) has the state made anew from here, too.
    ///
    /// It should answer at once. A task that a worker was woken for waits for the answer.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::FnPool;
    ///
    /// // Each connection is good for two queries.
    /// let pool = FnPool::builder()
    ///     .workers(1)
    ///     .state(|_worker| Ok::<u32, std::io::Error>(0))
    ///     .ready(|queries| {
    ///         if *queries == 2 {
    ///             formic::renew_state();
    ///         }
    ///         *queries < 2
    ///     })
    ///     .build(|queries: &mut u32, ()| {
    ///         *queries += 1;
    ///         *queries
    ///     })?;
    /// let answers = [pool.call(())?, pool.call(())?, pool.call(())?];
    /// assert_eq!(answers, [1, 2, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "BlockUntilReady")]
    #[doc(alias = "is_valid")]
    pub fn ready(mut self, ready: impl Fn(&mut S) -> bool + Send + Sync + 'static) -> Self {
        self.ready = Some(Arc::new(ready));
        self
    }

    /// How long a worker waits after it could not make its state, or was not ready: `first`, then twice as long each
    /// time, up to `longest`. From 10 milliseconds to one second unless set.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::FnPool;
    /// use std::time::Duration;
    ///
    /// let (first, longest) = (Duration::from_millis(100), Duration::from_secs(30));
    /// let pool = FnPool::builder()
    ///     .state(|worker| Ok::<usize, std::io::Error>(worker))
    ///     .retry(first, longest)
    ///     .build(|_worker, number: u32| number + 1)?;
    /// assert_eq!(pool.call(1).unwrap(), 2);
    ///
    /// let state = FnPool::builder().state(|worker| Ok::<usize, std::io::Error>(worker));
    /// let error = state.retry(longest, first).build(|_, ()| ()).unwrap_err();
    /// assert_eq!(error.setting(), Some("retry"));
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    #[doc(alias = "backoff")]
    pub fn retry(mut self, first: Duration, longest: Duration) -> Self {
        self.retry = Retry { first, longest };
        self
    }

    /// Called on the worker's thread when `init` has returned an error, with the number of the worker's place, the
    /// error, and how many attempts of the worker have failed in a row. A panic of `init` is told to
    /// [`on_panic`](Builder::on_panic) instead, and so is a panic in this hook.
    ///
    /// # Examples
    ///
    /// ```
    /// use formic::FnPool;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use std::sync::mpsc;
    ///
    /// let (is_up, (tell, told)) = (AtomicBool::new(false), mpsc::channel());
    /// let pool = FnPool::builder()
    ///     .workers(1)
    ///     .state(move |_worker| match is_up.swap(true, Ordering::Relaxed) {
    ///         true => Ok(()),
    ///         false => Err("connection refused"),
    ///     })
    ///     .on_state_error(move |worker, error, attempt| drop(tell.send((worker, *error, attempt))))
    ///     .build(|(), number: u32| number + 1)?;
    /// assert_eq!(pool.call(1)?, 2);
    /// assert_eq!(told.recv()?, (0, "connection refused", 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_state_error(mut self, hook: impl Fn(usize, &E, u32) + Send + Sync + 'static) -> Self {
        self.on_state_error = Some(Box::new(hook));
        self
    }

    /// Checks the settings and makes the pool, as [`Builder::build`]. No state is made yet.
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
    /// let pool = FnPool::builder()
    ///     .workers(2)
    ///     .state(|worker| Ok::<_, std::io::Error>(format!("connection {worker}")))
    ///     .build(|connection: &mut String, query: &str| format!("{query} by {connection}"))?;
    /// assert_eq!(pool.call("ping").unwrap(), "ping by connection 0");
    /// # Ok::<(), formic::BuildError>(())
    /// ```
    pub fn build<F>(self, function: F) -> Result<FnPool<T, R>, BuildError>
    where
        F: Fn(&mut S, T) -> R + Send + Sync + 'static,
    {
        let StateBuilder { mut builder, init, ready, retry, on_state_error } = self;
        check_retry(retry)?;
        if builder.unlimited {
            // Each worker that is not ready would have another one started.
            return Err(BuildError::of(
                "unlimited",
                "workers with a state that may fail need a limit",
            ));
        }
        if builder.when_full == WhenFull::CallerRuns {
            // The caller is no worker and has no state.
            builder.when_full = WhenFull::Refuse;
        }
        let (asks, function) = (ready.is_some(), Arc::new(function));
        let make = move |worker: usize, attempt: u32| match init(worker) {
            Ok(state) => {
                let (function, ready) = (Arc::clone(&function), ready.clone());
                Some(Box::new(Bound { state, function, ready }) as Made<T, R>)
            }
            Err(error) => {
                if let Some(hook) = &on_state_error {
                    hook(worker, &error, attempt);
                }
                None
            }
        };
        builder.start_calls(Maker::Tried(Tried { make: Box::new(make), asks, retry }))
    }
}

fn check_retry(Retry { first, longest }: Retry) -> Result<(), BuildError> {
    if first.is_zero() {
        return Err(BuildError::of("retry", "0 seconds would keep a core busy"));
    }
    if longest < first {
        let problem = format!("the longest pause {longest:?} is below the first {first:?}");
        return Err(BuildError::of("retry", problem));
    }
    Ok(())
}

impl<T: Send + 'static, R: Send + 'static, S, E> fmt::Debug for StateBuilder<T, R, S, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateBuilder")
            .field("builder", &self.builder)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}
