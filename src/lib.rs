//! A pool of workers: bounded, elastic, fair, safe under panic, resizable, drainable, and fast.
//!
//! ```
//! use formic::Pool;
//!
//! let pool = Pool::new(4);
//! for number in 0..10 {
//!     pool.submit(move || println!("{number} on {:?}", std::thread::current().name()))?;
//! }
//! pool.drain()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Recipes
//!
//! **At most eight at a time, and a producer that is slowed down instead of filling the memory.**
//! That is the default: the queue has a bound, and [`submit`](Pool::submit) waits when it is full.
//!
//! ```
//! # use formic::Pool;
//! let pool = Pool::builder().workers(8).queue(100).build()?;
//! for _ in 0..1000 {
//!     pool.submit(|| ())?; // waits while 8 run and 100 are queued
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Turn work away when there is too much of it.** The task comes back.
//!
//! ```
//! # use formic::{Pool, Refused};
//! # let pool = Pool::builder().workers(1).queue(0).build()?;
//! # let busy = pool.admit()?;
//! match pool.try_submit(|| println!("served")) {
//!     Ok(()) => {}
//!     Err(error) if error.reason() == Refused::Full => println!("503: come back later"),
//!     Err(error) => return Err(error.into()),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Fetch work only when there is a place for it.**
//!
//! ```
//! # use formic::Pool;
//! # let pool = Pool::new(2);
//! let permit = pool.admit()?; // or admit_timeout, try_admit, admit_async().await
//! let message = "from a queue elsewhere";
//! permit.submit(move || println!("{message}"));
//! # pool.drain()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Get results**, joined or awaited, and in any order.
//!
//! ```
//! # use formic::{FnPool, Pool};
//! # let pool = Pool::new(2);
//! let handle = pool.spawn(|| 6 * 7)?;
//! assert_eq!(handle.join()?, 42); // or handle.await, or handle.cancel()
//!
//! let mut batch = pool.batch();
//! for n in [3, 1, 2] {
//!     batch.spawn(move || n * n)?;
//! }
//! let sum: i32 = batch.flatten().sum(); // as they complete; join_all() for the order of spawning
//! assert_eq!(sum, 14);
//!
//! let squares = FnPool::new(2, |n: u64| n * n); // one function, no allocation per argument
//! assert_eq!(squares.call(9)?, 81);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Borrow**, and send an iterator through the pool.
//!
//! ```
//! # let pool = formic::Pool::new(2);
//! let mut rows = vec![vec![3, 1, 2], vec![6, 5, 4]];
//! pool.for_each(&mut rows, |row| row.sort())?;
//! let sums: Vec<i32> = pool.map(rows, |row| row.iter().sum()).flatten().collect();
//! assert_eq!(sums, [6, 15]);
//!
//! let numbers = pool.try_map(["1", "2"], |text| text.parse::<u32>())?; // or the first error
//! assert_eq!(numbers, [1, 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Futures**, at most so many in flight; with the feature `tokio`.
//!
//! ```
//! # #[cfg(feature = "tokio")]
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use formic::{AsyncFnPool, AsyncPool};
//!
//! let pool = AsyncPool::new(10_000);
//! pool.submit(async { tokio::task::yield_now().await }).await?;
//! pool.for_each(0..1000_u32, |number| async move { assert!(number < 1000) }).await?;
//! pool.drain().await?;
//!
//! let squares = AsyncFnPool::new(1000, |n: u64| async move { n * n });
//! assert_eq!(squares.call(9).await?, 81);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "tokio"))]
//! # fn main() {}
//! ```
//!
//! A pool of futures on threads of its own, each with timers and sockets, needs no runtime around it.
//!
//! ```
//! # #[cfg(feature = "tokio")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use formic::AsyncPool;
//!
//! let apart = AsyncPool::builder().workers(50_000).own_threads(2).build()?;
//! assert_eq!(apart.try_spawn(async { 6 * 7 })?.join()?, 42);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "tokio"))]
//! # fn main() {}
//! ```
//!
//! **Blocking work from async code.** The place is awaited, and so is the result; see
//! [`Pool::admit_async`] and [`FnPool::call_async`].
//!
//! **A task now and then**, on the pool of the whole process.
//!
//! ```
//! let answer = formic::spawn(|| 6 * 7)?;
//! assert_eq!(answer.join()?, 42);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Bound what several pools share**: memory, connections, requests to one host.
//!
//! ```
//! # use formic::{Pool, Semaphore};
//! # let pool = Pool::new(8);
//! let connections = Semaphore::new(3);
//! for _ in 0..20 {
//!     let connection = connections.acquire(1)?.into_owned(); // or acquire_async(1).await
//!     pool.submit(move || drop(connection))?;
//! }
//! # pool.drain()?;
//! assert_eq!(connections.available(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Many producers of tiny tasks**: several pools, used as one.
//!
//! ```
//! use formic::{Balance, Multi, Pool};
//!
//! let multi = Multi::new(4, Balance::PowerOfTwo, || Pool::new(2));
//! multi.submit(|| println!("on some shard"))?;
//! multi.drain()?;
//! assert_eq!(multi.stats().completed, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **As many workers as the load asks for**, instead of one for each task: see [`Growth::ByLoad`].
//!
//! ```
//! use formic::{Growth, Pool};
//!
//! let growth = Growth::by_load(2, 0.5, 0.1);
//! let pool = Pool::builder().workers(2..=8).queue(100).growth(growth).build()?;
//! assert_eq!((pool.workers(), pool.capacity()), (2, 8));
//! # Ok::<(), formic::BuildError>(())
//! ```
//!
//! **Wait for everything, and go on.** [`wait_idle`](crate::Pool::wait_idle) leaves the pool open.
//!
//! **Shut down with a deadline.** What was accepted is run, and the threads are joined. What is left after that time is
//! dropped or asked to stop.
//!
//! ```
//! # use formic::Pool;
//! # use std::time::Duration;
//! # let pool = Pool::new(2);
//! if let Err(left) = pool.shutdown(Duration::from_secs(5)) {
//!     eprintln!("{left}");
//! }
//! # assert!(pool.is_closed());
//! ```
//!
//! **Hear of panics.** A panic costs one task. Rust prints it. The handle receives it as a [`TaskPanic`], or
//! [`Builder::on_panic`] if there is no handle. To know the line that panicked, the first pool of a process sets
//! a panic hook that calls the one before: see [`TaskPanic::panicked_at`].
//!
//! **Pass errors on with `?`.** Every error converts into [`formic::Error`](Error), and is `Send + Sync` for
//! `anyhow` and boxes.
//!
//! **Change the size while it works.** [`resize`](Control::resize) acts at once, in both directions.
//!
//! # The guide
//!
//! [The guide](guide) explains how to [choose a pool and its size](guide::choosing), what happens
//! [when it is full](guide::backpressure), [results and cancellation](guide::results),
//! [panics](guide::panics), [ends](guide::shutting_down),
//! [async and blocking together](guide::async_and_blocking), [services of tower](guide::tower) and [tuning](guide::tuning). If you know
//! another pool, it says line by line what is what: [from Go](guide::coming_from_go),
//! [from threadpool and rayon](guide::coming_from_rust), [from tokio](guide::coming_from_tokio).
//!
//! # Features
//!
//! None is on by default, and without them the crate has no dependencies.
//!
//! - `tokio`: pools of futures, `AsyncPool` and `AsyncFnPool`.
//! - `tower`: pools as services that hold a place before they are called, and, with `tokio`, a layer that runs a
//!   service's futures on a pool.
//!
//! # What it promises
//!
//! An accepted task runs exactly once, in the order it was accepted. Never more tasks run than the
//! capacity says. A task may submit to its own pool, and wait for other tasks. An idle pool uses no
//! CPU at all. [`stats`](Control::stats) always add up. A thread that cannot be started is an error if
//! the pool has no worker, and otherwise only a slower pool.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod pool; // closures on threads
mod permit; // .. in a place that is held for them
mod admission; // the verbs that hold places, of every pool
mod cancel_token; // .. called off by another thread
mod builder; // .. and every setting
mod growth; // .. of them: how many workers there are
mod handle; // .. and their results
mod on_cancel; // .. told to stop
mod completions; // .. in the order in which they come
mod batch; // .. of a group of them
mod scope; // .. of tasks that borrow
mod map; // .. of the items of an iterator
mod fn_pool; // one function, many arguments
mod multi; // several pools, used as one
mod global; // one pool for the whole process
mod semaphore; // so much of anything, for threads and futures
#[cfg(feature = "tokio")]
mod async_pool; // futures on tokio
#[cfg(feature = "tower")]
pub mod tower; // pools as services
mod control; // figures, size and ends of every pool
mod engine; // what makes any pool run
#[cfg(all(formic_count, not(loom)))]
mod counted; // the primitives of `race --count`
mod error; // what can go wrong, one type per act
mod stats; // figures that add up
mod unwind; // what may be carried over a panic

