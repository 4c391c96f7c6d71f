//! Class 10: a task ends its own pool, and hangs in that.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use formic::Refused;

use crate::common::{PATIENCE, block_on, eventually};
use crate::hold::Hold;
use crate::kinds::{Job, Kind, Plan};
use crate::{counting, rounds};

/// The last handle is dropped by a task: what was accepted still runs, and the workers go.
fn the_last_handle_is_dropped_inside<K: Kind>() {
    for round in 0..rounds(500) as usize {
        let plan = Plan::new(1 + round % 3, 64);
        let (pool, hold) = (K::build(&plan), Hold::default());
        let (ran, waits, last) = (Arc::new(AtomicUsize::new(0)), hold.clone(), pool.clone());
        let dropper = async move {
            waits.wait().await;
            drop(last);
        };
        block_on(pool.submit(Box::pin(dropper))).unwrap();
        (0..50).for_each(|_| block_on(pool.submit(counting(&ran))).unwrap());
        drop(pool);
        hold.open();
        eventually("all that was accepted runs", || ran.load(Ordering::SeqCst) == 50);
        eventually("nothing is kept", || Arc::strong_count(&ran) == 1);
        eventually("the threads go", || plan.census.count() == 0);
    }
}
on_every_pool!(the_last_handle_is_dropped_inside);

/// A task cannot wait for its own pool: it is told so, and the pool stays open.
fn a_task_is_told_that_it_cannot_wait<K: Kind>() {
    for workers in [1, 3] {
        let (pool, (sender, receiver)) = (K::build(&Plan::new(workers, 4)), mpsc::channel());
        for _ in 0..rounds(1000) {
            let (inner, sender) = (pool.clone(), sender.clone());
            let task = async move {
                let waits = (inner.wait_idle().await, inner.drain().await);
                sender.send(waits).unwrap();
            };
            block_on(pool.submit(Box::pin(task))).unwrap();
            assert_eq!(receiver.recv_timeout(PATIENCE), Ok((false, false)));
        }
        block_on(pool.submit(Box::pin(async {}))).expect("it is still open");
        assert!(block_on(pool.drain()));
    }
}
on_every_pool!(a_task_is_told_that_it_cannot_wait);

/// A task closes its own pool, discards what stands behind it and resizes it.
fn a_task_resizes_discards_and_closes<K: Kind>() {
    for _ in 0..rounds(500) {
        let (pool, hold) = (K::build(&Plan::new(1, 16)), Hold::default());
        let (waits, inner, (sender, receiver)) = (hold.clone(), pool.clone(), mpsc::channel());
        let meddler = async move {
            waits.wait().await;
            inner.resize(3);
            inner.resize(1);
            let discarded = inner.discard();
            inner.close();
            let refused = inner.submit(Box::pin(async {})).await.map_err(|back| back.reason);
            sender.send((discarded, refused)).unwrap();
        };
        block_on(pool.submit(Box::pin(meddler))).unwrap();
        hold.await_waiting(1);
        let never: fn() -> Job = || Box::pin(async { panic!("it was discarded") });
        (0..8).for_each(|_| block_on(pool.submit(never())).unwrap());
        hold.open();
        let (discarded, refused) = receiver.recv_timeout(PATIENCE).expect("it does not hang");
        assert_eq!(refused, Err(Refused::Closed));
        assert!(block_on(pool.drain()));
        let stats = pool.stats();
        // While it was larger, or on another shard, one of them may have begun, and panicked.
        assert_eq!(stats.panicked + stats.cancelled, 8, "{stats:?}");
        assert!(stats.cancelled == discarded as u64 && stats.adds_up(), "{stats:?}");
    }
}
on_every_pool!(a_task_resizes_discards_and_closes);

/// Submits to its pool when it is dropped, and tells what came of it.
struct Parting<K: Kind>(K, Arc<AtomicUsize>, mpsc::Sender<Result<(), Refused>>);

impl<K: Kind> Drop for Parting<K> {
    fn drop(&mut self) {
        let submitted = self.0.try_submit(counting(&self.1)).map_err(|back| back.reason);
        self.2.send(submitted).unwrap_or_default();
        assert!(self.0.stats().adds_up());
    }
}

/// A queued task submits when it is dropped: discarded, cancelled, or refused by a closed pool.
fn what_is_dropped_submits<K: Kind>() {
    for _ in 0..rounds(500) {
        let (pool, hold, ran) = (K::build(&Plan::new(1, 16)), Hold::default(), Arc::default());
        pool.hold_each(&hold, 1);
        hold.await_waiting(K::SHARDS);
        let (sender, receiver) = mpsc::channel();
        let parting = || -> Job {
            let parting = Parting(pool.clone(), Arc::clone(&ran), sender.clone());
            Box::pin(async move { drop(parting) })
        };
        assert!(block_on(pool.spawn(parting())).unwrap().cancel());
        assert_eq!(receiver.recv_timeout(PATIENCE), Ok(Ok(())));
        (0..4).for_each(|_| block_on(pool.submit(parting())).unwrap());
        // What the cancelled one submitted, and these; with shards also what was submitted to one of
        // them while another was being emptied.
        let discarded = pool.discard();
        assert!(discarded == 5 || (K::SHARDS > 1 && discarded > 5), "{discarded}");
        (0..4).for_each(|_| assert_eq!(receiver.recv_timeout(PATIENCE), Ok(Ok(()))));
        pool.close();
        drop(block_on(pool.submit(parting())).unwrap_err());
        assert_eq!(receiver.recv_timeout(PATIENCE), Ok(Err(Refused::Closed)));
        hold.open();
        assert!(block_on(pool.drain()));
        let stats = pool.stats();
        assert_eq!(stats.cancelled, 1 + discarded as u64, "{stats:?}");
        assert_eq!(ran.load(Ordering::SeqCst) + discarded, 9, "each ran or was discarded");
        assert!(stats.adds_up(), "{stats:?}");
    }
}
on_every_pool!(what_is_dropped_submits);
