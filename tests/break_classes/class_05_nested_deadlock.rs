//! Class 5: tasks wait for places or for each other, and none of them goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use formic::Pool;

use crate::common::block_on;
use crate::kinds::{Job, Kind, Plan};
use crate::{rounds, yield_once};

/// Pools of one and of several, with and without a queue.
const SIZES: [(usize, usize); 5] = [(1, 0), (1, 3), (2, 0), (3, 2), (8, 64)];

/// How many a task of each generation has.
const CHILDREN: usize = 3;

/// All of a tree of this depth, without its root.
const fn descendants(depth: usize) -> usize {
    if depth == 0 { 0 } else { CHILDREN * (1 + descendants(depth - 1)) }
}

/// A task that submits tasks that submit tasks.
fn submits<K: Kind>(pool: K, depth: usize, ran: Arc<AtomicUsize>) -> Job {
    Box::pin(async move {
        ran.fetch_add(1, Ordering::SeqCst);
        for _ in 0..if depth > 0 { CHILDREN } else { 0 } {
            let child = submits(pool.clone(), depth - 1, Arc::clone(&ran));
            pool.submit(child).await.unwrap();
        }
    })
}

/// A task that joins its children, which join theirs.
fn joins<K: Kind>(pool: K, depth: usize, ran: Arc<AtomicUsize>) -> Job {
    Box::pin(async move {
        let mut children = Vec::new();
        for _ in 0..if depth > 0 { CHILDREN } else { 0 } {
            let child = joins(pool.clone(), depth - 1, Arc::clone(&ran));
            children.push(pool.spawn(child).await.unwrap());
        }
        yield_once().await;
        for child in children {
            child.await.unwrap();
        }
        ran.fetch_add(1, Ordering::SeqCst);
    })
}

/// Tasks of two pools that call each other.
fn calls<K: Kind, L: Kind>(here: K, there: L, depth: usize, ran: Arc<AtomicUsize>) -> Job {
    Box::pin(async move {
        let mut children = Vec::new();
        for _ in 0..if depth > 0 { CHILDREN } else { 0 } {
            let child = calls(there.clone(), here.clone(), depth - 1, Arc::clone(&ran));
            children.push(there.spawn(child).await.unwrap());
        }
        for child in children {
            child.await.unwrap();
        }
        ran.fetch_add(1, Ordering::SeqCst);
    })
}

fn end<K: Kind>(pool: &K) {
    assert!(block_on(pool.drain()));
    let stats = pool.stats();
    assert!(stats.adds_up() && stats.busy == 0 && stats.queued == 0, "{stats:?}");
}

fn submits_three_deep<K: Kind>() {
    for _ in 0..rounds(100) {
        for (workers, queue) in SIZES {
            let (pool, ran) = (K::build(&Plan::new(workers, queue)), Arc::default());
            for _ in 0..3 {
                block_on(pool.submit(submits(pool.clone(), 3, Arc::clone(&ran)))).unwrap();
            }
            assert!(block_on(pool.wait_idle()));
            assert_eq!(ran.load(Ordering::SeqCst), 3 * (1 + descendants(3)));
            end(&pool);
        }
    }
}
on_every_pool!(submits_three_deep);

fn joins_three_deep<K: Kind>() {
    for _ in 0..rounds(100) {
        for (workers, queue) in SIZES {
            let (pool, ran) = (K::build(&Plan::new(workers, queue)), Arc::default());
            let roots: Vec<_> = (0..3)
                .map(|_| block_on(pool.spawn(joins(pool.clone(), 3, Arc::clone(&ran)))).unwrap())
                .collect();
            roots.into_iter().for_each(|root| root.join().unwrap());
            assert_eq!(ran.load(Ordering::SeqCst), 3 * (1 + descendants(3)));
            end(&pool);
        }
    }
}
on_every_pool!(joins_three_deep);

