//! Class 12: something of a scope outlives what it borrows.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use formic::Pool;

use crate::kinds::{Kind, Plan};
use crate::rounds;

/// What lives in the frame of a scope: whoever uses it after its end is found out, by the sum or by a
/// sanitizer.
struct Frame {
    numbers: Vec<usize>,
    alive: AtomicUsize,
}

/// Borrows from the frame; counts as alive until it is dropped.
struct Borrows<'a>(&'a Frame);

impl<'a> Borrows<'a> {
    fn new(frame: &'a Frame) -> Self {
        frame.alive.fetch_add(1, Ordering::SeqCst);
        Borrows(frame)
    }

    fn sum(&self) -> usize {
        self.0.numbers.iter().sum()
    }
}

impl Drop for Borrows<'_> {
    fn drop(&mut self) {
        assert_eq!(self.sum(), 4950, "the frame is still there");
        self.0.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Runs `body` with a frame of its own, and checks that nothing of it is left when it has returned or
/// panicked.
fn with_frame(body: impl FnOnce(&Frame)) -> Result<(), String> {
    let frame = Frame { numbers: (0..100).collect(), alive: AtomicUsize::new(0) };
    let outcome = catch_unwind(AssertUnwindSafe(|| body(&frame)));
    assert_eq!(frame.alive.load(Ordering::SeqCst), 0, "something outlives the scope");
    outcome.map_err(|payload| match payload.downcast::<&str>() {
        Ok(text) => (*text).to_owned(),
        Err(_) => "another payload".to_owned(),
    })
}

/// Runs a test of a pool and a frame with pools of several sizes, on a thread that panics quietly.
fn on_pools_of_all_sizes(name: &str, test: impl Fn(&Pool) + Send + 'static) {
    crate::watched(name, move || {
        let quiet = std::thread::Builder::new().name("quiet scope".to_owned());
        let test = move || {
            for round in 0..rounds(2000) as usize {
                let pool = Pool::build(&Plan::new(1 + round % 3, [0, 2, 64][round % 3]));
                test(&pool);
                assert!(pool.drain().is_ok());
                assert!(pool.stats().adds_up());
            }
        };
        crate::common::hush_quiet_threads();
        quiet.spawn(test).unwrap().join().expect("nothing outlives its scope");
    });
}

#[test]
fn a_panic_in_the_body() {
    on_pools_of_all_sizes("a_panic_in_the_body", |pool| {
        let outcome = with_frame(|frame| {
            pool.scope(|scope| {
                for _ in 0..10 {
                    let borrows = Borrows::new(frame);
                    scope.submit(move || assert_eq!(borrows.sum(), 4950));
                    let borrows = Borrows::new(frame);
                    drop(scope.spawn(move || borrows));
                }
                panic!("in the body");
            });
        });
        assert_eq!(outcome, Err("in the body".to_owned()));
    });
}

#[test]
fn a_panic_in_a_child() {
    on_pools_of_all_sizes("a_panic_in_a_child", |pool| {
        let outcome = with_frame(|frame| {
            pool.scope(|scope| {
                for number in 0..10 {
                    let borrows = Borrows::new(frame);
                    let task = move || {
                        assert_eq!(borrows.sum(), 4950);
                        if number == 5 {
                            panic!("in a child");
                        }
                    };
                    scope.submit(task);
                }
            });
        });
        assert_eq!(outcome, Err("in a child".to_owned()));
    });
}

#[test]
fn a_panic_in_the_body_and_in_every_child() {
    on_pools_of_all_sizes("a_panic_in_the_body_and_in_every_child", |pool| {
        let outcome = with_frame(|frame| {
            pool.scope(|scope| {
                for _ in 0..5 {
                    let task = |borrows: Borrows<'_>| {
                        assert_eq!(borrows.sum(), 4950);
                        panic!("in a child");
                    };
                    let borrows = Borrows::new(frame);
                    scope.submit(move || task(borrows));
                    let borrows = Borrows::new(frame);
                    std::mem::forget(scope.spawn(move || task(borrows)));
                }
                panic!("in the body");
            });
        });
        assert_eq!(outcome, Err("in the body".to_owned()));
    });
}

/// Handles, results and iterators that are forgotten keep nothing alive.
#[test]
fn forgotten_handles_and_iterators() {
    on_pools_of_all_sizes("forgotten_handles_and_iterators", |pool| {
        let outcome = with_frame(|frame| {
            pool.scope(|scope| {
                for _ in 0..5 {
                    let borrows = Borrows::new(frame);
                    std::mem::forget(scope.spawn(move || borrows));
                }
                let mut mapped = scope.map(0..20, |_| Borrows::new(frame));
                drop(mapped.next());
                std::mem::forget(mapped);
            });
        });
        assert_eq!(outcome, Ok(()));
    });
}

/// When a handle tells the outcome, everything that its task owned has been dropped: it has ended, has
/// panicked, or was cancelled.
#[test]
fn captures_are_gone_before_the_handle_resolves() {
    on_pools_of_all_sizes("captures_are_gone_before_the_handle_resolves", |pool| {
        for way in 0..3 {
            let outcome = with_frame(|frame| {
                pool.scope(|scope| {
                    let borrows = Borrows::new(frame);
                    let handle = scope.spawn(move || {
                        assert_eq!(borrows.sum(), 4950);
                        assert!(way > 0, "in a child");
                    });
                    assert!(way == 2 || !handle.is_finished() || !handle.cancel());
                    let cancelled = way == 2 && handle.cancel();
                    assert_eq!(handle.join().is_ok(), way > 0 && !cancelled);
                    assert_eq!(frame.alive.load(Ordering::SeqCst), 0);
                });
            });
            assert_eq!(outcome, Ok(()));
        }
    });
}
