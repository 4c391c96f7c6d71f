//! Models of cancelling all futures of a pool: their functions, and what comes at the same time.

use std::future::pending;

use loom::sync::atomic::AtomicBool;

use super::*;
use crate::on_cancel::on_cancel;

/// Lies in a future above a guard, so it is dropped after the guard. Notes if the function was not called by then.
struct Called {
    called: Arc<AtomicBool>,
    missed: Arc<AtomicBool>,
}

impl Called {
    fn new(missed: &Arc<AtomicBool>) -> Self {
        Called { called: Arc::new(AtomicBool::new(false)), missed: Arc::clone(missed) }
    }
}

impl Drop for Called {
    fn drop(&mut self) {
        if !self.called.load(Ordering::SeqCst) {
            self.missed.store(true, Ordering::SeqCst);
        }
    }
}

/// A future with a function, which is ready never: it can only be cancelled.
async fn with_function(event: Event, missed: Arc<AtomicBool>) -> usize {
    let noted = Called::new(&missed);
    let called = Arc::clone(&noted.called);
    let _guard = on_cancel(move || called.store(true, Ordering::SeqCst));
    event.await;
    pending().await
}

/// All are cancelled while a future is woken that has a function.
fn wake_while_all_are_cancelled(submit: impl Fn(&Pool, Event, Arc<AtomicBool>)) {
    let pool = pool(1, Start::ByHand, settings(1, 8));
    let [mut driver] = drivers(&pool);
    let (event, missed) = (Event::default(), Arc::new(AtomicBool::new(false)));
    submit(&pool, event.clone(), Arc::clone(&missed));
    assert_eq!(turn(&mut driver), Turn::Sleep);
    pool.close();
    let other = Arc::clone(&pool);
    let canceller = thread::spawn(move || other.cancel_all());
    event.happen();
    turn_until_it_leaves(driver);
    assert_eq!(canceller.join().unwrap(), (0, 1));
    assert!(!missed.load(Ordering::SeqCst), "the function is called before the future is dropped");
    assert_eq!(ended(&pool), (0, 1));
}

#[test]
fn the_function_of_a_future_is_called_before_it_is_dropped() {
    explore(|| {
        wake_while_all_are_cancelled(|pool, event, missed| {
            submit(pool, with_function(event, missed));
        });
    });
}

#[test]
fn the_function_of_a_future_with_a_handle_is_called_before_it_is_dropped() {
    explore(|| {
        wake_while_all_are_cancelled(|pool, event, missed| {
            drop(spawn(pool, with_function(event, missed)));
        });
    });
}

#[test]
fn all_futures_are_cancelled_while_a_pool_is_drained_and_opened_again() {
    explore(|| {
        let (pool, drops) = (pool(1, Start::Thread, settings(2, 8)), Drops::default());
        let guard = drops.guard();
        submit(&pool, async move {
            let _guard = guard;
            1
        });
        let (other, guard) = (Arc::clone(&pool), drops.guard());
        let opener = thread::spawn(move || {
            drain(&other);
            other.reopen().unwrap();
            submit(&other, async move {
                let _guard = guard;
                1
            });
        });
        let (queued, running) = pool.cancel_all();
        opener.join().unwrap();
        block_on(pool.until(Ended::Tasks)).unwrap();
        let (completed, cancelled) = ended(&pool);
        assert_eq!((completed + cancelled, drops.count()), (2, 2));
        assert!((queued..=queued + running).contains(&(cancelled as usize)));
        assert!(queued + running <= 1);
        drain(&pool);
    });
}

#[test]
fn a_future_is_driven_or_taken_out_of_the_queue() {
    explore(|| {
        let (pool, drops) = (pool(1, Start::Thread, settings(2, 8)), Drops::default());
        let guard = drops.guard();
        submit(&pool, async move {
            let _guard = guard;
            1
        });
        let taken = pool.take_queued();
        let number = taken.len() as u64;
        drop(taken);
        drain(&pool);
        assert_eq!((drops.count(), ended(&pool)), (1, (1 - number, number)));
    });
}
