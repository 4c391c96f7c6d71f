//! A panic is told once: to the handle of its task or, if the handle was dropped, to the hook.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::{Door, block_on, eventually, hush_quiet_threads, poll_once};
use formic::{Builder, CallError, FnPool, Pool, TaskPanic};

/// What the hook was told, and on which thread.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<(String, String)>>>);

impl Told {
    /// Settings for a pool with one worker called `quiet-0`, whose hook notes what it is told.
    fn by<P>(&self, builder: Builder<P>) -> Builder<P> {
        hush_quiet_threads();
        let told = Arc::clone(&self.0);
        builder.workers(1).queue(8).name("quiet").on_panic(move |panic: &TaskPanic| {
            let thread = thread::current().name().unwrap_or_default().to_owned();
            told.lock().unwrap().push((panic.message().to_owned(), thread));
        })
    }

    /// The messages, since the last time.
    fn messages(&self) -> Vec<String> {
        self.0.lock().unwrap().drain(..).map(|(message, _)| message).collect()
    }
}

/// A function that passes the door and panics with the message.
fn panics((door, message): (Door, &'static str)) {
    door.wait();
    panic!("{message}");
}

#[test]
fn the_hook_is_called_where_the_task_ends_or_where_the_handle_is_dropped() {
    let told = Told::default();
    let (pool, door) = (told.by(Pool::builder()).build().unwrap(), Door::new());
    let held = door.clone();
    drop(pool.spawn(move || panics((held, "before the end"))).unwrap());
    door.open();
    pool.wait_idle().unwrap();
    let handle = pool.spawn(move || panics((door, "after the end"))).unwrap();
    eventually("the outcome is there", || handle.is_finished());
    drop(handle);
    let here = thread::current().name().unwrap().to_owned();
    let expected =
        [("before the end".to_owned(), "quiet-0".to_owned()), ("after the end".to_owned(), here)];
    assert_eq!(*told.0.lock().unwrap(), expected);
}

#[test]
fn a_handle_that_was_joined_or_awaited_leaves_nothing_to_the_hook() {
    let told = Told::default();
    let pool = told.by(Pool::builder()).build().unwrap();
    let spawn = || pool.spawn(|| panic!("heard")).unwrap();
    assert!(spawn().join().unwrap_err().is_panic());
    assert!(block_on(spawn()).unwrap_err().is_panic());
    let mut batch = pool.batch();
    batch.spawn(|| panic!("heard")).unwrap();
    assert!(batch.next().unwrap().unwrap_err().is_panic());
    drop(batch);
    assert!(pool.map([()], |()| panic!("heard")).next().unwrap().unwrap_err().is_panic());
    let scoped = || pool.scope(|scope| drop(scope.spawn(|| panic!("heard"))));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(scoped)).is_err());
    pool.drain().unwrap();
    assert_eq!(told.messages(), [""; 0]);
    assert_eq!(pool.stats().panicked, 5);
}

#[test]
fn a_running_closure_that_is_cancelled_by_its_dropped_handle_may_panic_after_that() {
    let told = Told::default();
    let (pool, door) = (told.by(Pool::builder()).build().unwrap(), Door::new());
    let held = door.clone();
    let handle = pool.spawn(move || panics((held, "cancelled"))).unwrap().cancel_on_drop();
    door.await_waiting(1);
    drop(handle);
    door.open();
    pool.wait_idle().unwrap();
    assert_eq!(told.messages(), ["cancelled"]);
}

#[test]
fn a_call_whose_caller_gave_up_leaves_its_panic_to_the_hook() {
    let told = Told::default();
    let pool = told.by(FnPool::builder()).build(panics).unwrap();
    let door = Door::new();
    // The time may be over before the worker has the call, which is then taken back.
    let given_up = || pool.call_timeout((door.clone(), "timed out"), Duration::from_millis(20));
    while !matches!(given_up(), Err(CallError::TimedOut)) {}
    door.open();
    pool.wait_idle().unwrap();
    assert_eq!(told.messages(), ["timed out"]);

    let door = Door::new();
    let mut call = Box::pin(pool.call_async((door.clone(), "dropped")));
    assert!(poll_once(call.as_mut()).is_pending());
    door.await_waiting(1);
    drop(call);
    door.open();
    pool.wait_idle().unwrap();
    assert_eq!(told.messages(), ["dropped"]);
}

