//! A `TaskPanic` knows where its task panicked and where it was submitted.

use std::hint::black_box;
use std::panic::{catch_unwind, panic_any, resume_unwind};
use std::sync::mpsc;

use crate::common::{self, Door, hold_workers, hush_quiet_threads};
use formic::{Balance, Builder, CallError, FnPool, JoinError, Multi, Pool, TaskPanic, WhenFull};

/// A function that panics, and the line where it does.
type Way = (fn(), u32);

/// The ways to panic.
fn ways() -> [Way; 5] {
    [
        (|| panic!("a text"), line!()),
        (|| panic!("a text with {}", black_box(5)), line!()),
        (|| assert!(black_box(1) > 2), line!()),
        (|| assert_eq!([1, 2][black_box(2)], 0), line!()),
        (|| panic_any(7_u8), line!()),
    ]
}

/// Settings for a pool with one worker whose panics are not printed, and what its hook is told.
fn quiet<P>(builder: Builder<P>) -> (Builder<P>, mpsc::Receiver<Option<(String, u32)>>) {
    hush_quiet_threads();
    let (tell, told) = mpsc::channel();
    let builder = builder.workers(1).name("quiet");
    (builder.on_panic(move |panic| tell.send(line(panic)).unwrap()), told)
}

fn pool() -> Pool {
    quiet(Pool::builder()).0.build().unwrap()
}

/// The line that panicked.
fn line(panic: &TaskPanic) -> Option<(String, u32)> {
    panic.panicked_at().map(|location| (location.file().to_owned(), location.line()))
}

fn here(line: u32) -> Option<(String, u32)> {
    Some((file!().to_owned(), line))
}

fn line_of<T>(outcome: Result<T, JoinError>) -> Option<(String, u32)> {
    match outcome {
        Err(JoinError::Panicked(panic)) => line(&panic),
        _ => panic!("it panicked"),
    }
}

fn line_of_call<T, A>(outcome: Result<T, CallError<A>>) -> Option<(String, u32)> {
    match outcome {
        Err(CallError::Panicked(panic)) => line(&panic),
        _ => panic!("it panicked"),
    }
}

#[test]
fn the_line_of_a_closure_is_known_wherever_its_panic_goes() {
    let (builder, told) = quiet(Pool::builder());
    let pool = builder.build().unwrap();
    for (task, line) in ways() {
        pool.submit(task).unwrap();
        assert_eq!(told.recv().unwrap(), here(line));
        assert_eq!(line_of(pool.spawn(task).unwrap().join()), here(line));
        drop(pool.spawn(task).unwrap());
        assert_eq!(told.recv().unwrap(), here(line), "the handle was dropped");
        let mut batch = pool.batch();
        batch.spawn(task).unwrap();
        assert_eq!(line_of(batch.next().unwrap()), here(line));
        assert_eq!(line_of(pool.map([()], move |()| task()).next().unwrap()), here(line));
        let outcome = pool.scope(|scope| scope.spawn(task).join());
        assert_eq!(line_of(outcome), here(line));
        let multi = Multi::new(2, Balance::RoundRobin, || pool.clone());
        assert_eq!(line_of(multi.spawn(task).unwrap().join()), here(line));
    }
    assert!(told.try_recv().is_err(), "each was told once");
}

#[test]
fn the_line_of_a_call_is_known_wherever_its_panic_goes() {
    let (builder, told) = quiet(FnPool::builder());
    let pool = builder.build_with(|| (), |(), task: fn()| task()).unwrap();
    for (task, line) in ways() {
        pool.submit(task).unwrap();
        assert_eq!(told.recv().unwrap(), here(line));
        assert_eq!(line_of(pool.spawn(task).unwrap().join()), here(line));
        assert_eq!(line_of_call(pool.call(task)), here(line));
        assert_eq!(line_of_call(common::block_on(pool.call_async(task))), here(line));
        // A worker that waits for a call of its own pool runs it itself.
        let (inner, outer) = (pool.clone(), Pool::builder().name("quiet").workers(1));
        let outcome = outer.build().unwrap().spawn(move || inner.call(task)).unwrap().join();
        assert_eq!(line_of_call(outcome.unwrap()), here(line));
    }
    assert!(told.try_recv().is_err(), "each was told once");
}

#[test]
fn the_line_is_known_if_the_submitter_runs_the_task() {
    let (builder, told) = quiet(Pool::builder());
    let pool = builder.queue(0).when_full(WhenFull::CallerRuns).build().unwrap();
    let door = Door::new();
    hold_workers(&pool, &door, 1);
    let (task, line) = (|| panic!("run by its submitter"), line!());
    let submitter = std::thread::Builder::new().name("quiet submitter".to_owned());
    let submitter = submitter.spawn(move || pool.submit(task).unwrap()).unwrap();
    common::join(submitter);
    assert_eq!(told.recv().unwrap(), here(line));
    door.open();
}

