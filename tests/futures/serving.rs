//! Calls without a handle follow each other in one place: each is run once, in its turn, and answers for
//! itself.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::on_tokio::{Stop, drained, figures, on, on_both, soon};
use crate::common::{hush_quiet_threads, poll_once};
use formic::{AsyncFnPool, Builder, JoinHandle};
use futures_util::future::{BoxFuture, join_all};
use tokio::task::yield_now;

/// A call says itself what it does.
type Call = Box<dyn FnOnce() -> BoxFuture<'static, Value> + Send>;
type Value = Option<Bomb>;
type Pool = AsyncFnPool<Call, Value>;

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("dropped");
        }
    }
}

fn builder(workers: usize, queue: usize) -> Builder<Pool> {
    AsyncFnPool::builder().workers(workers).queue(queue)
}

fn small(workers: usize, queue: usize) -> Pool {
    builder(workers, queue).build(|call: Call| call()).unwrap()
}

/// A call of this future.
fn call(future: impl Future<Output = ()> + Send + 'static) -> Call {
    Box::new(move || {
        Box::pin(async move {
            future.await;
            None
        })
    })
}

/// A call that counts itself, and is over at once.
fn count(ran: &Arc<AtomicUsize>) -> Call {
    let ran = Arc::clone(ran);
    call(async move {
        ran.fetch_add(1, Ordering::SeqCst);
    })
}

/// Keeps the only place until it is let go, so that a line forms behind it.
async fn hold(pool: &Pool) -> Stop {
    let stop = Stop::new();
    pool.submit(call(stop.task())).await.unwrap();
    stop.have_come(1).await;
    stop
}

