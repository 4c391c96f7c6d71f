mod poll_turn;
mod waits;

use std::cell::Cell as Counter;
use std::future::Future;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::engine::Patience;
use crate::engine::executor::DriverThreads;
use crate::engine::scheduler::ends::Ended;
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::sync::atomic::AtomicUsize;
use crate::engine::task::join::suspend_on;
use crate::engine::tests::stubs::{Bell, ByHand, cell, engine, engine_on, engine_with, settings};

fn driver(engine: &Arc<Engine<ByHand>>) -> Driver<ByHand> {
    driver_with_bell(engine).0
}

/// A driver, and what it is woken by. The clock ends none of its turns, however late the system lets the test go on.
fn driver_with_bell(engine: &Arc<Engine<ByHand>>) -> (Driver<ByHand>, Arc<Bell>) {
    let (me, bell) = (engine.lock().worker_table.add(WorkerState::Called), Arc::<Bell>::default());
    let mut driver = Driver::new(engine, me, Arc::clone(&bell).into()).0;
    driver.time = Duration::MAX;
    (driver, bell)
}

/// Puts a future of so many steps into the queue, and returns how many it has done. It wakes itself
/// after each step but the last.
fn push(engine: &Engine<ByHand>, last: usize) -> Arc<AtomicUsize> {
    let done = Arc::new(AtomicUsize::new(0));
    let steps = Arc::clone(&done);
    let future = cell(move |context| {
        if steps.fetch_add(1, Ordering::Relaxed) + 1 == last {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    });
    engine.lock().queue.push(future);
    done
}

fn turn(driver: &mut Driver<ByHand>) -> Turn {
    driver.turn(|| ())
}

/// The time of a turn that is over when it looks at the clock.
const AT_ONCE: Duration = Duration::ZERO;

/// A turn that is over after one poll.
fn short_turn(driver: &mut Driver<ByHand>) -> Turn {
    driver.time = AT_ONCE;
    driver.poll_stats().nanos.store(u32::MAX, Ordering::Relaxed);
    turn(driver)
}

#[test]
fn a_turn_ends_when_its_time_is_over() {
    let engine = engine(1, 1);
    let (mut driver, done) = (driver(&engine), push(&engine, usize::MAX));
    driver.time = AT_ONCE;
    // So short that what this driver will find does not make it long.
    driver.poll_stats().nanos.store(1, Ordering::Relaxed);
    assert_eq!(turn(&mut driver), Turn::Yield);
    assert_eq!(done.load(Ordering::Relaxed), STRIDE as usize, "it looks at the clock only then");
    assert_eq!(short_turn(&mut driver), Turn::Yield);
    assert_eq!(done.load(Ordering::Relaxed), STRIDE as usize + 1, "or after each long poll");
    assert_eq!(
        engine.lock().worker_table.worker_state(driver.me),
        WorkerState::Engaged,
        "it has something to poll"
    );
}

#[test]
fn a_spare_driver_sleeps() {
    let engine = engine(2, 10);
    let (mut first, (mut second, bell)) = (driver(&engine), driver_with_bell(&engine));
    let done = push(&engine, usize::MAX);
    assert_eq!(short_turn(&mut first), Turn::Yield);
    assert_eq!(short_turn(&mut second), Turn::Yield, "it helps");
    engine.set_single(true);
    let so_far = done.load(Ordering::Relaxed);
    assert_eq!(turn(&mut second), Turn::Sleep);
    assert_eq!(done.load(Ordering::Relaxed), so_far, "although there is something to poll");
    push(&engine, 1);
    assert_eq!(short_turn(&mut first), Turn::Yield, "the other one is up");
    assert_eq!(bell.rung(), 0, "no driver is called");
    engine.set_single(false);
    assert_eq!(bell.rung(), 1, "every driver helps again");
    assert_eq!(short_turn(&mut second), Turn::Yield);
}

#[test]
fn a_driver_without_anything_of_its_own_sleeps_beside_others() {
    let engine = engine_on(Executor::new(2, DriverThreads::Own), 10);
    let (mut first, mut second) = (driver(&engine), driver(&engine));
    push(&engine, usize::MAX);
    assert_eq!(short_turn(&mut first), Turn::Yield);
    engine.set_single(true);
    assert_eq!(turn(&mut second), Turn::Sleep, "although the other one has something to poll");
    push(&engine, usize::MAX);
    assert_eq!(short_turn(&mut second), Turn::Yield, "new tasks are for everybody");
    drop((first, second));
}

#[test]
fn whoever_waits_is_served_when_everybody_is_to_help() {
    for executor in [Executor::new(2, DriverThreads::Shared), Executor::new(2, DriverThreads::Own)]
    {
        let engine = engine_on(executor, 10);
        let mut first = driver(&engine);
        push(&engine, usize::MAX);
        assert_eq!(short_turn(&mut first), Turn::Yield);
        let mut end = std::pin::pin!(engine.until(Ended::Tasks));
        let mut has_ended =
            || end.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        engine.set_single(true);
        assert!(!has_ended());
        // As in a turn whose next poll takes long.
        engine.fast_path.end_driven();
        assert!(!has_ended(), "nobody has told");
        engine.set_single(false);
        assert!(has_ended());
        first.stage = Stage::Gone;
    }
}

#[test]
fn new_tasks_are_taken_in_the_middle_of_a_turn() {
    let engine = engine(1, 10);
    let (mut driver, old, polls) = (driver(&engine), push(&engine, 1000), Counter::new(0));
    let begun = Arc::new(AtomicUsize::new(0));
    driver.time = Duration::MAX;
    driver.turn(|| {
        polls.set(polls.get() + 1);
        if polls.get() == 2 {
            let (old, begun) = (Arc::clone(&old), Arc::clone(&begun));
            engine.lock().queue.push(cell(move |_| {
                begun.store(old.load(Ordering::Relaxed), Ordering::Relaxed);
                Poll::Ready(())
            }));
        }
    });
    let begun = begun.load(Ordering::Relaxed);
    assert_eq!(begun, STRIDE as usize + 1, "behind the one that was ready before");
}

#[test]
fn a_budget_is_given_back_before_the_next() {
    struct Granted<'a>(&'a Counter<usize>);
    impl Drop for Granted<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() - 1);
        }
    }
    let engine = engine(1, 10);
    let (mut driver, done) = (driver(&engine), push(&engine, 100));
    let (mut grants, out) = (Vec::new(), Counter::new(0));
    driver.time = Duration::MAX;
    driver.turn(|| {
        grants.push(done.load(Ordering::Relaxed));
        out.set(out.get() + 1);
        assert_eq!(out.get(), 1, "the last one is given back before");
        Granted(&out)
    });
    assert_eq!((grants[0], out.get()), (0, 0));
    assert!(grants.is_sorted() && grants.len() >= 13, "{grants:?}");
}

