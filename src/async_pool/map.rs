//! `for_each` and `map`: a source of items through an `AsyncPool`, which pulls them.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;

use super::AsyncPool;
use super::pull::{Pull, Sink};
use super::source::{PollItems, Source};
use crate::engine::{End, Hooks, contain};
use crate::error::{JoinError, Refused, TaskPanic};

/// What went wrong in [`AsyncPool::for_each`].
///
/// # Examples
///
/// ```
/// use formic::{AsyncPool, PullError};
///
/// # #[tokio::main]
/// # async fn main() {
/// let pool = AsyncPool::new(4);
/// match pool.for_each(0..10_u32, |n| async move { assert!(n != 3, "three") }).await {
///     Err(PullError::Panicked { items: 1, first }) => assert_eq!(first.message(), "three"),
///     other => panic!("{other:?}"),
/// }
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum PullError {
    /// The pool was closed, is full and refuses, or its runtime is gone. Items may be left.
    Refused(Refused),
    /// The source, the function or a future of it panicked. The other items have run, unless the pool
    /// was closed meanwhile.
    Panicked {
        /// How many items ended so.
        items: u64,
        /// The first of the panics.
        first: TaskPanic,
    },
}

impl fmt::Display for PullError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PullError::Refused(refused) => refused.fmt(f),
            PullError::Panicked { items: 1, first } => first.fmt(f),
            PullError::Panicked { items, first } => {
                write!(f, "{items} items panicked, the first of them so: {first}")
            }
        }
    }
}

impl Error for PullError {}

impl AsyncPool {
    /// Runs a future for each item, as many at once as the pool has places, and is ready when all of them
    /// have ended. The pool pulls: an item is taken from the source when there is a place for it, so
    /// nothing is queued, and an endless source is no problem. Of
    /// [`queue`](crate::Builder::queue)d tasks of others, each gets a place when its turn comes. While it
    /// waits for an item it keeps one place, and gives that up only when the item has ended: so a stream
    /// that has no items for long should not have a pool of one place.
    ///
    /// What one would use `buffer_unordered` for, on all cores. To [`stats`](crate::Control::stats) each
    /// place that is used counts as one task, however many items it takes, and it may count as busy for a
    /// moment after this is ready. Dropped, it cancels what runs and takes no more items.
    ///
    /// # Errors
    ///
    /// [`PullError`]: the pool was closed meanwhile, or items panicked. A panic costs one item: the
    /// others run.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = formic::AsyncPool::new(1000);
    /// let sum = Arc::new(AtomicU64::new(0));
    /// let total = Arc::clone(&sum);
    /// pool.for_each(0..10_000_u64, move |number| {
    ///     let total = Arc::clone(&total);
    ///     async move {
    ///         tokio::task::yield_now().await;
    ///         total.fetch_add(number, Ordering::Relaxed);
    ///     }
    /// })
    /// .await?;
    /// assert_eq!(sum.load(Ordering::Relaxed), 49_995_000);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    #[doc(alias = "for_each_concurrent")]
    #[doc(alias = "buffer_unordered")]
    pub fn for_each<I, F, Fut>(
        &self,
        items: I,
        function: F,
    ) -> impl Future<Output = Result<(), PullError>> + Send + 'static
    where
        I: Source,
        F: Fn(I::Item) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let panics = Panics(Mutex::default(), self.engine().hooks().clone());
        let work = (items.into_items(), function, panics);
        let pull = Pull::new(self.engine(), work, Location::caller());
        let pool = self.clone();
        async move {
            run(pool, Arc::clone(&pull)).await.map_err(PullError::Refused)?;
            match pull.sink.take() {
                (items, Some(first)) => Err(PullError::Panicked { items, first }),
                _ if pull.is_cut_off() => Err(PullError::Refused(Refused::Closed)),
                _ => Ok(()),
            }
        }
    }

    /// Runs a future for each item, as [`for_each`](AsyncPool::for_each) does, and yields their results:
    /// in the order of the items, or as they come with [`unordered`](Map::unordered). No more items are
    /// in flight or waiting to be taken out than the pool has places.
    ///
    /// Dropped early, the stream cancels what runs and takes no more items. If the pool is closed, no
    /// more items are taken, and the stream ends.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures_util::StreamExt;
    ///
    /// # #[tokio::main]
    /// # async fn main() {
    /// let pool = formic::AsyncPool::new(100);
    /// let squares = pool.map(1.., |number: u64| async move { number * number });
    /// let squares: Vec<u64> = squares.filter_map(|result| async { result.ok() }).take(4).collect().await;
    /// assert_eq!(squares, [1, 4, 9, 16]);
    /// # }
    /// ```
    #[track_caller]
    #[doc(alias = "buffered")]
    #[doc(alias = "buffer_unordered")]
    pub fn map<I, F, Fut>(&self, items: I, function: F) -> Map<Fut::Output>
    where
        I: Source,
        F: Fn(I::Item) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        let shelf = Arc::new(Shelf::new(self.capacity(), self.engine().hooks()));
        let work = (items.into_items(), function, Arc::clone(&shelf));
        let pull = Pull::new(self.engine(), work, Location::caller());
        Map { shelf, run: Some(Box::pin(run(self.clone(), pull))) }
    }
}

