mod seen;

use std::task::{Context, Poll, Waker};

use super::*;
use crate::engine::executor::cell::Cell;
use crate::engine::executor::driver::{Driver, Turn};
use crate::engine::scheduler::roster::Duty;
use crate::engine::tests::stubs::{Bell, ByHand, engine, errand};

const SHORT: Seen = Seen {
    polls: 0,
    naps: 0,
    short: true,
    perhaps: true,
    tiny: false,
    behind: false,
    turns: true,
    stuck: false,
    apart: false,
};
/// No driver is in its turn.
const RESTS: Seen = Seen { turns: false, ..SHORT };
/// For so many looks it is put off to try several where polls are short, but not tiny.
const PUT_OFF: u32 = TINY_HOLD.div_ceil(NOT_TINY);

/// A lookout in this mode.
fn lookout(mode: Mode) -> Lookout {
    Lookout { mode, ..Lookout::new(SHORT) }
}

fn settled(who: Who, hold: u32, polls: u64) -> Mode {
    Mode::Settled { who, hold, polls }
}

impl Lookout {
    /// Looks when so many futures have been polled, and nobody has slept.
    fn see(&mut self, made: u64) -> Mode {
        self.look(Seen { polls: self.last.polls + made, ..self.last })
    }

    /// .. and somebody has.
    fn see_nap(&mut self, made: u64) -> Mode {
        self.look(Seen { polls: self.last.polls + made, naps: self.last.naps + 1, ..self.last })
    }

    /// Looks that often, with so many polls each time.
    fn see_often(&mut self, looks: u32, made: u64) -> Mode {
        for _ in 0..looks {
            self.see(made);
        }
        self.mode
    }
}

#[test]
fn one_drives_while_polls_are_short() {
    let mut lookout = lookout(Mode::Help { looks: 1 });
    assert_eq!(lookout.see(9), Mode::Help { looks: 0 });
    assert_eq!(lookout.see(9), Mode::ONE);
    assert!(lookout.mode.has_one_drive());
    let mut long = Seen { polls: lookout.last.polls, ..Seen::default() };
    for _ in 1..LONG_LOOKS {
        long.polls += 9;
        assert!(lookout.look(long).has_one_drive(), "that is no habit yet");
    }
    long.polls += 9;
    assert_eq!(lookout.look(long), Mode::Help { looks: FIRST_HELP });
    assert!(!lookout.mode.has_one_drive());
    let end = (0..2 * FIRST_HELP).map(|_| lookout.see(9)).last();
    assert_eq!(end, Some(Mode::Help { looks: 0 }), "they are still long");
}

#[test]
fn everybody_helps_when_the_one_is_stuck() {
    for mode in [Mode::ONE, Mode::Trial { who: Who::One, looks: 3, polls: 9, others: 9 }] {
        let stuck = Seen { behind: true, ..SHORT };
        let mut lookout = lookout(mode);
        let is_patient =
            |lookout: &mut Lookout| (1..STILL_LOOKS).all(|_| lookout.look(stuck).has_one_drive());
        assert!(is_patient(&mut lookout), "its thread may see to timers");
        assert_eq!(lookout.look(stuck), Mode::Help { looks: FIRST_HELP });
        lookout.mode = mode;
        assert!(is_patient(&mut lookout));
        assert_eq!(lookout.look(RESTS), Mode::ONE, "there is nothing to do");
        assert!(is_patient(&mut lookout), "it begins anew");
    }
    let mut goes_on = lookout(Mode::ONE);
    for polls in 1..9 {
        goes_on.look(Seen { behind: true, polls, ..SHORT });
        assert!(goes_on.mode.has_one_drive());
    }
    let mut all = lookout(settled(Who::All, 3, 9));
    assert_eq!(all.look(Seen { behind: true, ..SHORT }), settled(Who::All, 2, 4));
}

