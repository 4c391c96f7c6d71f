//! What drivers tell, and what the watchdog sees of it.

use std::sync::atomic::AtomicBool;

use super::*;
use crate::engine::executor::run_queue::Executor;
use crate::engine::tests::stubs::engine_on;

#[test]
fn a_mean_follows_what_is_noted() {
    let poll_stats = PollStats::default();
    assert!(!poll_stats.is_short(), "nothing is known");
    poll_stats.note(10, Duration::from_micros(5));
    assert!(poll_stats.is_short(), "half a microsecond each");
    poll_stats.note(1, Duration::from_millis(1));
    assert!(poll_stats.is_short(), "once is no habit");
    (0..2).for_each(|_| poll_stats.note(1, Duration::from_millis(1)));
    assert!(!poll_stats.is_short());
    (0..40).for_each(|_| poll_stats.note(10, Duration::from_micros(5)));
    assert!(poll_stats.is_short());
}

#[test]
fn what_is_new_counts_for_a_quarter() {
    let poll_stats = PollStats::default();
    poll_stats.note(10, Duration::from_micros(5));
    assert_eq!(poll_stats.nanos.load(Ordering::Relaxed), 500);
    poll_stats.note(1, Duration::from_nanos(3_500));
    assert_eq!(poll_stats.nanos.load(Ordering::Relaxed), 1_250);
    poll_stats.note(1, Duration::from_nanos(10_001));
    assert_eq!(poll_stats.nanos.load(Ordering::Relaxed), 3_437, "at most eight times the mean");
}

#[test]
fn a_mean_is_known_however_short_or_long_a_stride_is() {
    let mean = |polls, time| {
        let poll_stats = PollStats::default();
        (0..2).for_each(|_| poll_stats.note(polls, time));
        (poll_stats.nanos.load(Ordering::Relaxed), poll_stats.is_short())
    };
    assert_eq!(mean(10, Duration::from_nanos(9)), (1, true));
    assert_eq!(mean(0, Duration::from_nanos(9)), (9, true), "as if it were one");
    assert_eq!(mean(1, Duration::from_nanos((1 << 32) + 9)), (u32::MAX, false));
}

#[test]
fn a_poll_stats_counts_polls() {
    let (poll_stats, mut seen) = (PollStats::default(), 0);
    assert!(poll_stats.has_not_moved(&mut seen));
    poll_stats.count_polls(3);
    poll_stats.count_polls(4);
    assert!(!poll_stats.has_not_moved(&mut seen));
    assert!(poll_stats.has_not_moved(&mut seen), "not since then");
    assert_eq!(seen, 7);
}

#[test]
fn what_all_drivers_have_done_is_seen() {
    let engine = engine(2, 10);
    let executor = Arc::clone(engine.work().executor());
    let [first, second] = [0, 1].map(|driver| &executor.run_queue(driver).poll_stats);
    first.count_polls(3);
    assert!(!engine.seen().short, "how long these took is unknown");
    first.note(1, Duration::from_micros(1));
    assert!(engine.seen().short, "the other one has not polled anything");
    second.count_polls(4);
    second.note(1, Duration::from_millis(1));
    assert!(!engine.seen().short, "those of the other one were long");
    first.count_polls(1);
    assert!(engine.seen().short, "that one has not polled anything since");
    first.count_polls(1);
    second.count_polls(1);
    assert!(!engine.seen().short, "both have");
    first.note(1, Duration::from_millis(1));
    assert!(!engine.seen().short, "all were long");
    assert_eq!(engine.seen().polls, 10);
}

#[test]
fn a_driver_is_seen_to_be_in_its_turn() {
    let engine = engine(2, 10);
    let me = engine.lock().worker_table.add(WorkerState::Called);
    let mut driver = Driver::<ByHand>::new(&engine, me).0;
    let (its, polled) = (Arc::downgrade(&engine), Arc::new(AtomicBool::new(false)));
    let tells = Arc::clone(&polled);
    engine.lock().queue.push(Cell::new(future(move |_| {
        tells.store(its.upgrade().is_some_and(|engine| engine.seen().turns), Ordering::Relaxed);
        Poll::Pending
    })));
    assert!(!engine.seen().turns);
    assert_eq!(driver.turn(&Context::from_waker(Waker::noop()), || ()), Turn::Sleep);
    assert!(polled.load(Ordering::Relaxed), "it was, when it polled");
    assert!(!engine.seen().turns);
}

#[test]
fn drivers_are_behind_if_one_is_up_and_there_is_something_to_do() {
    let engine = engine(2, 10);
    let executor = Arc::clone(engine.work().executor());
    executor.run_queue(0).rise(Waker::noop());
    assert!(!engine.seen().behind);
    engine.lock().queue.push(Cell::new(future(|_| Poll::Pending)));
    assert!(engine.seen().behind, "a task is queued");
    drop(engine.lock().queue.pop());
    assert!(!engine.seen().behind);
    engine.lock().queue.fast_path.set_hurry(true);
    assert!(engine.seen().behind, "somebody waits");
    engine.lock().queue.fast_path.set_hurry(false);
    executor.run_queue(1).push_ready(0);
    assert!(engine.seen().behind, "a future is ready");
    executor.run_queue(0).leave();
    assert!(!engine.seen().behind, "whoever is woken now has not been stuck");
}

#[test]
fn one_that_has_a_thread_of_its_own_is_stuck_if_it_leaves_what_is_ready() {
    for (turns, most) in [(true, STILL_LOOKS), (false, 3 * STILL_LOOKS)] {
        let apart = engine_on(Executor::apart(2), 10);
        let executor = Arc::clone(apart.work().executor());
        let (run_queue, other) = (executor.run_queue(0), executor.run_queue(1));
        run_queue.poll_stats.set_turns(turns);
        let stuck = || {
            other.poll_stats.count_polls(1);
            apart.seen().stuck
        };
        assert!((0..2 * most).all(|_| !stuck()), "nothing is ready");
        run_queue.push_ready(0);
        assert!((1..most).all(|_| !stuck()) && stuck() && stuck());
        run_queue.poll_stats.count_polls(1);
        assert!((0..most).all(|_| !stuck()) && stuck(), "it has moved, and it is counted anew");
        run_queue.next(None);
        assert!(!stuck());
        let shared = engine(2, 10);
        shared.work().executor().run_queue(0).push_ready(0);
        assert!((0..2 * most).all(|_| !shared.seen().stuck), "where one serves all lists");
    }
    assert!(engine_on(Executor::apart(2), 10).seen().apart && !engine(2, 10).seen().apart);
}