/// Has the pool pull until there are no more items; is ready when the last seat is gone. Dropped, it
/// stops them.
async fn run<S, F, Fut, K>(pool: AsyncPool, pull: Arc<Pull<S, F, K>>) -> Result<(), Refused>
where
    S: PollItems,
    F: Fn(S::Item) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = K::Result> + Send + 'static,
    K: Sink,
{
    let stop = StopOnDrop(|| pull.stop());
    let is_inside = pool.engine().is_inside();
    if !is_inside {
        pool.enter(pull.job()).await.map_err(|(_job, refused)| refused)?;
    }
    let mut own = None;
    poll_fn(|context| {
        loop {
            // Whoever is in the pool must not wait for a place, so it has a seat of its own. It is not
            // needed while another one waits for items, and is again when that one has given its place up.
            if is_inside && own.is_none() && pull.needs_seat() {
                own = Some(Box::pin(pull.own_seat()));
            }
            if own.as_mut().is_some_and(|seat| seat.as_mut().poll(context).is_ready()) {
                own = None;
            }
            let end = pull.poll_end(context);
            if end.is_ready() || !is_inside || own.is_some() || !pull.needs_seat() {
                return end;
            }
        }
    })
    .await;
    drop(stop);
    Ok(())
}

struct StopOnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for StopOnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// The results of [`AsyncPool::map`]: a stream. An item is an error if its future panicked or was
/// cancelled.
///
/// # Examples
///
/// ```
/// use futures_util::StreamExt;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = formic::AsyncPool::new(4);
/// let mut halves: formic::Map<u32> = pool.map([8, 6], |n: u32| async move { n / 2 });
/// assert_eq!(halves.next().await.ok_or("there are two")??, 4);
/// assert_eq!(halves.next().await.ok_or("there are two")??, 3);
/// assert!(halves.next().await.is_none());
/// # Ok(())
/// # }
/// ```
#[must_use = "a stream does nothing until it is polled"]
pub struct Map<R> {
    shelf: Arc<Shelf<R>>,
    /// None when it has ended.
    run: Option<Running>,
}

type Running = Pin<Box<dyn Future<Output = Result<(), Refused>> + Send>>;

impl<R> Map<R> {
    /// Yields results in the order in which they come, so that a slow item holds back nobody.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures_util::StreamExt;
    ///
    /// # #[tokio::main]
    /// # async fn main() {
    /// let pool = formic::AsyncPool::new(4);
    /// let squares = pool.map(1..=4_u32, |n| async move { n * n }).unordered();
    /// let mut squares: Vec<u32> = squares.filter_map(|square| async { square.ok() }).collect().await;
    /// squares.sort();
    /// assert_eq!(squares, [1, 4, 9, 16]);
    /// # }
    /// ```
    #[doc(alias = "buffer_unordered")]
    pub fn unordered(self) -> Self {
        lock(&self.shelf.0).ordered = false;
        self
    }
}

impl<R> Stream for Map<R> {
    type Item = Result<R, JoinError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // A refusal ends the stream like a source without items.
        if self.run.as_mut().is_some_and(|run| run.as_mut().poll(context).is_ready()) {
            self.run = None;
        }
        match self.shelf.take(context.waker()) {
            None if self.run.is_none() => Poll::Ready(None),
            None => Poll::Pending,
            result => Poll::Ready(result),
        }
    }
}