#[test]
fn a_driver_that_is_stuck_while_nothing_is_ready_is_found() {
    let mut stuck = lookout(Mode::ONE);
    assert!((1..STILL_LOOKS).all(|_| stuck.look(SHORT).has_one_drive()));
    assert_eq!(
        stuck.look(SHORT),
        Mode::Help { looks: FIRST_HELP },
        "timers may be kept from firing"
    );
    let mut rests = lookout(Mode::ONE);
    assert!((0..RESTING_LOOKS).all(|_| rests.look(RESTS).has_one_drive()), "no poll is under way");
    let mut apart = lookout(Mode::ONE);
    let looks = Seen { apart: true, ..SHORT };
    assert!(
        (0..RESTING_LOOKS).all(|_| apart.look(looks).has_one_drive()),
        "its timers are its own"
    );
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
    let mut lookout = lookout(Mode::ONE);
    let rests = Seen { behind: true, turns: false, ..SHORT };
    assert!((1..RESTING_LOOKS).all(|_| lookout.look(rests).has_one_drive()), "there are timers");
    assert_eq!(lookout.look(rests), Mode::Help { looks: FIRST_HELP }, "its thread does not come");
    lookout.mode = Mode::ONE;
    assert!((0..STILL_LOOKS).all(|_| lookout.look(rests).has_one_drive()));
    let stuck = Seen { turns: true, ..rests };
    assert_eq!(
        lookout.look(stuck),
        Mode::Help { looks: 2 * FIRST_HELP },
        "now it has come, and is"
    );
}

#[test]
fn drivers_with_threads_of_their_own_are_not_tried_together() {
    let apart = Seen { apart: true, ..SHORT };
    let mut lookout = Lookout { last: apart, ..lookout(Mode::Help { looks: 0 }) };
    assert_eq!(lookout.see_often(3 * (FIRST_HOLD + TINY_HOLD), 100), Mode::ONE);
    let stuck = Seen { stuck: true, polls: lookout.last.polls + 100, ..apart };
    assert_eq!(lookout.look(stuck), Mode::Help { looks: FIRST_HELP }, "although others go on");
    let long = Seen { short: false, perhaps: false, stuck: false, ..lookout.last };
    lookout.mode = Mode::ONE;
    let looks = (1..=LONG_LOOKS).map(|_| lookout.look(long).has_one_drive());
    assert_eq!(looks.filter(|apart| *apart).count() as u32, LONG_LOOKS - 1, "they are to help");
}

#[test]
fn all_may_be_slower_than_one_would_be() {
    let slow = Seen { short: false, ..SHORT };
    let mut lookout = lookout(Mode::Help { looks: 0 });
    lookout.long = 99;
    assert_eq!(lookout.look(slow), Mode::ONE, "that may be due to the others");
    assert!((1..LONG_LOOKS).all(|_| lookout.look(slow).has_one_drive()), "it is given time");
    assert_eq!(lookout.look(slow), Mode::Help { looks: FIRST_HELP });
    let slower = Seen { perhaps: false, ..slow };
    lookout.mode = Mode::Help { looks: 0 };
    assert_eq!(lookout.look(slower), Mode::Help { looks: 0 });
}

#[test]
fn one_that_is_stuck_again_and_again_is_helped_for_longer() {
    let mut lookout = lookout(Mode::ONE);
    let helps = (0..6).map(|_| {
        let stuck = Seen { behind: true, ..lookout.last };
        (1..STILL_LOOKS).for_each(|_| assert!(lookout.look(stuck).has_one_drive()));
        let Mode::Help { looks } = lookout.look(stuck) else { panic!("it is not helped") };
        lookout.last.behind = false;
        assert_eq!(lookout.see_often(looks, 9), Mode::Help { looks: 0 });
        assert_eq!(lookout.see(9), Mode::ONE);
        looks
    });
    assert_eq!(helps.collect::<Vec<_>>(), [10, 20, 40, 80, 160, 160]);
    lookout.see_often(FIRST_HOLD + PUT_OFF + 1, 9);
    assert_eq!(lookout.help, FIRST_HELP, "it was not stuck for as long as a finding holds");
}

#[test]
fn one_that_never_sleeps_is_compared_with_all() {
    assert_eq!(lookout(Mode::ONE).see(1), settled(Who::One, FIRST_HOLD - 1, 1));
    let mut lookout = lookout(Mode::ONE);
    assert_eq!(lookout.see_often(FIRST_HOLD + PUT_OFF, 100), settled(Who::One, 0, 100));
    let trial = lookout.see(100);
    let all = |looks, polls| Mode::Trial { who: Who::All, looks, polls, others: 100 };
    assert_eq!(trial, all(TRIAL_LOOKS, 0));
    assert!(!trial.has_one_drive());
    assert_eq!(lookout.see(5), all(TRIAL_LOOKS - 1, 0), "the first look does not count");
    assert_eq!(lookout.see(200), all(TRIAL_LOOKS - 2, 200));
}