/// Ready at once, and panics when it is dropped after that.
struct DropsLate(#[allow(dead_code, reason = "it is there to be dropped")] Bomb);

impl Future for DropsLate {
    type Output = Value;

    fn poll(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Value> {
        std::task::Poll::Ready(None)
    }
}

/// One call for each way to panic, by its name.
fn panics(name: &'static str) -> Call {
    match name {
        "before there is a future" => Box::new(move || panic!("{name}")),
        "in the first poll" => call(async move { panic!("{name}") }),
        "in a later poll" => call(async move {
            yield_now().await;
            panic!("{name}")
        }),
        "dropped" => Box::new(|| Box::pin(async { Some(Bomb) })),
        _ => Box::new(|| Box::pin(DropsLate(Bomb))),
    }
}

#[test]
fn a_panic_costs_one_call_of_a_line_and_tells_where_that_one_was_submitted() {
    on_both(|| async {
        hush_quiet_threads();
        let (told, ran) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let hook = Arc::clone(&told);
        let pool = builder(1, 10_000).on_panic(move |panic| {
            let line = panic.submitted_at().map(std::panic::Location::line);
            hook.lock().unwrap().push((panic.message().to_owned(), line));
        });
        let pool = pool.build(|call: Call| call()).unwrap();
        let (stop, mut expected) = (hold(&pool).await, Vec::new());
        let fine = |calls: usize| {
            (0..calls).for_each(|_| pool.try_submit(count(&ran)).unwrap());
        };
        // Among such as come one by one, and such as are the last of a poll's row.
        for between in [0, 1, 30, 31, 32, 33, 7] {
            fine(between);
            let call = panics("before there is a future");
            let line = (pool.try_submit(call).unwrap(), line!()).1;
            expected.push(("before there is a future", line));
            fine(between);
            let line = (pool.try_submit(panics("in the first poll")).unwrap(), line!()).1;
            expected.push(("in the first poll", line));
            fine(between);
            let line = (pool.try_submit(panics("in a later poll")).unwrap(), line!()).1;
            expected.push(("in a later poll", line));
            fine(between);
            // Its value is dropped.
            let line = (pool.try_submit(panics("dropped")).unwrap(), line!()).1;
            expected.push(("dropped", line));
            fine(between);
            // Its future is.
            let line = (pool.try_submit(panics("")).unwrap(), line!()).1;
            expected.push(("dropped", line));
        }
        fine(100);
        let (lines, others) = (expected.len(), 5 * (1 + 30 + 31 + 32 + 33 + 7) + 100);
        stop.open();
        let stats = drained(&pool).await;
        assert_eq!(ran.load(Ordering::SeqCst), others);
        let (others, lines) = (others as u64 + 1, lines as u64);
        assert_eq!(figures(&stats), (others + lines, others, lines, 0));
        let expected = expected.into_iter().map(|(message, line)| (message.to_owned(), Some(line)));
        assert_eq!(*told.lock().unwrap(), expected.collect::<Vec<_>>());
    });
}

/// The handle of such a call is gone, so what it panicked with is dropped where the call was begun.
#[test]
fn a_payload_that_panics_when_it_is_dropped_costs_nothing_more() {
    on_both(|| async {
        hush_quiet_threads();
        let (pool, ran) = (small(1, 1000), Arc::new(AtomicUsize::new(0)));
        let stop = hold(&pool).await;
        for _ in 0..50 {
            pool.try_submit(count(&ran)).unwrap();
            let bad: Call = Box::new(|| std::panic::panic_any(Bomb));
            drop(pool.try_spawn(bad).unwrap());
        }
        stop.open();
        assert_eq!(figures(&drained(&pool).await), (101, 51, 50, 0));
        assert_eq!(ran.load(Ordering::SeqCst), 50);
    });
}

#[test]
fn calls_with_and_without_a_handle_start_in_the_order_they_were_accepted() {
    on_both(|| async {
        let (pool, order) = (small(1, 10_000), Arc::new(Mutex::new(Vec::new())));
        let (stop, mut handles, mut expected) = (hold(&pool).await, Vec::new(), Vec::new());
        for number in 0..600 {
            let order = Arc::clone(&order);
            let noted = call(async move {
                order.lock().unwrap().push(number);
                if number % 7 == 0 {
                    yield_now().await;
                }
            });
            match number % 5 {
                1 | 4 => handles.push(pool.try_spawn(noted).unwrap()),
                // Its ticket stands in the line.
                2 => assert!(pool.try_spawn(noted).unwrap().cancel()),
                _ => pool.try_submit(noted).unwrap(),
            }
            expected.extend((number % 5 != 2).then_some(number));
        }
        stop.open();
        for handle in handles {
            assert!(handle.await.is_ok());
        }
        assert_eq!(figures(&drained(&pool).await), (601, 481, 0, 120));
        assert_eq!(*order.lock().unwrap(), expected);
    });
}

/// How many calls run, and how many ran at most since the last look.
#[derive(Clone, Default)]
struct Running(Arc<(AtomicUsize, AtomicUsize)>);

impl Running {
    /// A call of a few steps.
    fn call(&self) -> Call {
        let running = self.clone();
        call(async move {
            let (now, most) = &*running.0;
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            yield_now().await;
            now.fetch_sub(1, Ordering::SeqCst);
        })
    }

    fn most(&self) -> usize {
        let (now, most) = &*self.0;
        most.swap(now.load(Ordering::SeqCst), Ordering::SeqCst)
    }
}

#[test]
fn a_line_is_served_within_the_capacity_while_that_changes() {
    on_both(|| async {
        let (pool, running) = (small(8, 100_000), Running::default());
        let mut so_far = 0;
        for size in [8, 3, 1, 5, 2, 8, 1] {
            let before = pool.capacity();
            pool.resize(size).unwrap();
            for _ in 0..2_000 {
                pool.try_submit(running.call()).unwrap();
            }
            so_far += 500;
            soon("calls end", || pool.stats().completed >= so_far).await;
            if size > before {
                assert!(running.most() <= size, "it never was larger since the last look");
            }
            soon("it has shrunk", || pool.busy() <= size).await;
            running.most();
            so_far += 500;
            soon("more end", || pool.stats().completed >= so_far).await;
            assert!(running.most() <= size);
            assert!(pool.stats().busy <= size);
        }
        assert_eq!(figures(&drained(&pool).await), (14_000, 14_000, 0, 0));
    });
}

#[test]
fn a_smaller_pool_gives_no_place_away_until_it_has_room() {
    on_both(|| async {
        let (pool, stop) = (small(8, 1_000), Stop::new());
        (0..100).for_each(|_| pool.try_submit(call(stop.task())).unwrap());
        stop.have_come(8).await;
        let mut ended = 0;
        // Where it goes, how many end then, and how many run after each of them.
        let steps = [(3, vec![7, 6, 5, 4, 3, 3, 3]), (5, vec![5, 5]), (1, vec![4, 3, 2, 1, 1])];
        for (size, running) in steps {
            pool.resize(size).unwrap();
            for busy in running {
                stop.let_pass(1);
                ended += 1;
                let is = || (pool.stats().completed, pool.busy());
                soon("one has ended", || is().0 == ended).await;
                soon("its place is given away, if it has one", || is().1 >= busy).await;
                assert_eq!(is(), (ended, busy));
            }
        }
        stop.open();
        assert_eq!(figures(&drained(&pool).await), (100, 100, 0, 0));
    });
}

#[test]
fn every_waiting_submitter_gets_in_without_a_queue() {
    on_both(|| async {
        for workers in [1, 3] {
            let (pool, ran) = (small(workers, 0), Arc::new(AtomicUsize::new(0)));
            let submitters = (0..50).map(|number| {
                let (pool, ran) = (pool.clone(), Arc::clone(&ran));
                tokio::spawn(async move {
                    for _ in 0..100 {
                        if number % 10 == 0 {
                            pool.call(count(&ran)).await.unwrap();
                        } else {
                            pool.submit(count(&ran)).await.unwrap();
                        }
                    }
                })
            });
            join_all(submitters).await.into_iter().for_each(Result::unwrap);
            assert_eq!(figures(&drained(&pool).await), (5_000, 5_000, 0, 0));
            assert_eq!(ran.load(Ordering::SeqCst), 5_000);
        }
    });
}

/// Runs a line of such calls, and returns how many ran at most between two looks of a task beside them.
async fn most_between_looks(workers: usize, calls: usize, one: fn()) -> usize {
    let (pool, ran) = (small(workers, calls), Arc::new(AtomicUsize::new(0)));
    for _ in 0..calls {
        let ran = Arc::clone(&ran);
        let call = call(async move {
            one();
            ran.fetch_add(1, Ordering::SeqCst);
        });
        pool.try_submit(call).unwrap();
    }
    let (mut most, mut seen) = (0, 0);
    while seen < calls {
        yield_now().await;
        let now = ran.load(Ordering::SeqCst);
        most = most.max(now - seen);
        seen = now;
    }
    drained(&pool).await;
    most
}

#[test]
fn calls_that_are_ready_at_once_leave_turns_for_others() {
    on(0, || async {
        for workers in [1, 4, 100] {
            let most = most_between_looks(workers, 10_000, || ()).await;
            assert!(most < 5_000, "{most} calls in a row of {workers}");
        }
    });
}

/// Such a call is as long as several turns of a driver, which knows that after 32 polls at the latest.
#[test]
fn calls_that_take_long_are_not_served_in_a_row() {
    on(0, || async {
        for workers in [1, 4] {
            let most = most_between_looks(workers, 300, || {
                let began = Instant::now();
                while began.elapsed() < Duration::from_millis(1) {}
            });
            let most = most.await;
            assert!(most < 100, "{most} calls in a row of {workers}");
        }
    });
}

#[test]
fn calls_that_await_others_of_their_full_pool_go_on() {
    on_both(|| async {
        for workers in [1, 2] {
            let (pool, ran) = (small(workers, 10_000), Arc::new(AtomicUsize::new(0)));
            for _ in 0..200 {
                let (inner, ran) = (pool.clone(), Arc::clone(&ran));
                pool.try_submit(count(&ran)).unwrap();
                let parent = call(async move {
                    let child = inner.spawn(count(&ran)).await.unwrap();
                    inner.submit(count(&ran)).await.unwrap();
                    child.await.unwrap();
                });
                pool.try_submit(parent).unwrap();
            }
            assert_eq!(figures(&drained_when_idle(&pool).await), (800, 800, 0, 0));
            assert_eq!(ran.load(Ordering::SeqCst), 600);
        }
    });
}

/// Drains a pool whose calls submit others.
async fn drained_when_idle(pool: &Pool) -> formic::Stats {
    pool.wait_idle_async().await.unwrap();
    drained(pool).await
}

/// A call may leave behind a handle of another that it has polled. The place that the next call lends is not for
/// that one.
#[test]
fn a_call_is_not_held_up_by_what_the_one_before_it_left_behind() {
    on_both(|| async {
        let (pool, stop) = (small(1, 100), Stop::new());
        let left: Arc<Mutex<Option<JoinHandle<Value>>>> = Arc::default();
        let held = hold(&pool).await;
        let (inner, leaves, child) = (pool.clone(), Arc::clone(&left), call(stop.task()));
        let first = call(async move {
            let mut handle = inner.spawn(child).await.unwrap();
            assert!(poll_once(std::pin::Pin::new(&mut handle)).is_pending());
            *leaves.lock().unwrap() = Some(handle);
        });
        pool.try_submit(first).unwrap();
        let (inner, (tells, told)) = (pool.clone(), tokio::sync::oneshot::channel());
        let second = call(async move {
            inner.spawn(call(yield_now())).await.unwrap().await.unwrap();
            tells.send(()).unwrap();
        });
        pool.try_submit(second).unwrap();
        held.open();
        told.await.unwrap();
        stop.open();
        let handle = left.lock().unwrap().take().unwrap();
        assert!(handle.await.is_ok());
        assert_eq!(figures(&drained(&pool).await), (5, 5, 0, 0));
    });
}