impl<R> fmt::Debug for Map<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map").finish_non_exhaustive()
    }
}

/// The sink of `for_each`: it counts panics, and keeps the first. If the future of `for_each` was dropped, the
/// hook receives that one when the last seat is gone.
struct Panics(Mutex<(u64, Option<TaskPanic>)>, Hooks);

impl Panics {
    fn take(&self) -> (u64, Option<TaskPanic>) {
        std::mem::take(&mut *lock(&self.0))
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        if let (_, Some(first)) = self.take() {
            let _: End = self.1.tell_panic(first);
        }
    }
}

impl Sink for Panics {
    type Result = ();
    type Number = ();

    fn number(&self) -> Option<()> {
        Some(())
    }

    fn await_room(&self, _: &Waker) -> bool {
        false
    }

    fn give_back(&self, (): ()) {}

    #[inline]
    fn deliver(&self, (): (), result: Result<(), JoinError>) {
        if let Err(JoinError::Panicked(panic)) = result {
            let mut panics = lock(&self.0);
            panics.0 += 1;
            panics.1.get_or_insert(panic);
        }
    }
}

/// The sink of `map`: results wait here until they are taken out. If the stream was dropped, the hook receives
/// the panics among them when the last seat is gone.
struct Shelf<R>(Mutex<Results<R>>, Hooks);

struct Results<R> {
    ordered: bool,
    /// In order: the one with number `taken` is first, and those that are missing are `None`.
    results: VecDeque<Option<Result<R, JoinError>>>,
    /// How many numbers have been given out, and how many results taken out.
    numbers: u64,
    taken: u64,
    room: u64,
    /// Whoever takes them out, and a seat that waits for room.
    taker: Option<Waker>,
    seat: Option<Waker>,
}

impl<R> Shelf<R> {
    fn new(room: usize, hooks: &Hooks) -> Self {
        let results = Results {
            ordered: true,
            results: VecDeque::new(),
            numbers: 0,
            taken: 0,
            room: room as u64,
            taker: None,
            seat: None,
        };
        Shelf(Mutex::new(results), hooks.clone())
    }

    /// The next result, or `waker` is woken when it is there.
    fn take(&self, waker: &Waker) -> Option<Result<R, JoinError>> {
        let mut results = lock(&self.0);
        if let Some(Some(_)) = results.results.front() {
            let result = results.results.pop_front().flatten();
            results.taken += 1;
            let seat = results.seat.take();
            drop(results);
            seat.into_iter().for_each(Waker::wake);
            return result;
        }
        let old = results.taker.replace(waker.clone());
        drop(results);
        drop(old);
        None
    }
}

impl<R> Drop for Shelf<R> {
    fn drop(&mut self) {
        let results = std::mem::take(&mut lock(&self.0).results);
        for result in results.into_iter().flatten() {
            match result {
                Err(JoinError::Panicked(panic)) => _ = self.1.tell_panic(panic),
                unwanted => contain(|| drop(unwanted)),
            }
        }
    }
}

impl<R: Send + 'static> Sink for Arc<Shelf<R>> {
    type Result = R;
    type Number = u64;

    fn number(&self) -> Option<u64> {
        let mut results = lock(&self.0);
        if results.numbers - results.taken >= results.room {
            return None;
        }
        results.numbers += 1;
        Some(results.numbers - 1)
    }

    fn await_room(&self, waker: &Waker) -> bool {
        let mut results = lock(&self.0);
        if results.numbers - results.taken < results.room {
            return false;
        }
        let old = results.seat.replace(waker.clone());
        drop(results);
        drop(old);
        true
    }

    fn give_back(&self, _: u64) {
        lock(&self.0).numbers -= 1;
    }

    fn deliver(&self, number: u64, result: Result<R, JoinError>) {
        let mut results = lock(&self.0);
        if results.ordered {
            let place = (number - results.taken) as usize;
            while results.results.len() <= place {
                results.results.push_back(None);
            }
            results.results[place] = Some(result);
        } else {
            results.results.push_back(Some(result));
        }
        let taker = results.taker.take();
        drop(results);
        taker.into_iter().for_each(Waker::wake);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