#[test]
fn the_tasks_that_a_dropped_batch_leaves_tell_the_hook() {
    let told = Told::default();
    let (pool, door) = (told.by(Pool::builder()).build().unwrap(), Door::new());
    let mut batch = pool.batch();
    for message in ["given out", "ready", "running", "queued"] {
        let door = door.clone();
        batch.spawn(move || panics((door, message))).unwrap();
    }
    door.let_one_pass();
    assert!(batch.next().unwrap().unwrap_err().is_panic());
    door.let_one_pass();
    eventually("the second has panicked", || pool.stats().panicked == 2);
    drop(batch);
    assert_eq!(told.messages(), ["ready"]);
    door.open();
    pool.wait_idle().unwrap();
    assert_eq!(told.messages(), ["running", "queued"]);
}

#[test]
fn the_items_that_a_dropped_map_leaves_tell_the_hook() {
    let told = Told::default();
    let (pool, door) = (told.by(Pool::builder()).build().unwrap(), Door::new());
    let items = ["given out", "ready", "running", "queued"];
    let mut outcomes = pool.map(items.map(|message| (door.clone(), message)), panics).window(4);
    door.let_one_pass();
    assert!(outcomes.next().unwrap().unwrap_err().is_panic());
    door.let_one_pass();
    eventually("the second has panicked", || pool.stats().panicked == 2);
    door.await_waiting(1);
    drop(outcomes);
    assert_eq!(told.messages(), ["ready"]);
    door.open();
    pool.wait_idle().unwrap();
    assert_eq!(told.messages(), ["running"], "what was queued is cancelled");
}

#[cfg(feature = "tokio")]
mod futures {
    use std::pin::pin;

    use formic::{AsyncFnPool, AsyncPool, JoinHandle};
    use futures_util::StreamExt;
    use tokio::sync::oneshot;
    use tokio::task::yield_now;

    use super::*;
    use crate::common::on_tokio::{Stop, on, on_both};

    #[test]
    fn a_future_that_panics_after_it_was_told_to_stop_tells_the_hook() {
        on_both(|| async {
            let told = Told::default();
            let pool = told.by(AsyncPool::builder()).build().unwrap();
            for drops in [true, false] {
                let (sender, receiver) = oneshot::channel::<JoinHandle<()>>();
                let (back, handle) = oneshot::channel();
                // It is polled meanwhile, so it is not dropped before it panics.
                let task = async move {
                    let own = receiver.await.unwrap();
                    if drops {
                        drop(own.cancel_on_drop());
                    } else {
                        assert!(own.cancel());
                        back.send(own).unwrap();
                    }
                    panic!("stopped");
                };
                sender.send(pool.spawn(task).await.unwrap()).unwrap();
                pool.wait_idle().await.unwrap();
                assert_eq!(told.messages(), ["stopped"]);
                if !drops {
                    assert!(handle.await.unwrap().await.unwrap_err().is_cancelled());
                }
            }
            assert_eq!((pool.stats().cancelled, pool.stats().panicked), (2, 0));
        });
    }

    #[test]
    fn a_call_whose_caller_gave_up_leaves_its_panic_to_the_hook() {
        on(2, || async {
            let told = Told::default();
            let pool = told.by(AsyncFnPool::builder()).own_threads(1);
            let pool = pool.build(|held| async move { panics(held) }).unwrap();
            for message in ["dropped", "timed out"] {
                let door = Door::new();
                {
                    let mut call = pin!(pool.call((door.clone(), message)));
                    let time = Duration::from_millis(1);
                    let mut late = pin!(pool.call_timeout((door.clone(), message), time));
                    if message == "dropped" {
                        assert!(poll_once(call.as_mut()).is_pending());
                        door.await_waiting(1);
                    } else {
                        assert!(poll_once(late.as_mut()).is_pending());
                        door.await_waiting(1);
                        assert!(matches!(late.await, Err(CallError::TimedOut)));
                    }
                }
                door.open();
                pool.wait_idle().await.unwrap();
                assert_eq!(told.messages(), [message]);
            }
        });
    }

