//! Models of futures that await tasks inside of tasks: a suspended task lends its place.

use std::future::poll_fn;

use super::*;

/// The tasks of a pool of one that have started and have not waited for another since then. A task that has waited and
/// runs again does not count: the pool may have started another one before it did.
#[derive(Clone)]
struct Running(Arc<AtomicUsize>);

impl Running {
    fn new() -> Self {
        Running(Arc::new(AtomicUsize::new(0)))
    }

    /// A task has started: none other may run.
    fn start(&self) {
        assert_eq!(self.0.fetch_add(1, Ordering::SeqCst), 0, "another one runs and does not wait");
    }

    /// A task ends, or waits for the first time.
    fn stop(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Polls a handle once.
async fn glance(handle: &mut JoinHandle<usize>) {
    poll_fn(|context| {
        drop(Pin::new(&mut *handle).poll(context));
        Poll::Ready(())
    })
    .await;
}

/// Waits until it is polled once more.
async fn yield_once() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[test]
fn an_awaited_task_starts_in_the_place_of_the_one_that_awaits_it() {
    explore(|| {
        let pool = pool(2, Start::ByHand, settings(1, 8));
        let [first, second] = drivers(&pool);
        let (its, running) = (Arc::clone(&pool), Running::new());
        submit(&pool, async move {
            running.start();
            let (inner, last) = (running.clone(), running.clone());
            submit(&its, async move {
                last.start();
                last.stop();
                1
            });
            let child = spawn(&its, async move {
                inner.start();
                inner.stop();
                10
            });
            its.close();
            running.stop();
            assert_eq!(JoinHandle::new(child).await.ok(), Some(10));
            1
        });
        let other = thread::spawn(move || turn_until_it_leaves(second));
        turn_until_it_leaves(first);
        other.join().unwrap();
        assert_eq!(ended(&pool), (3, 0));
    });
}

#[test]
fn a_lent_place_is_for_one_at_a_time() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 8));
        let [driver] = drivers(&pool);
        let (its, running) = (Arc::clone(&pool), Running::new());
        submit(&pool, async move {
            let child = || {
                let running = running.clone();
                JoinHandle::new(spawn(&its, async move {
                    running.start();
                    yield_once().await;
                    running.stop();
                    1
                }))
            };
            let (mut first, second) = (child(), child());
            its.close();
            glance(&mut first).await;
            assert_eq!(second.await.ok(), Some(1));
            assert_eq!(first.await.ok(), Some(1));
            1
        });
        turn_until_it_leaves(driver);
        assert_eq!(ended(&pool), (3, 0));
    });
}

#[test]
fn two_pools_of_futures_await_each_other() {
    explore_up_to(2, || {
        let (pool, other) =
            (pool(1, Start::ByHand, settings(1, 8)), pool(1, Start::ByHand, settings(1, 8)));
        let ([first], [second]) = (drivers(&pool), drivers(&other));
        let (its, between) = (Arc::clone(&pool), Arc::clone(&other));
        submit(&pool, async move {
            let again = Arc::clone(&its);
            let child = spawn(&between, async move {
                let grandchild = spawn(&again, async { 10 });
                again.close();
                JoinHandle::new(grandchild).await.unwrap()
            });
            between.close();
            assert_eq!(JoinHandle::new(child).await.ok(), Some(10));
            1
        });
        let thread = thread::spawn(move || turn_until_it_leaves(second));
        turn_until_it_leaves(first);
        thread.join().unwrap();
        assert_eq!((ended(&pool), ended(&other)), ((2, 0), (1, 0)));
    });
}

#[test]
fn a_task_that_stops_awaiting_runs_beside_its_child() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 8));
        let [driver] = drivers(&pool);
        let (event, drops) = (Event::default(), Drops::default());
        let (its, awaited, guard) = (Arc::clone(&pool), event.clone(), drops.guard());
        submit(&pool, async move {
            let child = spawn(&its, async move {
                let _guard = guard;
                awaited.await
            });
            its.close();
            let mut handle = JoinHandle::new(child);
            // Suspended on the handle once, so that the child starts.
            let mut polls = 0;
            poll_fn(|context| {
                polls += 1;
                if Pin::new(&mut handle).poll(context).is_ready() || polls == 2 {
                    return Poll::Ready(());
                }
                context.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            drop(handle);
            yield_once().await;
            1
        });
        let waker = thread::spawn(move || event.happen());
        turn_until_it_leaves(driver);
        waker.join().unwrap();
        assert_eq!((ended(&pool), drops.count()), ((2, 0), 1));
    });
}

