mod seen;

use std::task::{Context, Poll, Waker};

use super::*;
use crate::engine::executor::cell::Cell;
use crate::engine::executor::driver::{Driver, Turn};
use crate::engine::scheduler::worker_table::WorkerState;
use crate::engine::tests::stubs::{Bell, ByHand, engine, future};

const SHORT: Seen =
    Seen { polls: 0, short: true, behind: false, turns: true, stuck: false, apart: false };
/// No driver is in its turn.
const RESTS: Seen = Seen { turns: false, ..SHORT };
const ONE: Mode = Mode::One { looks: 0 };

/// A watchdog in this mode.
fn watchdog(mode: Mode) -> Watchdog {
    Watchdog { mode, ..Watchdog::new(SHORT) }
}

impl Watchdog {
    /// Looks after some polls more.
    fn see_polls(&mut self, seen: Seen) -> Mode {
        self.look(Seen { polls: self.polls + 9, ..seen })
    }

    /// Looks that often, and at the first of them nothing has changed for the drivers.
    fn stays_for(&mut self, looks: u32, seen: Seen) -> bool {
        (0..looks).all(|_| self.look(Seen { polls: self.polls, ..seen }).has_one_drive())
    }
}

#[test]
fn one_drives_while_polls_are_short() {
    let mut watchdog = watchdog(Mode::Help { looks: 1 });
    assert_eq!(watchdog.see_polls(SHORT), Mode::Help { looks: 0 });
    assert_eq!(watchdog.see_polls(SHORT), ONE);
    let long = Seen { short: false, ..SHORT };
    for _ in 1..STILL_LOOKS {
        assert!(watchdog.see_polls(long).has_one_drive(), "that is no habit yet");
    }
    assert!(watchdog.see_polls(SHORT).has_one_drive(), "it begins anew");
    for _ in 1..STILL_LOOKS {
        assert!(watchdog.see_polls(long).has_one_drive());
    }
    assert_eq!(watchdog.see_polls(long), Mode::Help { looks: FIRST_HELP });
    let end = (0..2 * FIRST_HELP).map(|_| watchdog.see_polls(long)).last();
    assert_eq!(end, Some(Mode::Help { looks: 0 }), "they are still long");
    assert_eq!(watchdog.see_polls(SHORT), ONE);
}

#[test]
fn all_help_when_the_one_is_stuck() {
    let (mut watchdog, stuck) = (watchdog(ONE), Seen { behind: true, ..SHORT });
    assert!(watchdog.stays_for(STILL_LOOKS - 1, stuck));
    assert!(watchdog.stays_for(1, RESTS), "there is nothing to do");
    assert!(watchdog.stays_for(STILL_LOOKS - 1, stuck), "it begins anew");
    assert!(watchdog.see_polls(stuck).has_one_drive(), "it has moved");
    assert!(watchdog.stays_for(STILL_LOOKS - 1, stuck));
    assert_eq!(watchdog.look(Seen { polls: watchdog.polls, ..stuck }), Mode::Help { looks: 10 });
}

#[test]
fn a_driver_that_is_stuck_while_nothing_is_ready_is_found() {
    let mut stuck = watchdog(ONE);
    assert!(stuck.stays_for(STILL_LOOKS - 1, SHORT));
    assert!(!stuck.stays_for(1, SHORT), "timers may be kept from firing");
    let mut rests = watchdog(ONE);
    assert!(rests.stays_for(4 * STILL_LOOKS, RESTS), "no poll is under way");
    let mut apart = watchdog(ONE);
    assert!(apart.stays_for(4 * STILL_LOOKS, Seen { apart: true, ..SHORT }), "it has own timers");
}

#[test]
fn a_watchdog_wakes_a_driver_although_nothing_is_ready() {
    let engine = engine(2, 10);
    let (executor, watched) = (Arc::clone(engine.work().executor()), Arc::downgrade(&engine));
    let bell = Arc::new(Bell::default());
    executor.run_queue(1).rise(&Waker::from(Arc::clone(&bell)));
    assert!(executor.run_queue(1).sleep(&executor));
    executor.run_queue(0).rise(Waker::noop());
    executor.run_queue(0).poll_stats.set_turns(true);
    let mut watchdog = Watchdog::new(engine.seen());
    // The first look leaves the work to one driver.
    for _ in 0..STILL_LOOKS {
        assert!(watch(&watched, &mut watchdog));
        assert!(executor.is_one() && bell.rung() == 0);
    }
    assert!(watch(&watched, &mut watchdog));
    assert!(!executor.is_one());
    assert_eq!(bell.rung(), 1);
}

#[test]
fn one_that_is_not_in_its_turn_is_waited_for() {
    let mut watchdog = watchdog(ONE);
    let rests = Seen { behind: true, ..RESTS };
    assert!(watchdog.stays_for(3 * STILL_LOOKS - 1, rests), "there are timers");
    assert!(!watchdog.stays_for(1, rests), "its thread does not come");
    (watchdog.mode, watchdog.still) = (ONE, 0);
    assert!(watchdog.stays_for(STILL_LOOKS, rests));
    assert!(!watchdog.stays_for(1, Seen { turns: true, ..rests }), "now it has come, and is stuck");
}