#[test]
fn the_line_of_a_hook_for_workers_is_known() {
    let (builder, told) = quiet(Pool::builder());
    let (hook, line) = (|_| panic!("in a hook"), line!());
    let pool = builder.on_worker_start(hook).build().unwrap();
    pool.submit(|| ()).unwrap();
    assert_eq!(told.recv().unwrap(), here(line));
}

#[test]
fn the_line_of_an_unrelated_panic_is_not_used() {
    let pool = pool();
    let other_message = || {
        drop(catch_unwind(|| panic!("caught")));
        resume_unwind(Box::new("resumed"))
    };
    assert_eq!(line_of::<()>(pool.spawn(other_message).unwrap().join()), None);
    let other_type = || {
        drop(catch_unwind(|| panic_any(1_u8)));
        resume_unwind(Box::new(1_u16))
    };
    assert_eq!(line_of::<()>(pool.spawn(other_type).unwrap().join()), None);
    // Each task takes the line of its panic away.
    assert_eq!(line_of(pool.spawn(|| panic!("the same")).unwrap().join()).map(drop), Some(()));
    let same_message = || resume_unwind(Box::new("the same"));
    assert_eq!(line_of::<()>(pool.spawn(same_message).unwrap().join()), None);
}

#[test]
fn the_line_is_known_after_a_task_caught_another_panic_and_if_it_passes_its_own_on() {
    let pool = pool();
    let task = || {
        drop(catch_unwind(|| panic!("caught")));
        ways()[0].0();
    };
    assert_eq!(line_of(pool.spawn(task).unwrap().join()), here(ways()[0].1));
    let task = || catch_unwind(ways()[1].0).unwrap_or_else(|payload| resume_unwind(payload));
    assert_eq!(line_of(pool.spawn(task).unwrap().join()), here(ways()[1].1));
}

#[test]
fn a_panic_that_is_resumed_in_another_task_keeps_its_line() {
    let pool = pool();
    for (task, line) in ways() {
        let inner = pool.clone();
        let outer = move || match inner.spawn(task).unwrap().join() {
            Err(error) => error.resume(),
            Ok(()) => panic!("it panicked"),
        };
        assert_eq!(line_of(pool.spawn(outer).unwrap().join()), here(line));
        let inner = pool.clone();
        let outer = move || inner.scope(|scope| scope.submit(task));
        assert_eq!(line_of(pool.spawn(outer).unwrap().join()), here(line));
    }
}

#[test]
fn the_text_names_the_worker_the_message_and_both_lines_once_each() {
    let (pool, file) = (pool(), file!());
    let (task, line) = (|| panic!("out of ink"), line!());
    let (handle, submitted) = (pool.spawn(task).unwrap(), line!());
    let error = handle.join().unwrap_err();
    let text = error.to_string();
    for part in
        ["quiet-0", "out of ink", &format!("{file}:{line}:"), &format!("{file}:{submitted}:")]
    {
        assert_eq!(text.matches(part).count(), 1, "{part} in {text}");
    }
    let panic = error.into_panic().unwrap();
    let (at, by) = (panic.panicked_at().unwrap(), panic.submitted_at().unwrap());
    let expected = format!("a task panicked on quiet-0 at {at}: out of ink (submitted at {by})");
    assert_eq!(panic.to_string(), expected);
    assert_eq!(at.to_string(), format!("{file}:{line}:{}", at.column()));
}

#[cfg(feature = "tokio")]
mod futures {
    use formic::{AsyncFnPool, AsyncPool, ForEachError};
    use futures_util::StreamExt;

    use super::*;
    use crate::common::on_tokio::on_both;

    #[test]
    fn the_line_of_a_future_is_known_wherever_its_panic_goes() {
        on_both(|| async {
            let (builder, told) = quiet(AsyncPool::builder());
            let pool = builder.build().unwrap();
            for (task, line) in ways() {
                pool.submit(async move { task() }).await.unwrap();
                pool.wait_idle().await.unwrap();
                assert_eq!(told.try_recv().unwrap(), here(line));
                let handle = pool.spawn(async move { task() }).await.unwrap();
                assert_eq!(line_of(handle.await), here(line));
                let results = pool.map([()], move |()| async move { task() });
                let mut results: Vec<_> = results.collect().await;
                assert_eq!(line_of(results.remove(0)), here(line));
                match pool.for_each([()], move |()| async move { task() }).await {
                    Err(ForEachError::Panicked { first, .. }) => {
                        assert_eq!(super::line(&first), here(line));
                    }
                    other => panic!("{other:?}"),
                }
            }
            assert!(told.try_recv().is_err(), "each was told once");
        });
    }

