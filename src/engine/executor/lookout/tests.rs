mod seen;

use std::task::{Context, Poll, Waker};

use super::*;
use crate::engine::executor::cell::Cell;
use crate::engine::executor::driver::{Driver, Turn};
use crate::engine::scheduler::roster::Duty;
use crate::engine::tests::stubs::{Bell, ByHand, engine, errand};

const SHORT: Seen =
    Seen { polls: 0, short: true, behind: false, turns: true, stuck: false, apart: false };
/// No driver is in its turn.
const RESTS: Seen = Seen { turns: false, ..SHORT };
const ONE: Mode = Mode::One { looks: 0 };

/// A lookout in this mode.
fn lookout(mode: Mode) -> Lookout {
    Lookout { mode, ..Lookout::new(SHORT) }
}

impl Lookout {
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
    let mut lookout = lookout(Mode::Help { looks: 1 });
    assert_eq!(lookout.see_polls(SHORT), Mode::Help { looks: 0 });
    assert_eq!(lookout.see_polls(SHORT), ONE);
    let long = Seen { short: false, ..SHORT };
    for _ in 1..STILL_LOOKS {
        assert!(lookout.see_polls(long).has_one_drive(), "that is no habit yet");
    }
    assert!(lookout.see_polls(SHORT).has_one_drive(), "it begins anew");
    for _ in 1..STILL_LOOKS {
        assert!(lookout.see_polls(long).has_one_drive());
    }
    assert_eq!(lookout.see_polls(long), Mode::Help { looks: FIRST_HELP });
    let end = (0..2 * FIRST_HELP).map(|_| lookout.see_polls(long)).last();
    assert_eq!(end, Some(Mode::Help { looks: 0 }), "they are still long");
    assert_eq!(lookout.see_polls(SHORT), ONE);
}

#[test]
fn all_help_when_the_one_is_stuck() {
    let (mut lookout, stuck) = (lookout(ONE), Seen { behind: true, ..SHORT });
    assert!(lookout.stays_for(STILL_LOOKS - 1, stuck));
    assert!(lookout.stays_for(1, RESTS), "there is nothing to do");
    assert!(lookout.stays_for(STILL_LOOKS - 1, stuck), "it begins anew");
    assert!(lookout.see_polls(stuck).has_one_drive(), "it has moved");
    assert!(lookout.stays_for(STILL_LOOKS - 1, stuck));
    assert_eq!(lookout.look(Seen { polls: lookout.polls, ..stuck }), Mode::Help { looks: 10 });
}

#[test]
fn a_driver_that_is_stuck_while_nothing_is_ready_is_found() {
    let mut stuck = lookout(ONE);
    assert!(stuck.stays_for(STILL_LOOKS - 1, SHORT));
    assert!(!stuck.stays_for(1, SHORT), "timers may be kept from firing");
    let mut rests = lookout(ONE);
    assert!(rests.stays_for(4 * STILL_LOOKS, RESTS), "no poll is under way");
    let mut apart = lookout(ONE);
    assert!(apart.stays_for(4 * STILL_LOOKS, Seen { apart: true, ..SHORT }), "it has own timers");
}

#[test]
fn a_lookout_wakes_a_driver_although_nothing_is_ready() {
    let engine = engine(2, 10);
    let (board, watched) = (Arc::clone(engine.work().board()), Arc::downgrade(&engine));
    let bell = Arc::new(Bell::default());
    board.list(1).rise(&Waker::from(Arc::clone(&bell)));
    assert!(board.list(1).sleep(&board));
    board.list(0).rise(Waker::noop());
    board.list(0).tempo.set_turns(true);
    let mut lookout = Lookout::new(engine.seen());
    // The first look leaves the work to one driver.
    for _ in 0..STILL_LOOKS {
        assert!(watch(&watched, &mut lookout));
        assert!(board.is_one() && bell.rung() == 0);
    }
    assert!(watch(&watched, &mut lookout));
    assert!(!board.is_one());
    assert_eq!(bell.rung(), 1);
}

#[test]
fn one_that_is_not_in_its_turn_is_waited_for() {
    let mut lookout = lookout(ONE);
    let rests = Seen { behind: true, ..RESTS };
    assert!(lookout.stays_for(3 * STILL_LOOKS - 1, rests), "there are timers");
    assert!(!lookout.stays_for(1, rests), "its thread does not come");
    (lookout.mode, lookout.still) = (ONE, 0);
    assert!(lookout.stays_for(STILL_LOOKS, rests));
    assert!(!lookout.stays_for(1, Seen { turns: true, ..rests }), "now it has come, and is stuck");
}

#[test]
fn all_help_when_a_driver_with_a_thread_of_its_own_is_stuck() {
    let apart = Seen { apart: true, ..SHORT };
    let mut lookout = lookout(ONE);
    assert!(lookout.see_polls(apart).has_one_drive());
    let stuck = Seen { stuck: true, ..apart };
    assert_eq!(lookout.see_polls(stuck), Mode::Help { looks: FIRST_HELP }, "although others go on");
}

