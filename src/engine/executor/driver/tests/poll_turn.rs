//! What a driver counts, how long it works at a time, and whom it helps.

use super::*;
use crate::engine::executor::driver::poll_turn::fits_into;

/// How many polls a driver has told of.
fn told(driver: &Driver<ByHand>) -> u64 {
    driver.poll_stats().polls()
}

#[test]
fn each_poll_is_told_when_a_turn_ends() {
    let engine = engine(1, 10);
    let mut driver = driver(&engine);
    let own = push(&engine, 5);
    assert_eq!(turn(&mut driver), Turn::Sleep);
    assert_eq!((own.load(Ordering::Relaxed), told(&driver)), (5, 5));
    push(&engine, usize::MAX);
    assert_eq!(short_turn(&mut driver, 3), Turn::Yield);
    assert_eq!(told(&driver), 8);
    // A turn of two strides, of which the second is as long as the first.
    (driver.stride, driver.time) = (1000, AT_ONCE);
    let mut poll_turn = PollTurn::begin(2);
    poll_turn.strode = 2;
    assert!(!poll_turn.is_over(driver.poll_stats(), Duration::MAX));
    poll_turn.strode = 4;
    assert!(!poll_turn.is_over(driver.poll_stats(), Duration::MAX));
    assert_eq!((told(&driver), poll_turn.polls, poll_turn.strode), (14, 6, 0));
}

#[test]
fn a_poll_turn_notes_how_long_its_polls_took() {
    let poll_stats = PollStats::default();
    let mut poll_turn = PollTurn::begin(1);
    poll_turn.since = poll_turn.now.checked_sub(Duration::from_secs(1)).unwrap_or(poll_turn.now);
    let before = poll_turn.now;
    // So many that each of them was short, however long this test is held up.
    poll_turn.strode = 1_000_000_000;
    assert!(poll_turn.is_over(&poll_stats, Duration::ZERO));
    assert!(poll_turn.now >= before && poll_stats.is_short());
}

#[test]
fn a_stride_is_no_longer_than_a_turn() {
    let after = |turn, time| {
        let mut poll_turn = PollTurn::begin(POLLS_PER_REFILL);
        poll_turn.since = poll_turn.now.checked_sub(time).expect("the clock has run for so long");
        poll_turn.strode = POLLS_PER_REFILL;
        assert_eq!(poll_turn.is_over(&PollStats::default(), turn), turn <= time);
        poll_turn.stride
    };
    let millis = Duration::from_millis;
    assert_eq!(after(millis(1), millis(1_000)), 1, "a poll takes longer than a turn");
    assert_eq!(after(millis(60_000), millis(1_000)), POLLS_PER_REFILL, "the turn is not over");
    assert_eq!(fits_into(millis(10), 32, millis(40)), 8);
    assert_eq!(fits_into(millis(10), 1000, millis(11)), POLLS_PER_REFILL);
    assert_eq!(fits_into(millis(10), 1, Duration::ZERO), POLLS_PER_REFILL);
}

#[test]
fn a_watchdog_comes_when_many_polls_in_a_row_were_short() {
    let engine = engine(2, 1);
    let mut driver = driver(&engine);
    let poll_turn = |polls| PollTurn { polls, stride: 7, ..PollTurn::begin(1) };
    let watched =
        |engine: &Engine<ByHand>| engine.work().executor().watched.load(Ordering::Relaxed);
    driver.end_poll_turn(&poll_turn(SHORT_POLLS));
    assert!(!watched(&engine), "nothing is known of them");
    driver.poll_stats().note(1, Duration::from_micros(1));
    driver.end_poll_turn(&poll_turn(SHORT_POLLS - 1));
    (0..2).for_each(|_| driver.poll_stats().note(1, Duration::from_secs(1)));
    driver.end_poll_turn(&poll_turn(1));
    (0..100).for_each(|_| driver.poll_stats().note(1, Duration::from_micros(1)));
    driver.end_poll_turn(&poll_turn(SHORT_POLLS - 1));
    assert!(!watched(&engine), "long ones were among them");
    assert_eq!(driver.stride, 7, "it goes on so in the next turn");
    // While the lock is held, a watchdog does not get further than its first look.
    let scheduler = engine.lock();
    driver.end_poll_turn(&poll_turn(1));
    assert!(watched(&engine));
    drop(scheduler);
}

#[test]
fn a_spare_driver_that_is_woken_by_something_else_tells_so_before_it_sleeps() {
    let engine = engine(2, 10);
    let (mut first, mut second) = (driver(&engine), driver(&engine));
    push(&engine, usize::MAX);
    assert_eq!(short_turn(&mut first, 1), Turn::Yield);
    assert_eq!(short_turn(&mut second, 1), Turn::Yield);
    engine.set_shared(false);
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let context = Context::from_waker(&waker);
    assert_eq!(second.turn(&context, || ()), Turn::Sleep);
    push(&engine, 1);
    engine.set_shared(true);
    assert!(bell.rung() > 0, "it is called for a new task");
}

#[test]
fn a_driver_that_is_called_back_is_up() {
    let engine = engine(1, 1);
    let mut driver = driver(&engine);
    driver.executor().rise(driver.me, Waker::noop());
    engine.lock().worker_table.set(driver.me, WorkerState::Leaving);
    push(&engine, 1);
    assert!(!driver.leave(), "nobody else takes the task");
    assert!(engine.work().executor().run_queues()[0].is_busy());
}

#[test]
#[cfg(feature = "tokio")]
fn what_is_polled_knows_of_the_last_stride_whether_polls_are_short() {
    use crate::engine::context::polls_are_short;

    let engine = engine(1, 10);
    let mut driver = driver(&engine);
    let (owner, seen) = (Arc::clone(&driver.owner), Arc::new(Mutex::new(Vec::new())));
    let (its, mut polls) = (Arc::clone(&seen), 0);
    let future = future(move |context| {
        polls += 1;
        if polls == 1 {
            // So short that what this driver will find does not make it long.
            owner.executor.poll_stats[0].note(1, Duration::from_nanos(1));
        }
        its.lock().unwrap().push(polls_are_short());
        if polls == POLLS_PER_REFILL + 1 {
            return Poll::Ready(End::Completed);
        }
        context.waker().wake_by_ref();
        Poll::Pending
    });
    engine.lock().queue.push(Cell::new(future));
    driver.time = Duration::MAX;
    assert_eq!(turn(&mut driver), Turn::Sleep);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.iter().position(|short| *short), Some(POLLS_PER_REFILL));
}