#[test]
fn a_future_that_has_ended_leaves_the_run_queue() {
    let engine = engine(2, 10);
    let (mut first, mut second) = (driver(&engine), driver(&engine));
    push(&engine, 1);
    push(&engine, 2);
    assert_eq!(turn(&mut first), Turn::Sleep);
    assert!(first.executor().lose(0).is_empty());
    push(&engine, 1);
    assert_eq!(short_turn(&mut first), Turn::Yield);
    assert!(first.executor().lose(0).is_empty(), "its turn ended with it");
    push(&engine, 3);
    assert_eq!(short_turn(&mut first), Turn::Yield);
    assert_eq!(turn(&mut second), Turn::Sleep);
    assert!(first.executor().lose(0).is_empty(), "another driver has polled it");
    assert_eq!(engine.fast_path.driven(), 0);
}

#[test]
fn a_driver_that_leaves_has_no_place_in_the_scheduler() {
    let engine = engine(1, 1);
    let mut driver = driver(&engine);
    engine.close();
    assert_eq!(turn(&mut driver), Turn::Leave);
    assert_eq!(engine.lock().worker_table.workers(), 0);
    assert!(engine.work().executor().run_queues()[0].up() == 0);
}

#[test]
fn a_place_is_given_away_at_once_if_somebody_sleeps_who_could_take_it() {
    let engine = engine(2, 1);
    let (mut first, (mut second, bell)) = (driver(&engine), driver_with_bell(&engine));
    assert_eq!(turn(&mut second), Turn::Sleep);
    push(&engine, 1);
    push(&engine, 1);
    assert_eq!(short_turn(&mut first), Turn::Yield);
    assert_eq!(bell.rung(), 1, "the first driver might be stuck now");
}