    #[test]
    fn a_function_that_panics_before_it_has_a_future_tells_the_hook() {
        on_both(|| async {
            let told = Told::default();
            let pool = told.by(AsyncFnPool::builder());
            let pool = pool.build(|()| -> std::future::Ready<()> { panic!("early") }).unwrap();
            drop(pool.spawn(()).await.unwrap());
            pool.wait_idle().await.unwrap();
            assert_eq!(told.messages(), ["early"]);
        });
    }

    /// A task polls the handle once, and drops it before the end.
    #[test]
    fn a_task_whose_handle_was_polled_and_dropped_tells_the_hook() {
        on_both(|| async {
            let told = Told::default();
            let pool = told.by(AsyncPool::builder()).build().unwrap();
            let inner = pool.clone();
            let parent = async move {
                let child = async {
                    yield_now().await;
                    panic!("on its own");
                };
                let mut child = inner.spawn(child).await.unwrap();
                assert!(poll_once(std::pin::Pin::new(&mut child)).is_pending());
            };
            pool.submit(parent).await.unwrap();
            pool.wait_idle().await.unwrap();
            assert_eq!(told.messages(), ["on its own"]);
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
            panic!("first");
        }
    }

    impl Drop for Twice {
        fn drop(&mut self) {
            panic!("second");
        }
    }

    #[test]
    fn a_second_panic_of_a_future_tells_the_hook() {
        on_both(|| async {
            let told = Told::default();
            let pool = told.by(AsyncPool::builder()).build().unwrap();
            let panic = pool.spawn(Twice).await.unwrap().await.unwrap_err().into_panic().unwrap();
            assert_eq!((panic.message(), told.messages()), ("first", vec!["second".to_owned()]));
        });
    }

    #[test]
    fn the_results_that_a_dropped_stream_leaves_tell_the_hook() {
        on_both(|| async {
            let (told, stop) = (Told::default(), Stop::new());
            let pool = told.by(AsyncPool::builder()).workers(3).build().unwrap();
            let at = stop.clone();
            let mut results = pool.map(0..3, move |number| {
                let at = at.clone();
                async move {
                    match number {
                        0 => {}
                        1 => panic!("not taken out"),
                        _ => at.pass().await,
                    }
                }
            });
            assert!(results.next().await.unwrap().is_ok());
            stop.have_come(1).await;
            drop(results);
            pool.wait_idle().await.unwrap();
            assert_eq!(told.messages(), ["not taken out"]);

            let results = pool.map([()], |()| async { panic!("taken out") });
            let results: Vec<Result<(), _>> = results.collect().await;
            assert!(results[0].as_ref().unwrap_err().is_panic());
            pool.wait_idle().await.unwrap();
            assert_eq!(told.messages(), [""; 0]);
        });
    }

    #[test]
    fn the_first_panic_of_a_dropped_for_each_tells_the_hook() {
        on_both(|| async {
            let (told, stop) = (Told::default(), Stop::new());
            let pool = told.by(AsyncPool::builder()).workers(2).build().unwrap();
            let items = |at: Stop| {
                pool.for_each(0..2, move |number| {
                    let at = at.clone();
                    async move {
                        assert!(number != 0, "of an item");
                        at.pass().await;
                    }
                })
            };
            let mut pulling = Box::pin(items(stop.clone()));
            tokio::select! {
                biased;
                _ = &mut pulling => panic!("it waits"),
                () = stop.have_come(1) => {}
            }
            drop(pulling);
            pool.wait_idle().await.unwrap();
            assert_eq!(told.messages(), ["of an item"]);

            stop.open();
            assert!(items(stop.clone()).await.is_err());
            pool.wait_idle().await.unwrap();
            assert_eq!(told.messages(), [""; 0]);
        });
    }
}
