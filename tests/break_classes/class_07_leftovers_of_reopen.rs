//! Class 7: a pool that is closed and opened again leaves something behind each time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use formic::Refused;

use crate::common::block_on;
use crate::kinds::{Kind, Plan};
use crate::{counting, rounds};

/// A thousand rounds of work, drain and reopen: threads and references are back at what they were.
fn a_thousand_rounds<K: Kind>() {
    let plan = Plan::new(4, 8);
    let (pool, ran) = (K::build(&plan), Arc::new(AtomicUsize::new(0)));
    let rounds = rounds(1000).max(50) as usize;
    for round in 1..=rounds {
        for number in 0..20 {
            match number % 4 {
                0 => drop(block_on(pool.spawn(counting(&ran))).unwrap()),
                _ => block_on(pool.submit(counting(&ran))).unwrap(),
            }
        }
        assert!(block_on(pool.drain()));
        assert_eq!(ran.load(Ordering::SeqCst), 20 * round);
        assert_eq!(Arc::strong_count(&ran), 1, "in round {round}");
        assert_eq!(plan.census.count(), 0, "in round {round}");
        let back = block_on(pool.submit(counting(&ran))).unwrap_err();
        assert_eq!(back.reason, Refused::Closed);
        drop(back);
        let stats = pool.stats();
        assert_eq!((stats.workers, stats.completed), (0, 20 * round as u64), "{stats:?}");
        assert_eq!((stats.accepted, stats.refused), (20 * round as u64, round as u64), "{stats:?}");
        pool.reopen();
    }
    drop(pool);
    drop(plan);
    assert_eq!(Arc::strong_count(&ran), 1);
}
on_every_pool!(a_thousand_rounds);

/// The same with tasks that are discarded and cancelled in between, and a hook that must be let go.
fn what_never_ran_is_let_go<K: Kind>() {
    let token = Arc::new(());
    let kept = Arc::clone(&token);
    let on_panic = Arc::new(move |_: &formic::TaskPanic| assert!(Arc::strong_count(&kept) > 0));
    let plan = Plan { on_panic, ..Plan::new(1, 16) };
    let pool = K::build(&plan);
    for _ in 0..rounds(1000).max(50) {
        let hold = crate::hold::Hold::default();
        pool.hold_each(&hold, 1);
        hold.await_waiting(K::SHARDS);
        for number in 0..8 {
            let owned = Arc::clone(&token);
            let handle = block_on(pool.spawn(Box::pin(async move { drop(owned) }))).unwrap();
            assert!(number % 2 == 0 || handle.cancel());
        }
        assert_eq!(pool.discard(), 4);
        assert_eq!(Arc::strong_count(&token), 2, "one is the hook's");
        hold.open();
        assert!(block_on(pool.drain()));
        pool.reopen();
    }
    assert!(block_on(pool.drain()));
    drop((pool, plan));
    crate::common::eventually("the hook is let go", || Arc::strong_count(&token) == 1);
}
on_every_pool!(what_never_ran_is_let_go);

/// No driver is left in the runtime, however often the pool is opened again.
#[cfg(feature = "tokio")]
#[test]
fn drivers() {
    use crate::common::{eventually, on_tokio::runtime};

    let (runtime, ran) = (runtime(2), Arc::new(AtomicUsize::new(0)));
    let pool = formic::AsyncPool::builder().workers(4).runtime(runtime.handle().clone());
    let (pool, metrics) = (pool.build().unwrap(), runtime.metrics());
    for _ in 0..rounds(1000).max(50) {
        (0..20).for_each(|_| block_on(pool.submit(counting(&ran))).unwrap());
        block_on(pool.drain()).unwrap();
        // The runtime may need a moment to let go of a task that has ended.
        eventually("no driver is left", || metrics.num_alive_tasks() == 0);
        pool.reopen();
    }
}