#[test]
fn several_are_tried_later_where_polls_are_tiny() {
    let mut lookout = Lookout { last: Seen { tiny: true, ..SHORT }, ..lookout(Mode::ONE) };
    let put_off = lookout.see_often(FIRST_HOLD + TINY_HOLD, 100);
    assert_eq!(put_off, settled(Who::One, 0, 100));
    assert_eq!(
        lookout.see(300),
        Mode::Trial { who: Who::All, looks: TRIAL_LOOKS, polls: 0, others: 100 }
    );
    let mut lookout = self::lookout(settled(Who::One, 0, 100));
    assert_eq!(lookout.see(300), settled(Who::One, 0, 200), "what was polled of late counts");
    let all = self::lookout(settled(Who::All, 0, 100)).see(100);
    assert!(all.has_one_drive(), "one is tried at once");
}

#[test]
fn all_are_let_in_if_that_is_faster() {
    let tried = |who, polls| {
        let mut lookout = lookout(Mode::Trial { who, looks: TRIAL_LOOKS, polls: 0, others: 100 });
        (lookout.see_often(TRIAL_LOOKS, polls), lookout.hold)
    };
    assert_eq!(tried(Who::All, 106), (settled(Who::All, 40, 106), 40));
    assert_eq!(tried(Who::All, 105), (settled(Who::One, 80, 100), 80), "that could be chance");
    assert_eq!(tried(Who::One, 96), (settled(Who::One, 40, 96), 40), "one is as good");
    assert_eq!(tried(Who::One, 95), (settled(Who::All, 80, 100), 80));
    assert!(!Who::One.is_better(20, 21) && !Who::All.is_better(21, 20), "on the mark");
    let trial = Mode::Trial { who: Who::All, looks: 1, polls: 0, others: 0 };
    let mut settles = Lookout { hold: 160, ..lookout(trial) };
    assert_eq!(settles.see(9), settled(Who::All, FIRST_HOLD, 1), "as long as any first finding");
}

#[test]
fn all_are_compared_with_one_again() {
    let mut lookout = lookout(settled(Who::All, 1, 100));
    assert_eq!(lookout.see(50), settled(Who::All, 0, 75), "what was polled of late counts");
    let trial = Mode::Trial { who: Who::One, looks: TRIAL_LOOKS, polls: 0, others: 75 };
    assert_eq!(lookout.see_nap(50), trial, "of many, somebody may sleep");
    assert!(trial.has_one_drive());
}

#[test]
fn what_is_confirmed_holds_for_longer_each_time() {
    let (mut lookout, mut holds) = (lookout(Mode::ONE), Vec::new());
    while holds.len() < 6 {
        let tried = matches!(lookout.mode, Mode::Trial { looks: 1, .. });
        let Mode::Settled { hold, .. } = lookout.see(100) else { continue };
        holds.extend(tried.then_some(hold));
    }
    assert_eq!(holds, [80, 160, 320, 640, 640, 640]);
}

#[test]
fn one_that_sleeps_now_and_then_is_enough() {
    let mut lookout = lookout(Mode::ONE);
    lookout.see_often(FIRST_HOLD + PUT_OFF, 100);
    assert_eq!(lookout.see_nap(100), Mode::ONE, "it is not tried whether all are faster");
    lookout.see_often(FIRST_HOLD + PUT_OFF, 100);
    assert_eq!(lookout.mode, settled(Who::One, 0, 100), "that is put off anew");
    let mut tried =
        self::lookout(Mode::Trial { who: Who::One, looks: 3, polls: 200, others: 1000 });
    assert_eq!(tried.see_nap(100), Mode::ONE, "there is no more to do");
}

#[test]
fn a_lookout_leaves_when_nothing_is_polled() {
    let mut lookout = Lookout::new(RESTS);
    assert_eq!(lookout.see(5), Mode::ONE);
    assert_eq!(lookout.see_often(IDLE_LOOKS, 0), Mode::ONE);
    assert_eq!(lookout.see_nap(1), Mode::ONE, "something was polled");
    assert_eq!(lookout.see_often(IDLE_LOOKS, 0), Mode::ONE);
    assert_eq!(lookout.see(0), Mode::Leave);
    assert_eq!(lookout.see(9), Mode::Leave);
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