/// Two pools of the same kind, with room in the queue for what the other submits: a task waits at the
/// gate of a full pool that is not its own, and two pools that are full of such tasks wait for ever.
fn two_pools_call_each_other<K: Kind>() {
    for _ in 0..rounds(100) {
        for workers in [1, 3] {
            let plan = Plan::new(workers, descendants(4));
            let (one, two, ran) = (K::build(&plan), K::build(&plan), Arc::default());
            let root = calls(one.clone(), two.clone(), 4, Arc::clone(&ran));
            block_on(one.spawn(root)).unwrap().join().unwrap();
            assert_eq!(ran.load(Ordering::SeqCst), 1 + descendants(4));
            end(&one);
            end(&two);
        }
    }
}
on_every_pool!(two_pools_call_each_other);

/// A batch in a batch in a batch.
fn batches(pool: &Pool, depth: usize) -> usize {
    if depth == 0 {
        return 1;
    }
    let mut batch = pool.batch();
    for _ in 0..CHILDREN {
        let inside = pool.clone();
        batch.spawn(move || batches(&inside, depth - 1)).unwrap();
    }
    1 + batch.map(Result::unwrap).sum::<usize>()
}

#[test]
fn batch() {
    crate::watched("batch", || {
        for _ in 0..rounds(100) {
            for (workers, queue) in SIZES {
                let pool = Pool::build(&Plan::new(workers, queue));
                assert_eq!(batches(&pool, 3), 1 + descendants(3));
                let inside = pool.clone();
                let root = pool.spawn(move || batches(&inside, 3)).unwrap();
                assert_eq!(root.join().unwrap(), 1 + descendants(3));
                end(&pool);
            }
        }
    });
}

/// A scope in a scope in a scope, with handles and without.
fn scopes(pool: &Pool, depth: usize, ran: &AtomicUsize) {
    ran.fetch_add(1, Ordering::SeqCst);
    if depth == 0 {
        return;
    }
    pool.scope(|scope| {
        let joined = scope.spawn(|| scopes(pool, depth - 1, ran));
        scope.submit(|| scopes(pool, depth - 1, ran));
        drop(scope.spawn(|| scopes(pool, depth - 1, ran)));
        joined.join().unwrap();
    });
}

#[test]
fn scope() {
    crate::watched("scope", || {
        for _ in 0..rounds(100) {
            for (workers, queue) in SIZES {
                let pool = Pool::build(&Plan::new(workers, queue));
                let ran = Arc::new(AtomicUsize::new(0));
                scopes(&pool, 3, &ran);
                let (inside, count) = (pool.clone(), Arc::clone(&ran));
                pool.spawn(move || scopes(&inside, 3, &count)).unwrap().join().unwrap();
                assert_eq!(ran.load(Ordering::SeqCst), 2 * (1 + descendants(3)));
                end(&pool);
            }
        }
    });
}

/// A map in a map in a map.
fn maps(pool: &Pool, depth: usize) -> usize {
    if depth == 0 {
        return 1;
    }
    let inside = pool.clone();
    let below = pool.map(0..CHILDREN, move |_| maps(&inside, depth - 1));
    1 + below.map(Result::unwrap).sum::<usize>()
}

#[test]
fn map() {
    crate::watched("map", || {
        for _ in 0..rounds(100) {
            for (workers, queue) in SIZES {
                let pool = Pool::build(&Plan::new(workers, queue));
                assert_eq!(maps(&pool, 3), 1 + descendants(3));
                let inside = pool.clone();
                let root = pool.spawn(move || maps(&inside, 3)).unwrap();
                assert_eq!(root.join().unwrap(), 1 + descendants(3));
                end(&pool);
            }
        }
    });
}

/// A future awaits closures that join futures. What a closure joins is not run by the future that
/// awaits the closure: so the pool of futures has a place for it.
#[cfg(feature = "tokio")]
#[test]
fn futures_and_threads() {
    crate::watched("futures_and_threads", || {
        for _ in 0..rounds(100) {
            for workers in [1, 3] {
                let threads = Pool::build(&Plan::new(workers, descendants(2)));
                let plan = Plan::new(1 + workers, descendants(2));
                let futures = crate::async_kinds::OnOneThread::build(&plan);
                let ran = Arc::default();
                let root = calls(futures.clone(), threads.clone(), 2, Arc::clone(&ran));
                block_on(Kind::spawn(&futures, root)).unwrap().join().unwrap();
                assert_eq!(ran.load(Ordering::SeqCst), 1 + descendants(2));
                end(&threads);
                end(&futures);
            }
        }
    });
}
