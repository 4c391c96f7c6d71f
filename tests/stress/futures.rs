//! Many hands on one pool of futures, at random, with the books kept beside it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::on_tokio::{runtime, watch_for};
use crate::common::{self, Random, hush_quiet_threads, join, poll_once, stress_time};
use formic::{AsyncPool, Builder, JoinError, Refused, Stats};
use tokio::runtime::Runtime;
use tokio::task::yield_now;

/// What became of all tasks, by their own account.
#[derive(Default)]
struct Books {
    running: AtomicUsize,
    most: AtomicUsize,
    begun: AtomicUsize,
    ended: AtomicUsize,
    accepted: AtomicUsize,
    alive: Arc<()>,
}

/// Counts itself as running as long as it lives.
struct Running(Arc<Books>);

impl Running {
    fn new(books: &Arc<Books>) -> Self {
        let running = books.running.fetch_add(1, Ordering::SeqCst) + 1;
        books.most.fetch_max(running, Ordering::SeqCst);
        books.begun.fetch_add(1, Ordering::SeqCst);
        Running(Arc::clone(books))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn work(books: Arc<Books>, _alive: Arc<()>, kind: u64) {
    let running = Running::new(&books);
    match kind % 10 {
        0..6 => {}
        6 => tokio::time::sleep(Duration::from_micros(50)).await,
        7 => assert!(kind % 20 != 17, "on purpose"),
        _ => {
            for _ in 0..kind % 5 {
                yield_now().await;
            }
        }
    }
    books.ended.fetch_add(1, Ordering::SeqCst);
    drop(running);
}

/// Does one thing at random.
async fn act(pool: &AsyncPool, books: &Arc<Books>, random: &mut Random) {
    let task = work(Arc::clone(books), Arc::clone(&books.alive), random.next());
    let accepted = match random.below(12) {
        0 | 1 => {
            pool.submit(task).await.unwrap();
            true
        }
        2 => try_submit(pool, task),
        3 | 4 => {
            drop(pool.spawn(task).await.unwrap().await);
            true
        }
        5 => spawn_and_cancel(pool, task).await,
        6 => {
            let handle = pool.spawn(task).await.unwrap().cancel_on_drop();
            let time = Duration::from_micros(random.below(60));
            drop(tokio::time::timeout(time, handle).await);
            true
        }
        7 => take_a_permit(pool, task, random).await,
        8 => give_up_to_submit(pool, task, random).await,
        9 => give_up_to_be_admitted(pool, random).await,
        10 => give_up_to_spawn(pool, task).await,
        _ => {
            let idle = pool.wait_idle();
            drop(tokio::time::timeout(Duration::from_micros(random.below(100)), idle).await);
            false
        }
    };
    if accepted {
        books.accepted.fetch_add(1, Ordering::SeqCst);
    }
}

// The steps of an act return whether the task was accepted.

fn try_submit(pool: &AsyncPool, task: impl Future<Output = ()> + Send + 'static) -> bool {
    match pool.try_submit(task) {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.reason(), Refused::Full);
            false
        }
    }
}

async fn spawn_and_cancel(
    pool: &AsyncPool,
    task: impl Future<Output = ()> + Send + 'static,
) -> bool {
    let handle = pool.spawn(task).await.unwrap();
    let cancelled = handle.cancel();
    let outcome = handle.await;
    assert!(!cancelled || matches!(outcome, Err(JoinError::Cancelled)), "{outcome:?}");
    true
}

/// Uses the permit or lets it go.
async fn take_a_permit(
    pool: &AsyncPool,
    task: impl Future<Output = ()> + Send + 'static,
    random: &mut Random,
) -> bool {
    let permit = pool.admit().await.unwrap();
    if random.below(2) == 0 {
        yield_now().await;
    }
    let use_it = random.below(3) > 0;
    if use_it {
        permit.submit(task);
    }
    use_it
}

/// Gives up at any moment; what was accepted is known by the result only.
async fn give_up_to_submit(
    pool: &AsyncPool,
    task: impl Future<Output = ()> + Send + 'static,
    random: &mut Random,
) -> bool {
    let mut submit = Box::pin(pool.submit(task));
    for _ in 0..random.below(4) {
        if let Poll::Ready(outcome) = poll_once(submit.as_mut()) {
            outcome.unwrap();
            return true;
        }
        yield_now().await;
    }
    false
}

async fn give_up_to_be_admitted(pool: &AsyncPool, random: &mut Random) -> bool {
    let mut admit = Box::pin(pool.admit());
    for _ in 0..random.below(4) {
        if poll_once(admit.as_mut()).is_ready() {
            break;
        }
        yield_now().await;
    }
    false
}

async fn give_up_to_spawn(
    pool: &AsyncPool,
    task: impl Future<Output = ()> + Send + 'static,
) -> bool {
    let mut spawn = Box::pin(pool.spawn(task));
    tokio::select! {
        biased;
        outcome = &mut spawn => {
            drop(outcome.unwrap());
            true
        }
        () = yield_now() => false,
    }
}

/// A pool on the runtime of those who submit, or on threads of its own.
fn on_some_host(builder: Builder<AsyncPool>, runtime: &Runtime, random: &mut Random) -> AsyncPool {
    let builder = match random.below(6) {
        0 | 1 => builder.own_threads(1 + random.below(3) as usize),
        _ => builder.runtime(runtime.handle().clone()),
    };
    builder.build().unwrap()
}

