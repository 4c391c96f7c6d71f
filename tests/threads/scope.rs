//! Scopes: tasks that borrow, panics after the end, no deadlock, nothing outlives the scope.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::common::{self, Door, join};
use formic::{JoinError, Pool, Refused, WhenFull};

#[test]
fn tasks_borrow_and_have_ended_when_the_scope_returns() {
    let pool = Pool::new(4);
    let mut numbers: Vec<u64> = (0..1000).collect();
    pool.scope(|scope| {
        for chunk in numbers.chunks_mut(10) {
            scope.submit(move || chunk.iter_mut().for_each(|number| *number *= 2));
        }
    });
    assert_eq!(numbers.iter().sum::<u64>(), 999 * 1000);
}

#[test]
fn results_may_borrow() {
    let pool = Pool::new(2);
    let words = ["one".to_owned(), "three".to_owned(), "two".to_owned()];
    let longest = pool.scope(|scope| {
        let handles: Vec<_> = words.iter().map(|word| scope.spawn(move || word.as_str())).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).max_by_key(|word| word.len())
    });
    assert_eq!(longest, Some("three"));
}

#[test]
fn the_body_gives_its_value() {
    let pool = Pool::new(1);
    assert_eq!(pool.scope(|_| 42), 42);
}

#[test]
fn a_panic_of_a_task_goes_on_after_all_have_ended() {
    let pool = Pool::new(2);
    let ended = AtomicUsize::new(0);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        pool.scope(|scope| {
            scope.submit(|| panic!("in a task"));
            for _ in 0..100 {
                scope.submit(|| _ = ended.fetch_add(1, Ordering::Relaxed));
            }
        });
    }));
    let payload = outcome.unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"in a task"));
    assert_eq!(ended.load(Ordering::Relaxed), 100);
}

#[test]
fn a_panic_of_the_body_goes_on_after_all_have_ended() {
    let pool = Pool::new(1);
    let door = Door::new();
    let ended = AtomicUsize::new(0);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        pool.scope(|scope| {
            for _ in 0..10 {
                scope.submit(|| _ = ended.fetch_add(1, Ordering::Relaxed));
            }
            door.open();
            panic!("in the body");
        });
    }));
    assert_eq!(outcome.unwrap_err().downcast_ref::<&str>(), Some(&"in the body"));
    assert_eq!(ended.load(Ordering::Relaxed), 10);
}

#[test]
fn a_panic_that_a_handle_took_goes_no_further() {
    let pool = Pool::new(1);
    let message = pool.scope(|scope| {
        let handle = scope.spawn(|| -> u32 { panic!("taken") });
        match handle.join() {
            Err(JoinError::Panicked(panic)) => panic.message().to_owned(),
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(message, "taken");
}

#[test]
fn a_panic_that_no_handle_took_goes_on() {
    let pool = Pool::new(1);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        pool.scope(|scope| drop(scope.spawn(|| -> u32 { panic!("untaken") })));
    }));
    assert_eq!(outcome.unwrap_err().downcast_ref::<&str>(), Some(&"untaken"));
}

#[test]
fn results_that_panic_when_dropped_do_not_end_the_wait() {
    struct Bad<'a>(&'a AtomicUsize);
    impl Drop for Bad<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            panic!("in drop");
        }
    }
    let pool = Pool::new(2);
    let dropped = AtomicUsize::new(0);
    pool.scope(|scope| {
        for _ in 0..20 {
            std::mem::forget(scope.spawn(|| Bad(&dropped)));
        }
    });
    assert_eq!(dropped.load(Ordering::Relaxed), 20, "forgotten handles keep no result");
}

#[test]
fn tasks_of_a_scope_may_start_others() {
    let pool = Pool::new(2);
    let ended = AtomicUsize::new(0);
    pool.scope(|scope| {
        for _ in 0..10 {
            let ended = &ended;
            scope.submit(move || {
                for _ in 0..10 {
                    scope.submit(move || _ = ended.fetch_add(1, Ordering::Relaxed));
                }
            });
        }
    });
    assert_eq!(ended.load(Ordering::Relaxed), 100);
}

#[test]
fn scopes_inside_scopes_work_with_one_worker() {
    fn nest(pool: &Pool, depth: usize, count: &AtomicUsize) {
        count.fetch_add(1, Ordering::Relaxed);
        if depth > 0 {
            pool.scope(|scope| {
                for _ in 0..3 {
                    scope.submit(|| nest(pool, depth - 1, count));
                }
            });
        }
    }
    for queue in [0, 1, 64] {
        let pool = Pool::builder().workers(1).queue(queue).build().unwrap();
        let count = join(thread::spawn(move || {
            let count = AtomicUsize::new(0);
            nest(&pool, 4, &count);
            count.into_inner()
        }));
        assert_eq!(count, 1 + 3 + 9 + 27 + 81);
    }
}