#[cfg(feature = "tokio")]
pub use async_pool::{
    AsyncFnPermit, AsyncFnPool, AsyncMap, AsyncPermit, AsyncPool, FromStream, OnTokio,
    OwnedAsyncFnPermit, OwnedAsyncPermit, Source, from_stream,
};
pub use batch::{Batch, BatchSpawner};
pub use builder::{Builder, OnThreads, StateBuilder, WhenFull, Workers};
pub use cancel_token::CancelToken;
pub use control::{Cancelled, Control};
pub use error::{
    AcquireError, BatchError, BuildError, CallError, Error, ForEachError, JoinError, NoSuchShard,
    PanicLocation, PrestartError, Refused, ReopenError, ResizeError, ShardErrors, StillRunning,
    SubmitError, TaskError, TaskPanic,
};
pub use fn_pool::{FnPermit, FnPool, OwnedFnPermit, renew_state};
pub use global::{global, spawn, submit};
pub use growth::Growth;
pub use handle::{JoinHandle, is_cancelled};
pub use map::{Map, ScopedMap, Unordered};
pub use multi::{Balance, Multi, Shard};
pub use on_cancel::{OnCancel, on_cancel};
pub use permit::{OwnedPermit, Permit};
pub use pool::Pool;
pub use scope::{Scope, ScopedHandle};
pub use semaphore::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

pub use stats::Stats;

// What `race --count` shows; it is in no other build.
#[cfg(all(formic_count, not(loom)))]
#[doc(hidden)]
pub use counted::{Counts, counts};

#[cfg(any(doc, doctest))]
pub mod guide; // for people: how to choose, what waits, how things end

/// The README's program is a test, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