/// One pool from its start to its end.
fn run(threads: usize, random: &mut Random) {
    let runtime = runtime(threads);
    let (workers, queue) = (1 + random.below(5) as usize, random.below(8) as usize);
    let pool = on_some_host(AsyncPool::builder().workers(workers).queue(queue), &runtime, random);
    let (books, over) = (Arc::<Books>::default(), Arc::new(AtomicBool::new(false)));
    let watcher = {
        let (pool, over) = (pool.clone(), Arc::clone(&over));
        thread::spawn(move || watch_figures(&pool, workers, &over))
    };
    let outside = {
        let (pool, books, random) = (pool.clone(), Arc::clone(&books), Random(random.next()));
        thread::spawn(move || submit_from_outside(&pool, &books, random))
    };
    runtime.block_on(async {
        let actors = [(); 6].map(|()| {
            let (pool, books, random) = (pool.clone(), Arc::clone(&books), Random(random.next()));
            tokio::spawn(act_on(pool, books, random))
        });
        for actor in actors {
            actor.await.unwrap();
        }
        while !outside.is_finished() {
            yield_now().await;
        }
        pool.drain().await.unwrap();
    });
    join(outside);
    over.store(true, Ordering::SeqCst);
    join(watcher);
    compare(&pool.stats(), &books, workers);
}

/// Looks at the figures until it is over: they add up at every moment.
fn watch_figures(pool: &AsyncPool, workers: usize, over: &AtomicBool) {
    while !over.load(Ordering::SeqCst) {
        let stats = pool.stats();
        assert!(stats.adds_up(), "{stats:?}");
        assert!(stats.busy <= workers, "{stats:?}");
    }
}

fn submit_from_outside(pool: &AsyncPool, books: &Arc<Books>, mut random: Random) {
    for _ in 0..100 {
        let task = work(Arc::clone(books), Arc::clone(&books.alive), random.next());
        pool.blocking_submit(task).unwrap();
        books.accepted.fetch_add(1, Ordering::SeqCst);
    }
}

async fn act_on(pool: AsyncPool, books: Arc<Books>, mut random: Random) {
    for _ in 0..150 {
        act(&pool, &books, &mut random).await;
    }
}

/// The figures of a drained pool agree with the books.
fn compare(stats: &Stats, books: &Books, workers: usize) {
    let count = |count: &AtomicUsize| count.load(Ordering::SeqCst) as u64;
    assert!(stats.adds_up(), "{stats:?}");
    assert_eq!((stats.busy, stats.queued, stats.waiting), (0, 0, 0), "{stats:?}");
    assert_eq!(stats.accepted, count(&books.accepted), "{stats:?}");
    assert_eq!(stats.completed, count(&books.ended) - late(stats, books), "{stats:?}");
    assert_eq!(count(&books.running), 0);
    assert!(count(&books.most) <= workers as u64, "{} of {workers}", count(&books.most));
    assert_eq!(Arc::strong_count(&books.alive), 1, "everything is gone");
}

/// Tasks that came to their end in the very poll in which they were cancelled.
fn late(stats: &Stats, books: &Books) -> u64 {
    let ended = books.ended.load(Ordering::SeqCst) as u64;
    assert!(ended >= stats.completed && ended <= stats.completed + stats.cancelled, "{stats:?}");
    ended - stats.completed
}

#[test]
fn the_books_agree_whatever_happens() {
    hush_quiet_threads();
    let seed = common::seed("the_books_agree_whatever_happens");
    let time = stress_time(Duration::from_secs(3));
    watch_for(time + 2 * common::PATIENCE, move || {
        let (mut random, end, mut rounds) = (Random(seed), Instant::now() + time, 0);
        while Instant::now() < end {
            run(rounds % 3, &mut random);
            rounds += 1;
        }
        println!("{rounds} rounds");
    });
}

/// Racing submitters and random sizes: never more at once than the largest size that held meanwhile.
#[test]
fn never_above_capacity_while_resizing() {
    let seed = common::seed("never_above_capacity_while_resizing");
    let time = stress_time(Duration::from_secs(2));
    watch_for(time + 2 * common::PATIENCE, move || {
        let (mut random, end) = (Random(seed), Instant::now() + time);
        while Instant::now() < end {
            let runtime = runtime(random.below(3) as usize);
            let pool = AsyncPool::builder().workers(8).queue(4);
            let pool = on_some_host(pool, &runtime, &mut random);
            let books = Arc::<Books>::default();
            runtime.block_on(async {
                let submitters = [(); 8]
                    .map(|()| tokio::spawn(submit_a_hundred(pool.clone(), Arc::clone(&books))));
                for _ in 0..30 {
                    resize(&pool, 1 + random.below(8) as usize, &books).await;
                }
                pool.resize(8).unwrap();
                for submitter in submitters {
                    submitter.await.unwrap();
                }
                pool.drain().await.unwrap();
            });
            assert_eq!(pool.stats().completed, 800);
        }
    });
}

async fn submit_a_hundred(pool: AsyncPool, books: Arc<Books>) {
    for number in 0..100 {
        let task = work(Arc::clone(&books), Arc::clone(&books.alive), 8 + number % 2);
        pool.submit(task).await.unwrap();
    }
}

/// Resizes the pool, and looks how many run at once if the new size holds already.
async fn resize(pool: &AsyncPool, size: usize, books: &Books) {
    pool.resize(size).unwrap();
    yield_now().await;
    if pool.busy() <= size {
        // From here on the new size holds.
        books.most.store(0, Ordering::SeqCst);
        (0..5).for_each(|_| thread::yield_now());
        yield_now().await;
        let most = books.most.load(Ordering::SeqCst);
        assert!(most <= size, "{most} of {size}");
    }
}
