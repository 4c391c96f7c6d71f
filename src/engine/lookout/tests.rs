use std::task::{Context, Poll, Waker};

use super::super::cell::Cell;
use super::super::driver::{Driver, Turn};
use super::super::roster::Duty;
use super::super::stubs::{Bell, ByHand, engine, errand};
use super::*;

const HOLD: u32 = 50;

/// What comes after looks at which so many futures were polled and the driver slept or did not.
fn after(mut mode: Mode, looks: impl IntoIterator<Item = (u64, bool)>) -> Mode {
    for (made, busy) in looks {
        mode = mode.next(made, busy, Seen { short: true, ..Seen::default() }, HOLD);
    }
    mode
}

fn times(count: u32, look: (u64, bool)) -> impl Iterator<Item = (u64, bool)> {
    (0..count).map(move |_| look)
}

#[test]
fn one_drives_while_polls_are_short() {
    let mode = Mode::All { looks: 1 };
    assert_eq!(after(mode, [(9, true), (9, true)]), Mode::ONE);
    let long = mode.next(9, true, Seen::default(), HOLD).next(9, true, Seen::default(), HOLD);
    assert_eq!(long, Mode::All { looks: 0 });
    assert_eq!(Mode::ONE.next(9, true, Seen::default(), HOLD), Mode::All { looks: HELP_LOOKS });
}

#[test]
fn everybody_helps_when_the_one_is_stuck() {
    let stuck = Seen { short: true, behind: true, ..Seen::default() };
    assert_eq!(Mode::ONE.next(0, false, stuck, HOLD), Mode::All { looks: HELP_LOOKS });
    assert_eq!(Mode::ONE.next(1, false, stuck, HOLD), Mode::ONE, "it goes on");
    let waits = Seen { short: true, ..Seen::default() };
    assert_eq!(Mode::ONE.next(0, false, waits, HOLD), Mode::ONE, "there is nothing to do");
}

#[test]
fn one_that_never_sleeps_is_compared_with_all() {
    let trial = after(Mode::ONE, times(TRIAL_LOOKS, (100, true)));
    assert_eq!(trial, Mode::Trial { looks: TRIAL_LOOKS, alone: 1000, polls: 0 });
    let faster = after(trial, times(TRIAL_LOOKS, (106, true)));
    assert_eq!(faster, Mode::All { looks: HOLD });
    let no_faster = after(trial, times(TRIAL_LOOKS, (105, true)));
    assert_eq!(no_faster, Mode::One { busy: 0, polls: 0, hold: HOLD });
    let again = after(no_faster, times(HOLD + TRIAL_LOOKS - 1, (100, true)));
    assert!(matches!(again, Mode::Trial { alone: 1000, .. }), "{again:?}");
}

#[test]
fn what_is_found_holds_for_longer_each_time() {
    let mut lookout = Lookout::new(Seen::default());
    let (mut seen, mut holds) = (Seen { short: true, ..Seen::default() }, Vec::new());
    while holds.len() < 6 {
        seen.polls += 100;
        let tried = matches!(lookout.mode, Mode::Trial { looks: 1, .. });
        let Mode::One { hold, .. } = lookout.look(seen) else { continue };
        holds.extend(tried.then_some(hold));
    }
    assert_eq!(holds, [40, 80, 160, 320, 320, 320]);
}

#[test]
fn one_that_sleeps_now_and_then_is_enough() {
    let looks = [(100, true), (100, true), (100, true), (100, false), (100, true)];
    assert_eq!(after(Mode::ONE, looks), Mode::One { busy: 1, polls: 100, hold: 0 });
}

#[test]
fn a_lookout_leaves_when_nothing_is_polled() {
    let mut lookout = Lookout::new(Seen::default());
    let mut seen = Seen { polls: 5, short: true, ..Seen::default() };
    assert_eq!(lookout.look(seen), Mode::ONE);
    (0..IDLE_LOOKS).for_each(|_| assert_eq!(lookout.look(seen), Mode::ONE));
    (seen.polls, seen.naps) = (6, 1);
    assert_eq!(lookout.look(seen), Mode::ONE, "something was polled");
    (0..IDLE_LOOKS).for_each(|_| assert_eq!(lookout.look(seen), Mode::ONE));
    assert_eq!(lookout.look(seen), Mode::Leave);
}