    #[test]
    fn the_line_of_an_async_call_is_known_wherever_its_panic_goes() {
        on_both(|| async {
            let (builder, told) = quiet(AsyncFnPool::builder());
            let pool = builder.build(|task: fn()| async move { task() }).unwrap();
            let early = quiet(AsyncFnPool::builder()).0;
            let early = early.build(|task: fn()| (task(), std::future::ready(())).1).unwrap();
            for (task, line) in ways() {
                pool.submit(task).await.unwrap();
                pool.wait_idle().await.unwrap();
                assert_eq!(told.try_recv().unwrap(), here(line));
                assert_eq!(line_of_call(pool.call(task).await), here(line));
                assert_eq!(line_of_call(early.call(task).await), here(line));
            }
            assert!(told.try_recv().is_err(), "each was told once");
        });
    }

    /// Panics in its poll and again when it is dropped.
    struct Twice;

    impl Future for Twice {
        type Output = ();

        fn poll(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<()> {
            panic!("{}", black_box("first"));
        }
    }

    impl Drop for Twice {
        fn drop(&mut self) {
            panic!("{}", black_box("second"));
        }
    }

    #[test]
    fn the_line_of_a_panic_is_kept_although_a_second_follows() {
        on_both(|| async {
            let (builder, told) = quiet(AsyncPool::builder());
            let pool = builder.build().unwrap();
            let first = line_of(pool.spawn(Twice).await.unwrap().await);
            let second = told.try_recv().unwrap();
            assert!(first.is_some() && second.is_some() && first != second);
            pool.submit(Twice).await.unwrap();
            pool.wait_idle().await.unwrap();
            assert_eq!(told.try_recv().unwrap(), first);
        });
    }
}

#[cfg(target_os = "linux")]
mod processes {
    use std::panic::{set_hook, take_hook};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::common::child::{child, end_of, plays, succeeds};

    fn panicked_at(pool: &Pool) -> Option<(String, u32)> {
        line_of(pool.spawn(ways()[0].0).unwrap().join())
    }

    #[test]
    fn a_hook_of_the_program_is_called_once_and_can_be_taken() {
        const PART: &str =
            "panic_lines::processes::a_hook_of_the_program_is_called_once_and_can_be_taken";
        if !plays(PART) {
            return succeeds(PART, None);
        }
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        set_hook(Box::new(move |_| _ = count.fetch_add(1, Ordering::SeqCst)));
        let line = here(ways()[0].1);
        assert_eq!(panicked_at(&Pool::new(1)), line);
        assert_eq!(panicked_at(&Pool::new(1)), line);
        assert_eq!(calls.load(Ordering::SeqCst), 2, "once for each panic");
        // What is taken is formic's, which calls the program's.
        let hook = take_hook();
        set_hook(Box::new(move |panic| hook(panic)));
        assert_eq!(panicked_at(&Pool::new(1)), line);
        assert_eq!(calls.load(Ordering::SeqCst), 3);
        drop(take_hook());
        set_hook(Box::new(|_| ()));
        assert_eq!(panicked_at(&Pool::new(1)), None, "the program has replaced the hook");
    }

    #[test]
    fn a_pool_that_is_made_while_its_thread_panics_leaves_the_hook_to_the_next() {
        const PART: &str = "panic_lines::processes::a_pool_that_is_made_while_its_thread_panics_leaves_the_hook_to_the_next";
        struct MakesPool;
        impl Drop for MakesPool {
            fn drop(&mut self) {
                assert_eq!(panicked_at(&Pool::new(1)), None);
            }
        }
        if !plays(PART) {
            return succeeds(PART, None);
        }
        let panics = || {
            let _pool = MakesPool;
            panic!("before the first pool");
        };
        assert!(catch_unwind(panics).is_err_and(|payload| payload.is::<&str>()));
        assert_eq!(panicked_at(&Pool::new(1)), here(ways()[0].1));
    }

    #[test]
    fn there_is_a_backtrace_if_the_environment_asks_for_one() {
        const PART: &str =
            "panic_lines::processes::there_is_a_backtrace_if_the_environment_asks_for_one";
        const ASKED: &str = "FORMIC_BACKTRACE_ASKED";
        if plays(PART) {
            let panic =
                pool().spawn(ways()[0].0).unwrap().join().unwrap_err().into_panic().unwrap();
            let backtrace = panic.backtrace().map(ToString::to_string);
            assert_eq!(backtrace.is_some(), std::env::var_os(ASKED).is_some());
            assert!(backtrace.is_none_or(|text| text.contains("panic_lines::ways")), "of the task");
            return;
        }
        let run = |variable: &str, value: &str, asked: bool| {
            let mut command = child(PART, None);
            command.env_remove("RUST_LIB_BACKTRACE").env(variable, value);
            if asked {
                command.env(ASKED, "1");
            }
            let output = end_of(command);
            assert!(output.status.success(), "{variable}={value}: {output:?}");
        };
        run("RUST_BACKTRACE", "0", false);
        run("RUST_BACKTRACE", "1", true);
        run("RUST_LIB_BACKTRACE", "1", true);
    }
}