#[test]
fn a_task_that_is_awaited_no_longer_waits_for_its_turn() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 8));
        let [driver] = drivers(&pool);
        let (its, event) = (Arc::clone(&pool), Event::default());
        submit(&pool, async move {
            let awaited = event.clone();
            let mut left = JoinHandle::new(spawn(&its, async move { awaited.await }));
            let mut child = JoinHandle::new(spawn(&its, async { 1 }));
            its.close();
            glance(&mut left).await;
            glance(&mut child).await;
            drop(left);
            // In the lent place, the first task would keep the second from it for good.
            assert_eq!(child.await.ok(), Some(1));
            event.happen();
            1
        });
        turn_until_it_leaves(driver);
        assert_eq!(ended(&pool), (3, 0));
    });
}

#[test]
fn an_awaited_task_is_completed_or_cancelled() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 8));
        let [driver] = drivers(&pool);
        let drops = Drops::default();
        let guard = drops.guard();
        let (child, job) = pack(&pool, async move {
            let _guard = guard;
            1
        });
        let (task_state, seen, engine) = (Arc::clone(&child), drops.clone(), Arc::clone(&pool));
        let parent = spawn(&pool, async move {
            assert!(engine.submit(job, Patience::Future).is_ok());
            engine.close();
            let outcome = JoinHandle::new(task_state as _).await;
            assert_eq!(seen.count(), 1, "what it owned is gone when its outcome shows");
            usize::from(outcome.is_ok())
        });
        let canceller = thread::spawn(move || Joinable::cancel(&*child));
        turn_until_it_leaves(driver);
        let cancelled = canceller.join().unwrap();
        let completed = outcome(parent).unwrap() as u64;
        assert_eq!(completed == 0, cancelled);
        assert_eq!(ended(&pool), (1 + completed, 1 - completed));
    });
}

#[test]
fn an_awaited_task_that_does_not_end_can_be_cancelled_at_any_time() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 8));
        let [driver] = drivers(&pool);
        let (child, job) = pack(&pool, Event::default());
        let (task_state, engine, begun) = (Arc::clone(&child), Arc::clone(&pool), Event::default());
        let event = begun.clone();
        submit(&pool, async move {
            assert!(engine.submit(job, Patience::Future).is_ok());
            engine.close();
            begun.happen();
            assert!(JoinHandle::new(task_state as _).await.is_err());
            1
        });
        let canceller = thread::spawn(move || {
            event.block();
            assert!(Joinable::cancel(&*child));
        });
        turn_until_it_leaves(driver);
        canceller.join().unwrap();
        assert_eq!(ended(&pool), (1, 1));
    });
}

#[test]
fn an_awaited_task_is_run_or_discarded() {
    explore(|| {
        let pool = pool(1, Start::ByHand, settings(1, 8));
        let [driver] = drivers(&pool);
        let (its, drops, event) = (Arc::clone(&pool), Drops::default(), Event::default());
        let (guard, begun) = (drops.guard(), event.clone());
        let parent = spawn(&pool, async move {
            let child = spawn(&its, async move {
                let _guard = guard;
                1
            });
            its.close();
            begun.happen();
            usize::from(JoinHandle::new(child).await.is_ok())
        });
        let engine = Arc::clone(&pool);
        let discarder = thread::spawn(move || {
            event.block();
            engine.discard()
        });
        turn_until_it_leaves(driver);
        let discarded = discarder.join().unwrap() as u64;
        let completed = outcome(parent).unwrap() as u64;
        assert_eq!((completed, ended(&pool)), (1 - discarded, (1 + completed, discarded)));
        assert_eq!(drops.count(), 1);
    });
}