#[test]
fn a_mean_follows_what_is_noted() {
    let tempo = Tempo::default();
    assert!(!tempo.is_short(), "nothing is known");
    tempo.note(10, Duration::from_micros(5));
    assert!(tempo.is_short(), "half a microsecond each");
    tempo.note(1, Duration::from_millis(1));
    assert!(!tempo.is_short());
    (0..40).for_each(|_| tempo.note(10, Duration::from_micros(5)));
    assert!(tempo.is_short());
}

#[test]
fn what_is_new_counts_for_a_quarter() {
    let tempo = Tempo::default();
    tempo.note(10, Duration::from_micros(5));
    assert_eq!(tempo.nanos.load(Ordering::Relaxed), 500);
    tempo.note(1, Duration::from_nanos(4_500));
    assert_eq!(tempo.nanos.load(Ordering::Relaxed), 1_500);
}

#[test]
fn a_tempo_counts_polls_and_naps() {
    let (tempo, mut seen) = (Tempo::default(), 0);
    assert!(tempo.has_not_moved(&mut seen));
    tempo.count_polls(3);
    tempo.count_polls(4);
    assert!(!tempo.has_not_moved(&mut seen));
    assert!(tempo.has_not_moved(&mut seen), "not since then");
    (0..2).for_each(|_| tempo.count_nap());
    assert_eq!((seen, tempo.naps.load(Ordering::Relaxed)), (7, 2));
}

#[test]
fn what_was_found_is_over_in_time_also_if_the_one_sleeps() {
    let found = Mode::One { busy: 0, polls: 0, hold: HOLD };
    assert_eq!(after(found, times(HOLD, (100, false))), Mode::ONE);
}

#[test]
fn what_all_drivers_have_done_is_seen() {
    let engine = engine(2, 10);
    let board = Arc::clone(engine.work().board());
    let [first, second] = [0, 1].map(|driver| &board.list(driver).tempo);
    first.count_polls(3);
    assert!(!engine.seen().short, "how long these took is unknown");
    first.note(1, Duration::from_micros(1));
    assert!(engine.seen().short, "the other one has not polled anything");
    second.count_polls(4);
    second.note(1, Duration::from_millis(1));
    assert!(!engine.seen().short, "those of the other one were long");
    first.note(1, Duration::from_millis(1));
    assert!(!engine.seen().short, "all were long");
    first.count_nap();
    (0..2).for_each(|_| second.count_nap());
    let seen = engine.seen();
    assert_eq!((seen.polls, seen.naps), (7, 3));
}

#[test]
fn a_driver_that_goes_to_sleep_by_itself_is_seen_to_nap() {
    let engine = engine(2, 10);
    let board = Arc::clone(engine.work().board());
    (0..2).for_each(|driver| assert!(board.list(driver).rise(Waker::noop())));
    board.set_one(true);
    assert!(board.list(0).step_back(&board));
    assert_eq!(engine.seen().naps, 0, "it was sent to sleep");
    assert!(board.list(1).sleep(&board));
    assert_eq!(engine.seen().naps, 1);
}

#[test]
fn drivers_are_behind_if_one_is_up_and_there_is_something_to_do() {
    let engine = engine(2, 10);
    let board = Arc::clone(engine.work().board());
    board.list(0).rise(Waker::noop());
    assert!(!engine.seen().behind);
    engine.lock().line.push(Cell::new(errand(|_| Poll::Pending)));
    assert!(engine.seen().behind, "a task is queued");
    drop(engine.lock().line.pop());
    assert!(!engine.seen().behind);
    engine.lock().line.hurry(true);
    assert!(engine.seen().behind, "somebody waits");
    engine.lock().line.hurry(false);
    board.list(1).push_ready(0);
    assert!(engine.seen().behind, "a future is ready");
    board.list(0).leave();
    assert!(!engine.seen().behind, "whoever is woken now has not been stuck");
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
