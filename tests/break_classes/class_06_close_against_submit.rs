//! Class 6: a task is accepted while the pool is closed, and is lost, or runs after the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use formic::{JoinError, Pool, Refused};

use crate::common::{Random, block_on, eventually, seed};
use crate::kinds::{Job, Kind, Plan};
use crate::rounds;

/// What the tasks of one round have seen.
#[derive(Default)]
struct Seen {
    ran: AtomicUsize,
    late: AtomicUsize,
    drained: AtomicBool,
}

fn noting(seen: &Arc<Seen>) -> Job {
    let seen = Arc::clone(seen);
    Box::pin(async move {
        let drained = seen.drained.load(Ordering::SeqCst);
        seen.late.fetch_add(usize::from(drained), Ordering::SeqCst);
        seen.ran.fetch_add(1, Ordering::SeqCst);
    })
}

/// Submits until the pool is closed; how many were accepted is counted.
fn submit_all<K: Kind>(pool: &K, seen: &Arc<Seen>, accepted: &AtomicUsize, way: usize) {
    loop {
        let refused = match way % 3 {
            0 => block_on(pool.submit(noting(seen))).err(),
            1 => block_on(pool.spawn(noting(seen))).err(),
            _ => pool.try_submit(noting(seen)).err(),
        };
        match refused.map(|back| back.reason) {
            None => _ = accepted.fetch_add(1, Ordering::SeqCst),
            Some(Refused::Full) => thread::yield_now(),
            Some(reason) => return assert_eq!(reason, Refused::Closed),
        }
    }
}

/// Each task ran before the drain was over, or came back as closed.
fn each_runs_before_the_end_or_comes_back<K: Kind>() {
    let mut random = Random(seed("class_06_close_against_submit"));
    for round in 0..rounds(2000) as usize {
        let queue = [0, 1, 16, 4096][round % 4];
        let pool = K::build(&Plan::new(1 + round % 3, queue));
        let (seen, accepted) = (Arc::new(Seen::default()), AtomicUsize::new(0));
        let close_at = random.below(300) as usize;
        thread::scope(|scope| {
            for way in 0..8 {
                let (pool, seen, accepted) = (&pool, &seen, &accepted);
                scope.spawn(move || submit_all(pool, seen, accepted, way));
            }
            eventually("some are accepted", || accepted.load(Ordering::SeqCst) >= close_at);
            if round % 2 == 0 {
                pool.close();
            }
            assert!(block_on(pool.drain()));
            seen.drained.store(true, Ordering::SeqCst);
        });
        let accepted = accepted.into_inner();
        assert_eq!(seen.ran.load(Ordering::SeqCst), accepted, "in round {round}");
        assert_eq!(seen.late.load(Ordering::SeqCst), 0, "in round {round}");
        assert_eq!(pool.stats().completed, accepted as u64);
        assert_eq!(Arc::strong_count(&seen), 1, "a task was kept");
    }
}
on_every_pool!(each_runs_before_the_end_or_comes_back);

/// A batch, a scope and a map whose pool is closed meanwhile: what was refused is known, and the rest
/// ran.
#[test]
fn batch_scope_and_map() {
    crate::watched("batch_scope_and_map", || {
        for round in 0..rounds(2000) as usize {
            let (pool, ran) = (Pool::build(&Plan::new(2, 4)), Arc::new(AtomicUsize::new(0)));
            thread::scope(|threads| {
                threads.spawn(|| {
                    eventually("some ran", || ran.load(Ordering::SeqCst) >= round % 50);
                    assert!(pool.drain().is_ok());
                });
                let accepted = match round % 3 {
                    0 => by_batch(&pool, &ran),
                    1 => by_scope(&pool, &ran),
                    _ => by_map(&pool, &ran),
                };
                assert!(pool.drain().is_ok());
                assert_eq!(ran.load(Ordering::SeqCst), accepted, "in round {round}");
            });
            assert!(pool.stats().adds_up());
        }
    });
}

fn by_batch(pool: &Pool, ran: &Arc<AtomicUsize>) -> usize {
    let (mut batch, mut accepted) = (pool.batch(), 0);
    loop {
        let ran = Arc::clone(ran);
        match batch.spawn(move || ran.fetch_add(1, Ordering::SeqCst)) {
            Ok(index) => {
                assert_eq!(index, accepted);
                accepted += 1;
            }
            Err(error) => {
                assert_eq!(error.reason(), Refused::Closed);
                let outcomes = batch.join_all();
                assert!(outcomes.iter().all(Result::is_ok));
                assert_eq!(outcomes.len(), accepted);
                return accepted;
            }
        }
    }
}

fn by_scope(pool: &Pool, ran: &AtomicUsize) -> usize {
    let before = ran.load(Ordering::SeqCst);
    let accepted = pool.scope(|scope| {
        let mut accepted = 0;
        // What a closed pool refuses runs on the calling thread, and counts as accepted, too.
        while !pool.is_closed() {
            scope.submit(|| _ = ran.fetch_add(1, Ordering::SeqCst));
            accepted += 1;
        }
        accepted
    });
    assert_eq!(ran.load(Ordering::SeqCst), before + accepted, "the scope has waited for all");
    accepted
}

/// Every item that was pulled has an outcome, and then the map says that the pool was closed.
fn by_map(pool: &Pool, ran: &Arc<AtomicUsize>) -> usize {
    let count = Arc::clone(ran);
    let outcomes = pool.map(0..200, move |_| count.fetch_add(1, Ordering::SeqCst));
    let mut accepted = 0;
    for outcome in outcomes {
        match outcome {
            Ok(_) => accepted += 1,
            Err(error) => assert!(matches!(error, JoinError::Refused(Refused::Closed)), "{error}"),
        }
    }
    accepted
}
