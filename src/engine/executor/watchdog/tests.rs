use std::task::{Poll, Waker};

use super::*;
use crate::engine::Actions;
use crate::engine::executor::driver::{Driver, Turn};
use crate::engine::executor::{DriverThreads, PollStats};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::tests::stubs::{Bell, ByHand, cell, engine};

/// Two drivers, of which the first is up, and a watchdog that has looked once.
struct Trial {
    executor: Arc<Executor>,
    watchdog: Watchdog,
}

impl Trial {
    fn new(threads: DriverThreads) -> Self {
        let executor = Executor::new(2, threads);
        executor.rise(0);
        let mut trial = Trial { watchdog: Watchdog::new(&executor), executor };
        assert!(trial.look());
        trial
    }

    fn look(&mut self) -> bool {
        self.watchdog.look(&self.executor)
    }

    /// Looks after a driver has polled something, each poll for so long.
    fn look_after(&mut self, driver: usize, time: Duration) -> bool {
        let poll_stats = &self.executor.poll_stats[driver];
        poll_stats.count();
        (0..40).for_each(|_| poll_stats.note(1, time));
        self.look()
    }

    /// Looks that often, and has the same answer each time.
    fn stays(&mut self, looks: u32, single: bool) -> bool {
        (0..looks).all(|_| self.look() == single)
    }
}

const SHORT: Duration = Duration::from_micros(1);
const LONG: Duration = Duration::from_millis(1);

#[test]
fn drivers_help_while_polls_are_long() {
    let mut trial = Trial::new(DriverThreads::Own);
    assert!(trial.look_after(0, SHORT));
    assert!(!trial.look_after(1, LONG));
    assert!((1..HELP_LOOKS).all(|_| !trial.look_after(0, SHORT)));
    assert!(trial.look_after(0, SHORT), "the other one has not polled since");
}

#[test]
fn drivers_help_when_one_is_stuck() {
    for threads in [DriverThreads::Shared, DriverThreads::Own] {
        let mut trial = Trial::new(threads);
        assert!(trial.look_after(0, SHORT));
        assert!(trial.stays(STUCK_LOOKS - 1, true));
        assert!(trial.look_after(0, SHORT), "it has moved");
        assert!(trial.stays(STUCK_LOOKS - 1, true) && trial.stays(1, false));
        assert!(!trial.look_after(0, SHORT), "for a while");
        assert!(trial.executor.sleep(0, Waker::noop()));
        assert!(trial.stays(HELP_LOOKS - 2, false));
        assert!(trial.stays(STUCK_LOOKS, true), "a driver that sleeps is not stuck");
    }
}

#[test]
fn the_watchdog_leaves_when_nothing_is_polled() {
    let mut trial = Trial::new(DriverThreads::Own);
    assert!(trial.look_after(0, SHORT));
    assert!(trial.executor.sleep(0, Waker::noop()));
    assert!(trial.stays(IDLE_LOOKS, true) && !trial.watchdog.leaves());
    assert!(!trial.look() && trial.watchdog.leaves());
}

#[test]
fn an_idle_driver_is_called_for_a_queued_task_when_drivers_help() {
    let engine = engine(2, 10);
    let bell = Arc::new(Bell::default());
    let me = engine.lock().worker_table.add(WorkerState::Called);
    let waker = Waker::from(Arc::clone(&bell));
    let mut driver = Driver::<ByHand>::new(&engine, me, waker).0;
    assert_eq!(driver.turn(|| ()), Turn::Sleep);
    let stuck = engine.lock().worker_table.add(WorkerState::Engaged);
    engine.set_single(true);
    let mut scheduler = engine.lock();
    scheduler.queue.push(cell(|_| Poll::Pending));
    let mut actions = Actions::default();
    scheduler.call_for_help(&mut actions);
    assert!(actions.call.is_empty(), "one is enough");
    drop(scheduler);
    engine.set_single(true);
    assert_eq!(bell.rung(), 0, "that is no news");
    engine.set_single(false);
    assert_eq!(engine.lock().worker_table.worker_state(me), WorkerState::Called);
    engine.lock().worker_table.remove(stuck);
}

#[test]
fn a_watchdog_keeps_drivers_apart_until_it_leaves() {
    let engine = engine(2, 10);
    let (executor, watched) = (Arc::clone(engine.work().executor()), Arc::downgrade(&engine));
    let mut watchdog = Watchdog::new(&executor);
    executor.watched.store(true, Ordering::Relaxed);
    assert!(watch(&watched, &mut watchdog));
    assert!(executor.is_single());
    watchdog.idle = IDLE_LOOKS;
    assert!(!watch(&watched, &mut watchdog), "nothing was polled for long");
    assert!(!executor.is_single());
    assert!(!executor.watched.load(Ordering::Relaxed), "another one may come");
    drop(engine);
    assert!(!watch(&watched, &mut Watchdog::new(&executor)), "the pool is no more");
}

#[test]
fn a_watchdog_is_there_once() {
    for watched in [false, true] {
        let engine = engine(2, 10);
        engine.work().executor().watched.store(watched, Ordering::Relaxed);
        // While the lock is held, a watchdog does not get further than its first look.
        let scheduler = engine.lock();
        start(&engine);
        assert_eq!(Arc::weak_count(&engine), usize::from(!watched));
        assert!(engine.work().executor().watched.load(Ordering::Relaxed));
        drop(scheduler);
    }
}

#[test]
fn the_scheduler_asks_anew_who_is_to_be_called_when_the_policy_changes() {
    let engine = engine(2, 10);
    for single in [true, false] {
        engine.lock().worker_table.quiet = true;
        engine.set_single(single);
        assert!(!engine.lock().worker_table.quiet);
    }
}

#[test]
fn a_mean_follows_what_is_noted() {
    let poll_stats = PollStats::default();
    assert!(!poll_stats.is_short(), "nothing is known");
    poll_stats.note(10, Duration::from_micros(5));
    assert!(poll_stats.is_short(), "half a microsecond each");
    poll_stats.note(1, LONG);
    assert!(poll_stats.is_short(), "once is no habit");
    (0..2).for_each(|_| poll_stats.note(1, LONG));
    assert!(!poll_stats.is_short());
    (0..40).for_each(|_| poll_stats.note(10, Duration::from_micros(5)));
    assert!(poll_stats.is_short());
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
