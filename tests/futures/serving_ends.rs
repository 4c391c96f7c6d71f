//! A pool ends while calls without a handle follow each other in one place: the books add up, and nothing
//! is left of what was queued.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::common::on_tokio::{Stop, drained, figures, on_both, runtime, soon, watch};
use crate::common::{block_on, eventually};
use formic::{AsyncFnPool, JoinError};
use tokio::runtime::Handle;
use tokio::task::yield_now;

/// What a call owns, and the way it goes.
type Token = Arc<()>;
type Pool = AsyncFnPool<(Token, Way), ()>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    AtOnce,
    Yields,
    Waits,
}

/// A pool, what its calls own, what its function owns, where those wait that do, and how many began.
struct Trial {
    pool: Pool,
    token: Token,
    function: Token,
    stop: Stop,
    began: Arc<AtomicUsize>,
}

impl Trial {
    fn new(runtime: &Handle, workers: usize) -> Self {
        let (stop, began, function) =
            (Stop::new(), Arc::<AtomicUsize>::default(), Token::default());
        let (at, counts, owned) = (stop.clone(), Arc::clone(&began), Arc::clone(&function));
        let builder = AsyncFnPool::builder().workers(workers).queue(100_000);
        let pool = builder.runtime(runtime.clone()).build(move |(token, way)| {
            let (stop, owned) = (at.clone(), Arc::clone(&owned));
            counts.fetch_add(1, Ordering::SeqCst);
            async move {
                match way {
                    Way::AtOnce => {}
                    Way::Yields => yield_now().await,
                    Way::Waits => stop.pass().await,
                }
                drop((token, owned));
            }
        });
        Trial { pool: pool.unwrap(), token: Token::default(), function, stop, began }
    }

    fn submit(&self, way: Way) {
        self.pool.try_submit((Arc::clone(&self.token), way)).unwrap();
    }

    /// A line of calls. Every hundredth waits.
    fn submit_many(&self, calls: usize) {
        for number in 0..calls {
            self.submit(match number % 100 {
                99 => Way::Waits,
                number if number % 3 == 0 => Way::Yields,
                _ => Way::AtOnce,
            });
        }
    }

    fn began(&self) -> usize {
        self.began.load(Ordering::SeqCst)
    }

    /// Nothing is left of its calls, and then of itself.
    fn leaves_nothing(self) {
        let Trial { pool, token, function, .. } = self;
        assert_eq!(Arc::strong_count(&token), 1, "all calls are gone");
        drop(pool);
        eventually("its function is gone", || Arc::strong_count(&function) == 1);
    }
}

#[test]
fn a_pool_that_is_closed_serves_its_line_to_the_end() {
    on_both(|| async {
        for workers in [1, 3] {
            let trial = Trial::new(&Handle::current(), workers);
            trial.submit_many(5_000);
            soon("it is at work", || trial.began() > 50).await;
            trial.pool.close();
            assert!(trial.pool.try_submit((Token::default(), Way::AtOnce)).is_err());
            trial.stop.open();
            assert_eq!(figures(&drained(&trial.pool).await), (5_000, 5_000, 0, 0));
            assert_eq!(trial.began(), 5_000);
            trial.leaves_nothing();
        }
    });
}

#[test]
fn what_is_discarded_is_dropped_and_the_rest_has_run() {
    on_both(|| async {
        for workers in [1, 3] {
            let trial = Trial::new(&Handle::current(), workers);
            trial.submit_many(5_000);
            soon("it is at work", || trial.began() > 50).await;
            let discarded = trial.pool.discard();
            assert_eq!(trial.pool.queued(), 0);
            let began = trial.began();
            assert!(began + discarded <= 5_000 && discarded > 0);
            // Others take the places of those that run.
            trial.submit_many(200);
            trial.stop.open();
            let stats = drained(&trial.pool).await;
            assert_eq!((trial.began() + discarded, stats.cancelled), (5_200, discarded as u64));
            assert_eq!(stats.completed, 5_200 - discarded as u64);
            trial.leaves_nothing();
        }
    });
}

/// The call that closes or discards is served in place, and others stand in the line behind it.
#[test]
fn a_call_may_end_its_own_pool() {
    on_both(|| async {
        let own: Arc<OnceLock<AsyncFnPool<u32, ()>>> = Arc::default();
        let (inner, stop) = (Arc::clone(&own), Stop::new());
        let at = stop.clone();
        let pool = AsyncFnPool::builder().workers(1).queue(1_000).build(move |number| {
            let (pool, stop) = (Arc::clone(&inner), at.clone());
            async move {
                let pool = pool.get().unwrap();
                match number {
                    // A line forms behind it.
                    0 | 100 => stop.pass().await,
                    10 => assert_eq!(pool.discard(), 89),
                    110 => pool.close(),
                    _ => {}
                }
            }
        });
        own.set(pool.unwrap()).ok().unwrap();
        let pool = own.get().unwrap();
        (0..100).for_each(|number| pool.try_submit(number).unwrap());
        stop.let_pass(1);
        pool.wait_idle_async().await.unwrap();
        (100..200).for_each(|number| pool.try_submit(number).unwrap());
        stop.let_pass(1);
        soon("it is closed", || pool.is_closed()).await;
        assert_eq!(figures(&drained(pool).await), (200, 111, 0, 89));
    });
}

/// Ends a runtime while its pool is at work on a line of calls with and without a handle.
fn runtime_goes(threads: usize, workers: usize, in_background: bool, after: usize) {
    let runtime = runtime(threads);
    let trial = Trial::new(runtime.handle(), workers);
    let mut handles = Vec::new();
    for round in 0..40 {
        trial.submit_many(50 + round % 50);
        let way = [Way::AtOnce, Way::Yields, Way::Waits][round % 3];
        handles.push(trial.pool.try_spawn((Arc::clone(&trial.token), way)).unwrap());
    }
    // The others that wait do so until it goes.
    trial.stop.let_pass(5);
    runtime.block_on(soon("it is at work", || trial.began() > after));
    if in_background {
        runtime.shutdown_background();
    } else {
        drop(runtime);
    }
    for handle in handles {
        let outcome = handle.join();
        assert!(matches!(outcome, Ok(()) | Err(JoinError::Cancelled)), "{outcome:?}");
    }
    block_on(trial.pool.drain_async()).unwrap();
    let stats = trial.pool.stats();
    assert!(stats.adds_up() && stats.panicked == 0, "{stats:?}");
    assert_eq!((stats.busy, stats.queued), (0, 0), "{stats:?}");
    assert!(stats.completed <= trial.began() as u64);
    trial.leaves_nothing();
}

#[test]
fn a_line_is_dropped_with_its_runtime() {
    for (threads, in_background) in [(0, false), (0, true), (2, false), (2, true)] {
        for workers in [1, 4] {
            watch(move || runtime_goes(threads, workers, in_background, 100));
        }
    }
}

#[test]
fn no_waiter_is_forgotten_whenever_the_runtime_goes() {
    let rounds = if cfg!(miri) { 2 } else { 100 };
    watch(move || {
        (0..rounds).for_each(|round| runtime_goes(2, 2 + round % 4, round % 2 == 0, 7 * round));
    });
}