#[test]
fn one_that_is_stuck_again_and_again_is_helped_for_longer() {
    let (mut lookout, stuck) = (lookout(ONE), Seen { stuck: true, ..SHORT });
    let mut helps = || {
        let Mode::Help { looks } = lookout.see_polls(stuck) else { panic!("it is not helped") };
        (0..looks).for_each(|_| assert!(!lookout.see_polls(SHORT).has_one_drive()));
        assert_eq!(lookout.see_polls(SHORT), ONE);
        looks
    };
    assert_eq!([0; 6].map(|_| helps()), [10, 20, 40, 80, 160, 160]);
    (0..LONGEST_HELP).for_each(|_| assert!(lookout.see_polls(SHORT).has_one_drive()));
    assert_eq!(lookout.help, LONGEST_HELP);
    assert!(lookout.see_polls(SHORT).has_one_drive());
    assert_eq!(lookout.help, FIRST_HELP, "it was not stuck for long");
}

#[test]
fn a_lookout_leaves_when_nothing_is_polled() {
    let mut lookout = Lookout::new(RESTS);
    assert_eq!(lookout.see_polls(RESTS), ONE);
    assert!(lookout.stays_for(IDLE_LOOKS, RESTS));
    assert!(lookout.see_polls(RESTS).has_one_drive(), "something was polled");
    assert!(lookout.stays_for(IDLE_LOOKS, RESTS));
    let leaves = lookout.look(Seen { polls: lookout.polls, ..RESTS });
    assert_eq!((leaves, lookout.see_polls(SHORT)), (Mode::Leave, Mode::Leave));
}

#[test]
fn an_idle_driver_is_called_for_a_queued_task_when_everybody_helps() {
    let engine = engine(2, 10);
    let bell = Arc::new(Bell::default());
    let me = engine.lock().roster.add(Duty::Called);
    let mut driver = Driver::<ByHand>::new(&engine, me).0;
    let waker = Waker::from(Arc::clone(&bell));
    let context = Context::from_waker(&waker);
    assert_eq!(driver.turn(&context, || ()), Turn::Sleep);
    let stuck = engine.lock().roster.add(Duty::Engaged);
    engine.let_one_drive(true);
    let mut crew = engine.lock();
    crew.line.push(Cell::new(errand(|_| Poll::Pending)));
    let mut acts = Acts::default();
    crew.call_for_help(&mut acts);
    assert!(acts.call.is_empty() && crew.roster.quiet, "one is enough");
    drop(crew);
    engine.let_one_drive(true);
    assert_eq!(bell.rung(), 0, "that is no news");
    engine.let_one_drive(false);
    assert_eq!(bell.rung(), 1);
    assert!(!engine.lock().roster.quiet, "whoever submits calls for help");
    engine.lock().roster.remove(stuck);
}

#[test]
fn a_lookout_has_one_drive_until_it_leaves() {
    let engine = engine(2, 10);
    let (board, watched) = (Arc::clone(engine.work().board()), Arc::downgrade(&engine));
    let mut lookout = Lookout::new(engine.seen());
    board.watched.store(true, Ordering::Relaxed);
    assert!(watch(&watched, &mut lookout));
    assert!(board.is_for_one() && board.watched.load(Ordering::Relaxed));
    lookout.idle = IDLE_LOOKS;
    assert!(!watch(&watched, &mut lookout), "nothing was polled for long");
    assert!(!board.is_for_one(), "everybody helps when there is no lookout");
    assert!(!board.watched.load(Ordering::Relaxed), "another one may come");
    drop(engine);
    assert!(!watch(&watched, &mut Lookout::new(Seen::default())), "the pool is no more");
}

#[test]
fn a_lookout_is_there_once_and_only_for_several_drivers() {
    let lookouts = |drivers, watched| {
        let engine = engine(drivers, 10);
        engine.work().board().watched.store(watched, Ordering::Relaxed);
        // While the lock is held, a lookout does not get further than its first look.
        let crew = engine.lock();
        start(&engine);
        let lookouts = Arc::weak_count(&engine);
        assert_eq!(engine.work().board().watched.load(Ordering::Relaxed), watched || lookouts > 0);
        drop(crew);
        lookouts
    };
    assert_eq!(lookouts(1, false), 0);
    assert_eq!(lookouts(2, false), 1);
    assert_eq!(lookouts(3, false), 1);
    assert_eq!(lookouts(2, true), 0);
}

#[test]
fn whoever_submits_asks_anew_who_is_to_be_called_when_that_changes() {
    let engine = engine(2, 10);
    for one in [true, false] {
        engine.lock().roster.quiet = true;
        engine.let_one_drive(one);
        assert!(!engine.lock().roster.quiet);
    }
}