#[test]
fn a_task_that_the_pool_refuses_runs_on_the_calling_thread() {
    let full = Pool::builder().workers(1).queue(0).when_full(WhenFull::Refuse).build().unwrap();
    let _permit = full.admit().unwrap();
    let closed = Pool::new(1);
    closed.close();
    for pool in [&full, &closed] {
        let (number, here) = (7, thread::current().id());
        let ran = AtomicUsize::new(0);
        pool.scope(|scope| {
            scope.submit(|| {
                assert_eq!((number, thread::current().id()), (7, here));
                ran.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(scope.spawn(|| &number).join().unwrap(), &7);
            assert!(scope.spawn(|| panic!("it is contained")).join().unwrap_err().is_panic());
        });
        assert_eq!(ran.into_inner(), 1);
        let stats = pool.stats();
        assert_eq!((stats.completed, stats.panicked), (2, 1));
        assert_eq!((stats.accepted, stats.refused), (3, 3));
        assert!(stats.adds_up());
    }
}

#[test]
fn a_panic_on_the_calling_thread_goes_on_after_the_scope() {
    let pool = Pool::new(1);
    pool.close();
    let ran = AtomicUsize::new(0);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        pool.scope(|scope| {
            scope.submit(|| panic!("on the calling thread"));
            scope.submit(|| _ = ran.fetch_add(1, Ordering::Relaxed));
        });
    }));
    assert_eq!(outcome.unwrap_err().downcast_ref(), Some(&"on the calling thread"));
    assert_eq!(ran.into_inner(), 1);
}

#[test]
fn a_task_that_is_tried_comes_back() {
    let pool = Pool::new(1);
    pool.close();
    let number = 7;
    pool.scope(|scope| {
        let error = scope.try_spawn(|| &number).unwrap_err();
        assert_eq!((error.reason(), error.into_task()()), (Refused::Closed, &7));
    });
}

#[test]
fn discarded_tasks_of_a_scope_are_gone_and_say_so() {
    let pool = Pool::new(1);
    let door = Door::new();
    let token = AtomicUsize::new(0);
    pool.scope(|scope| {
        scope.submit(|| door.wait());
        door.await_waiting(1);
        let handle = scope.spawn(|| token.fetch_add(1, Ordering::Relaxed));
        assert_eq!(pool.discard(), 1);
        assert!(handle.join().unwrap_err().is_cancelled());
        door.open();
    });
    assert_eq!(token.load(Ordering::Relaxed), 0);
}

#[test]
fn a_scope_of_very_many_tasks_lets_go_of_those_that_have_ended() {
    // Under Miri each task takes milliseconds.
    const TASKS: usize = if cfg!(miri) { 300 } else { 200_000 };
    let pool = Pool::new(2);
    let ended = AtomicUsize::new(0);
    pool.scope(|scope| {
        for _ in 0..TASKS {
            scope.submit(|| _ = ended.fetch_add(1, Ordering::Relaxed));
        }
    });
    assert_eq!(ended.load(Ordering::Relaxed), TASKS);
}

#[test]
fn a_scoped_task_that_panics_is_counted_as_panicked() {
    common::hush_quiet_threads();
    let pool = Pool::builder().workers(2).name("quiet").build().unwrap();
    pool.scope(|scope| {
        let bad = scope.spawn(|| panic!("on purpose"));
        let good = scope.spawn(|| ());
        assert!(bad.join().unwrap_err().is_panic());
        good.join().unwrap();
    });
    pool.drain().unwrap();
    let stats = pool.stats();
    assert_eq!((stats.panicked, stats.completed), (1, 1), "{stats:?}");
}

/// Runs `body` in a scope on the only worker of a pool.
fn on_the_worker<T: Send + 'static>(
    body: impl FnOnce(&Pool) -> T + Send + 'static,
) -> Result<T, JoinError> {
    let pool = Pool::new(1);
    let inside = pool.clone();
    pool.spawn(move || body(&inside)).expect("the pool is open").join()
}

#[test]
fn a_scope_on_a_worker_runs_its_tasks_in_the_order_of_their_submission() {
    let order = on_the_worker(|pool| {
        let order = Mutex::new(Vec::new());
        pool.scope(|scope| {
            for number in 0..200 {
                let order = &order;
                if number % 3 == 0 {
                    drop(scope.spawn(move || order.lock().unwrap().push(number)));
                } else {
                    scope.submit(move || order.lock().unwrap().push(number));
                }
            }
        });
        order.into_inner().unwrap()
    });
    assert_eq!(order.unwrap(), (0..200).collect::<Vec<_>>());
}

#[test]
fn a_scope_on_a_worker_goes_on_with_the_panic_of_the_task_that_was_submitted_first() {
    let outcome = on_the_worker(|pool| {
        pool.scope(|scope| {
            scope.submit(|| ());
            scope.submit(|| panic!("the first"));
            drop(scope.spawn(|| panic!("the second")));
            (0..200).for_each(|_| scope.submit(|| panic!("a later one")));
        });
    });
    assert_eq!(outcome.unwrap_err().into_panic().unwrap().message(), "the first");
}

#[test]
fn a_task_may_join_another_after_the_scope_has_waited_for_that() {
    let result = on_the_worker(|pool| {
        let result = Mutex::new(None);
        pool.scope(|scope| {
            let first = scope.spawn(|| 6 * 7);
            let result = &result;
            // The worker that waits for the scope runs one after the other.
            drop(scope.spawn(move || *result.lock().unwrap() = Some(first.join())));
        });
        result.into_inner().unwrap()
    });
    assert!(matches!(result, Ok(Some(Ok(42)))), "{result:?}");
}