#[test]
fn all_help_when_a_driver_with_a_thread_of_its_own_is_stuck() {
    let apart = Seen { apart: true, ..SHORT };
    let mut watchdog = watchdog(ONE);
    assert!(watchdog.see_polls(apart).has_one_drive());
    let stuck = Seen { stuck: true, ..apart };
    assert_eq!(
        watchdog.see_polls(stuck),
        Mode::Help { looks: FIRST_HELP },
        "although others go on"
    );
}

#[test]
fn one_that_is_stuck_again_and_again_is_helped_for_longer() {
    let (mut watchdog, stuck) = (watchdog(ONE), Seen { stuck: true, ..SHORT });
    let mut helps = || {
        let Mode::Help { looks } = watchdog.see_polls(stuck) else { panic!("it is not helped") };
        (0..looks).for_each(|_| assert!(!watchdog.see_polls(SHORT).has_one_drive()));
        assert_eq!(watchdog.see_polls(SHORT), ONE);
        looks
    };
    assert_eq!([0; 6].map(|_| helps()), [10, 20, 40, 80, 160, 160]);
    (0..LONGEST_HELP).for_each(|_| assert!(watchdog.see_polls(SHORT).has_one_drive()));
    assert_eq!(watchdog.help, LONGEST_HELP);
    assert!(watchdog.see_polls(SHORT).has_one_drive());
    assert_eq!(watchdog.help, FIRST_HELP, "it was not stuck for long");
}

#[test]
fn a_watchdog_leaves_when_nothing_is_polled() {
    let mut watchdog = Watchdog::new(RESTS);
    assert_eq!(watchdog.see_polls(RESTS), ONE);
    assert!(watchdog.stays_for(IDLE_LOOKS, RESTS));
    assert!(watchdog.see_polls(RESTS).has_one_drive(), "something was polled");
    assert!(watchdog.stays_for(IDLE_LOOKS, RESTS));
    let leaves = watchdog.look(Seen { polls: watchdog.polls, ..RESTS });
    assert_eq!((leaves, watchdog.see_polls(SHORT)), (Mode::Leave, Mode::Leave));
}

#[test]
fn an_idle_driver_is_called_for_a_queued_task_when_everybody_helps() {
    let engine = engine(2, 10);
    let bell = Arc::new(Bell::default());
    let me = engine.lock().worker_table.add(WorkerState::Called);
    let mut driver = Driver::<ByHand>::new(&engine, me).0;
    let waker = Waker::from(Arc::clone(&bell));
    let context = Context::from_waker(&waker);
    assert_eq!(driver.turn(&context, || ()), Turn::Sleep);
    let stuck = engine.lock().worker_table.add(WorkerState::Engaged);
    engine.let_one_drive(true);
    let mut scheduler = engine.lock();
    scheduler.queue.push(Cell::new(future(|_| Poll::Pending)));
    let mut actions = Actions::default();
    scheduler.call_for_help(&mut actions);
    assert!(actions.call.is_empty() && scheduler.worker_table.quiet, "one is enough");
    drop(scheduler);
    engine.let_one_drive(true);
    assert_eq!(bell.rung(), 0, "that is no news");
    engine.let_one_drive(false);
    assert_eq!(bell.rung(), 1);
    assert!(!engine.lock().worker_table.quiet, "whoever submits calls for help");
    engine.lock().worker_table.remove(stuck);
}

#[test]
fn a_watchdog_has_one_drive_until_it_leaves() {
    let engine = engine(2, 10);
    let (executor, watched) = (Arc::clone(engine.work().executor()), Arc::downgrade(&engine));
    let mut watchdog = Watchdog::new(engine.seen());
    executor.watched.store(true, Ordering::Relaxed);
    assert!(watch(&watched, &mut watchdog));
    assert!(executor.is_for_one() && executor.watched.load(Ordering::Relaxed));
    watchdog.idle = IDLE_LOOKS;
    assert!(!watch(&watched, &mut watchdog), "nothing was polled for long");
    assert!(!executor.is_for_one(), "everybody helps when there is no watchdog");
    assert!(!executor.watched.load(Ordering::Relaxed), "another one may come");
    drop(engine);
    assert!(!watch(&watched, &mut Watchdog::new(Seen::default())), "the pool is no more");
}

#[test]
fn a_watchdog_is_there_once_and_only_for_several_drivers() {
    let watchdogs = |drivers, watched| {
        let engine = engine(drivers, 10);
        engine.work().executor().watched.store(watched, Ordering::Relaxed);
        // While the lock is held, a watchdog does not get further than its first look.
        let scheduler = engine.lock();
        start(&engine);
        let watchdogs = Arc::weak_count(&engine);
        assert_eq!(
            engine.work().executor().watched.load(Ordering::Relaxed),
            watched || watchdogs > 0
        );
        drop(scheduler);
        watchdogs
    };
    assert_eq!(watchdogs(1, false), 0);
    assert_eq!(watchdogs(2, false), 1);
    assert_eq!(watchdogs(3, false), 1);
    assert_eq!(watchdogs(2, true), 0);
}

#[test]
fn whoever_submits_asks_anew_who_is_to_be_called_when_that_changes() {
    let engine = engine(2, 10);
    for one in [true, false] {
        engine.lock().worker_table.quiet = true;
        engine.let_one_drive(one);
        assert!(!engine.lock().worker_table.quiet);
    }
}