#[test]
#[cfg(feature = "tokio")]
fn a_future_that_has_panicked_is_gone_and_says_where_it_was_submitted() {
    use std::panic::Location;

    use crate::engine::Cell;

    let (here, owned) = (Location::caller(), Arc::new(()));
    let inside = Arc::clone(&owned);
    let future = async move {
        let _inside = inside;
        panic!("on purpose");
    };
    let cell: Arc<dyn Runnable> = Cell::new(future, here);
    let panic = cell.run(&Default::default()).and_then(Result::err).expect("it has no handle");
    assert_eq!((Arc::strong_count(&owned), panic.submitted_at()), (1, Some(here)));
}

#[test]
#[cfg(feature = "tokio")]
fn as_many_tasks_are_offered_as_could_run_at_once() {
    let engine = engine(1, 3);
    let mut driver = driver(&engine);
    let offer = |most| {
        let mut made = 0;
        let offered = engine.offer(most, || {
            made += 1;
            cell(|_| Poll::Pending) as _
        });
        assert_eq!(made, offered, "no more are made than there is room for");
        offered
    };
    assert_eq!(offer(1), 1);
    assert_eq!(turn(&mut driver), Turn::Sleep);
    assert_eq!(offer(9), 2, "one runs");
    assert_eq!(offer(9), 0, "two are queued");
    engine.change_limits(|limits| limits.capacity = 9);
    assert_eq!(offer(9), 6);
    engine.change_limits(|limits| limits.capacity = 11);
    engine.close();
    assert_eq!(offer(1), 0, "the pool is closed");
}

#[test]
fn a_driver_that_cannot_be_started_ahead_of_time_leaves_nothing_queued() {
    let first: Arc<Mutex<Option<Driver<ByHand>>>> = Arc::default();
    let (its_first, attempts) = (Arc::clone(&first), AtomicUsize::new(0));
    let mut settings = settings(4);
    settings.faults = Some(Arc::new(move || {
        // The runtime ends while the second driver is started: the first one is gone, and this one fails.
        let fails = attempts.fetch_add(1, Ordering::Relaxed) > 0;
        if fails {
            drop(its_first.lock().unwrap().take());
        }
        fails
    }));
    let engine = engine_with(Executor::new(2, DriverThreads::Shared), settings);
    engine.prestart(1).unwrap();
    let (driver, rely) = Driver::new(&engine, 0, Waker::noop().clone());
    assert!(rely());
    *first.lock().unwrap() = Some(driver);
    for _ in 0..3 {
        let cell: Arc<dyn Runnable> = cell(|_| Poll::Pending);
        assert!(engine.submit(cell, Patience::None).is_ok());
    }
    assert!(engine.prestart(2).is_err());
    let stats = engine.stats();
    assert_eq!((stats.queued, stats.cancelled, stats.workers), (0, 3, 0));
    assert_eq!(engine.wait_until(Ended::Workers, None), Ok(()));
}

#[test]
fn a_task_waits_while_it_is_suspended_on_a_handle_and_not_while_it_is_polled() {
    let engine = engine(1, 1);
    let mut driver = driver(&engine);
    let (its, mut suspension, mut polls) = (Arc::clone(&engine), None, 0);
    let future = cell(move |context| {
        assert_eq!(its.lock().waiting_for_tasks(), 0, "it runs");
        polls += 1;
        match polls {
            1 => drop(suspend_on(&mut suspension, false)),
            2 => {}
            3 => suspension = None,
            _ => return Poll::Ready(()),
        }
        context.waker().wake_by_ref();
        Poll::Pending
    });
    engine.lock().queue.push(future);
    let waiting = [(); 4].map(|()| {
        short_turn(&mut driver);
        engine.lock().waiting_for_tasks()
    });
    assert_eq!(waiting, [1, 1, 0, 0], "until the handle is gone");
}
